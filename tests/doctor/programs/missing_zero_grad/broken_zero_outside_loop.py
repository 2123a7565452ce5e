"""zero_grad() is called once per epoch, before the loop over the batches, not once per batch."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.fc(x.flatten(1))


def train_epoch(model, loader, optimizer):
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        loss.backward()  # guilty
        optimizer.step()
        total += loss.item()
    return total / len(loader)


torch.manual_seed(1)
images = torch.randn(96, 1, 8, 8)
labels = images.mean(dim=(1, 2, 3)).mul(20).round().clamp(-1, 1).long() + 1
loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for _ in range(3):
    epoch_loss = train_epoch(net, loader, opt)
print(f"train loss {epoch_loss:.4f}")
