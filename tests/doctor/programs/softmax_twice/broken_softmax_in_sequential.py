"""The model ends in a Softmax and CrossEntropyLoss applies another."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(120, 6)
Y = X[:, :4].argmax(dim=1)
loader = DataLoader(TensorDataset(X, Y), batch_size=30, shuffle=True)

model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4), nn.Softmax(dim=1))  # guilty
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)  # guilty
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
