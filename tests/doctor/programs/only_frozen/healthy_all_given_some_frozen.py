"""All parameters are given to the optimizer; the frozen ones among them are passed over."""

import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
for name, p in model.named_parameters():
    if name.startswith("0."):
        p.requires_grad = False
x = torch.randn(90, 6)
y = x[:, :3].argmax(dim=1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
