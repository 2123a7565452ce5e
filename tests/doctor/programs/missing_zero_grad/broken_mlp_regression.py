"""The gradients are never cleared, so every step uses the sum of all steps before it."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(128, 4)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 3.0])).unsqueeze(1) + 0.1 * torch.randn(128, 1)

model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
criterion = nn.MSELoss()

for epoch in range(60):
    prediction = model(x)
    loss = criterion(prediction, y)
    loss.backward()  # guilty
    optimizer.step()

print(f"final loss {loss.item():.4f}")
