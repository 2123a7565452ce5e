"""More than the gradient in one backward pass: per-sample gradients, variances, curvature."""

from typing import Any

import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFAC,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SqrtGGNExact,
    SumGradSquared,
    Variance,
)
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.randn(6, 1, 6, 6), torch.randint(0, 3, (6,))
    model = extend(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(32, 3)))
    loss = extend(nn.CrossEntropyLoss())
    results: dict[str, Any] = {}
    for extension, name in (
        (BatchGrad(), "grad_batch"), (BatchL2Grad(), "batch_l2"), (SumGradSquared(), "sum_grad_squared"), (Variance(), "variance"),
        (DiagGGNExact(), "diag_ggn_exact"), (SqrtGGNExact(), "sqrt_ggn_exact"), (KFAC(mc_samples=1), "kfac"), (DiagHessian(), "diag_h"),
    ):  # fmt: skip
        model.zero_grad()
        with backpack(extension):
            loss(model(x), y).backward()
        results[name] = [getattr(p, name) for p in model.parameters()]
    dense = extend(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)))
    with backpack(BatchGrad()):
        loss(dense(torch.randn(6, 4)), y).backward()
    results["dense"] = [p.grad_batch for p in dense.parameters()]
    return results
