"""Optimization steps that are differentiated: learning a starting point and a step size."""

from typing import Any

import higher
import torch
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    meta = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.randn(16, 2)
    results: dict[str, Any] = {}
    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=0.05), torch.optim.RMSprop):
        losses = []
        for step in range(3):
            y = torch.sin(x.sum(-1, keepdim=True) + step)
            inner = make(model.parameters())
            meta.zero_grad()
            with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, optimizer):
                for _ in range(3):
                    optimizer.step((fast(x[:8]) - y[:8]).pow(2).mean())
                loss = (fast(x[8:]) - y[8:]).pow(2).mean()
                loss.backward()
            meta.step()
            losses.append(loss.item())
        results[type(inner).__name__] = losses
    rate = torch.tensor(0.1, requires_grad=True)
    inner = torch.optim.SGD(model.parameters(), lr=1.0)
    with higher.innerloop_ctx(model, inner, override={"lr": [rate]}) as (fast, optimizer):
        optimizer.step((fast(x) ** 2).mean())
        results["rate gradient"] = torch.autograd.grad((fast(x) ** 2).mean(), rate)[0]
    return results
