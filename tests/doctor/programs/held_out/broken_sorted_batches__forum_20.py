import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(20)


class Blobs(Dataset):
    """Four gaussian blobs, read class by class as from folders."""

    def __init__(self, centers, per_class):
        parts, labels = [], []
        for c, center in enumerate(centers):
            parts.append(center + torch.randn(per_class, centers.size(1)))
            labels += [c] * per_class
        self.x = torch.cat(parts)
        self.y = torch.tensor(labels)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.net(x)


centers = 1.5 * torch.randn(4, 5)
train_set, test_set = Blobs(centers, 96), Blobs(centers, 32)
train_loader = DataLoader(train_set, batch_size=32, shuffle=False)  # guilty
test_loader = DataLoader(test_set, batch_size=64, shuffle=False)
model = MLP()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()

model.eval()
correct = 0
with torch.no_grad():
    for x, y in test_loader:
        correct += (model(x).argmax(1) == y).sum().item()
print("train loss", total / len(train_loader), "test acc", correct / len(test_set))
