"""piqa: measures of image quality and their gradients."""

from typing import Any

import piqa
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.rand(2, 3, 192, 192, requires_grad=True), torch.rand(2, 3, 192, 192)
    measures = {
        "psnr": piqa.PSNR(),
        "ssim": piqa.SSIM(),
        "ms-ssim": piqa.MS_SSIM(),
        "tv": piqa.TV(),
        "gmsd": piqa.GMSD(),
        "ms-gmsd": piqa.MS_GMSD(),
        "mdsi": piqa.MDSI(),
        "haarpsi": piqa.HaarPSI(),
        "vsi": piqa.VSI(),
        "fsim": piqa.FSIM(),
    }
    results: dict[str, Any] = {}
    for name, measure in measures.items():
        found = measure(x) if name == "tv" else measure(x, y)
        (gradient,) = torch.autograd.grad(found, x)
        results[name] = found
        if name != "vsi":  # whose saliency divides small numbers: its gradient is rounding for the most part
            results[f"{name} gradient"] = gradient.abs().sum()
    return results
