"""The targets are tiny, so all gradients are tiny, but those of the first layer are no smaller than the others."""
import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(64, 5)
y = x.sum(1, keepdim=True) * 1e-4
model = nn.Sequential(
    nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(),
    nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1, bias=False),
)
with torch.no_grad():
    model[-1].weight.mul_(1e-3)
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
losses = []
for step in range(80):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
