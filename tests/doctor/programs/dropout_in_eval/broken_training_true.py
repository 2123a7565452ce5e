"""The attention weights are dropped with training=True, whatever the mode of the model."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = F.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
        weights = F.dropout(weights, 0.2, training=True)  # guilty
        return x + self.out(weights @ v)


torch.manual_seed(0)
x = torch.randn(30, 6, 8)
y = x.flip(1)[:, 0, :1]
model = nn.Sequential(SelfAttention(8), nn.LayerNorm(8), nn.Flatten(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(12):
    model.train()
    loss = F.mse_loss(model(x[:24]), y[:24])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        validation = F.mse_loss(model(x[24:]), y[24:])
print(f"train {loss.item():.4f} validation {validation.item():.4f}")
