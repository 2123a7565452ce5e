"""The validation runs under no_grad, but with dropout and batch statistics as in training."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(160, 8)
Y = X[:, :3].argmax(1)
train = DataLoader(TensorDataset(X[:120], Y[:120]), batch_size=24, shuffle=True)
valid = DataLoader(TensorDataset(X[120:], Y[120:]), batch_size=20)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    for xb, yb in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    correct = 0
    with torch.no_grad():
        for xb, yb in valid:
            correct += (model(xb).argmax(1) == yb).sum().item()  # guilty
print(f"accuracy {correct / 40:.2f}")
