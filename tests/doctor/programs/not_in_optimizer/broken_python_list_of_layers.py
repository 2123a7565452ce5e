"""The hidden layers stand in a plain list, so that model.parameters() does not know them."""

import torch
import torch.nn as nn


class DeepNet(nn.Module):
    def __init__(self, features, width, depth):
        super().__init__()
        self.stem = nn.Linear(features, width)
        self.blocks = []
        for _ in range(depth):
            self.blocks.append(nn.Linear(width, width))  # guilty
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = torch.relu(block(x))  # guilty
        return self.head(x)


torch.manual_seed(0)
x = torch.randn(128, 5)
y = torch.cos(x).prod(1, keepdim=True)
model = DeepNet(5, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
