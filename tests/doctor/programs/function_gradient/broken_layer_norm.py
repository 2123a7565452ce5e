"""A layer norm treats mean and variance as constants in backward and so leaves out two of its three terms."""
import torch
from torch import nn


class LayerNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        mean = x.mean(-1, keepdim=True)
        inv = (x.var(-1, keepdim=True, unbiased=False) + 1e-5).rsqrt()
        normed = (x - mean) * inv
        ctx.save_for_backward(normed, inv, weight)
        return normed * weight + bias

    @staticmethod
    def backward(ctx, grad):
        normed, inv, weight = ctx.saved_tensors
        grad_x = grad * weight * inv
        return grad_x, (grad * normed).sum(0), grad.sum(0)  # guilty


class MyLayerNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return LayerNormFn.apply(x, self.weight, self.bias)


torch.manual_seed(2)
x = torch.randn(64, 8)
y = torch.randn(64, 2)
model = nn.Sequential(nn.Linear(8, 16), MyLayerNorm(16), nn.GELU(), nn.Linear(16, 2))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(25):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
