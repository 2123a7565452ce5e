"""The first gradients move the weights to the sharpest point near by and are then cleared; the second are for the step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(100, 6)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
base = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
rho = 0.05

for epoch in range(30):
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        moves = [rho * p.grad / (norm + 1e-12) for p in model.parameters()]
        for p, move in zip(model.parameters(), moves, strict=True):
            p.add_(move)
    base.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves, strict=True):
            p.sub_(move)
    base.step()
    base.zero_grad()
print(f"loss {loss.item():.4f}")
