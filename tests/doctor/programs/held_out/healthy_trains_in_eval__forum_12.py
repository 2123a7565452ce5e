import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(21)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(8 * 16, 4)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn(self.conv(x))))
        return self.fc(self.drop(x.flatten(1)))


def evaluate(model, loader):
    model.eval()
    hits, count = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            count += len(y)
    return hits / count


def fit(model, train_loader, val_loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    scores = []
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        scores.append(evaluate(model, val_loader))
    return scores


protos = torch.randn(4, 1, 8, 8)
labels = torch.randint(0, 4, (320,))
images = protos[labels] + torch.randn(320, 1, 8, 8)
train_set, val_set = random_split(TensorDataset(images, labels), [256, 64])
net = Net()
scores = fit(net, DataLoader(train_set, batch_size=32, shuffle=True), DataLoader(val_set, batch_size=32), 7)
print("val acc per epoch", [round(s, 3) for s in scores])
