"""zero_grad() stands after the forward pass but before backward(), which is right."""

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
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())

print(losses[0], losses[-1])
