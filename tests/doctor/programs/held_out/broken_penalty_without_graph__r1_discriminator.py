"""The R1 penalty of a GAN's discriminator is taken without create_graph and so changes nothing."""
import torch
import torch.nn.functional as F
from torch import nn


def mlp(*sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


def ring(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1) * 2 + 0.05 * torch.randn(n, 2)


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def r1_penalty(scores, real):
    (grad,) = torch.autograd.grad(outputs=scores.sum(), inputs=real, retain_graph=True)  # guilty
    return grad.pow(2).flatten(1).sum(1).mean()


torch.manual_seed(13)
G, D = mlp(4, 32, 32, 2), mlp(2, 32, 32, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.99))
ema = [p.detach().clone() for p in G.parameters()]
gamma, every = 5.0, 2
for step in range(60):
    set_requires_grad(D, True)
    real = ring(64)
    fake = G(torch.randn(64, 4)).detach()
    d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    if step % every == 0:
        real = real.requires_grad_(True)
        r1 = r1_penalty(D(real), real)
        d_loss = d_loss + 0.5 * gamma * every * r1
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    set_requires_grad(D, False)
    g_loss = F.softplus(-D(G(torch.randn(64, 4)))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    with torch.no_grad():
        for average, p in zip(ema, G.parameters(), strict=True):
            average.lerp_(p, 0.05)
print(r1.item())
