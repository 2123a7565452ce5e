"""ranger21: the optimizer with its warm-up, warm-down and lookahead."""

from typing import Any

import torch
from ranger21 import Ranger21
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    x = torch.randn(40, 8)
    optimizer = Ranger21(model.parameters(), lr=1e-2, num_epochs=10, num_batches_per_epoch=2, use_warmup=True)
    losses = []
    for _ in range(20):
        loss = (model(x).squeeze(1) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weight": model[0].weight}
