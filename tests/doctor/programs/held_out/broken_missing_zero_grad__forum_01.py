# Physics informed network for u' = -2u, u(0) = 1
import torch
import torch.nn as nn

torch.manual_seed(3)


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, t):
        return self.net(t)


def residual(model, t):
    t = t.clone().requires_grad_(True)
    u = model(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    return du + 2.0 * u


def train(model, steps=100):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    t0 = torch.zeros(1, 1)
    history = []
    for step in range(steps):
        t = torch.rand(64, 1)
        loss_ode = residual(model, t).pow(2).mean()
        loss_ic = (model(t0) - 1.0).pow(2).mean()
        loss = loss_ode + 5.0 * loss_ic
        loss.backward()  # guilty
        optimizer.step()  # guilty
        history.append(loss.item())
    return history


model = PINN()
history = train(model)
with torch.no_grad():
    tt = torch.linspace(0, 1, 50).unsqueeze(1)
    err = (model(tt) - torch.exp(-2 * tt)).abs().max().item()
print("first %.4f last %.4f max error %.4f" % (history[0], history[-1], err))
