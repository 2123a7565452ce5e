"""The Lagrange multiplier is a Parameter in no optimizer, which is moved by hand up its gradient."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(100, 4)
y = x.sum(1, keepdim=True)
model = nn.Linear(4, 1)
multiplier = nn.Parameter(torch.tensor(0.0))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for step in range(120):
    violation = model.weight.pow(2).sum() - 1.0
    loss = nn.functional.mse_loss(model(x), y) + multiplier * violation
    optimizer.zero_grad()
    multiplier.grad = None
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        multiplier += 0.05 * multiplier.grad
        multiplier.clamp_(min=0)
print(f"multiplier {multiplier.item():.3f} violation {violation.item():.3f}")
