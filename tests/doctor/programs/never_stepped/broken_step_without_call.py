"""The step is named but not called: the parentheses are missing."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Regressor:
    def __init__(self, features):
        self.net = nn.Sequential(nn.Linear(features, 10), nn.GELU(), nn.Linear(10, 1))
        self.opt = ad.optim.AdamW(self.net.parameters(), lr=0.01)  # guilty

    def fit(self, x, y, steps):
        for _ in range(steps):
            self.opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(self.net(x), y)
            loss.backward()
            self.opt.step
        return loss


x = ad.randn(50, 4)
y = x[:, :1] * 2 - x[:, 1:2]
print(Regressor(4).fit(x, y, 30).item())
