"""The activation that exp saved for its derivative is clamped in place through .data."""

import torch
from torch import nn


class RateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        rate = torch.exp(3 * self.body(x))
        rate.data.clamp_(max=1.0)  # guilty
        return rate


torch.manual_seed(0)
x = torch.randn(120, 5)
counts = torch.poisson(torch.exp(x[:, :1]))
model = RateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(40):
    rate = model(x)
    loss = (rate - counts * torch.log(rate + 1e-6)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"nll {loss.item():.4f}")
