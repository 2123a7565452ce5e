"""Each of ten layers multiplies its result by 0.05, and there is no path around them."""
import adjoint as ad
from adjoint import nn


class Damped(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return 0.05 * ad.relu(self.linear(x))  # guilty


ad.manual_seed(3)
model = nn.Sequential(nn.Linear(6, 16), *[Damped(16) for _ in range(8)], nn.Linear(16, 1))
x = ad.randn(50, 6)
y = x.sum(1, keepdim=True)
opt = ad.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    loss = nn.functional.l1_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), model[0].weight.grad.abs().max().item())
