"""Laplace's approximation of a network's posterior, after training."""

from typing import Any

import torch
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.rand(40, 1) * 6 - 3
    y = torch.sin(x) + 0.1 * torch.randn(40, 1)
    loader = DataLoader(TensorDataset(x, y), batch_size=20)
    model = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(20):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    test = torch.linspace(-3, 3, 7)[:, None]
    results: dict[str, Any] = {}
    for subset, structure in (("all", "full"), ("all", "diag"), ("all", "kron"), ("last_layer", "full")):
        posterior = Laplace(model, "regression", subset_of_weights=subset, hessian_structure=structure)
        posterior.fit(loader)
        posterior.optimize_prior_precision(method="marglik", n_steps=5)
        results[f"{subset} {structure}"] = [*posterior(test), posterior.log_marginal_likelihood(), posterior.prior_precision]
    return results
