"""The weights are shrunk through .data between the forward and the backward pass, which then multiplies with other weights."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(100, 6)
y = torch.sin(x[:, :2]).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def max_norm(module, limit=1.0):
    for p in module.parameters():
        if p.dim() == 2:
            norms = p.data.norm(dim=1, keepdim=True).clamp(min=limit)
            p.data.mul_(limit / norms).mul_(0.5)  # guilty


for step in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    max_norm(model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
