"""Controlled differential equations: interpolation of irregular series and a model that they drive."""

from typing import Any

import torch
import torchcde
from torch import nn


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 12)

    def forward(self, t: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return self.linear(z).view(*z.shape[:-1], 4, 3).tanh()


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    series = torch.randn(5, 10, 3)
    series[0, 3, 1] = float("nan")
    results: dict[str, Any] = {}
    field, begin, readout = Field(), nn.Linear(3, 4), nn.Linear(4, 1)
    for name, path in (
        ("cubic", torchcde.CubicSpline(torchcde.natural_cubic_coeffs(series))),
        ("hermite", torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(series))),
        ("linear", torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(series))),
    ):
        state = begin(path.evaluate(path.interval[0]))
        solved = torchcde.cdeint(X=path, func=field, z0=state, t=path.interval, adjoint=False, method="rk4", options={"step_size": 0.5})
        loss = readout(solved[:, -1]).pow(2).mean()
        loss.backward()
        results[name], results[name + " loss"] = solved, loss
    results["gradient"] = field.linear.weight.grad
    return results
