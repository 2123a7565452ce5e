"""The evaluation restores the mode in which it found the model."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def validate(model, x, y):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    model.train(was_training)
    return accuracy


torch.manual_seed(0)
X = torch.randn(160, 8)
Y = X[:, :3].argmax(1)
loader = DataLoader(TensorDataset(X[:120], Y[:120]), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    accuracy = validate(model, X[120:], Y[120:])
print(f"accuracy {accuracy:.2f}")
