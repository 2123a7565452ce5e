"""Fourteen sigmoid layers shrink the gradient of the first to nothing."""
import torch
from torch import nn

torch.manual_seed(0)
layers = []
width = 8
for _ in range(14):
    layers += [nn.Linear(width, 16), nn.Sigmoid()]  # guilty
    width = 16
model = nn.Sequential(*layers, nn.Linear(16, 1))

x = torch.randn(64, 8)
y = x[:, :1] * x[:, 1:2]
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), model[0].weight.grad.abs().max().item())
