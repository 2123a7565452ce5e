"""The refinement block is not used in the first phase of the training and has its gradients from the second."""

import torch
from torch import nn


class Refined(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Linear(4, 1)
        self.fine = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x, refine=False):
        out = self.coarse(x)
        if refine:
            out = out + self.fine(x)
        return out


torch.manual_seed(0)
x = torch.randn(100, 4)
y = x[:, :1] + torch.sin(3 * x[:, 1:2])
model = Refined()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(60):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x, refine=epoch >= 20), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
