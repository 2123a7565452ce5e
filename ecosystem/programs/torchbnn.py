"""Bayesian layers with a penalty for the divergence from the prior."""

from typing import Any

import torch
import torchbnn as bnn
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(
        bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=10), nn.ReLU(),
        bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=10, out_features=3),
    )  # fmt: skip
    x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
    divergence = bnn.BKLLoss(reduction="mean", last_layer_only=False)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(6):
        loss = nn.functional.cross_entropy(model(x), y) + 0.01 * divergence(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    convolution = bnn.BayesConv2d(prior_mu=0, prior_sigma=0.1, in_channels=1, out_channels=2, kernel_size=3)
    return {"losses": losses, "convolution": convolution(torch.randn(1, 1, 5, 5))}
