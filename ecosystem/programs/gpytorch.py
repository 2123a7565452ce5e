"""Exact, variational and multitask Gaussian processes, and kernels."""

from typing import Any

import gpytorch
import torch


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: Any) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Multitask(gpytorch.models.ExactGP):
    def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: Any) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
        self.covar_module = gpytorch.kernels.MultitaskKernel(gpytorch.kernels.MaternKernel(nu=2.5), num_tasks=2, rank=1)

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, inducing_points: torch.Tensor) -> None:
        posterior = gpytorch.variational.CholeskyVariationalDistribution(inducing_points.size(0))
        strategy = gpytorch.variational.VariationalStrategy(self, inducing_points, posterior, learn_inducing_locations=True)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(model: Any, likelihood: Any, mll: Any, x: torch.Tensor, y: torch.Tensor, steps: int = 20) -> list[float]:
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam({*model.parameters(), *likelihood.parameters()}, lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    model.eval()
    likelihood.eval()
    return losses


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 30)
    y = torch.sin(x * 6.28) + 0.1 * torch.randn(30)
    test = torch.linspace(0, 1, 11)
    results: dict[str, Any] = {}

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    results["exact losses"] = fit(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, y)
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        prediction = likelihood(model(test))
        results["exact mean"], results["exact region"] = prediction.mean, list(prediction.confidence_region())

    both = torch.stack([y, torch.cos(x * 6.28)], -1)
    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
    model = Multitask(x, both, likelihood)
    results["multitask losses"] = fit(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, both, 10)
    with torch.no_grad():
        results["multitask mean"] = likelihood(model(test)).mean

    likelihood = gpytorch.likelihoods.BernoulliLikelihood()
    model = Variational(x[::5].clone())
    mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=30)
    results["variational losses"] = fit(model, likelihood, mll, x, (y > 0).float())
    with torch.no_grad():
        results["class probabilities"] = likelihood(model(test)).probs

    points = torch.randn(6, 3)
    kernels = gpytorch.kernels
    for kernel in (
        kernels.RBFKernel(ard_num_dims=3), kernels.MaternKernel(nu=1.5), kernels.PeriodicKernel(), kernels.RQKernel(),
        kernels.LinearKernel(), kernels.PolynomialKernel(power=2), kernels.CosineKernel(), kernels.RBFKernel() * kernels.LinearKernel(),
    ):  # fmt: skip
        results[type(kernel).__name__] = kernel(points).to_dense()
    return results
