"""lpips: a perceptual distance of images, with random weights, and its gradient."""

from typing import Any

import lpips
import torch


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for net in ("alex", "squeeze"):
        torch.manual_seed(0)
        distance = lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False).eval()
        first, second = torch.rand(2, 3, 64, 64, requires_grad=True), torch.rand(2, 3, 64, 64)
        found = distance(first * 2 - 1, second * 2 - 1)
        found.sum().backward()
        results |= {net: found, f"{net} gradient": first.grad}
    return results
