"""The generator's loss is computed and backpropagated, but its optimizer is never stepped."""

import torch
import torch.nn as nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3)  # guilty
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3)
criterion = nn.BCELoss()
real_label, fake_label = torch.ones(16, 1), torch.zeros(16, 1)

for i in range(30):
    netD.zero_grad()
    real = torch.randn(16, 2) + 2
    errD = criterion(netD(real), real_label)
    fake = netG(torch.randn(16, 4))
    errD = errD + criterion(netD(fake.detach()), fake_label)
    errD.backward()
    optimizerD.step()

    netG.zero_grad()
    errG = criterion(netD(fake), real_label)
    errG.backward()
    optimizerD.step()

print(f"errD {errD.item():.3f} errG {errG.item():.3f}")
