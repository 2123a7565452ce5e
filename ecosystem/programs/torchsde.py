"""Stochastic differential equations: solvers and gradients through them."""

from typing import Any

import torch
import torchsde
from torch import nn


class Equation(nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self) -> None:
        super().__init__()
        self.drift, self.diffusion = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.drift(y)

    def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.diffusion(y).sigmoid()


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    equation, start, times = Equation(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 6)
    results: dict[str, Any] = {}
    for method in ("euler", "milstein", "srk"):
        noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time")
        path = torchsde.sdeint(equation, start, times, bm=noise, method=method, dt=0.05)
        equation.zero_grad()
        path.pow(2).mean().backward()
        results[method], results[method + " gradient"] = path, equation.drift.weight.grad.clone()
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7)
    equation.zero_grad()
    path = torchsde.sdeint_adjoint(equation, start, times, bm=noise, method="euler", dt=0.05)
    path[-1].sum().backward()
    results["adjoint"], results["adjoint gradient"] = path, equation.diffusion.weight.grad
    return results
