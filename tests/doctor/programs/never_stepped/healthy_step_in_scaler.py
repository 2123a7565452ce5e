"""The optimizer is stepped by the gradient scaler, not by the script."""

import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(160, 8)
Y = (X[:, :4].sum(1) > X[:, 4:].sum(1)).long()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu")

for epoch in range(30):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
        loss = nn.functional.cross_entropy(model(X), Y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(f"loss {loss.item():.4f}")
