"""prodigyopt: an optimizer that finds its learning rate."""

from typing import Any

import torch
from prodigyopt import Prodigy
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(32, 5)
    optimizer = Prodigy(model.parameters(), lr=1.0, weight_decay=0.01, safeguard_warmup=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    losses, rates = [], []
    for _ in range(12):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        rates.append(optimizer.param_groups[0]["d"])
    return {"losses": losses, "rates": rates, "predicted": model(x)}
