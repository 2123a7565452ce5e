"""A new tensor is made from the number of the loss, so backward() ends at that tensor."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.randn(64, 10)
y = torch.randint(0, 3, (64,))
model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(20):
    total = 0.0
    for i in range(0, 64, 16):
        total += criterion(model(x[i : i + 16]), y[i : i + 16]).item()  # guilty
    loss = torch.tensor(total / 4, requires_grad=True)  # guilty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
