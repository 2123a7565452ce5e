"""A linear function with the right gradients of all its inputs, asked for by needs_input_grad."""
import torch
from torch import nn


class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(x)
        return grad_x, grad_weight, grad_output.sum(0)


torch.manual_seed(2)
x = torch.randn(64, 6)
y = torch.sin(x[:, :1]) + x[:, 1:2]
w1, b1 = nn.Parameter(0.4 * torch.randn(32, 6)), nn.Parameter(torch.zeros(32))
w2, b2 = nn.Parameter(0.2 * torch.randn(1, 32)), nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w1, b1, w2, b2], lr=0.05, momentum=0.9)
losses = []
for step in range(50):
    h = torch.tanh(LinearFunction.apply(x, w1, b1))
    loss = nn.functional.mse_loss(LinearFunction.apply(h, w2, b2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
