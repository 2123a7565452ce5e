"""soft-moe-pytorch: a soft mixture of experts."""

from typing import Any

import torch
from soft_moe_pytorch import SoftMoE


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    layer = SoftMoE(dim=32, seq_len=40, num_experts=4)
    x = torch.randn(2, 40, 32, requires_grad=True)
    y = layer(x)
    y.square().sum().backward()
    return {"y": y, "x": x.grad}
