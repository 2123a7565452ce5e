"""Simulation-based inference: posteriors learned from a simulator, by density and by ratio."""

from typing import Any

import torch
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform


def simulate(theta: torch.Tensor) -> torch.Tensor:
    return theta + 1.0 + torch.randn_like(theta) * 0.1


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    prior = BoxUniform(low=-2 * torch.ones(3), high=2 * torch.ones(3))
    theta = prior.sample((200,))
    x = simulate(theta)
    observed = torch.zeros(3)
    results: dict[str, Any] = {"theta": theta}
    for method in (NPE, NLE, NRE):
        torch.manual_seed(1)
        inference = method(prior, show_progress_bars=False)
        estimator = inference.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=50)
        results[method.__name__ + " losses"] = inference.summary["validation_loss"]
        if method is NPE:
            posterior = inference.build_posterior(estimator)
            samples = posterior.sample((10,), x=observed, show_progress_bars=False)
            results["samples"], results["log density"] = samples, posterior.log_prob(samples, x=observed)
    return results
