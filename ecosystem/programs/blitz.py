"""Bayesian layers: weights with distributions, trained by sampling the evidence bound."""

from typing import Any

import torch
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator
from torch import nn


@variational_estimator
class Regressor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = BayesianLinear(3, 8), BayesianLinear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x.sum(-1, keepdim=True)
    model = Regressor()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(6):
        optimizer.zero_grad()
        loss = model.sample_elbo(inputs=x, labels=y, criterion=nn.MSELoss(), sample_nbr=2, complexity_cost_weight=1 / 32)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": losses, "convolution": BayesianConv2d(1, 2, (3, 3))(torch.randn(1, 1, 6, 6)),
        "recurrent": BayesianLSTM(3, 4)(torch.randn(2, 5, 3))[0],
    }  # fmt: skip
