"""The learnable temperature is a Parameter of the loss, and only the model's parameters are given to the optimizer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContrastiveLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_temperature = nn.Parameter(torch.zeros(()))  # guilty

    def forward(self, a, b):
        logits = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T * self.log_temperature.exp()  # guilty
        return F.cross_entropy(logits, torch.arange(len(a)))


torch.manual_seed(0)
left, right = nn.Linear(8, 4), nn.Linear(6, 4)
criterion = ContrastiveLoss()
optimizer = torch.optim.AdamW([*left.parameters(), *right.parameters()], lr=1e-2)
shared = torch.randn(48, 4)
x1, x2 = shared @ torch.randn(4, 8), shared @ torch.randn(4, 6)
for step in range(30):
    loss = criterion(left(x1), right(x2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
