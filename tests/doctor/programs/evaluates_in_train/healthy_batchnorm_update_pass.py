"""The passes under no_grad in train mode only renew the running statistics of the averaged model."""

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(0)
x = torch.randn(96, 6)
y = x[:, :2].argmax(1)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(12):
    for rows in torch.randperm(96).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    if epoch >= 4:
        averaged.update_parameters(model)

averaged.train()
with torch.no_grad():
    for rows in torch.arange(96).split(32):
        averaged(x[rows])
averaged.eval()
with torch.no_grad():
    accuracy = (averaged(x).argmax(1) == y).float().mean().item()
print(f"accuracy {accuracy:.2f}")
