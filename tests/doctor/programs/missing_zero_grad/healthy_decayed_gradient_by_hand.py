"""The old gradient is kept but multiplied by 0.9 after each step, which is momentum written by hand."""

import torch

torch.manual_seed(0)
x = torch.randn(100, 3)
y = x @ torch.tensor([[1.0], [2.0], [-1.0]]) + 0.05 * torch.randn(100, 1)
linear = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.02)

for step in range(100):
    loss = torch.nn.functional.mse_loss(linear(x), y)
    loss.backward()
    optimizer.step()
    for p in linear.parameters():
        p.grad.mul_(0.9)

print(f"loss {loss.item():.4f}")
