"""The exponential saves its own output, which may be saved and has a graph in the second backward."""
import adjoint as ad
from adjoint import nn


class Exp(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.shape = x.shape
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return (grad * y).reshape(ctx.shape)


ad.manual_seed(3)
l1, l2 = nn.Linear(1, 20), nn.Linear(20, 1)
opt = ad.optim.Adam([*l1.parameters(), *l2.parameters()], lr=5e-3)
t = ad.linspace(0, 1, 24).reshape(-1, 1).requires_grad_()
losses = []
for _ in range(60):
    u = l2(Exp.apply(-l1(t) ** 2))
    (du,) = ad.autograd.grad(u.sum(), t, create_graph=True)
    loss = ((du + u) ** 2).mean() + (u[0] - 1).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
