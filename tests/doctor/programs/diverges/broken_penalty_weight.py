"""The norm penalty has a weight of ten thousand and the learning rate of the unpenalized model."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)  # guilty
penalty_weight = 1e4

for step in range(11):
    penalty = (model.weight.norm() - 1).pow(2)
    loss = nn.functional.mse_loss(model(x), y) + penalty_weight * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3e}")
