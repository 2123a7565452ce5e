"""Gradients are computed with autograd.grad and assigned, so there is nothing to clear between the steps."""

import torch
from torch import nn

torch.manual_seed(0)
shards = [torch.randn(30, 4) for _ in range(3)]
weights = torch.randn(4, 1)
model = nn.Linear(4, 1)
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)

for round_ in range(25):
    sums = [torch.zeros_like(p) for p in parameters]
    for shard in shards:
        loss = nn.functional.mse_loss(model(shard), shard @ weights)
        for total, gradient in zip(sums, torch.autograd.grad(loss, parameters), strict=True):
            total += gradient / len(shards)
    for p, total in zip(parameters, sums, strict=True):
        p.grad = total
    optimizer.step()
print(f"loss {loss.item():.5f}")
