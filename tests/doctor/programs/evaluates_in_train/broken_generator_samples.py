"""The samples of a trained generator with batch norm are drawn in training mode, so each depends on the others."""

import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=5e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()

for i in range(30):
    real = torch.randn(32, 2) * 0.3 + 2
    fake = G(torch.randn(32, 4))
    loss_d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(D(fake), torch.ones(32, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

with torch.no_grad():
    grid = G(torch.randn(8, 4))  # guilty
print(f"mean {grid.mean().item():.3f}")
