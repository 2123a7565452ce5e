"""Spiking networks: leaky integrate-and-fire cells in sequences of layers."""

from typing import Any

import norse.torch as norse
import torch
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = norse.SequentialState(
        nn.Conv2d(1, 4, 3), norse.LIFCell(), nn.MaxPool2d(2, 2), nn.Flatten(1), nn.Linear(36, 5), norse.LICell(),
    )  # fmt: skip
    image, state, total = torch.randn(2, 1, 8, 8), None, torch.zeros(2, 5)
    for _ in range(8):
        out, state = model(image * 5, state)
        total = total + out
    total.pow(2).mean().backward()
    results: dict[str, Any] = {"voltages": total, "gradient": model[0].weight.grad}
    for cell in (norse.LIFRecurrentCell(3, 4), norse.LSNNRecurrentCell(3, 4)):
        state, spikes = None, []
        for _ in range(12):
            out, state = cell(torch.rand(2, 3) * 4, state)
            spikes.append(out)
        results[type(cell).__name__] = torch.stack(spikes)
    results["sequence"] = norse.LIF()(torch.rand(6, 2, 4) * 3)[0]
    results["poisson"] = norse.PoissonEncoder(5, f_max=500)(torch.rand(4))
    return results
