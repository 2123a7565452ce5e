"""torch-optimizer: every optimizer of the package on a small network."""

from typing import Any

import torch
import torch_optimizer as optim
from torch import nn

NAMES = [
    "A2GradExp",
    "AccSGD",
    "AdaBelief",
    "AdaBound",
    "AdaMod",
    "Adahessian",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "Ranger",
    "RangerVA",
    "SGDP",
    "SGDW",
    "SWATS",
    "Shampoo",
    "Yogi",
]


def trained(make: Any) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    optimizer = make(model.parameters())
    losses = []
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward(create_graph=isinstance(optimizer, optim.Adahessian))
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    results = {name: trained(lambda parameters: getattr(optim, name)(parameters, lr=1e-2)) for name in NAMES if name != "A2GradExp"}  # noqa: B023
    results["A2GradExp"] = trained(lambda parameters: optim.A2GradExp(parameters))
    results["Lookahead"] = trained(lambda parameters: optim.Lookahead(optim.Yogi(parameters, lr=1e-2), k=2, alpha=0.5))
    return results
