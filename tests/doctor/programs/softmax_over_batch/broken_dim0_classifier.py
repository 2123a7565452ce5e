"""The softmax runs over the samples of the batch instead of over the classes."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(60, 7)
y = x[:, :3].argmax(dim=1)
model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 3), nn.Softmax(dim=0))  # guilty
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
onehot = nn.functional.one_hot(y, 3).float()

for epoch in range(30):
    probabilities = model(x)  # guilty
    loss = -(onehot * torch.log(probabilities + 1e-9)).sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
