"""A signed update was given the learning rate of the SGD that it replaced, and every step overturns the weights."""
import adjoint as ad
from adjoint import nn


class SignSGD(ad.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @ad.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad.sign(), alpha=-group["lr"])


ad.manual_seed(3)
x = ad.randn(80, 16)
y = ad.tanh(x[:, :1] - x[:, 1:2])
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
opt = SignSGD(model.parameters(), lr=0.3)  # guilty
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
