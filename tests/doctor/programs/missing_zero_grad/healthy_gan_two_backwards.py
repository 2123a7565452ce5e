"""The discriminator collects gradients from two losses and from the generator's loss, and is cleared before its own turn."""

import torch
import torch.nn as nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)

for step in range(40):
    real = torch.randn(32, 2) * 0.3 + torch.tensor([2.0, -1.0])
    fake = G(torch.randn(32, 4))

    opt_d.zero_grad()
    loss_real = bce(D(real), ones)
    loss_real.backward()
    loss_fake = bce(D(fake.detach()), zeros)
    loss_fake.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()

print(f"D {loss_real.item() + loss_fake.item():.3f} G {loss_g.item():.3f}")
