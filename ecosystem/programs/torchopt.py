"""Optimizers as functions, differentiable inner loops, implicit gradients."""

from typing import Any

import torch
import torchopt
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(16, 2)
    y = x.sum(-1, keepdim=True).sin()
    results: dict[str, Any] = {}
    forward, parameters = torch.func.functional_call, dict(model.named_parameters())
    optimizer = torchopt.chain(torchopt.clip.clip_grad_norm(max_norm=1.0), torchopt.adam(lr=1e-2))
    state, losses = optimizer.init(parameters), []
    for _ in range(5):
        loss = (forward(model, parameters, (x,)) - y).pow(2).mean()
        grads = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))
        updates, state = optimizer.update(grads, state, inplace=False)
        parameters = torchopt.apply_updates(parameters, updates, inplace=False)
        losses.append(loss.item())
    results["functional"] = losses
    for kind in (torchopt.Adam, torchopt.AdamW, torchopt.SGD, torchopt.RMSProp):
        optimizer = kind(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(3):
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[kind.__name__] = losses
    scale, start = torch.tensor(1.0, requires_grad=True), torchopt.extract_state_dict(model)
    for kind in (torchopt.MetaSGD, torchopt.MetaAdam):
        inner = kind(model, lr=1e-2)
        for _ in range(3):
            inner.step((model(x) - scale * y).pow(2).mean())
        results[kind.__name__] = torch.autograd.grad((model(x) - y).pow(2).mean(), scale)[0]
        torchopt.recover_state_dict(model, start)

    @torchopt.diff.implicit.custom_root(torch.func.grad(ridge, argnums=0), argnums=1)
    def solve(start: torch.Tensor, weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve(x.T @ x / 8 + weight * torch.eye(2), x.T @ y / 8)

    weight = torch.tensor(0.5, requires_grad=True)
    solution = solve(torch.zeros(2, 1), weight, x, y)
    results["implicit"] = torch.autograd.grad(solution.sum(), weight)[0]
    return results


def ridge(solution: torch.Tensor, weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x @ solution - y).pow(2).sum() / 16 + weight * solution.pow(2).sum() / 2
