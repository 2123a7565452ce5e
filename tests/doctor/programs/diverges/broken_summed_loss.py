"""The loss is a sum over all samples and steps, with a learning rate meant for a mean."""

import torch
from torch import nn

torch.manual_seed(0)
t = torch.linspace(0, 6, 400).unsqueeze(1)
features = torch.cat([t, t**2, torch.sin(t)], dim=1)
target = 0.5 * t**2 - t
model = nn.Linear(3, 1)
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=2e-5)  # guilty
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50)

for epoch in range(25):
    loss = criterion(model(features), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(f"loss {loss.item():.3e}")
