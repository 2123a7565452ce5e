"""Scattering transforms of signals and images, with gradients."""

from typing import Any

import torch
from kymatio.scattering1d.frontend.torch_frontend import ScatteringTorch1D
from kymatio.scattering2d.frontend.torch_frontend import ScatteringTorch2D


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    signal = torch.randn(2, 256, requires_grad=True)
    line = ScatteringTorch1D(J=4, shape=256, Q=4)(signal)
    line.pow(2).sum().backward()
    plane = ScatteringTorch2D(J=2, shape=(16, 16), L=4)(torch.randn(1, 1, 16, 16))
    return {"signal": line, "gradient": signal.grad, "image": plane}
