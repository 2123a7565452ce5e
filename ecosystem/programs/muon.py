"""muon-optimizer: Muon for matrices and Adam for the rest."""

from typing import Any

import torch
from muon import SingleDeviceMuonWithAuxAdam
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    optimizer = SingleDeviceMuonWithAuxAdam([
        {"params": matrices, "use_muon": True, "lr": 0.02, "weight_decay": 0.01}, {"params": others, "use_muon": False, "lr": 3e-3},
    ])  # fmt: skip
    x = torch.randn(20, 6)
    losses = []
    for _ in range(3):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}
