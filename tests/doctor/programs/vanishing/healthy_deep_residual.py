"""Twelve sigmoid blocks with skip connections: the gradient goes around them."""
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + torch.sigmoid(self.fc(x)) - 0.5


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), *[Residual(16) for _ in range(12)], nn.Linear(16, 1))
x = torch.randn(64, 8)
y = x[:, :1] * x[:, 1:2]
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
