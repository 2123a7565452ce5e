"""FrEIA: an invertible network fitted by maximum likelihood, and inverted."""

from typing import Any

import FrEIA.framework as Ff
import FrEIA.modules as Fm
import numpy as np
import torch
from torch import nn


def subnet(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - its permutations are drawn by it
    inn = Ff.SequenceINN(4)
    for _ in range(3):
        inn.append(Fm.AllInOneBlock, subnet_constructor=subnet, permute_soft=True)
    inn.append(Fm.GLOWCouplingBlock, subnet_constructor=subnet)
    optimizer = torch.optim.Adam(inn.parameters(), lr=1e-3)
    x = torch.randn(64, 4) * torch.tensor([1.0, 2.0, 0.5, 1.5])
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        z, log_det = inn(x)
        loss = (0.5 * z.square().sum(1) - log_det).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    z, log_det = inn(x)
    back, inverse_log_det = inn(z, rev=True)
    return {"losses": losses, "z": z, "log_det": log_det, "back": back, "inverse": inverse_log_det}
