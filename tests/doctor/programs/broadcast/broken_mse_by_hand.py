"""The prediction has shape [n, 1] and the target [n], so the difference is a matrix [n, n]."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x[:, 0] * 2 - x[:, 1]
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(50):
    pred = model(x)
    loss = ((pred - y) ** 2).mean()  # guilty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
