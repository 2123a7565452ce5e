"""A custom linear divides its input's gradient by the batch a second time."""
import adjoint as ad
from adjoint import nn


class Linear(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n = x.shape[0]
        return g @ w / n, g.t() @ x / n, g.sum(0) / n  # guilty


ad.manual_seed(3)
x = ad.randn(50, 5)
y = x[:, :1].abs()
w1, b1 = (0.4 * ad.randn(16, 5)).requires_grad_(), ad.zeros(16, requires_grad=True)
w2, b2 = (0.4 * ad.randn(1, 16)).requires_grad_(), ad.zeros(1, requires_grad=True)
opt = ad.optim.SGD([w1, b1, w2, b2], lr=0.1)
for _ in range(40):
    h = ad.relu(Linear.apply(x, w1, b1))
    loss = nn.functional.mse_loss(Linear.apply(h, w2, b2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
