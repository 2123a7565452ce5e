"""pytorch-warmup: learning rates that rise at first, on top of a schedule."""

from typing import Any

import pytorch_warmup as warmup
import torch
from torch import nn


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    makers = {
        "linear": lambda o: warmup.LinearWarmup(o, warmup_period=5),
        "exponential": lambda o: warmup.ExponentialWarmup(o, warmup_period=5),
        "untuned": lambda o: warmup.UntunedLinearWarmup(o),
        "radam": lambda o: warmup.RAdamWarmup(o),
    }
    for name, make in makers.items():
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
        rising = make(optimizer)
        rates, losses = [], []
        for _ in range(12):
            loss = (model(torch.randn(8, 3)) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.append(optimizer.param_groups[0]["lr"])
            losses.append(loss.item())
            with rising.dampening():
                schedule.step()
        results |= {f"{name} rates": rates, f"{name} losses": losses}
    return results
