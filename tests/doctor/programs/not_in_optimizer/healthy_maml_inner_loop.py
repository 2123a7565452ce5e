"""The fast weights of the inner loop are results of the slow ones, which the outer optimizer holds."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
w1 = torch.nn.Parameter(torch.randn(16, 1))
b1 = torch.nn.Parameter(torch.zeros(16))
w2 = torch.nn.Parameter(torch.randn(1, 16) * 0.2)
slow = [w1, b1, w2]
meta_optimizer = torch.optim.Adam(slow, lr=1e-2)


def forward(x, weights):
    return F.linear(torch.tanh(F.linear(x, weights[0], weights[1])), weights[2])


for iteration in range(30):
    meta_loss = 0.0
    for _ in range(3):
        slope = torch.rand(1) * 2
        x_support, x_query = torch.randn(10, 1), torch.randn(10, 1)
        support_loss = F.mse_loss(forward(x_support, slow), slope * x_support)
        gradients = torch.autograd.grad(support_loss, slow, create_graph=True)
        fast = [w - 0.05 * g for w, g in zip(slow, gradients, strict=True)]
        meta_loss = meta_loss + F.mse_loss(forward(x_query, fast), slope * x_query)
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
print(f"meta loss {meta_loss.item() / 3:.4f}")
