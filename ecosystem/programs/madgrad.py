"""madgrad: MADGRAD and its mirror-descent form."""

from typing import Any

import torch
from madgrad import MADGRAD, MirrorMADGRAD
from torch import nn


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for kind in (MADGRAD, MirrorMADGRAD):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = kind(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-3)
        x = torch.randn(20, 6)
        losses = []
        for _ in range(8):
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results |= {f"{kind.__name__} losses": losses, f"{kind.__name__} weight": model[0].weight}
    return results
