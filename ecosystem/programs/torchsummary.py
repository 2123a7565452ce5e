"""torchsummary: a model's layers as a table."""

import contextlib
import io
from typing import Any

import torch
from torch import nn
from torchsummary import summary


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(4 * 5 * 5, 10)
    )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        summary(model, (3, 16, 16), device="cpu")
    return {"table": printed.getvalue()}
