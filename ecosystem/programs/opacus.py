"""Training with differential privacy: gradients per sample, clipped and with noise; the privacy that was spent."""

from typing import Any

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(40, 1, 8, 8), torch.randint(0, 3, (40,)))
    model: Any = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.05)
    loader: Any = DataLoader(data, batch_size=10)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0
    )
    losses = []
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    results: dict[str, Any] = {"losses": losses, "epsilon": engine.get_epsilon(1e-5), "weights": [p.detach() for p in model.parameters()]}
    wrapped = GradSampleModule(nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.Linear(5, 1)))
    wrapped(torch.randn(6, 4)).pow(2).sum().backward()
    results["per sample"] = [p.grad_sample for p in wrapped.parameters()]
    recurrent = nn.Sequential(nn.BatchNorm2d(4))
    results["errors"] = len(ModuleValidator.validate(recurrent, strict=False))
    results["fixed"] = type(ModuleValidator.fix(recurrent)[0]).__name__
    return results
