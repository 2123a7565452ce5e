"""ptflops: multiplications and parameters of a model, counted layer by layer."""

from typing import Any

import torch
from ptflops import get_model_complexity_info
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    images = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )
    sequence = nn.GRU(6, 12, batch_first=True)
    results: dict[str, Any] = {}
    for name, model, shape in (("images", images, (3, 32, 32)), ("sequence", sequence, (7, 6))):
        counted = get_model_complexity_info(model, shape, as_strings=False, print_per_layer_stat=False, backend="pytorch")
        results[name] = list(counted)
    return results
