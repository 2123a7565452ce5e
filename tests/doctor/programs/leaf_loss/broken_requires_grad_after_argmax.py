"""The loss is computed from the predicted classes and then told to require a gradient, which makes a new leaf of it."""

import torch
import torch.nn as nn

torch.manual_seed(0)
features = torch.randn(80, 6)
labels = (features.sum(1) > 0).float()
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
mse = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(15):
    optimizer.zero_grad()
    predicted = torch.argmax(net(features), dim=1).float()  # guilty
    loss = mse(predicted, labels)
    loss.requires_grad = True  # guilty
    loss.backward()
    optimizer.step()
print(f"error {loss.item():.3f}")
