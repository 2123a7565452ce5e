"""Hessians, Gauss-Newton and Fisher matrices of networks as linear operators."""

from typing import Any

import curvlinops
import torch
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    parameters = [p for p in model.parameters() if p.requires_grad]
    data = [(torch.randn(6, 4, dtype=torch.float64), torch.randint(0, 3, (6,))) for _ in range(2)]
    loss = nn.CrossEntropyLoss()
    results: dict[str, Any] = {}
    named = dict(model.named_parameters())
    for kind in (curvlinops.HessianLinearOperator, curvlinops.GGNLinearOperator, curvlinops.EFLinearOperator):
        try:
            operator = kind(model, loss, named, data)
        except Exception:  # the library's older form takes a list
            operator = kind(model, loss, parameters, data)
        vector = torch.ones(operator.shape[1], dtype=torch.float64)
        results[kind.__name__] = operator @ vector
    return results
