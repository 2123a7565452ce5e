"""torch-ema: averaged parameters, taken for evaluation and given back."""

from typing import Any

import torch
from torch_ema import ExponentialMovingAverage


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = torch.nn.Linear(10, 2)
    x, y = torch.rand(50, 10), torch.rand(50).round().long()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ema = ExponentialMovingAverage(model.parameters(), decay=0.995)
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update()
    with ema.average_parameters():
        averaged = torch.nn.functional.cross_entropy(model(x), y)
    state = ema.state_dict()
    ema.copy_to(model.parameters())
    return {
        "last": loss,
        "averaged": averaged,
        "copied": model(x[:2]),
        "updates": state["num_updates"],
        "shadow": state["shadow_params"][1],
    }
