"""An activation of an energy network saves its input only, and score matching differentiates it twice."""
import torch
from torch import nn


class LogCosh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(torch.cosh(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.tanh(x)


class Energy(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, hidden), nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = LogCosh.apply(self.fc1(x))
        h = LogCosh.apply(self.fc2(h))
        return self.out(h).squeeze(1)

    def score(self, x):
        x = x.detach().requires_grad_(True)
        return -torch.autograd.grad(self(x).sum(), x, create_graph=True)[0]


def two_moons(n):
    angle = torch.rand(n) * 3.1416
    upper = (torch.rand(n) < 0.5).float()
    x = torch.cos(angle) + (1 - upper)
    y = torch.sin(angle) * (2 * upper - 1) + 0.3 * (1 - upper)
    return torch.stack([x, y], dim=1) + 0.05 * torch.randn(n, 2)


def langevin(model, steps=5, step_size=0.01):
    x = torch.randn(16, 2)
    for _ in range(steps):
        x = (x + step_size * model.score(x) + (2 * step_size) ** 0.5 * torch.randn_like(x)).detach()
    return x


torch.manual_seed(19)
model = Energy()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
sigma, curve = 0.4, []
for step in range(50):
    clean = two_moons(96)
    noise = torch.randn_like(clean)
    target = -noise / sigma
    loss = 0.5 * (sigma * model.score(clean + sigma * noise) - sigma * target).pow(2).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve.append(loss.item())
samples = langevin(model)
print(curve[0], curve[-1], samples.std().item())
