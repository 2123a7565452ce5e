"""Weights drawn with a variance of one make a deep network's outputs and gradients thousands of times too large."""
import adjoint as ad
from adjoint import nn


def build():
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    for p in net.parameters():
        nn.init.normal_(p)  # guilty
    return net


class Trainer:
    def __init__(self):
        self.net = build()
        self.opt = ad.optim.SGD(self.net.parameters(), lr=1e-3)

    def fit(self, x, y, steps):
        for _ in range(steps):
            self.opt.zero_grad()
            loss = ((self.net(x) - y) ** 2).mean()
            loss.backward()
            self.norm = nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)  # guilty
            self.opt.step()
        return loss.item()


ad.manual_seed(3)
x = ad.randn(64, 10)
trainer = Trainer()
print(trainer.fit(x, x.sum(1, keepdim=True), 120), trainer.norm.item())
