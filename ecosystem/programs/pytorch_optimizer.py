"""pytorch-optimizer: many optimizers by name, learning-rate schedules and losses."""

from typing import Any

import torch
from pytorch_optimizer import SAM, CosineAnnealingWarmupRestarts, Lookahead, get_supported_optimizers, load_optimizer
from pytorch_optimizer.loss import BCEFocalLoss, LDAMLoss
from torch import nn

NAMES = [
    "adabelief",
    "adan",
    "adamp",
    "adopt",
    "diffgrad",
    "grokfastadamw",
    "lamb",
    "lion",
    "madgrad",
    "novograd",
    "qhadam",
    "radam",
    "ranger21",
    "shampoo",
    "sgdp",
    "soap",
    "sophiah",
    "tiger",
    "yogi",
    "schedulefreeadamw",
    "prodigy",
    "came",
    "adafactor",
    "mars",
    "laprop",
]


def trained(make: Any, closure: bool = False) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8, bias=False), nn.Tanh(), nn.Linear(8, 3, bias=False))
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    optimizer = make(model)
    losses = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward(create_graph=closure)
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    known = get_supported_optimizers()
    results: dict[str, Any] = {"known": len(known)}
    for name in NAMES:
        if name in known:
            options = {"num_iterations": 5} if name == "ranger21" else {}
            results[name] = trained(lambda model: load_optimizer(name)(model.parameters(), lr=1e-2, **options), name == "sophiah")  # noqa: B023
    results["lookahead"] = trained(lambda model: Lookahead(load_optimizer("adamw")(model.parameters(), lr=1e-2), k=2, alpha=0.5))

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    sharpness = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1)
    for _ in range(3):
        nn.functional.cross_entropy(model(x), y).backward()
        sharpness.first_step(zero_grad=True)
        nn.functional.cross_entropy(model(x), y).backward()
        sharpness.second_step(zero_grad=True)
    results["sharpness"] = model.weight

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = CosineAnnealingWarmupRestarts(optimizer, first_cycle_steps=6, max_lr=0.1, min_lr=0.01, warmup_steps=2, gamma=0.5)
    rates = []
    for epoch in range(9):
        schedule.step(epoch)
        rates.append(optimizer.param_groups[0]["lr"])
    results["rates"] = rates
    results["focal"] = BCEFocalLoss()(torch.linspace(0.1, 0.9, 5), torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0]))
    results["margins"] = LDAMLoss([10, 20, 30])(model(x), y)
    return results
