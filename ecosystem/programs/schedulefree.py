"""schedulefree: optimizers without a schedule, with weights for training and for evaluation."""

from typing import Any

import schedulefree
import torch
from torch import nn


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    makers = {
        "adamw": lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, warmup_steps=3, weight_decay=0.01),
        "one by one": lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, foreach=False),
        "sgd": lambda p: schedulefree.SGDScheduleFree(p, lr=0.1, warmup_steps=2),
        "radam": lambda p: schedulefree.RAdamScheduleFree(p, lr=1e-2),
        "wrapped": lambda p: schedulefree.ScheduleFreeWrapper(torch.optim.SGD(p, lr=1e-2), momentum=0.9),
        "closure": lambda p: schedulefree.SGDScheduleFreeClosure(p, lr=0.1),
    }
    for name, make in makers.items():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
        x = torch.randn(32, 5)
        optimizer = make(model.parameters())
        losses = []

        def closure() -> torch.Tensor:
            optimizer.zero_grad()  # noqa: B023
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()  # noqa: B023
            loss.backward()
            losses.append(loss.item())  # noqa: B023
            return loss

        for _ in range(8):
            if name != "closure":
                optimizer.train()
            optimizer.step(closure)
        results[f"{name} losses"] = losses
        if name != "closure":
            optimizer.eval()
        results[f"{name} evaluated"] = model(x)
    return results
