"""Prediction and target are both columns, and the weight of each row is a column too."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x[:, 0] * 2 - x[:, 1]
weight = torch.rand(64)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(50):
    pred = model(x)
    loss = (weight[:, None] * (pred - y[:, None]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
