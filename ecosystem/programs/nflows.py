"""Normalizing flows: a masked autoregressive flow and a coupling flow with splines."""

from typing import Any

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.nn.nets import ResidualNet
from nflows.transforms import (
    CompositeTransform,
    MaskedAffineAutoregressiveTransform,
    PiecewiseRationalQuadraticCouplingTransform,
    ReversePermutation,
)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3]) + torch.tensor([0.5, -0.2])
    autoregressive = [part for _ in range(2) for part in (ReversePermutation(2), MaskedAffineAutoregressiveTransform(2, 8))]
    coupling = [
        PiecewiseRationalQuadraticCouplingTransform(
            mask, lambda i, o: ResidualNet(i, o, hidden_features=8), num_bins=4, tails="linear", tail_bound=3.0
        )
        for mask in ([1, 0], [0, 1])
    ]
    results: dict[str, Any] = {}
    for name, parts in (("autoregressive", autoregressive), ("coupling", coupling)):
        flow = Flow(CompositeTransform(parts), StandardNormal([2]))
        optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
        losses = []
        for _ in range(10):
            loss = -flow.log_prob(inputs=x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[name], results[name + " samples"] = losses, flow.sample(4)
    return results
