"""Attention reshapes [batch, length, heads * d] straight to [heads, batch, ...], so that heads and samples are mixed up."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.out = nn.Linear(dim, 1)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(self.heads, b, n, self.d)  # guilty

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / self.d ** 0.5, dim=-1)
        mixed = (weights @ v).permute(1, 2, 0, 3).reshape(b, n, dim)
        return self.out(mixed.mean(1))


torch.manual_seed(2)
x = torch.randn(20, 5, 16)
y = x[:, 0, :1]
model = Attention()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
