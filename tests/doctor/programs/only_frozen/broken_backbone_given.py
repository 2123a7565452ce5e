"""The optimizer is given the frozen backbone instead of the new head."""

import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
head = nn.Linear(32, 3)
for p in backbone.parameters():
    p.requires_grad = False  # guilty
x = torch.randn(90, 6)
y = x[:, :3].argmax(dim=1)
optimizer = torch.optim.Adam(backbone.parameters(), lr=0.02)  # guilty

for epoch in range(25):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
