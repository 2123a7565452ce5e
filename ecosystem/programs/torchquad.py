"""Integration over boxes of several dimensions, with gradients by the bounds."""

from typing import Any

import torch
from torchquad import Boole, GaussLegendre, MonteCarlo, Simpson, Trapezoid, set_up_backend


def main() -> dict[str, Any]:
    set_up_backend("torch", data_type="float32", torch_enable_cuda=False)
    torch.manual_seed(0)
    results: dict[str, Any] = {}
    for kind in (MonteCarlo, Trapezoid, Simpson, Boole, GaussLegendre):
        options = {"seed": 3} if kind is MonteCarlo else {}
        results[kind.__name__] = kind().integrate(
            lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1]), dim=2, N=2401, integration_domain=[[0, 1], [-1, 1]], backend="torch",
            **options,
        )  # fmt: skip
    bounds = torch.tensor([[0.0, 1.0]], requires_grad=True)
    value = Simpson().integrate(lambda x: x[:, 0] ** 3, dim=1, N=101, integration_domain=bounds, backend="torch")
    value.backward()
    results["by bounds"], results["gradient"] = value, bounds.grad
    return results
