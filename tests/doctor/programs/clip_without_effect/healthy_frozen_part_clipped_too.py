"""The clip is asked for all parameters, of which the frozen ones have no gradients; it limits the others."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
head = nn.Linear(32, 3)
for p in backbone.parameters():
    p.requires_grad = False
model = nn.Sequential(backbone, head)
x = torch.randn(90, 6)
y = x[:, :3].argmax(dim=1)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.02)

for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(backbone.parameters(), 1.0)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(f"loss {loss.item():.4f}")
