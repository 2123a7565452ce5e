"""The learning rate is too large for features of this scale, and the loss explodes."""

import torch
import torch.nn as nn

torch.manual_seed(0)
area = 50 + 100 * torch.rand(80, 1)
rooms = torch.randint(1, 6, (80, 1)).float()
x = torch.cat([area, rooms], dim=1)
y = 3 * area + 20 * rooms

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)  # guilty
for epoch in range(12):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3e}")
