"""conformer: attention and convolution for sequences of audio frames."""

from typing import Any

import torch
from conformer import Conformer, ConformerBlock


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    block = ConformerBlock(dim=32, dim_head=8, heads=4, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=7)
    x = torch.randn(2, 50, 32, requires_grad=True)
    y = block(x)
    y.square().sum().backward()
    model = Conformer(dim=32, depth=2, dim_head=8, heads=4, ff_mult=2, conv_kernel_size=7)
    return {"y": y, "x": x.grad, "model": model(x)}
