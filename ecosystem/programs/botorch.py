"""Bayesian optimization: fit a Gaussian process, optimize acquisition functions."""

from typing import Any

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.rand(10, 2, dtype=torch.float64) * 2
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True) + 0.1 * torch.randn(10, 1, dtype=torch.float64)
    model = SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    test = torch.rand(5, 2, dtype=torch.float64)
    posterior = model.posterior(test)
    results: dict[str, Any] = {"mean": posterior.mean, "variance": posterior.variance}
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).to(torch.float64)
    for name, acquisition, q in (
        ("log EI", LogExpectedImprovement(model, best_f=y.max()), 1),
        ("UCB", UpperConfidenceBound(model, beta=0.2), 1),
        ("qEI", qExpectedImprovement(model, y.max(), SobolQMCNormalSampler(torch.Size([32]), seed=1)), 2),
    ):
        results[name + " values"] = acquisition(test[:4].reshape(-1, q, 2))
        candidate, value = optimize_acqf(acquisition, bounds=bounds, q=q, num_restarts=3, raw_samples=16, options={"seed": 2})
        results[name + " optimum"] = value
        if q == 1:
            results[name + " candidate"] = candidate
    return results
