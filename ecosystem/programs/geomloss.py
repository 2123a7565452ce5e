"""Distances between point clouds: Sinkhorn divergences and kernel norms."""

from typing import Any

import torch
from geomloss import SamplesLoss


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.rand(30, 3, requires_grad=True), torch.rand(20, 3)
    results: dict[str, Any] = {}
    for loss, options in (("sinkhorn", {"p": 2, "blur": 0.05}), ("gaussian", {"blur": 0.5}), ("energy", {}), ("laplacian", {"blur": 0.5})):
        value = SamplesLoss(loss, backend="tensorized", **options)(x, y)
        (gradient,) = torch.autograd.grad(value, [x])
        results[loss], results[loss + " gradient"] = value, gradient
    return results
