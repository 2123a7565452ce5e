"""lion-pytorch: the Lion optimizer, with both kinds of weight decay."""

from typing import Any

import torch
from lion_pytorch import Lion
from torch import nn


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, options in {"coupled": {}, "decoupled": {"decoupled_weight_decay": True}}.items():
        torch.manual_seed(0)
        model = nn.Linear(10, 1)
        optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=1e-2, **options)
        x = torch.randn(20, 10)
        losses = []
        for _ in range(6):
            loss = (model(x) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results |= {f"{name} losses": losses, f"{name} weight": model.weight}
    return results
