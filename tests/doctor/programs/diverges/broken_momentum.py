"""With momentum 0.99 and Nesterov, a learning rate that was tuned for plain SGD makes the loss grow without end."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.99, nesterov=True)  # guilty


torch.manual_seed(0)
x = torch.randn(96, 10)
y = x @ torch.randn(10, 2)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Linear(10, 2)
optimizer = make_optimizer(model)
losses = []
for epoch in range(8):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3e}")
