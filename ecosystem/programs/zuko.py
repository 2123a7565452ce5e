"""Normalizing flows: density estimation and sampling."""

from typing import Any

import torch
import zuko


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, context = torch.randn(32, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.7]]), torch.randn(32, 1)
    results: dict[str, Any] = {}
    flows = zuko.flows
    for kind in (flows.NSF, flows.MAF, flows.NICE, flows.GMM, flows.SOSPF, flows.NAF, flows.BPF):
        options = {} if kind is flows.GMM else {"transforms": 2}
        if kind is not flows.GMM:
            options["hidden_features"] = (16, 16)
        flow = kind(features=2, context=1, **options)
        optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
        losses = []
        for _ in range(5):
            loss = -flow(context).log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[kind.__name__] = losses
        if kind is not flows.NAF:
            results[kind.__name__ + " samples"] = flow(context[0]).sample((4,))
    return results
