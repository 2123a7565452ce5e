# WGAN-GP in two dimensions
import torch
import torch.nn as nn

torch.manual_seed(18)
Z = 4


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z):
        return self.net(z)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad = torch.autograd.grad(score.sum(), mix)[0]  # guilty
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


critic, gen = Critic(), Generator()
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))

for it in range(90):
    real = torch.randn(64, 2) * 0.3 + torch.tensor([1.5, -1.0])
    fake = gen(torch.randn(64, Z)).detach()
    gp = gradient_penalty(critic, real, fake)
    loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * gp
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    if it % 3 == 2:
        loss_g = -critic(gen(torch.randn(64, Z))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()

print("critic %.3f penalty %.3f generator %.3f" % (loss_c.item(), gp.item(), loss_g.item()))
