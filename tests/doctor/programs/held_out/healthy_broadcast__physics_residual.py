"""The observations are made a column as the predictions are, so the residual is one too."""

import numpy as np
import torch
import torch.nn as nn


class OscillatorNet(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, t):
        return self.net(t)


def derivatives(u, t):
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
    u_tt = torch.autograd.grad(u_t, t, torch.ones_like(u_t), create_graph=True)[0]
    return u_t, u_tt


rng = np.random.default_rng(0)
t_data = np.linspace(0, 1, 12, dtype=np.float32)
u_data = np.exp(-t_data) * np.cos(5 * t_data) + 0.01 * rng.normal(size=12).astype(np.float32)
t_obs = torch.from_numpy(t_data).view(-1, 1)
u_obs = torch.from_numpy(u_data).view(-1, 1)

torch.manual_seed(0)
t_physics = torch.linspace(0, 1, 30).view(-1, 1).requires_grad_(True)
model = OscillatorNet()
damping = nn.Parameter(torch.tensor(1.0))
optimizer = torch.optim.Adam([*model.parameters(), damping], lr=1e-2)
history = []
for it in range(60):
    optimizer.zero_grad()
    residual = model(t_obs) - u_obs
    data_loss = residual.pow(2).mean()
    u = model(t_physics)
    u_t, u_tt = derivatives(u, t_physics)
    physics_loss = (u_tt + 2 * damping * u_t + 26 * u).pow(2).mean()
    loss = data_loss + 1e-5 * physics_loss
    loss.backward()
    optimizer.step()
    history.append(data_loss.item())
print(f"data loss {history[0]:.4f} -> {history[-1]:.4f}, damping {damping.item():.3f}")
