"""The parameters are held by two optimizers in turn: one for the warm-up, and one that was made early and steps later."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = torch.sin(x).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
warmup = torch.optim.SGD(model.parameters(), lr=0.01)
main = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(60):
    optimizer = warmup if step < 15 else main
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
