"""Fine-tuning with a rate of 1e-4 for the trunk and 1e-2 for the new head: small steps that are meant."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(100, 8)
y = (x.sum(1) > 0).long()
trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
head = nn.Linear(16, 2)
opt = torch.optim.AdamW([{"params": trunk.parameters(), "lr": 1e-4}, {"params": head.parameters(), "lr": 1e-2}])
losses = []
for epoch in range(50):
    loss = nn.functional.cross_entropy(head(trunk(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
