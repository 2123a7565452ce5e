"""torchkbnufft: the non-uniform Fourier transform by Kaiser-Bessel gridding, and its adjoint."""

from typing import Any

import torch
import torchkbnufft as tkbn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    size = (16, 16)
    image = torch.randn(1, 1, *size, dtype=torch.complex64, requires_grad=True)
    trajectory = (torch.rand(2, 60) - 0.5) * 2 * torch.pi
    forward, adjoint = tkbn.KbNufft(im_size=size), tkbn.KbNufftAdjoint(im_size=size)
    samples = forward(image, trajectory)
    samples.abs().square().sum().backward()
    weights = tkbn.calc_density_compensation_function(ktraj=trajectory, im_size=size)
    coils = torch.randn(1, 3, *size, dtype=torch.complex64)
    return {
        "samples": torch.view_as_real(samples),
        "gradient": torch.view_as_real(image.grad),
        "adjoint": torch.view_as_real(adjoint(samples * weights, trajectory)),
        "coils": torch.view_as_real(forward(image.detach(), trajectory, smaps=coils)),
    }
