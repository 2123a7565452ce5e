"""In a GAN every batch of the discriminator is all real or all fake."""
import torch
from torch import nn

torch.manual_seed(1)
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1), nn.Sigmoid())
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
opt_d = torch.optim.Adam(D.parameters(), lr=5e-3)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-3)
bce = nn.BCELoss()
means = []
for step in range(40):
    real = torch.randn(32, 2) + 2
    label = torch.full((32, 1), 1.0)
    opt_d.zero_grad()
    bce(D(real), label).backward()
    fake = G(torch.randn(32, 4))
    label.fill_(0.0)
    bce(D(fake.detach()), label).backward()
    opt_d.step()
    opt_g.zero_grad()
    label.fill_(1.0)
    bce(D(fake), label).backward()
    opt_g.step()
    means.append(fake.mean().item())
print(means[0], means[-1])
