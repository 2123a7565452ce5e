# first-order MAML on sine waves: the inner gradients are constants on purpose
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
INNER_LR, TASKS = 0.05, 4


class SineNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(hidden, 1))
        self.b1 = nn.Parameter(torch.randn(hidden))
        self.w2 = nn.Parameter(torch.randn(hidden, hidden) / hidden ** 0.5)
        self.b2 = nn.Parameter(torch.zeros(hidden))
        self.w3 = nn.Parameter(torch.randn(1, hidden) / hidden ** 0.5)
        self.b3 = nn.Parameter(torch.zeros(1))

    def forward(self, x, params=None):
        w1, b1, w2, b2, w3, b3 = params if params is not None else list(self.parameters())
        x = torch.tanh(F.linear(x, w1, b1))
        x = torch.tanh(F.linear(x, w2, b2))
        return F.linear(x, w3, b3)


def sample_task():
    amplitude, phase = 0.5 + 1.5 * torch.rand(1), 3.14 * torch.rand(1)

    def draw(n):
        x = 4 * torch.rand(n, 1) - 2
        return x, amplitude * torch.sin(x + phase)
    return draw


model = SineNet()
meta_opt = torch.optim.Adam(model.parameters(), lr=3e-3)
history = []
for it in range(80):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(TASKS):
        draw = sample_task()
        xs, ys = draw(10)
        params = list(model.parameters())
        inner_loss = F.mse_loss(model(xs), ys)
        grads = torch.autograd.grad(inner_loss, params)
        fast = [p - INNER_LR * g for p, g in zip(params, grads)]
        xq, yq = draw(20)
        meta_loss = meta_loss + F.mse_loss(model(xq, fast), yq)
    meta_loss = meta_loss / TASKS
    meta_loss.backward()
    meta_opt.step()
    history.append(meta_loss.item())
print("query loss %.4f -> %.4f" % (history[0], sum(history[-10:]) / 10))
