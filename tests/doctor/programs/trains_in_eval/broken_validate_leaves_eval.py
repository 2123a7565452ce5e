"""validate() sets the model to eval mode and nobody sets it back, so all later epochs train without dropout."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def validate(model, x, y):
    model.eval()  # guilty
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
X = torch.randn(160, 8)
Y = X[:, :3].argmax(1)
loader = DataLoader(TensorDataset(X[:120], Y[:120]), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

model.train()
for epoch in range(6):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()  # guilty
        optimizer.step()
    accuracy = validate(model, X[120:], Y[120:])
print(f"accuracy {accuracy:.2f}")
