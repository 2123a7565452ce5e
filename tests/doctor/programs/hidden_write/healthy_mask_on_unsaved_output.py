"""A prediction is changed through .data after the backward pass, for a plot that is drawn from it."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = x**3 / 4
model = nn.Sequential(nn.Linear(1, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
curve = []

for epoch in range(50):
    prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    prediction.data.clamp_(-1.5, 1.5)
    curve.append(prediction.data.mean().item())
print(f"loss {loss.item():.5f}")
