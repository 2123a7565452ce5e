"""Gradients of densities, and of samples by the parameters of their distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributions as dist
from adjoint.autograd import forward_ad

A, B = np.array([0.7, 2.5, 12.0]), np.array([1.3, 0.4, 3.0])
X = np.array([0.3, 0.6, 0.9])
DENSITIES = {
    "Beta": lambda a, b: dist.Beta(a, b).log_prob(ad.tensor(X)),
    "Cauchy": lambda a, b: dist.Cauchy(a, b).log_prob(ad.tensor(X)),
    "Dirichlet": lambda a, b: dist.Dirichlet(a * b).log_prob(ad.tensor(X / X.sum())),
    "Exponential": lambda a, b: dist.Exponential(a * b).log_prob(ad.tensor(X)),
    "FisherSnedecor": lambda a, b: dist.FisherSnedecor(a, b).log_prob(ad.tensor(X)),
    "Gamma": lambda a, b: dist.Gamma(a, b).log_prob(ad.tensor(X)),
    "Gumbel": lambda a, b: dist.Gumbel(a, b).log_prob(ad.tensor(X)),
    "Kumaraswamy": lambda a, b: dist.Kumaraswamy(a, b).log_prob(ad.tensor(X)),
    "LogNormal": lambda a, b: dist.LogNormal(a, b).log_prob(ad.tensor(X)),
    "LowRank": lambda a, b: dist.LowRankMultivariateNormal(a, ad.stack([a, b], -1), b).log_prob(ad.tensor(X)),
    "MultivariateNormal": lambda a, b: dist.MultivariateNormal(a, ad.diag(b) + ad.outer(a, a)).log_prob(ad.tensor(X)),
    "NegativeBinomial": lambda a, b: dist.NegativeBinomial(a, logits=b).log_prob(ad.tensor([0.0, 2.0, 5.0], dtype=ad.float64)),
    "StudentT": lambda a, b: dist.StudentT(a, b, a + b).log_prob(ad.tensor(X)),
    "VonMises": lambda a, b: dist.VonMises(a, b).log_prob(ad.tensor(X)),
    "Weibull": lambda a, b: dist.Weibull(a, b).log_prob(ad.tensor(X)),
    "entropies": lambda a, b: dist.Gamma(a, b).entropy() + dist.Beta(a, b).entropy() + dist.StudentT(a, 0.0, b).entropy(),
    "of gamma": lambda a, b: dist.kl_divergence(dist.Gamma(a, b), dist.Gamma(b, a)),
    "of beta": lambda a, b: dist.kl_divergence(dist.Beta(a, b), dist.Beta(b, a)),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_gradients_and_second_derivatives(name):
    inputs = tuple(ad.tensor(x, requires_grad=True) for x in (A, B))
    assert ad.autograd.gradcheck(DENSITIES[name], inputs)
    assert ad.autograd.gradgradcheck(DENSITIES[name], inputs)


def test_a_sample_keeps_its_rank():
    """Along dx/da, the distribution function keeps its value: differences of it, divided by the density, are the slope."""
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(-2, 5, 200))
    x = rng.gamma(a)
    step = 1e-5 * a
    concentration, value = ad.tensor(a), ad.tensor(x)
    slope = ad._standard_gamma_grad(concentration, value)
    change = (ad.igamma(ad.tensor(a + step), value) - ad.igamma(ad.tensor(a - step), value)) / ad.tensor(2 * step)
    density = dist.Gamma(concentration, 1.0).log_prob(value).exp()
    np.testing.assert_allclose(slope.numpy(), (-change / density).numpy(), 2e-4)


@pytest.mark.parametrize("a", [0.003, 0.3, 1.0, 4.0, 40.0, 4000.0])
@pytest.mark.parametrize("b", [0.003, 0.3, 1.0, 4.0, 40.0, 4000.0])
def test_slope_of_a_beta_sample(a, b):
    """Against the integral of (mean - log t) times the density, in the logit of t."""
    from adjoint.ops._special_math import digamma

    x = np.random.default_rng(1).beta(a, b, 5).clip(1e-200, 1 - 1e-8)
    x = x[(x > 1e-12) & (x < 1 - 1e-6)]
    found = ad._dirichlet_grad(*(ad.tensor(v) for v in (x, np.full_like(x, a), np.full_like(x, a + b)))).numpy() * (1 - x)
    mean = float(digamma(np.array([a]))[0] - digamma(np.array([a + b]))[0])
    for value, slope in zip(x, found, strict=True):
        below = np.log(value) < mean
        reach = np.linspace(0, 1, 400_001) ** 3 * (60 / min(a if below else b, 1))
        logit = np.log(value) - np.log1p(-value) - (reach if below else -reach)
        log_t, log_rest = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
        weight = np.exp(a * (log_t - np.log(value)) + b * (log_rest - np.log1p(-value)))
        expected = np.trapezoid((mean - log_t) * (1 if below else -1) * weight, reach) * value * (1 - value)
        np.testing.assert_allclose(slope, expected, 1e-5)


REPARAMETERISED: dict[str, Any] = {
    "Gamma": (dist.Gamma, lambda a, b: a / b),
    "Beta": (dist.Beta, lambda a, b: a / (a + b)),
    "Chi2": (lambda a, b: dist.Chi2(a * b), lambda a, b: a * b),
    "InverseGamma": (lambda a, b: dist.InverseGamma(a + 3, b), lambda a, b: b / (a + 2)),
    "Weibull": (lambda a, b: dist.Weibull(b, a + 1), lambda a, b: b * ad.lgamma(1 + 1 / (a + 1)).exp()),
    "Dirichlet": (
        lambda a, b: dist.Dirichlet(ad.stack([a, b, a * b], -1)),
        lambda a, b: ad.stack([a, b, a * b], -1) / (a + b + a * b)[:, None],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPARAMETERISED)
def test_gradients_of_samples_are_those_of_the_mean(name):
    """On average: the gradient of the mean of many samples is that of the mean of the distribution."""
    make, mean = REPARAMETERISED[name]
    a, b = (ad.tensor(x, requires_grad=True) for x in (A, B))
    ad.manual_seed(0)
    samples = make(a, b).rsample((8000,))
    weight = ad.linspace(1, 2, samples.shape[-1], dtype=ad.float64)
    found = ad.autograd.grad((samples * weight).mean(0).sum(), (a, b), allow_unused=True)
    expected = ad.autograd.grad((mean(a, b) * weight).sum(), (a, b), allow_unused=True)
    for ours, wanted in zip(found, expected, strict=True):
        if wanted is not None and ours is not None:
            np.testing.assert_allclose(ours.numpy(), wanted.numpy(), 0.1, 0.02)


@pytest.mark.parametrize("draw", [ad._standard_gamma, ad._sample_dirichlet], ids=["gamma", "dirichlet"])
def test_forward_mode_agrees_with_reverse_mode(draw):
    tangent, weight = ad.tensor([0.3, -1.0, 2.0], dtype=ad.float64), ad.tensor([1.0, 2.0, -1.0], dtype=ad.float64)
    point = ad.tensor(A, requires_grad=True)
    ad.manual_seed(0)
    (slope,) = ad.autograd.grad((draw(point) * weight).sum(), point)
    ad.manual_seed(0)
    with forward_ad.dual_level():
        moved = forward_ad.unpack_dual(draw(forward_ad.make_dual(ad.tensor(A), tangent))).tangent
    np.testing.assert_allclose((moved * weight).sum().item(), (slope * tangent).sum().item(), 1e-10)


def test_slopes_have_no_derivative():
    a = ad.tensor(A, requires_grad=True)
    (slope,) = ad.autograd.grad(ad._standard_gamma(a).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        slope.sum().backward()


def test_samples_do_not_record():
    a = ad.tensor(A, requires_grad=True)
    for d in (dist.Gamma(a, 1.0), dist.Normal(a, 1.0), dist.Dirichlet(a), dist.Bernoulli(logits=a), dist.Poisson(a)):
        assert not d.sample((2,)).requires_grad
    assert ad.poisson(a).requires_grad  # with a gradient of zero
    ad.poisson(a).sum().backward()
    assert a.grad.tolist() == [0.0, 0.0, 0.0]


def test_straight_through_samples_have_the_gradient_of_the_probabilities():
    logits = ad.tensor([0.1, 0.5, -0.3], requires_grad=True)
    d = dist.OneHotCategoricalStraightThrough(logits=logits)
    weight = ad.tensor([1.0, 2.0, 4.0])
    (ours,) = ad.autograd.grad((d.rsample() * weight).sum(), logits, retain_graph=True)
    (wanted,) = ad.autograd.grad((d.probs * weight).sum(), logits)
    np.testing.assert_allclose(ours.numpy(), wanted.numpy(), 1e-6)
