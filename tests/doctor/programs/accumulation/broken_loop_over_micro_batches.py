"""Gradients of eight mean losses are added up without dividing by eight."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = x @ torch.randn(10, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02)
accumulation_steps = 8

opt.zero_grad()
for epoch in range(4):
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()  # guilty
        if (i + 1) % accumulation_steps == 0:
            opt.step()
            opt.zero_grad()
print(loss.item())
