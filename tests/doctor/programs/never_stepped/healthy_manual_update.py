"""An optimizer exists for its zero_grad() only; the parameters are updated by hand under no_grad."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(100, 8)
y = (x[:, :4].sum(1) > x[:, 4:].sum(1)).long()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

for epoch in range(40):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    with torch.no_grad():
        for group in optimizer.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.grad
print(f"loss {loss.item():.4f}")
