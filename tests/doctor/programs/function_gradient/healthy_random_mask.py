"""A dropout written as a function: two calls differ because they draw, and its gradient is right for the mask drawn."""
import adjoint as ad
from adjoint import nn


class Dropout(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        mask = (ad.rand_like(x) > p).to(x.dtype) / (1 - p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return grad * mask, None


ad.manual_seed(3)
x = ad.randn(100, 8)
y = (x[:, :2].sum(1) > 0).long()
l1, l2 = nn.Linear(8, 48), nn.Linear(48, 2)
opt = ad.optim.Adam([*l1.parameters(), *l2.parameters()], lr=1e-2)
losses = []
for _ in range(40):
    loss = nn.functional.cross_entropy(l2(Dropout.apply(ad.relu(l1(x)), 0.2)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
