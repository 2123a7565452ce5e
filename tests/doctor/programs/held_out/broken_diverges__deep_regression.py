"""The learning rate was raised tenfold for a faster start, and the loss of the linear recurrence grows without bound."""

import math

import torch
import torch.nn as nn


class LinearDynamics(nn.Module):
    def __init__(self, states, controls):
        super().__init__()
        self.A = nn.Linear(states, states, bias=False)
        self.B = nn.Linear(controls, states, bias=False)
        nn.init.eye_(self.A.weight)
        nn.init.normal_(self.B.weight, std=0.1)

    def forward(self, x, u):
        return self.A(x) + self.B(u)


def simulate(n, states, controls, generator):
    A = torch.eye(states) * 0.9
    A[0, 1] = 0.2
    B = torch.randn(states, controls, generator=generator)
    x = 3 * torch.randn(n, states, generator=generator)
    u = torch.randn(n, controls, generator=generator)
    return x, u, x @ A.T + u @ B.T


class WarmupSchedule:
    def __init__(self, optimizer, steps, peak):
        self.optimizer, self.steps, self.peak = optimizer, steps, peak
        self.count = 0

    def step(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak * min(1.0, self.count / self.steps)


LEARNING_RATE = 0.6
generator = torch.Generator().manual_seed(0)
torch.manual_seed(0)
x, u, target = simulate(200, 4, 2, generator)
model = LinearDynamics(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.5)  # guilty
schedule = WarmupSchedule(optimizer, steps=10, peak=LEARNING_RATE)  # guilty
curve = []
for epoch in range(8):
    order = torch.randperm(200, generator=generator)
    for rows in order.split(50):
        schedule.step()
        prediction = model(x[rows], u[rows])
        loss = nn.functional.mse_loss(prediction, target[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
print(f"loss {curve[0]:.3f} -> {curve[-1]:.3e}, log10 {math.log10(curve[-1] + 1e-12):.1f}")
