"""The generator's loss leaves gradients in the discriminator that are thrown away unused before its own turn, on purpose."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
discriminator = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
g_opt = torch.optim.RMSprop(generator.parameters(), lr=5e-3)
d_opt = torch.optim.RMSprop(discriminator.parameters(), lr=5e-3)

for i in range(60):
    fake = generator(torch.randn(32, 3))
    g_opt.zero_grad()
    g_loss = F.softplus(-discriminator(fake)).mean()
    g_loss.backward()
    g_opt.step()

    d_opt.zero_grad()
    real = torch.randn(32, 1) * 0.5 + 3.0
    d_loss = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake.detach())).mean()
    d_loss.backward()
    d_opt.step()

print(f"mean of samples {fake.mean().item():.3f}")
