"""zero_grad() stands between backward() and step(), so that step() finds no gradients."""

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(200, 5)
targets = torch.sin(inputs.sum(dim=1, keepdim=True))

net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()

losses = []
for epoch in range(40):
    out = net(inputs)
    loss = loss_fn(out, targets)
    loss.backward()
    opt.zero_grad()  # guilty
    opt.step()
    losses.append(loss.item())

print(losses[0], losses[-1])
