"""Minimization of functions of tensors: quasi-Newton, Newton, conjugate gradients, least squares."""

from typing import Any

import torch
from torchmin import least_squares, minimize


def rosenbrock(x: torch.Tensor) -> torch.Tensor:
    return (100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2).sum()


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    start = torch.tensor([1.3, 0.7, 0.8, 1.9], dtype=torch.float64)
    results: dict[str, Any] = {}
    for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
        found = minimize(rosenbrock, start, method=method, max_iter=30)
        results[method], results[method + " steps"] = found.x, int(found.nit)
    t = torch.linspace(0, 1, 20, dtype=torch.float64)
    y = 2 * torch.exp(-1.5 * t)
    results["least squares"] = least_squares(lambda p: p[0] * torch.exp(-p[1] * t) - y, torch.ones(2, dtype=torch.float64)).x
    return results
