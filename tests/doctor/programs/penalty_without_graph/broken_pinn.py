"""The derivative in the residual of a differential equation has no graph, so that only the boundary is learnt."""
import torch
from torch import nn

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.linspace(0, 2, 40).reshape(-1, 1).requires_grad_(True)
forcing = torch.cos(t).detach()
t0, u0 = torch.zeros(1, 1), torch.ones(1, 1)

for epoch in range(60):
    optimizer.zero_grad()
    u = net(t)
    du = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), retain_graph=True)[0]  # guilty
    residual = ((du - forcing) ** 2).mean()
    boundary = ((net(t0) - u0) ** 2).mean()
    loss = residual + boundary
    loss.backward()
    optimizer.step()
print(residual.item(), boundary.item())
