"""Forces are the gradient of the energy, but they are taken without a graph, so that their loss trains nothing."""
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, pos):
        return self.net(pos.flatten(1)).squeeze(-1)


def energy_and_forces(model, pos):
    pos = pos.clone().requires_grad_(True)
    energy = model(pos)
    (grad,) = torch.autograd.grad(energy.sum(), pos, retain_graph=True)  # guilty
    return energy, -grad


torch.manual_seed(2)
pos = torch.randn(40, 2, 3)
true_energy = 0.5 * (pos ** 2).sum(dim=(1, 2))
true_forces = -pos
model = Energy()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(40):
    energy, forces = energy_and_forces(model, pos)
    loss = nn.functional.mse_loss(energy, true_energy) + 10 * nn.functional.mse_loss(forces, true_forces)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(nn.functional.mse_loss(forces, true_forces).item())
