"""The discriminator is frozen for the generator's turn and never thawed again, so its optimizer has nothing to train."""

import torch
import torch.nn as nn


def set_requires_grad(net, flag):
    for param in net.parameters():
        param.requires_grad = flag  # guilty


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
set_requires_grad(D, False)
opt_G = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_D = torch.optim.Adam(D.parameters(), lr=1e-3)  # guilty
bce = nn.BCEWithLogitsLoss()

for i in range(20):
    real = torch.randn(16, 2) + 2
    fake = G(torch.randn(16, 4))
    loss_G = bce(D(fake), torch.ones(16, 1))
    opt_G.zero_grad()
    loss_G.backward()
    opt_G.step()

    fake = G(torch.randn(16, 4))
    loss_D = bce(D(real), torch.ones(16, 1)) + bce(D(fake), torch.zeros(16, 1))
    opt_D.zero_grad()
    loss_D.backward()
    opt_D.step()
print(f"loss_D {loss_D.item():.3f}")
