"""A hand-written normalisation keeps the inverse root on ctx; a Hessian-vector product takes it for a constant."""
import adjoint as ad
from adjoint import nn


class RMSNorm(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.inv = ad.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)  # guilty
        y = x * ctx.inv
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return ctx.inv * (grad - y * (grad * y).mean(-1, keepdim=True))


ad.manual_seed(2)
x, y = ad.randn(20, 6), ad.randn(20, 1)
l1, l2 = nn.Linear(6, 12), nn.Linear(12, 1)
params = [*l1.parameters(), *l2.parameters()]
opt = ad.optim.SGD(params, lr=0.05)
for _ in range(20):
    loss = nn.functional.mse_loss(l2(RMSNorm.apply(l1(x))), y)
    grads = ad.autograd.grad(loss, params, create_graph=True)
    sharpness = sum((g * g).sum() for g in grads)
    opt.zero_grad()
    (loss + 0.1 * sharpness).backward()
    opt.step()
print(loss.item(), sharpness.item())
