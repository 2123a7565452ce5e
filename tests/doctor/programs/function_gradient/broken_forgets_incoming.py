"""The backward of a square returns 2x and forgets to multiply by the gradient that comes in."""
import torch
from torch import nn


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x  # guilty


torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x[:, :1] + x[:, 1:2]) ** 2
l1, l2 = nn.Linear(4, 16), nn.Linear(16, 1)
opt = torch.optim.SGD([*l1.parameters(), *l2.parameters()], lr=1e-4)
for epoch in range(30):
    loss = nn.functional.mse_loss(l2(Square.apply(l1(x))), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
