"""A penalty on the slope with respect to the input is added to the loss, but its gradient was taken without a graph."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(60, 8).requires_grad_()
y = ad.randint(0, 2, (60,))
model = nn.Sequential(nn.Linear(8, 32), nn.Softplus(), nn.Linear(32, 2))
opt = ad.optim.SGD(model.parameters(), lr=0.1)
for _ in range(30):
    logits = model(x)
    ce = nn.functional.cross_entropy(logits, y)
    slope = ad.autograd.grad(ce, x, retain_graph=True)[0]  # guilty
    penalty = slope.pow(2).sum(1).mean()
    loss = ce + 100.0 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
print(ce.item(), penalty.item())
