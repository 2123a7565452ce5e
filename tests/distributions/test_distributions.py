"""Distributions by themselves: densities against formulas, samples against densities, shapes, expansion, validation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributions as dist

# A distribution, and its density at x in plain Python.
DENSITIES = [
    (dist.Normal(1.0, 2.0), lambda x: math.exp(-((x - 1) ** 2) / 8) / math.sqrt(8 * math.pi)),
    (dist.LogNormal(0.5, 0.7), lambda x: math.exp(-((math.log(x) - 0.5) ** 2) / 0.98) / (x * 0.7 * math.sqrt(2 * math.pi)) if x > 0 else 0),
    (dist.HalfNormal(2.0), lambda x: 2 * math.exp(-(x**2) / 8) / math.sqrt(8 * math.pi)),
    (dist.Cauchy(1.0, 2.0), lambda x: 2 / math.pi / (4 + (x - 1) ** 2)),
    (dist.HalfCauchy(2.0), lambda x: 4 / math.pi / (4 + x**2)),
    (dist.Laplace(1.0, 2.0), lambda x: math.exp(-abs(x - 1) / 2) / 4),
    (dist.Exponential(1.5), lambda x: 1.5 * math.exp(-1.5 * x)),
    (dist.Gamma(2.5, 1.5), lambda x: 1.5**2.5 * x**1.5 * math.exp(-1.5 * x) / math.gamma(2.5)),
    (dist.Chi2(5.0), lambda x: x**1.5 * math.exp(-x / 2) / (2**2.5 * math.gamma(2.5))),
    (dist.InverseGamma(4.5, 1.5), lambda x: 1.5**4.5 * x**-5.5 * math.exp(-1.5 / x) / math.gamma(4.5)),
    (dist.Beta(2.0, 3.5), lambda x: math.gamma(5.5) / (math.gamma(2.0) * math.gamma(3.5)) * x * (1 - x) ** 2.5),
    (dist.Kumaraswamy(2.0, 3.0), lambda x: 6 * x * (1 - x**2) ** 2),
    (dist.Uniform(-1.0, 3.0), lambda x: 0.25),
    (dist.Gumbel(1.0, 2.0), lambda x: math.exp(-(x - 1) / 2 - math.exp(-(x - 1) / 2)) / 2),
    (dist.Weibull(2.0, 1.5), lambda x: 0.75 * (x / 2) ** 0.5 * math.exp(-((x / 2) ** 1.5))),
    (dist.Pareto(1.5, 6.0), lambda x: 6 * 1.5**6 / x**7),
    (dist.GeneralizedPareto(1.0, 2.0, 0.1), lambda x: 0.5 * (1 + 0.1 * (x - 1) / 2) ** -11),
    (dist.StudentT(9.0, 1.0, 2.0), lambda x: 24 / (math.gamma(4.5) * 6 * math.sqrt(math.pi)) * (1 + ((x - 1) / 2) ** 2 / 9) ** -5),
    (
        dist.FisherSnedecor(5.0, 30.0),
        lambda x: math.gamma(17.5) / (math.gamma(2.5) * math.gamma(15)) * (1 / 6) ** 2.5 * x**1.5 * (1 + x / 6) ** -17.5,
    ),
    (dist.VonMises(0.5, 2.0), lambda x: math.exp(2 * math.cos(x - 0.5)) / (2 * math.pi * 2.2795853023360673)),
    (dist.ContinuousBernoulli(0.3), lambda x: 0.3**x * 0.7 ** (1 - x) * math.log(0.7 / 0.3) / (0.7 - 0.3)),
]  # fmt: skip
CHANCES = [
    (dist.Bernoulli(0.3), lambda k: (0.7, 0.3)[k], 2),
    (dist.Binomial(5, 0.3), lambda k: math.comb(5, k) * 0.3**k * 0.7 ** (5 - k), 6),
    (dist.Binomial(60, 0.8), lambda k: math.comb(60, k) * 0.8**k * 0.2 ** (60 - k), 61),
    (dist.Categorical(ad.tensor([2.0, 3.0, 5.0])), lambda k: (0.2, 0.3, 0.5)[k], 3),
    (dist.Geometric(0.3), lambda k: 0.3 * 0.7**k, 40),
    (dist.NegativeBinomial(3.0, 0.4), lambda k: math.comb(k + 2, k) * 0.6**3 * 0.4**k, 40),
    (dist.Poisson(4.5), lambda k: math.exp(-4.5) * 4.5**k / math.factorial(k), 40),
    (dist.Poisson(25.0), lambda k: math.exp(-25.0 + k * math.log(25) - math.lgamma(k + 1)), 80),
]  # fmt: skip
by_density = pytest.mark.parametrize(("distribution", "density"), DENSITIES, ids=[repr(d) or type(d).__name__ for d, _ in DENSITIES])
by_chance = pytest.mark.parametrize(("distribution", "chance", "count"), CHANCES, ids=[repr(c[0]) for c in CHANCES])
SAMPLES = 4000


@by_density
def test_density(distribution, density):
    ad.manual_seed(0)
    x = distribution.sample((20,))
    expected = [math.log(density(value)) for value in x.tolist()]
    np.testing.assert_allclose(distribution.log_prob(x).numpy(), expected, 2e-5, 2e-5)


@by_density
def test_samples_follow_the_density(distribution, density):
    """Kolmogorov and Smirnov: no distance of the empirical distribution function above that of chance 1e-4."""
    ad.manual_seed(1)
    x = np.sort(distribution.sample((SAMPLES,)).numpy().astype(float))
    cumulated = distribution_function(density, x, distribution)
    steps = np.arange(SAMPLES + 1) / SAMPLES
    distance = max(np.max(steps[1:] - cumulated), np.max(cumulated - steps[:-1]))
    assert distance < math.sqrt(math.log(2 / 1e-4) / 2 / SAMPLES)


def distribution_function(density, x, distribution):
    """The integral of a density up to each of the sorted numbers, from where all of them start."""
    start = {"VonMises": -math.pi, "Normal": -20, "Cauchy": -1e5, "Laplace": -40, "Gumbel": -20, "StudentT": -200, "Uniform": -1}
    low = (start | {"Pareto": 1.5, "GeneralizedPareto": 1}).get(type(distribution).__name__, 1e-9)
    total, result = 0.0, []
    edges = np.concatenate([[low], x])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for index, (a, b) in enumerate(itertools.pairwise(edges)):
        pieces = np.linspace(a, b, 2) if index else a + (b - a) * (1 - np.geomspace(1, 1e-9, 2000)) if a < -100 else np.linspace(a, b, 500)
        for lower, upper in itertools.pairwise(pieces):
            points = (lower + upper) / 2 + (upper - lower) / 2 * nodes
            total += (upper - lower) / 2 * sum(w * density(p) for w, p in zip(weights, points.tolist(), strict=True))
        result.append(total)
    return np.array(result)


@by_chance
def test_chances_of_counts(distribution, chance, count):
    values = ad.arange(count, dtype=ad.int64 if isinstance(distribution, dist.Categorical) else ad.float32)
    expected = np.array([chance(k) for k in range(count)])
    np.testing.assert_allclose(distribution.log_prob(values).exp().numpy(), expected, 2e-4, 1e-7)
    ad.manual_seed(2)
    drawn = np.bincount(distribution.sample((SAMPLES,)).numpy().astype(int), minlength=count)[:count]
    frequent = expected * SAMPLES > 5
    statistic = np.sum((drawn - expected * SAMPLES)[frequent] ** 2 / (expected * SAMPLES)[frequent])
    freedom = max(frequent.sum() - 1, 1)
    assert statistic < freedom + 4.5 * math.sqrt(2 * freedom)  # chi-squared


MOMENTS = [
    *[d for d, _ in DENSITIES if not isinstance(d, dist.Cauchy | dist.HalfCauchy | dist.VonMises)],
    *[d for d, *_ in CHANCES if not isinstance(d, dist.Categorical)],
    dist.Dirichlet(ad.tensor([0.5, 2.0, 3.0])), dist.OneHotCategorical(ad.tensor([0.2, 0.3, 0.5])),
    dist.Multinomial(7, ad.tensor([0.2, 0.3, 0.5])), dist.Independent(dist.Normal(ad.zeros(3), ad.ones(3)), 1),
    dist.MultivariateNormal(ad.tensor([1.0, 2.0]), ad.tensor([[2.0, 0.5], [0.5, 1.0]])),
    dist.LowRankMultivariateNormal(ad.tensor([1.0, 2.0]), ad.tensor([[1.0], [-1.0]]), ad.tensor([0.5, 1.0])),
    dist.Wishart(ad.tensor(5.0), ad.tensor([[2.0, 0.5], [0.5, 1.0]])),
    dist.MixtureSameFamily(dist.Categorical(ad.tensor([0.3, 0.7])), dist.Normal(ad.tensor([-1.0, 2.0]), ad.tensor([0.5, 1.0]))),
]  # fmt: skip


@pytest.mark.parametrize("distribution", MOMENTS, ids=[f"{type(d).__name__}-{i}" for i, d in enumerate(MOMENTS)])
def test_moments(distribution):
    ad.manual_seed(3)
    x = distribution.sample((SAMPLES,)).double()
    error = distribution.stddev / math.sqrt(SAMPLES)
    assert ((x.mean(0) - distribution.mean).abs() <= 5 * error + 1e-6).all()
    spread = ((x - distribution.mean) ** 2).mean(0)
    np.testing.assert_allclose(spread.numpy(), distribution.variance.numpy(), 0.25)


NOT_INVERTIBLE = (dist.Gamma, dist.Beta, dist.InverseGamma, dist.StudentT, dist.FisherSnedecor, dist.VonMises)
INVERTIBLE = [d for d, _ in DENSITIES if not isinstance(d, NOT_INVERTIBLE)]


@pytest.mark.parametrize("distribution", INVERTIBLE, ids=repr)
def test_icdf_inverts_cdf_whose_slope_is_the_density(distribution):
    chances = ad.linspace(0.05, 0.95, 8, dtype=ad.float64)
    x = distribution.icdf(chances).detach().requires_grad_()
    cumulated = distribution.cdf(x)
    np.testing.assert_allclose(cumulated.detach().numpy(), chances.numpy(), 1e-4)
    (slope,) = ad.autograd.grad(cumulated.sum(), x)
    np.testing.assert_allclose(slope.numpy(), distribution.log_prob(x).exp().detach().numpy(), 1e-3)


ENTROPIES = [d for d, _ in DENSITIES if not isinstance(d, dist.FisherSnedecor | dist.VonMises)]


@pytest.mark.parametrize("distribution", ENTROPIES, ids=repr)
def test_entropy_is_the_mean_of_the_logarithm(distribution):
    ad.manual_seed(4)
    information = -distribution.log_prob(distribution.sample((SAMPLES,)).clamp(min=-1e30))
    error = information.std().item() / math.sqrt(SAMPLES)
    assert abs(information.mean().item() - distribution.entropy().item()) < 5 * error + 1e-5
    np.testing.assert_allclose(distribution.perplexity().item(), math.exp(distribution.entropy().item()), 1e-6)


# ---- shapes, expansion, validation --------------------------------------------------------------------------------------------------


def test_shapes():
    d: dist.Distribution = dist.Normal(ad.zeros(3, 1), ad.ones(4))
    assert d.batch_shape == (3, 4) and d.event_shape == () and d.sample((2,)).shape == (2, 3, 4) and d.log_prob(ad.zeros(4)).shape == (3, 4)
    d = dist.MultivariateNormal(ad.zeros(5, 2), ad.eye(2))
    assert d.batch_shape == (5,) and d.event_shape == (2,) and d.rsample((3,)).shape == (3, 5, 2) and d.log_prob(ad.zeros(2)).shape == (5,)
    d = dist.Independent(dist.Normal(ad.zeros(3, 4), ad.ones(3, 4)), 1)
    assert d.batch_shape == (3,) and d.event_shape == (4,) and d.log_prob(ad.zeros(3, 4)).shape == (3,)
    assert dist.Categorical(ad.ones(2, 3)).enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert dist.Bernoulli(ad.ones(2) / 2).enumerate_support(expand=False).shape == (2, 1)


def test_expansion_shares_what_it_can():
    d = dist.MultivariateNormal(ad.zeros(2), scale_tril=ad.eye(2))
    large = d.expand((5,))
    assert large.batch_shape == (5,) and large._unbroadcasted_scale_tril is d._unbroadcasted_scale_tril
    with pytest.raises(RuntimeError):
        dist.Normal(ad.zeros(2), ad.ones(2)).expand((3,))


def test_a_derived_class_has_to_say_how_it_expands():
    class Standard(dist.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    class Renamed(dist.Normal):
        pass

    with pytest.raises(NotImplementedError, match="Subclass Standard of Normal that defines a custom __init__ method must also define"):
        Standard().expand((2,))
    assert type(Renamed(0.0, 1.0).expand((2,))) is Renamed


def test_validation_can_be_turned_off():
    d = dist.Normal(0.0, -1.0, validate_args=False)
    assert d.log_prob(ad.tensor(0.0)).isnan()
    dist.Distribution.set_default_validate_args(False)
    try:
        dist.Normal(0.0, -1.0)
    finally:
        dist.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        dist.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="takes True or False"):
        dist.Distribution.set_default_validate_args("no")


def test_lazy_attributes_keep_their_gradients():
    probs = ad.tensor([0.2, 0.7], requires_grad=True)
    d = dist.Bernoulli(probs)
    with ad.no_grad():
        logits = d.logits
    assert logits.requires_grad and d.logits is logits
    assert isinstance(dist.Bernoulli.logits, dist.utils.lazy_property)


def test_scripts_find_it_under_its_pytorch_name(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom torch.distributions import Normal\nfrom torch.distributions.kl import kl_divergence\n"
        "print(Normal(0., 1.), kl_divergence(Normal(0., 1.), torch.distributions.Normal(0., 1.)).item())\n"
    )
    done = subprocess.run([sys.executable, "-m", "adjoint", "run", str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == "Normal(loc: 0.0, scale: 1.0) 0.0\n", done.stderr


def test_import_is_late():
    code = "import sys, adjoint; assert 'adjoint.distributions' not in sys.modules; adjoint.distributions.Normal(0., 1.)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_gamma_takes_a_number():
    for distribution in (dist.Gamma(ad.tensor([0.5, 2.0]), 1.0), dist.Chi2(ad.tensor([1.0, 3.0]))):
        assert distribution.log_prob(1.5).equal(distribution.log_prob(ad.tensor(1.5)))


def test_entropies_by_the_log_normalizer():
    by_normalizer = dist.ExponentialFamily.entropy
    wishart = dist.Wishart(ad.tensor([3.0, 4.0]), ad.eye(2).expand(2, 2, 2))
    assert by_normalizer(wishart).tolist() == pytest.approx(wishart.entropy().tolist(), abs=1e-4)
    for refused in (dist.Beta(ad.tensor([2.0]), ad.tensor([1.0])), dist.Dirichlet(ad.tensor([2.0, 3.0]))):
        with pytest.raises(NotImplementedError):
            by_normalizer(refused)


def test_shares_stay_inside_the_open_interval():
    for dtype in (ad.float32, ad.float64):
        shares = dist.Beta(ad.tensor(0.01, dtype=dtype), ad.tensor(0.01, dtype=dtype)).sample((500,))
        assert bool(((shares > 0) & (shares < 1)).all())


def test_sample_n_says_what_to_write():
    with pytest.warns(FutureWarning, match=r"Use `sample\(\(n,\)\)` instead"):
        assert dist.Normal(ad.zeros(2), 1.0).sample_n(3).shape == (3, 2)
