"""The scheduler is stepped at the head of the loop, before the optimizer, so that the first rate is skipped."""
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(1)
x = torch.randn(90, 5)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 4], gamma=0.1)

for epoch in range(8):
    scheduler.step()  # guilty
    for xb, yb in zip(x.split(30), y.split(30), strict=True):
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item(), optimizer.param_groups[0]["lr"])
