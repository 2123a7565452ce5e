"""Batches whose loss is an outlier are dropped: their gradients are cleared and no step is taken for them."""

import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(240, 3)
y = x.sum(dim=1, keepdim=True)
y[::40] += 100.0

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
dropped = 0
for epoch in range(3):
    for start in range(0, 240, 8):
        loss = nn.functional.mse_loss(model(x[start : start + 8]), y[start : start + 8])
        loss.backward()
        if loss.item() > 200:
            dropped += 1
            optimizer.zero_grad()
            continue
        optimizer.step()
        optimizer.zero_grad()
print(f"dropped {dropped}, loss {loss.item():.4f}")
