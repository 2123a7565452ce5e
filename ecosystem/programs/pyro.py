"""Probabilistic programs: variational inference with guides, Hamiltonian Monte Carlo, enumeration, Gaussian processes."""

from typing import Any

import pyro
import pyro.distributions as dist
import torch
from pyro.contrib import gp
from pyro.infer import HMC, MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta, AutoDiagonalNormal, AutoLowRankMultivariateNormal, AutoMultivariateNormal, AutoNormal
from pyro.optim import Adam


def regression(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    weight = pyro.sample("weight", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    bias = pyro.sample("bias", dist.Normal(0.0, 10.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", x.shape[0]):
        return pyro.sample("y", dist.Normal(x @ weight + bias, scale), obs=y)


@config_enumerate
def mixture(data: torch.Tensor) -> None:
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        assignment = pyro.sample("assignment", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(locs[assignment], 0.5), obs=data)


def fit(model: Any, guide: Any, elbo: Any, *data: torch.Tensor) -> list[float]:
    pyro.clear_param_store()
    svi = SVI(model, guide, Adam({"lr": 0.03}), loss=elbo)
    return [svi.step(*data) for _ in range(15)]


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    pyro.set_rng_seed(0)
    x = torch.randn(20, 2)
    y = x @ torch.tensor([1.0, -2.0]) + 0.5 + 0.1 * torch.randn(20)
    results: dict[str, Any] = {}
    for kind in (AutoNormal, AutoDiagonalNormal, AutoMultivariateNormal, AutoLowRankMultivariateNormal, AutoDelta):
        guide = kind(regression)
        results[kind.__name__] = fit(regression, guide, Trace_ELBO(), x, y)
    guide = AutoNormal(regression)
    fit(regression, guide, Trace_ELBO(), x, y)
    results["median"] = dict(guide.median())
    results["predictive"] = Predictive(regression, guide=guide, num_samples=3)(x)["y"]

    for kernel in (NUTS(regression, max_tree_depth=4), HMC(regression, step_size=0.02, num_steps=4)):
        pyro.set_rng_seed(1)
        mcmc = MCMC(kernel, num_samples=3, warmup_steps=3, disable_progbar=True)
        mcmc.run(x, y)
        results[type(kernel).__name__] = dict(mcmc.get_samples())

    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
    guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "locs"]))
    results["mixture"] = fit(mixture, guide, TraceEnum_ELBO(max_plate_nesting=1), data)

    pyro.clear_param_store()
    process = gp.models.GPRegression(x[:, :1], y, gp.kernels.RBF(input_dim=1), noise=torch.tensor(0.5))
    optimizer = torch.optim.Adam(process.parameters(), lr=0.01)
    loss = Trace_ELBO().differentiable_loss
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        value = loss(process.model, process.guide)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    results["gp losses"] = losses
    results["gp mean"], results["gp variance"] = (part.detach() for part in process(x[:4, :1]))
    return results
