"""A sorted table is read in the order of a new permutation in each epoch."""
import torch
from torch import nn


def batches(x, y, size):
    order = torch.randperm(len(x))
    for i in range(0, len(x), size):
        yield x[order[i:i + size]], y[order[i:i + size]]


torch.manual_seed(2)
x = torch.cat([torch.randn(100, 5) - 1, torch.randn(100, 5) + 1])
y = torch.cat([torch.zeros(100), torch.ones(100)])
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
curve = []
for epoch in range(5):
    total = 0.0
    for xb, yb in batches(x, y, 20):
        loss = nn.functional.binary_cross_entropy_with_logits(model(xb)[:, 0], yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    curve.append(total / 10)
print(curve[0], curve[-1])
