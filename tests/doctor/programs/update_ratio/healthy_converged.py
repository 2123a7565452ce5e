"""A regression without noise reaches its solution, and then the updates are nearly nothing."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(50, 3, dtype=torch.float64)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)
model = nn.Linear(3, 1).double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
losses = []
for step in range(150):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
