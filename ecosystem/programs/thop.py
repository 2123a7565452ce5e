"""thop: multiplications and parameters of a model."""

from typing import Any

import torch
from thop import clever_format, profile
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)
    )
    macs, params = profile(model, inputs=(torch.randn(1, 3, 32, 32),), verbose=False)
    return {"counts": [macs, params], "text": list(clever_format([macs, params], "%.3f"))}
