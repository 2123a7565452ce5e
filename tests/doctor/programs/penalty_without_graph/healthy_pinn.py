"""Both derivatives of the equation are taken with create_graph, and the last gradient for a report only without."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
opt = ad.optim.Adam(net.parameters(), lr=1e-2)
t = ad.linspace(0, 1, 30).reshape(-1, 1).requires_grad_()
losses = []
for _ in range(60):
    u = net(t)
    (du,) = ad.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = ad.autograd.grad(du.sum(), t, create_graph=True)
    loss = ((ddu + u) ** 2).mean() + (u[0] - 0.0).pow(2).sum() + (du[0] - 1.0).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
(slope,) = ad.autograd.grad(net(t).sum(), t)
print(losses[0], losses[-1], slope.abs().mean().item())
