"""torchdyn: a neural ODE, with gradients by the adjoint method and through the solver."""

from typing import Any

import torch
from torch import nn
from torchdyn.core import NeuralODE


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for sensitivity in ("adjoint", "autograd"):
        torch.manual_seed(0)
        field = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        model = NeuralODE(field, sensitivity=sensitivity, solver="rk4", solver_adjoint="rk4", atol_adjoint=1e-4, rtol_adjoint=1e-4)
        x = torch.randn(5, 2)
        _, states = model(x, torch.linspace(0, 1, 6))
        states[-1].square().sum().backward()
        results |= {f"{sensitivity} states": states, f"{sensitivity} gradient": field[0].weight.grad}
    return results
