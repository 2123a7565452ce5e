"""The gradient penalty of a WGAN is computed without create_graph, so that it is a constant to the critic."""
import torch
from torch import nn


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.shape[0], 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    scores = critic(mixed)
    grads = torch.autograd.grad(scores.sum(), mixed)[0]  # guilty
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
for step in range(25):
    real = torch.randn(32, 2) * 0.5 + 2
    fake = generator(torch.randn(32, 4)).detach()
    gp = gradient_penalty(critic, real, fake)
    loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * gp
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    if step % 5 == 0:
        loss_g = -critic(generator(torch.randn(32, 4))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
print(gp.item())
