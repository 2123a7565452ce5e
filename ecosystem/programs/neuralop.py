"""Neural operators: a Fourier neural operator trained on functions on a grid."""

from typing import Any

import torch
from neuralop import H1Loss, LpLoss
from neuralop.models import FNO, TFNO


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.randn(4, 1, 16, 16), torch.randn(4, 1, 16, 16)
    results: dict[str, Any] = {}
    for kind, options in ((FNO, {}), (TFNO, {"factorization": "tucker", "implementation": "factorized", "rank": 0.2})):
        model = kind(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, **options)
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=5e-3), []
        for _ in range(4):
            optimizer.zero_grad()
            loss = LpLoss(d=2, p=2)(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[kind.__name__], results[kind.__name__ + " output"] = losses, model(x)
    results["H1"] = H1Loss(d=2)(x, y)
    line = FNO(n_modes=(8,), hidden_channels=6, in_channels=2, out_channels=1)
    results["line"] = line(torch.randn(2, 2, 32))
    return results
