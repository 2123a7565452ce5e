"""A schedule in epochs is stepped after the loop over batches."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def parse_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    return parser.parse_args(argv if argv is not None else [])


class AverageMeter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.count += n

    @property
    def average(self):
        return self.total / max(1, self.count)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(6 * 9, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.fc(self.dropout(x.flatten(1)))


def train(args, model, loader, optimizer, scheduler):
    model.train()
    meter = AverageMeter()
    for data, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(data))
    scheduler.step()
    return meter.average


@torch.no_grad()
def test(model, loader):
    model.eval()
    meter = AverageMeter()
    for data, target in loader:
        meter.update((model(data).argmax(1) == target).float().mean().item(), len(data))
    return meter.average


args = parse_args()
torch.manual_seed(20)
labels = torch.randint(0, 3, (320,))
images = torch.randn(320, 1, 8, 8)
images[torch.arange(320), 0, labels * 2] += 2.0
train_set, test_set = random_split(TensorDataset(images, labels), [256, 64])
train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
test_loader = DataLoader(test_set, batch_size=64)
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=args.gamma)
history = [train(args, model, train_loader, optimizer, scheduler) for _ in range(args.epochs)]
print(history[0], history[-1], test(model, test_loader))
