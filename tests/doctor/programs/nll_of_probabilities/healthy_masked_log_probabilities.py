"""Most log-probabilities are exactly zero or very negative, because impossible classes are masked before log_softmax."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 6)
allowed = torch.ones(80, 4, dtype=torch.bool)
allowed[:, 2:] = False
allowed[::2, 1] = False
y = torch.where(allowed[:, 1], (x[:, 0] > 0).long(), torch.zeros(80, dtype=torch.long))
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(40):
    log_p = F.log_softmax(model(x).masked_fill(~allowed, -1e4), dim=1)
    loss = F.nll_loss(log_p, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
