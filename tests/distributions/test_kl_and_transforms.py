"""Divergences against means over samples, the registry of divergences, and transforms with their caches."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import distributions as dist
from adjoint.distributions import constraints

T = ad.tensor
POSITIVE = [dist.Exponential(1.5), dist.Gamma(2.5, 1.5), dist.Chi2(3.0)]
REAL = [dist.Normal(0.5, 1.2), dist.Laplace(0.2, 0.9), dist.Gumbel(0.3, 1.4)]
UNIT = [dist.Beta(2.0, 1.5), dist.ContinuousBernoulli(0.3), dist.Uniform(0.0, 1.0)]
VECTORS = [
    dist.MultivariateNormal(T([1.0, 0.5]), T([[2.0, 0.5], [0.5, 1.0]])),
    dist.MultivariateNormal(T([0.3, 0.0]), T([[1.0, 0.2], [0.2, 1.0]])),
    dist.LowRankMultivariateNormal(T([0.5, 0.2]), T([[1.0], [-0.5]]), T([0.7, 1.0])),
    dist.LowRankMultivariateNormal(T([0.0, 0.2]), T([[0.5], [0.5]]), T([1.0, 0.8])),
]  # fmt: skip
PAIRS = [
    *itertools.product(POSITIVE, POSITIVE),
    *itertools.product(UNIT, UNIT[1:]), (UNIT[0], UNIT[0]), (UNIT[2], UNIT[0]), *itertools.product(VECTORS, VECTORS),
    *itertools.product([*POSITIVE, *UNIT, *REAL], [dist.Normal(0.5, 1.2), dist.Normal(0.1, 2.0)]),
    *itertools.product([POSITIVE[0], POSITIVE[1], dist.Normal(0.1, 0.8), dist.Uniform(0.2, 1.5)], [dist.Gumbel(0.3, 1.4)]),
    *itertools.product([dist.Beta(2.0, 1.5), dist.Uniform(0.2, 1.5)], POSITIVE),
    (dist.Normal(0.1, 0.8), dist.Laplace(0.2, 0.9)), (dist.Laplace(0.2, 0.9), dist.Laplace(1.0, 1.5)),
    (dist.Gumbel(0.3, 1.4), dist.Gumbel(0.0, 1.6)), (dist.Cauchy(0.0, 1.0), dist.Cauchy(0.5, 1.5)),
    (dist.Pareto(2.0, 4.0), dist.Pareto(1.0, 3.0)), (dist.Pareto(1.0, 5.0), dist.Exponential(1.0)),
    (dist.Pareto(1.0, 5.0), dist.Normal(1.0, 1.0)),
    (dist.Pareto(1.0, 5.0), dist.Gamma(2.0, 1.0)), (dist.Uniform(2.0, 3.0), dist.Pareto(1.0, 3.0)),
    (dist.Uniform(2.0, 3.0), dist.Uniform(1.0, 4.0)),
    (dist.HalfNormal(1.0), dist.HalfNormal(1.5)), (dist.LogNormal(0.1, 0.5), dist.LogNormal(0.3, 0.8)),
    (dist.Bernoulli(0.3), dist.Bernoulli(0.6)), (dist.Bernoulli(0.3), dist.Poisson(0.7)), (dist.Binomial(5, 0.3), dist.Binomial(5, 0.5)),
    (dist.Geometric(0.3), dist.Geometric(0.5)), (dist.Poisson(3.0), dist.Poisson(4.0)),
    (dist.Categorical(T([0.2, 0.8])), dist.Categorical(T([0.5, 0.5]))), (dist.Dirichlet(T([1.0, 2.0])), dist.Dirichlet(T([1.5, 1.5]))),
    (dist.OneHotCategorical(T([0.2, 0.8])), dist.OneHotCategorical(T([0.5, 0.5]))),
]  # fmt: skip
NAMES = [f"{type(p).__name__}-{type(q).__name__}-{i}" for i, (p, q) in enumerate(PAIRS)]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=NAMES)
def test_divergence_is_a_mean(p, q):
    ad.manual_seed(0)
    x = p.sample((5000,))
    if isinstance(p.support, constraints.interval) and not isinstance(p, dist.Uniform):
        x = x.clamp(min=1e-6, max=1 - 1e-6)
    difference = (p.log_prob(x) - q.log_prob(x)).double()
    expected, error = difference.mean().item(), difference.std().item() / math.sqrt(5000)
    assert abs(dist.kl_divergence(p, q).item() - expected) < 5 * error + 1e-5


def test_impossible_values_are_infinitely_far():
    assert dist.kl_divergence(dist.Normal(0.0, 1.0), dist.Exponential(1.0)) == math.inf
    assert dist.kl_divergence(dist.Uniform(0.0, 2.0), dist.Uniform(0.0, 1.0)) == math.inf
    assert dist.kl_divergence(dist.Poisson(T([1.0, 2.0])), dist.Bernoulli(0.5)).tolist() == [math.inf, math.inf]
    assert dist.kl_divergence(dist.Categorical(T([0.5, 0.5])), dist.Categorical(T([1.0, 0.0]))) == math.inf


def test_exponential_families_of_ones_own_have_a_divergence():
    class Own(dist.Exponential):
        pass

    wanted = dist.kl_divergence(dist.Exponential(1.0), dist.Exponential(2.0)).item()
    assert np.isclose(dist.kl_divergence(Own(1.0), Own(2.0)).item(), wanted)
    for p, q in ((dist.Gamma(2.0, 1.0), dist.Gamma(3.0, 2.0)), (dist.Normal(0.0, 1.0), dist.Normal(1.0, 2.0))):
        from adjoint.distributions.kl import _kl_expfamily_expfamily

        assert np.isclose(_kl_expfamily_expfamily(p, q).item(), dist.kl_divergence(p, q).item(), rtol=1e-5)
        assert np.isclose(dist.ExponentialFamily.entropy(p).item(), p.entropy().item(), rtol=1e-5)


def test_the_nearest_registered_divergence_is_used():
    class Base(dist.Normal):
        pass

    class Derived(Base):
        pass

    def answer(word) -> Any:
        return lambda p, q: word

    register, found = dist.register_kl, dist.kl_divergence
    p = Derived(0.0, 1.0)
    assert found(p, p) == 0
    register(Base, Base)(answer("base"))
    assert found(p, p) == "base"
    register(Derived, Base)(answer("p"))
    assert found(p, p) == "p"
    register(Base, Derived)(answer("q"))
    with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Derived, Derived\). Please register_kl\(Derived, Derived\)"):
        assert found(p, p) == "p"
    register(Derived, Derived)(answer("both"))
    assert found(p, p) == "both"


# ---- transforms ---------------------------------------------------------------------------------------------------------------------

X = np.array([0.3, -0.6, 1.2])
BIJECTIONS = {
    "exp": dist.ExpTransform(), "affine": dist.AffineTransform(1.0, -2.0), "sigmoid": dist.SigmoidTransform(), "tanh": dist.TanhTransform(),
    "softplus": dist.SoftplusTransform(), "composed": dist.ComposeTransform([dist.AffineTransform(0.0, 2.0), dist.TanhTransform()]),
    "cdf": dist.CumulativeDistributionTransform(dist.Normal(T(0.0, dtype=ad.float64), T(2.0, dtype=ad.float64))),
    "stick": dist.StickBreakingTransform(), "correlation": dist.CorrCholeskyTransform(),
    "reshape": dist.ReshapeTransform((3,), (3, 1)), "independent": dist.IndependentTransform(dist.ExpTransform(), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BIJECTIONS)
def test_determinants_are_those_of_the_jacobian(name):
    transform = BIJECTIONS[name]
    x = T(X, requires_grad=True)
    y = transform(x)
    # Just the free ones of the outputs: the last piece of a stick and the diagonal of a factor follow from the others.
    free = {"stick": lambda y: y[..., :-1], "correlation": lambda y: y[..., [1, 2, 2], [0, 0, 1]]}.get(name, lambda y: y)(y).reshape(-1)
    rows = [ad.autograd.grad(value, x, retain_graph=True)[0].numpy() for value in free]
    wanted = np.log(abs(np.linalg.det(np.stack(rows))))
    found = transform.log_abs_det_jacobian(x, y)
    np.testing.assert_allclose(found.sum().item(), wanted, 1e-8)
    np.testing.assert_allclose(transform.inv(y).detach().numpy(), X, 1e-8)
    assert transform.inv.inv is transform


def test_a_cache_returns_what_went_in():
    transform = dist.TanhTransform(cache_size=1)
    x = T([30.0])
    y = transform(x)
    assert y.item() == 1.0 and transform.inv(y) is x and transform(x) is y
    assert dist.TanhTransform().inv(y).item() == math.inf
    assert transform.with_cache(1) is transform and transform.with_cache(0)._cache_size == 0
    for other in (dist.AffineTransform(1.0, 2.0), dist.PowerTransform(2.0), dist.identity_transform, dist.ReshapeTransform((1,), (1, 1))):
        assert type(other.with_cache()) is type(other) and other.with_cache()._cache_size == 1
        assert type(other.inv.with_cache()) is type(other.inv)


def test_transforms_compare_and_pickle():
    assert dist.ExpTransform() == dist.ExpTransform() and dist.ExpTransform() != dist.TanhTransform()
    assert dist.AffineTransform(0.0, T([1.0, 2.0])) == dist.AffineTransform(0.0, T([1.0, 2.0]))
    assert dist.AffineTransform(0.0, 1.0) != dist.AffineTransform(0.0, 2.0) and dist.PowerTransform(2.0) == dist.PowerTransform(2.0)
    assert dist.ComposeTransform([dist.ExpTransform()]) == dist.ComposeTransform([dist.ExpTransform()]) != dist.ExpTransform()
    transform = dist.ComposeTransform([dist.ExpTransform(), dist.AffineTransform(0.0, 2.0)])
    inverse = transform.inv
    assert pickle.loads(pickle.dumps(transform)) == transform and inverse.inv is transform


@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles_and_vectors(diag):
    matrix = ad.arange(1.0, 33.0).reshape(2, 4, 4)
    vector = dist.utils.tril_matrix_to_vec(matrix, diag)
    assert (dist.utils.vec_to_tril_matrix(vector, diag) == matrix.tril(diag)).all() and vector.shape[0] == 2
    with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
        dist.utils.vec_to_tril_matrix(ad.ones(7), diag)
    with pytest.raises(ValueError, match="is outside"):
        dist.utils.tril_matrix_to_vec(matrix, 4)


UNCONSTRAINED = {
    "real": constraints.real, "positive": constraints.positive, "above": constraints.greater_than(T([1.0, 2.0, 3.0])),
    "below": constraints.less_than(2.0),
    "between": constraints.interval(-1.0, 2.0), "unit": constraints.unit_interval, "simplex": constraints.simplex,
    "correlation": constraints.corr_cholesky, "independent": constraints.independent(constraints.positive, 1),
    "parts": constraints.cat([constraints.real, constraints.positive], -1, [1, 2]),
    "slices": constraints.stack([constraints.real, constraints.positive, constraints.unit_interval], -1),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCONSTRAINED)
def test_unconstrained_numbers_reach_the_constraint(name):
    constraint = UNCONSTRAINED[name]
    for registry in (dist.biject_to, dist.transform_to):
        y = registry(constraint)(T(X))
        assert constraint.check(y).all()
    np.testing.assert_allclose(dist.biject_to(constraint).inv(dist.biject_to(constraint)(T(X))).numpy(), X, 1e-8)


def test_new_constraints_can_be_registered():
    class Even(constraints.Constraint):
        pass

    with pytest.raises(NotImplementedError, match="Cannot transform Even constraints"):
        dist.biject_to(Even())

    @dist.biject_to.register(Even)
    def _(constraint):
        return dist.AffineTransform(0.0, 2.0)

    assert dist.biject_to(Even()) == dist.AffineTransform(0.0, 2.0)
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass or instance"):
        dist.biject_to.register(int, int)
