"""The critic's objective is unbounded and falls far below zero while the critic learns, which is its purpose."""

import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=5e-3, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))

for step in range(40):
    real = torch.randn(32, 2) + 6
    fake = generator(torch.randn(32, 2)).detach()
    mix = torch.rand(32, 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (gradient.norm(dim=1) - 1).pow(2).mean()
    loss_c = critic(fake).mean() - critic(real).mean() + 1.0 * penalty
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    if step % 4 == 3:
        loss_g = -critic(generator(torch.randn(32, 2))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
print(f"critic {loss_c.item():.3f}")
