"""The same regression converges after the features and the target are standardized."""

import torch
import torch.nn as nn

torch.manual_seed(0)
area = 50 + 100 * torch.rand(80, 1)
rooms = torch.randint(1, 6, (80, 1)).float()
x = torch.cat([area, rooms], dim=1)
y = 3 * area + 20 * rooms
x = (x - x.mean(0)) / x.std(0)
y = (y - y.mean()) / y.std()

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3e}")
