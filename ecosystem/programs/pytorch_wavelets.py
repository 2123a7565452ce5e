"""Wavelet transforms as layers: discrete, dual tree complex, scattering."""

from typing import Any

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWT1DForward, DWT1DInverse, DWTForward, DWTInverse, ScatLayer


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 32, 32, requires_grad=True)
    results: dict[str, Any] = {}
    low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
    results["low"], results["high"] = low, list(high)
    results["back"] = DWTInverse(wave="db3", mode="zero")((low, high))
    (low.pow(2).sum() + high[0].abs().sum()).backward()
    results["gradient"] = x.grad
    low, high = DTCWTForward(J=2, biort="near_sym_b", qshift="qshift_b")(x.detach())
    results["complex low"], results["complex high"] = low, list(high)
    results["complex back"] = DTCWTInverse(biort="near_sym_b", qshift="qshift_b")((low, high))
    low, high = DWT1DForward(J=2, wave="db2")(x[0].detach())
    results["row"], results["row back"] = low, DWT1DInverse(wave="db2")((low, high))
    results["scattering"] = ScatLayer()(x.detach())
    return results
