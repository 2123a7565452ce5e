"""Within one step of LBFGS the closure is differentiated many times before the optimizer moves on."""

import torch

torch.manual_seed(0)
t = torch.linspace(0, 3, 60)
observed = 2.0 * torch.exp(-1.3 * t) + 0.01 * torch.randn(60)
amplitude = torch.tensor(1.0, requires_grad=True)
rate = torch.tensor(0.5, requires_grad=True)
optimizer = torch.optim.LBFGS([amplitude, rate], lr=0.5, max_iter=20)


def closure():
    optimizer.zero_grad()
    loss = ((amplitude * torch.exp(-rate * t) - observed) ** 2).sum()
    loss.backward()
    return loss


for _ in range(3):
    final = optimizer.step(closure)
print(f"a {amplitude.item():.2f} k {rate.item():.2f} loss {final.item():.4f}")
