"""The closure of LBFGS does not clear the gradients, so every evaluation adds to those before it."""

import torch

torch.manual_seed(0)
t = torch.linspace(0, 3, 60)
observed = 2.0 * torch.exp(-1.3 * t) + 0.01 * torch.randn(60)
amplitude = torch.tensor(1.0, requires_grad=True)
rate = torch.tensor(0.5, requires_grad=True)
optimizer = torch.optim.LBFGS([amplitude, rate], lr=0.1, max_iter=4)


def closure():
    loss = ((amplitude * torch.exp(-rate * t) - observed) ** 2).mean()
    loss.backward()  # guilty
    return loss


for _ in range(8):
    final = optimizer.step(closure)
print(f"a {amplitude.item():.2f} k {rate.item():.2f} loss {final.item():.4f}")
