"""The inner step of MAML is differentiated through a softplus whose sigmoid lies on ctx."""
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        e = torch.exp(z)
        ctx.p = e / (1 + e)  # guilty
        return torch.log1p(e)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.p


torch.manual_seed(3)
w1 = (0.5 * torch.randn(1, 12)).requires_grad_()
w2 = (0.5 * torch.randn(12, 1)).requires_grad_()
meta = torch.optim.SGD([w1, w2], lr=0.02)
for it in range(20):
    meta.zero_grad()
    for amplitude in (0.5, 1.0, 2.0):
        x = torch.randn(16, 1)
        y = amplitude * torch.sin(x)
        inner = (Softplus.apply(x @ w1) @ w2 - y).pow(2).mean()
        g1, g2 = torch.autograd.grad(inner, [w1, w2], create_graph=True)
        f1, f2 = w1 - 0.1 * g1, w2 - 0.1 * g2
        outer = (Softplus.apply(x @ f1) @ f2 - y).pow(2).mean() / 3
        outer.backward()
    meta.step()
print(outer.item())
