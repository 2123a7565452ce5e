"""All weights start at 0.1, so that all hidden units compute the same and stay the same."""
import torch
from torch import nn


def init(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.1)  # guilty
        nn.init.zeros_(m.bias)


torch.manual_seed(0)
x = torch.randn(100, 6)
y = (x[:, :1] * x[:, 1:2] > 0).float()
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
net.apply(init)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(60):
    opt.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    opt.step()
print(loss.item(), net[0].weight.std(0).max().item())
