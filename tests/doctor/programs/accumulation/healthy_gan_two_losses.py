"""The discriminator's gradients are the sum of those of the real and of the fake batch, by two calls of backward."""
import torch
from torch import nn

torch.manual_seed(2)
netD = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
netG = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
optD = torch.optim.Adam(netD.parameters(), lr=5e-3)
optG = torch.optim.Adam(netG.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for i in range(40):
    netD.zero_grad()
    errD_real = criterion(netD(torch.randn(32, 2) + 3), ones)
    errD_real.backward()
    fake = netG(torch.randn(32, 4))
    errD_fake = criterion(netD(fake.detach()), zeros)
    errD_fake.backward()
    optD.step()
    netG.zero_grad()
    errG = criterion(netD(fake), ones)
    errG.backward()
    optG.step()
print(fake.mean().item())
