"""The hidden activation is detached and marked as a leaf on purpose: its gradient is handed on to the first half by hand."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(64, 10)
y = x[:, :3].argmax(1)
bottom = nn.Sequential(nn.Linear(10, 20), nn.ReLU())
top = nn.Linear(20, 3)
optimizer = torch.optim.SGD([*bottom.parameters(), *top.parameters()], lr=0.3)

for epoch in range(40):
    hidden = bottom(x)
    cut = hidden.detach().requires_grad_()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(top(cut), y)
    loss.backward()
    hidden.backward(cut.grad)
    optimizer.step()
print(f"loss {loss.item():.4f}")
