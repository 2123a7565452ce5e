"""LBFGS takes steps of a rate of one, which its line search has measured."""
import torch
from torch import nn

torch.manual_seed(3)
x = torch.linspace(-1, 1, 40).unsqueeze(1)
y = torch.sin(4 * x)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=5, line_search_fn="strong_wolfe")
losses = []


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for epoch in range(25):
    losses.append(opt.step(closure).item())
print(losses[0], losses[-1])
