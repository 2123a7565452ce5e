"""Every distribution against PyTorch: values, gradients, samples of the same seed, reprs and errors; transforms; divergences."""

from __future__ import annotations

import copy
import itertools
import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])
ROWS = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
A, B = np.array([0.7, 2.5, 12.0]), np.array([1.3, 0.4, 3.0])
P = np.array([0.2, 0.5, 0.83])

# name: parameters of distributions, each a dict of keyword arguments; arrays become tensors
DISTRIBUTIONS: dict[str, list[dict]] = {
    "Bernoulli": [dict(probs=P), dict(logits=A - 1), dict(probs=0.3)],
    "Beta": [dict(concentration1=A, concentration0=B), dict(concentration1=2.0, concentration0=B[:, None])],
    "Binomial": [dict(total_count=5, probs=P), dict(total_count=np.array([3.0, 3.0, 3.0]), logits=A - 1), dict(total_count=4, probs=0.3)],
    "Categorical": [dict(probs=ROWS), dict(logits=np.log(ROWS) + 1), dict(probs=np.array([1.0, 0.0, 3.0]))],
    "Cauchy": [dict(loc=A, scale=B), dict(loc=0.0, scale=2.0)],
    "Chi2": [dict(df=A), dict(df=3.0)],
    "ContinuousBernoulli": [dict(probs=P), dict(logits=A - 1), dict(probs=np.array([0.4995, 0.5, 0.501]))],
    "Dirichlet": [dict(concentration=A), dict(concentration=np.stack([A, B])), dict(concentration=np.array([0.3, 0.5]))],
    "Exponential": [dict(rate=A)],
    "FisherSnedecor": [dict(df1=A + 2, df2=B + 3), dict(df1=A, df2=B)],
    "Gamma": [dict(concentration=A, rate=B), dict(concentration=0.05, rate=1.0)],
    # In float64 PyTorch fails: it compares the concentration with a zero in float32.
    "GeneralizedPareto": [
        dict(loc=A.astype("f4"), scale=B.astype("f4"), concentration=np.array([0.3, -0.4, 0.0], "f4")),
        dict(loc=0.0, scale=1.0, concentration=1.5),
    ],
    "Geometric": [dict(probs=P), dict(logits=A - 1)],
    "Gumbel": [dict(loc=A, scale=B)],
    "HalfCauchy": [dict(scale=B)],
    "HalfNormal": [dict(scale=B)],
    "InverseGamma": [dict(concentration=A + 2, rate=B), dict(concentration=A, rate=B)],
    "Kumaraswamy": [dict(concentration1=A, concentration0=B)],
    "LKJCholesky": [dict(dim=3, concentration=1.5), dict(dim=4, concentration=A)],
    "Laplace": [dict(loc=A, scale=B)],
    "LogNormal": [dict(loc=A / 4, scale=B / 4)],
    "LogisticNormal": [dict(loc=A / 4, scale=B / 4), dict(loc=0.3, scale=0.5)],
    "LowRankMultivariateNormal": [
        dict(loc=A, cov_factor=MATRIX[:, :2], cov_diag=B),
        dict(loc=np.zeros((2, 3)), cov_factor=MATRIX, cov_diag=B),
    ],
    "Multinomial": [dict(total_count=4, probs=ROWS), dict(total_count=3, logits=np.log(ROWS))],
    "MultivariateNormal": [
        dict(loc=A, covariance_matrix=MATRIX),
        dict(loc=np.stack([A, B]), scale_tril=np.tril(MATRIX)),
        dict(loc=A, precision_matrix=np.stack([MATRIX, MATRIX * 2])),
    ],
    "NegativeBinomial": [dict(total_count=A, probs=P), dict(total_count=3.0, logits=-A)],
    "Normal": [dict(loc=A, scale=B), dict(loc=0, scale=1), dict(loc=A[:, None], scale=2.0)],
    "OneHotCategorical": [dict(probs=ROWS), dict(logits=np.log(ROWS) + 1)],
    "OneHotCategoricalStraightThrough": [dict(probs=ROWS), dict(logits=np.log(ROWS) + 1)],
    "Pareto": [dict(scale=B, alpha=A + 2), dict(scale=B, alpha=A)],
    "Poisson": [dict(rate=A * 3), dict(rate=2.0)],
    "RelaxedBernoulli": [dict(temperature=np.array(0.7), probs=P), dict(temperature=np.array(2.0), logits=A - 1)],
    "RelaxedOneHotCategorical": [dict(temperature=np.array(0.7), probs=ROWS), dict(temperature=np.array(2.0), logits=np.log(ROWS))],
    "StudentT": [dict(df=A + 2, loc=A, scale=B), dict(df=A, loc=0.0, scale=1.0), dict(df=3.0)],
    "Uniform": [dict(low=A, high=A + B), dict(low=-1.0, high=2.0)],
    "VonMises": [dict(loc=A / 5, concentration=B)],
    "Weibull": [dict(scale=B, concentration=A + 1)],
    "Wishart": [dict(df=np.array([5.0, 7.5]), covariance_matrix=MATRIX), dict(df=6.0, scale_tril=np.tril(MATRIX))],
}
CASES = [(name, parameters) for name, all_ in DISTRIBUTIONS.items() for parameters in all_]
every = pytest.mark.parametrize(("name", "parameters"), CASES, ids=[f"{n}-{i}" for n, p in DISTRIBUTIONS.items() for i in range(len(p))])

# The gradients of gamma, beta and Dirichlet samples: PyTorch's approximations are right to three or four digits, ours to twelve.
ROUGH = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart"}
# PyTorch uses polynomials for Bessel functions, and computes some samples in float32.
LOOSE = {"VonMises": 2e-6}


def make(library, name, parameters, requires_grad=False):
    """A distribution, and its tensors."""
    tensors = {k: library.tensor(v) for k, v in parameters.items() if isinstance(v, np.ndarray)}
    if requires_grad:
        for tensor in tensors.values():
            tensor.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(library.distributions, name)(**parameters | tensors), list(tensors.values())


def array(x):
    return x.detach().numpy() if hasattr(x, "detach") else np.asarray(x)


def same(ours, theirs, rtol=1e-9, what="", atol=1e-11):
    assert str(ours.dtype) == str(theirs.dtype), f"{what}: {ours.dtype}, PyTorch {theirs.dtype}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: {ours.shape}, PyTorch {theirs.shape}"
    tolerance = max(rtol, 2e-5) if str(ours.dtype) == "torch.float32" else rtol
    np.testing.assert_allclose(array(ours), array(theirs), tolerance, max(atol, tolerance / 100), err_msg=what)


def outcome(compute):
    """A result, or the type of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compute()
    except Exception as error:
        return type(error)


def compare(ours, theirs, what, rtol=1e-9):
    if isinstance(theirs, torch.Tensor):
        assert not isinstance(ours, type), f"{what}: {ours}"
        same(ours, theirs, rtol, what)
    else:
        assert str(ours) == str(theirs).replace("torch.distributions", "adjoint.distributions"), what


def sample_of(library, distribution, shape=(), how="sample", seed=7):
    library.manual_seed(seed)
    if isinstance(distribution, torch.distributions.Wishart):
        # PyTorch takes every sample for singular, and draws anew: here is the first one.
        first = distribution._bartlett_sampling(torch.Size(shape))
        return first.detach() if how == "sample" else first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(distribution, how)(shape)


@every
def test_facts(name, parameters):
    (ours, _), (theirs, _) = (make(library, name, parameters) for library in LIBRARIES)
    assert repr(ours) == repr(theirs)
    assert ours.batch_shape == tuple(theirs.batch_shape) and ours.event_shape == tuple(theirs.event_shape)
    assert repr(ours.batch_shape) == repr(theirs.batch_shape)
    assert (ours.has_rsample, ours.has_enumerate_support) == (theirs.has_rsample, theirs.has_enumerate_support)
    assert repr(ours.support) == repr(theirs.support)
    assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
    assert repr(ours.arg_constraints) == repr(theirs.arg_constraints)
    for attribute in ("mean", "mode", "variance", "stddev", *ours.arg_constraints):
        our, their = (outcome(lambda d=d, a=attribute: getattr(d, a)) for d in (ours, theirs))
        compare(our, their, attribute, LOOSE.get(name, 1e-9))
    for function in ("entropy", "perplexity", "enumerate_support"):
        compare(outcome(getattr(ours, function)), outcome(getattr(theirs, function)), function, 1e-7)


@every
def test_samples_of_the_same_seed(name, parameters):
    (ours, _), (theirs, _) = (make(library, name, parameters) for library in LIBRARIES)
    for shape, how in itertools.product([(), (3,), (2, 20)], ("sample", "rsample")):
        if how == "rsample" and not ours.has_rsample:
            assert outcome(lambda s=shape: ours.rsample(s)) is NotImplementedError
            continue
        our, their = sample_of(ad, ours, shape, how), sample_of(torch, theirs, shape, how)
        same(our, their, 1e-7, f"{how}({shape})", atol=1e-9)
        assert not our.requires_grad


@every
def test_functions_of_values(name, parameters):
    (ours, our_tensors), (theirs, their_tensors) = (make(library, name, parameters, requires_grad=True) for library in LIBRARIES)
    value = sample_of(torch, theirs, (4,)).detach()
    rtol = LOOSE.get(name, 1e-8)
    for function in ("log_prob", "cdf"):
        x, y = ad.tensor(value.numpy()), value.clone()
        if x.is_floating_point():
            x.requires_grad_(), y.requires_grad_()
        our, their = outcome(lambda f=function, x=x: getattr(ours, f)(x)), outcome(lambda f=function, y=y: getattr(theirs, f)(y))
        compare(our, their, function, rtol)
        if isinstance(their, torch.Tensor) and their.requires_grad:
            try:
                slopes = torch.autograd.grad(their.sum(), [y, *their_tensors], allow_unused=True, retain_graph=True)
            except (RuntimeError, NotImplementedError):
                continue  # PyTorch cannot: igamma has no derivative by its first argument
            found = ad.autograd.grad(our.sum(), [x, *our_tensors], allow_unused=True, retain_graph=True)
            for our_slope, their_slope in zip(found, slopes, strict=True):
                if their_slope is not None:
                    our_slope = ad.zeros(tuple(their_slope.shape), dtype=ad.float64) if our_slope is None else our_slope
                    same(our_slope, their_slope, max(rtol, 1e-7), f"gradient of {function}", atol=1e-9)
    chances = np.random.default_rng(0).uniform(0.01, 0.99, value.shape)
    compare(outcome(lambda: ours.icdf(ad.tensor(chances))), outcome(lambda: theirs.icdf(torch.tensor(chances))), "icdf", 1e-7)


@every
def test_gradients_of_rsample(name, parameters):
    (ours, our_tensors), (theirs, their_tensors) = (make(library, name, parameters, requires_grad=True) for library in LIBRARIES)
    if not (ours.has_rsample and our_tensors):
        return
    our, their = sample_of(ad, ours, (5,), "rsample"), sample_of(torch, theirs, (5,), "rsample")
    assert our.requires_grad == their.requires_grad
    if not their.requires_grad:
        return
    weight = np.random.default_rng(0).uniform(0.5, 1.5, tuple(their.shape))
    found = ad.autograd.grad((our * ad.tensor(weight)).sum(), our_tensors, allow_unused=True)
    slopes = torch.autograd.grad((their * torch.tensor(weight)).sum(), their_tensors, allow_unused=True)
    for our_slope, their_slope in zip(found, slopes, strict=True):
        assert (our_slope is None) == (their_slope is None)
        if their_slope is not None:
            rough = name in ROUGH
            same(our_slope, their_slope, 3e-3 if rough else 1e-7, "gradient of rsample", atol=1e-3 if rough else 1e-9)


@every
def test_expand(name, parameters):
    (ours, _), (theirs, _) = (make(library, name, parameters) for library in LIBRARIES)
    shape = (2, *ours.batch_shape)
    large, their_large = ours.expand(shape), theirs.expand(shape)
    assert repr(large) == repr(their_large)
    assert large.batch_shape == shape and large.event_shape == ours.event_shape
    assert type(large) is type(ours) and large._validate_args == ours._validate_args
    same(sample_of(ad, large, (3,)), sample_of(torch, their_large, (3,)), 1e-7, "sample", atol=1e-9)
    value = sample_of(torch, their_large)
    same(large.log_prob(ad.tensor(value.numpy())), their_large.log_prob(value), LOOSE.get(name, 1e-8), "log_prob")
    for attribute in ("mean", "variance"):
        rtol = LOOSE.get(name, 1e-9)
        compare(outcome(lambda a=attribute: getattr(large, a)), outcome(lambda a=attribute: getattr(their_large, a)), attribute, rtol)


@every
def test_independent_and_copies(name, parameters):
    (ours, _), (theirs, _) = (make(library, name, parameters) for library in LIBRARIES)
    if ours.batch_shape:
        ours, theirs = ad.distributions.Independent(ours, 1), torch.distributions.Independent(theirs, 1)
    assert repr(ours) == repr(theirs) and repr(ours.support) == repr(theirs.support)
    value = sample_of(torch, theirs, (3,))
    expected = theirs.log_prob(value)
    same(ours.log_prob(ad.tensor(value.numpy())), expected, LOOSE.get(name, 1e-8), "log_prob")
    same(copy.deepcopy(ours).log_prob(ad.tensor(value.numpy())), expected, LOOSE.get(name, 1e-8), "log_prob of a copy")
    compare(outcome(ours.entropy), outcome(theirs.entropy), "entropy", 1e-7)


# ---- mixtures, relaxed and transformed distributions --------------------------------------------------------------------------------


def mixtures(library):
    d, t = library.distributions, library.tensor
    choice = d.Categorical(t(ROWS))
    yield d.MixtureSameFamily(choice, d.Normal(t(ROWS * 3), t(ROWS)))
    yield d.MixtureSameFamily(d.Categorical(t(P)), d.Independent(d.Normal(t(MATRIX), t(MATRIX**2)), 1))
    yield d.MixtureSameFamily(d.Categorical(t(P)), d.Poisson(t(A)))
    yield d.MixtureSameFamily(d.Categorical(t(P)), d.MultivariateNormal(t(MATRIX), t(MATRIX)))


def test_mixtures():
    for ours, theirs in zip(mixtures(ad), mixtures(torch), strict=True):
        assert repr(ours) == repr(theirs) and repr(ours.support) == repr(theirs.support)
        value = sample_of(torch, theirs, (4,))
        same(sample_of(ad, ours, (4,)), value, 1e-7, repr(ours))
        for function in ("log_prob", "cdf"):
            pairs = ((ours, ad.tensor(value.numpy())), (theirs, value))
            our, their = (outcome(lambda d=d, x=x, f=function: getattr(d, f)(x)) for d, x in pairs)
            compare(our, their, function)
        for attribute in ("mean", "variance", "stddev", "batch_shape", "event_shape"):
            compare(getattr(ours, attribute), getattr(theirs, attribute), attribute)
        large, their_large = ours.expand((5, *ours.batch_shape)), theirs.expand((5, *theirs.batch_shape))
        same(sample_of(ad, large), sample_of(torch, their_large), 1e-7, "expanded")


def transformed(library):
    d, t = library.distributions, library.tensor
    normal = d.Normal(t(A), t(B))
    yield d.TransformedDistribution(normal, [])
    yield d.TransformedDistribution(normal, d.ExpTransform())
    yield d.TransformedDistribution(normal, [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()])
    yield d.TransformedDistribution(normal, [d.TanhTransform(cache_size=1), d.AffineTransform(t(MATRIX), 2.0)])
    yield d.TransformedDistribution(normal, [d.StickBreakingTransform()])
    yield d.TransformedDistribution(normal, [d.CorrCholeskyTransform()])
    yield d.TransformedDistribution(d.MultivariateNormal(t(A), t(MATRIX)), [d.ExpTransform()])
    yield d.TransformedDistribution(d.Normal(t(ROWS), t(ROWS)), [d.ReshapeTransform((2, 3), (6,)), d.SoftplusTransform()])
    yield d.TransformedDistribution(d.Uniform(t(0.0 * P), t(P)), [d.AffineTransform(0.0, t(P)), d.PowerTransform(t(A))])
    yield d.TransformedDistribution(normal, [d.IndependentTransform(d.ExpTransform(), 1)])
    yield d.TransformedDistribution(normal, [d.CumulativeDistributionTransform(d.Normal(0.0, 1.0))])


def test_transformed_distributions():
    for ours, theirs in zip(transformed(ad), transformed(torch), strict=True):
        assert repr(ours.support) == repr(theirs.support) and repr(ours.base_dist) == repr(theirs.base_dist)
        compare((ours.batch_shape, ours.event_shape), (theirs.batch_shape, theirs.event_shape), repr(ours.transforms))
        for how in ("sample", "rsample"):
            same(sample_of(ad, ours, (4,), how), sample_of(torch, theirs, (4,), how), 1e-8, repr(ours.transforms))
        value = sample_of(torch, theirs, (4,))
        for function in ("log_prob", "cdf"):
            pairs = ((ours, ad.tensor(value.numpy())), (theirs, value))
            our, their = (outcome(lambda d=d, x=x, f=function: getattr(d, f)(x)) for d, x in pairs)
            compare(our, their, f"{function} {ours.transforms}", 1e-7)
        large, their_large = ours.expand((2, *ours.batch_shape)), theirs.expand((2, *theirs.batch_shape))
        same(sample_of(ad, large), sample_of(torch, their_large), 1e-8, "expanded")


# ---- transforms ---------------------------------------------------------------------------------------------------------------------


def all_transforms(library):
    """Transforms, each with a value to transform."""
    d, t = library.distributions, library.tensor
    x = t(MATRIX)
    yield d.ExpTransform(), x
    yield d.PowerTransform(t(A)), x.abs()
    yield d.PowerTransform(2.0), x.abs()
    yield d.SigmoidTransform(), x
    yield d.SoftplusTransform(), x
    yield d.TanhTransform(), x
    yield d.AbsTransform(), x
    yield d.AffineTransform(1.0, -2.0), x
    yield d.AffineTransform(t(A), t(B), event_dim=1), x
    yield d.AffineTransform(t(A), -3.0, event_dim=2), x
    yield d.SoftmaxTransform(), x
    yield d.StickBreakingTransform(), x
    yield d.LowerCholeskyTransform(), x
    yield d.PositiveDefiniteTransform(), x
    yield d.CorrCholeskyTransform(), x
    yield d.ReshapeTransform((3, 3), (9,)), x
    yield d.IndependentTransform(d.ExpTransform(), 1), x
    yield d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.ExpTransform()]), x
    yield d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform()]), x
    yield d.ComposeTransform([d.StickBreakingTransform(), d.ExpTransform()]), x
    yield d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], dim=1, lengths=[1, 2]), x
    yield d.StackTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0), d.TanhTransform()], dim=1), x
    yield d.CumulativeDistributionTransform(d.Normal(t(A), t(B))), x
    yield d.identity_transform, x


def test_transforms():
    for (ours, x), (theirs, y) in zip(all_transforms(ad), all_transforms(torch), strict=True):
        what = repr(theirs)
        assert repr(ours) == what and repr(ours.inv) == repr(theirs.inv) and ours.bijective == theirs.bijective
        assert repr(ours.domain) == repr(theirs.domain) and repr(ours.codomain) == repr(theirs.codomain)
        assert ours.inv.inv is ours and ours == ours and ours.inv == ours.inv
        compare(outcome(lambda: ours.sign), outcome(lambda: theirs.sign), what)  # noqa: B023
        compare(outcome(lambda: ours.event_dim), outcome(lambda: theirs.event_dim), what)  # noqa: B023
        x.requires_grad_(), y.requires_grad_()
        ours_y, theirs_y = ours(x), theirs(y)
        same(ours_y, theirs_y, 1e-9, what)
        back, their_back = ours.inv(ours_y), theirs.inv(theirs_y)
        same(back, their_back, 1e-7, f"inverse of {what}")
        if ours.bijective:
            np.testing.assert_allclose(array(back), array(x), 1e-6)
        our, their = outcome(lambda: ours.log_abs_det_jacobian(x, ours_y)), outcome(lambda: theirs.log_abs_det_jacobian(y, theirs_y))  # noqa: B023
        compare(our, their, f"log_abs_det_jacobian of {what}", 1e-8)
        for result, their_result in ((ours_y, theirs_y), (back, their_back), (our, their)):
            if isinstance(their_result, torch.Tensor) and their_result.requires_grad:
                (slope,) = ad.autograd.grad(result.sum(), x, retain_graph=True, allow_unused=True)
                (their_slope,) = torch.autograd.grad(their_result.sum(), y, retain_graph=True, allow_unused=True)
                same(slope, their_slope, 1e-6, f"gradient of {what}", atol=1e-9)
        for function in ("forward_shape", "inverse_shape"):
            for shape in ((), (3,), (3, 3), (6,), (2, 4), (4, 3, 3), (5, 9)):
                our, their = outcome(lambda: getattr(ours, function)(shape)), outcome(lambda: getattr(theirs, function)(shape))  # noqa: B023
                assert str(our) == str(their), f"{function}({shape}) of {what}: {our}, PyTorch {their}"


def all_constraints(library):
    c, t = library.distributions.constraints, library.tensor
    yield from (c.real, c.real_vector, c.positive, c.nonnegative, c.unit_interval, c.simplex, c.lower_cholesky, c.corr_cholesky)
    yield from (c.positive_definite, c.positive_semidefinite, c.lower_triangular, c.square, c.symmetric, c.boolean, c.one_hot)
    yield from (c.nonnegative_integer, c.positive_integer, c.integer_interval(0, 2), c.multinomial(3), c.dependent)
    yield from (c.greater_than(1.0), c.greater_than_eq(1.0), c.less_than(1.0), c.less_than(t(A)))
    yield from (c.interval(-1.0, 2.0), c.interval(0.0, t(A)))
    yield from (c.half_open_interval(0.0, 1.0), c.half_open_interval(1.0, 3.0), c.independent(c.positive, 1), c.independent(c.real, 2))
    yield from (c.cat([c.real, c.positive], 1, [1, 2]), c.stack([c.real, c.positive, c.unit_interval], 1))
    yield c.stack([c.real, c.positive, c.unit_interval], -1)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_constraints_and_their_transforms(registry):
    for ours, theirs in zip(all_constraints(ad), all_constraints(torch), strict=True):
        assert repr(ours) == repr(theirs)
        for attribute in ("event_dim", "is_discrete"):
            assert outcome(lambda a=attribute: getattr(ours, a)) == outcome(lambda a=attribute: getattr(theirs, a))  # noqa: B023
        for value in (MATRIX, np.eye(3), np.tril(MATRIX), np.ones((3, 3)) / 3, -MATRIX, ROWS, np.full((3, 3), np.nan)):
            our, their = outcome(lambda: ours.check(ad.tensor(value))), outcome(lambda: theirs.check(torch.tensor(value)))  # noqa: B023
            compare(our, their, f"{theirs}.check({value})")
        our, their = (outcome(lambda lib=lib, c=c: getattr(lib.distributions, registry)(c)) for lib, c in ((ad, ours), (torch, theirs)))
        assert repr(our) == repr(their)
        if not isinstance(their, type):
            compare(outcome(lambda: our(ad.tensor(MATRIX))), outcome(lambda: their(torch.tensor(MATRIX))), f"{registry}({theirs})")  # noqa: B023


# ---- divergences --------------------------------------------------------------------------------------------------------------------

# Two distributions of each class, so that every pair of classes has four divergences.
DIVERGING = {
    name: DISTRIBUTIONS[name]
    for name in DISTRIBUTIONS
    if name not in ("FisherSnedecor", "LKJCholesky", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "VonMises")
} | {
    "Bernoulli": [dict(probs=P), dict(probs=np.array([0.0, 1.0, 0.4])), dict(logits=A - 1)],
    "Beta": [dict(concentration1=A, concentration0=B), dict(concentration1=B + 1, concentration0=A)],
    "Binomial": [dict(total_count=4, probs=P), dict(total_count=4, logits=A - 1), dict(total_count=2, probs=P)],
    "Exponential": [dict(rate=A), dict(rate=B)],
    "Gamma": [dict(concentration=A, rate=B), dict(concentration=B, rate=A)],
    "Gumbel": [dict(loc=A, scale=B), dict(loc=B, scale=A)],
    "HalfNormal": [dict(scale=A), dict(scale=B)],
    "Laplace": [dict(loc=A, scale=B), dict(loc=B, scale=A)],
    "Normal": [dict(loc=A, scale=B), dict(loc=B, scale=A)],
    "Pareto": [dict(scale=B, alpha=A + 2), dict(scale=A, alpha=B)],
    "Poisson": [dict(rate=A), dict(rate=B)],
    "Uniform": [dict(low=P / 2, high=P), dict(low=-P, high=P + 1), dict(low=0 * P, high=P + 1)],
    "Cauchy": [dict(loc=A, scale=B), dict(loc=B, scale=A)],
}


@pytest.mark.parametrize("first", sorted(DIVERGING))
def test_divergences(first):
    """Every pair: the same number, or the same refusal."""
    for second in sorted(DIVERGING):
        for one, other in itertools.product(DIVERGING[first], DIVERGING[second]):
            what = f"{first}({one}) from {second}({other})"
            results, slopes = [], []
            for library in LIBRARIES:
                (p, p_tensors), (q, q_tensors) = make(library, first, one, True), make(library, second, other, True)
                result = outcome(lambda: library.distributions.kl_divergence(p, q))  # noqa: B023
                results.append(result)
                if not isinstance(result, type) and result.requires_grad and np.isfinite(array(result)).all():
                    tensors = p_tensors + q_tensors
                    found = library.autograd.grad(result.sum(), tensors, allow_unused=True)
                    slopes.append([np.zeros(tuple(t.shape)) if s is None else array(s) for s, t in zip(found, tensors, strict=True)])
            if results[1] is RuntimeError:
                continue  # shapes that do not fit
            if (first, second) == ("ContinuousBernoulli", "Uniform") and np.all(other["low"] == 0):
                assert np.isinf(array(results[1])).all()  # PyTorch says so, though the interval includes that of the other
                continue
            compare(results[0], results[1], what, 1e-6)  # with numbers among the parameters, PyTorch computes parts in float32
            if len(slopes) == 2:
                for our, their in zip(*slopes, strict=True):
                    np.testing.assert_allclose(our, their, 1e-6, 1e-8, err_msg=what)


def test_divergences_of_composed_distributions():
    results = []
    for library in LIBRARIES:
        d, t = library.distributions, library.tensor
        p, q = d.Normal(t(A), t(B)), d.Normal(t(B), t(A))
        results.append([
            d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1)),
            d.kl_divergence(d.TransformedDistribution(p, d.ExpTransform()), d.TransformedDistribution(q, d.ExpTransform())),
            d.kl_divergence(d.LogNormal(t(A), t(B)), d.LogNormal(t(B), t(A))),
        ])  # fmt: skip
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.TransformedDistribution(p, d.ExpTransform()), d.TransformedDistribution(q, d.TanhTransform()))
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Independent(p, 0), d.Independent(q, 1))
    for our, their in zip(*results, strict=True):
        same(our, their)


# ---- errors -------------------------------------------------------------------------------------------------------------------------

ERRORS = {
    "a negative scale": lambda lib, d: d.Normal(0, -1),
    "one of the scales": lambda lib, d: d.Normal(lib.zeros(2), lib.tensor([1.0, -1.0])),
    "no tensor": lambda lib, d: d.Normal(0, 1).log_prob(1),
    "nan": lambda lib, d: d.Normal(0.0, 1.0).log_prob(lib.tensor(float("nan"))),
    "no such category": lambda lib, d: d.Categorical(lib.ones(3)).log_prob(lib.tensor(7)),
    "event shape": lambda lib, d: d.MultivariateNormal(lib.zeros(2), lib.eye(2)).log_prob(lib.zeros(3)),
    "batch shape": lambda lib, d: d.Normal(lib.zeros(2), lib.ones(2)).log_prob(lib.zeros(3)),
    "neither": lambda lib, d: d.Bernoulli(),
    "both": lambda lib, d: d.Bernoulli(0.5, 0.2),
    "a single category": lambda lib, d: d.Categorical(lib.tensor(1.0)),
    "not even logits": lambda lib, d: d.Categorical(logits=lib.tensor(1.0)),
    "a number for a vector": lambda lib, d: d.MultivariateNormal(lib.tensor(1.0), lib.eye(2)),
    "no covariance": lambda lib, d: d.MultivariateNormal(lib.zeros(2)),
    "a vector for a matrix": lambda lib, d: d.MultivariateNormal(lib.zeros(2), lib.ones(2)),
    "a negative eigenvalue": lambda lib, d: d.MultivariateNormal(lib.zeros(2), -lib.eye(2)),
    "a single concentration": lambda lib, d: d.Dirichlet(lib.tensor(1.0)),
    "high below low": lambda lib, d: d.Uniform(1.0, 0.0),
    "a negative rate": lambda lib, d: d.Poisson(-1.0),
    "a single correlation": lambda lib, d: d.LKJCholesky(1),
    "counts": lambda lib, d: d.Multinomial(lib.tensor([1, 2]), lib.ones(3)),
    "too few dimensions": lambda lib, d: d.Independent(d.Normal(0.0, 1.0), 1),
    "no transform": lambda lib, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "a number to break": lambda lib, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "mixed by a normal": lambda lib, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    "number of components": lambda lib, d: d.MixtureSameFamily(d.Categorical(lib.ones(3)), d.Normal(lib.zeros(2), lib.ones(2))),
    "not countable": lambda lib, d: d.Normal(0.0, 1.0).enumerate_support(),
    "different counts": lambda lib, d: d.Binomial(lib.tensor([2.0, 3.0]), lib.tensor([0.1, 0.2])).enumerate_support(),
    "degrees of freedom": lambda lib, d: d.Wishart(lib.tensor([0.5]), lib.eye(2)),
    "Wishart without a matrix": lambda lib, d: d.Wishart(5.0),
    "rank": lambda lib, d: d.LowRankMultivariateNormal(lib.zeros(2), lib.ones(3, 1), lib.ones(2)),
    "no such divergence": lambda lib, d: d.kl_divergence(d.Normal(0.0, 1.0), d.Categorical(lib.ones(2))),
    "no such bijection": lambda lib, d: d.biject_to(d.constraints.boolean),
    "registering a number": lambda lib, d: d.biject_to.register(int, int),
    "a string": lambda lib, d: d.Beta("a", 1),
    "never": lambda lib, d: d.Geometric(0.0),
    "shapes": lambda lib, d: d.Normal(lib.zeros(2), lib.ones(3)),
    "dependent": lambda lib, d: d.constraints.dependent.check(lib.ones(2)),
    "cache size": lambda lib, d: d.ExpTransform(cache_size=3),
    "elements": lambda lib, d: d.ReshapeTransform((2,), (3,)),
    "parts": lambda lib, d: d.StackTransform([1]),
    "negative count": lambda lib, d: d.Binomial(-1, 0.5),
    "between integers": lambda lib, d: d.Poisson(2.0).log_prob(lib.tensor(0.5)),
    "outside": lambda lib, d: d.Beta(1.0, 2.0).log_prob(lib.tensor(1.5)),
    "expanded": lambda lib, d: d.Normal(lib.zeros(2), lib.ones(2)).expand((3,)),
    "Poisson rate": lambda lib, d: lib.poisson(lib.tensor([-1.0])),
    "Poisson dtype": lambda lib, d: lib.poisson(lib.tensor([1])),
    "binomial dtype": lambda lib, d: lib.binomial(lib.tensor([1]), lib.tensor([0.5])),
    "binomial dtypes": lambda lib, d: lib.binomial(lib.tensor([1.0]), lib.tensor([0.5], dtype=lib.float64)),
    "gamma dtype": lambda lib, d: lib._standard_gamma(lib.tensor([1])),
}


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what):
    messages = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as caught:
            ERRORS[what](library, library.distributions)
        messages.append((caught.type.__name__, str(caught.value)))
    (our_type, ours), (their_type, theirs) = messages
    assert our_type == their_type
    assert ours.startswith(theirs[: max(len(theirs) - 1, 20)]), f"{ours!r}, PyTorch {theirs!r}"


def test_same_names():
    assert set(torch.distributions.__all__) == set(ad.distributions.__all__)
    assert set(torch.distributions.constraints.__all__) == set(ad.distributions.constraints.__all__)
    assert set(torch.distributions.transforms.__all__) == set(ad.distributions.transforms.__all__)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_by_rejection_are_those_of_pytorch(dtype):
    rng = np.random.default_rng(0)
    shapes = np.concatenate([rng.uniform(0.01, 3, 500), rng.uniform(1, 100, 500)]).astype(dtype)
    counts, chances = rng.integers(0, 200, 1000).astype(dtype), rng.uniform(0, 1, 1000).astype(dtype)
    draws = [
        lambda lib: lib._standard_gamma(lib.tensor(shapes)),
        lambda lib: lib._sample_dirichlet(lib.tensor(shapes.reshape(-1, 4))),
        lambda lib: lib.poisson(lib.tensor(shapes)),
        lambda lib: lib.binomial(lib.tensor(counts), lib.tensor(chances)),
        lambda lib: lib.rand(3),
        lambda lib: lib.randn(3),
    ]  # fmt: skip
    for library in LIBRARIES:
        library.manual_seed(3)
    for draw in draws:
        our, their = draw(ad), draw(torch)
        np.testing.assert_allclose(array(our), array(their), 3e-6 if dtype == "float32" else 1e-12)


def test_slopes_of_samples_are_close_to_pytorch():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-4, 5, 1000)), np.exp(rng.uniform(-4, 5, 1000))
    x = np.maximum(rng.gamma(a), 1e-300)
    ours, theirs = (array(lib._standard_gamma_grad(lib.tensor(a), lib.tensor(x))) for lib in LIBRARIES)
    np.testing.assert_allclose(ours, theirs, 5e-3)
    y = rng.beta(a, b).clip(1e-300, 1 - 1e-9)
    ours = array(ad._dirichlet_grad(ad.tensor(y), ad.tensor(a), ad.tensor(a + b)))
    theirs = torch._dirichlet_grad(torch.tensor(y), torch.tensor(a), torch.tensor(a + b)).numpy()
    assert np.quantile(np.abs(ours / theirs - 1), 0.9) < 2e-3


def _helpers(library):
    """What other packages import of the distributions although its names are private."""
    from importlib import import_module

    home = f"{library.__name__}.distributions"
    utils, normal, low_rank, transforms, kl = (
        import_module(f"{home}.{name}") for name in ("utils", "multivariate_normal", "lowrank_multivariate_normal", "transforms", "kl")
    )
    t = library.tensor
    matrix, vectors = t(MATRIX), t(np.arange(6.0).reshape(2, 3))
    factor, diagonal = t(A[:, None]), t(B)
    capacitance = low_rank._batch_capacitance_tril(factor, diagonal)
    library.manual_seed(3)
    yield utils._standard_normal((2, 3), dtype=library.float64, device=library.device("cpu"))
    yield utils._sum_rightmost(t(ROWS), 1)
    yield utils._sum_rightmost(t(ROWS), 2)
    yield normal._batch_mv(matrix, vectors)
    yield normal._batch_mahalanobis(library.linalg.cholesky(matrix), vectors)
    yield normal._precision_to_scale_tril(matrix)
    yield low_rank._batch_lowrank_logdet(factor, diagonal, capacitance)
    yield low_rank._batch_lowrank_mahalanobis(factor, diagonal, vectors, capacitance)
    yield kl._batch_trace_XXT(matrix)
    p, q = library.distributions.Normal(t(A), t(B)), library.distributions.Normal(t(B), t(A))
    yield kl._kl_normal_normal(p, q)
    yield kl._KL_REGISTRY[library.distributions.Beta, library.distributions.Beta](
        library.distributions.Beta(t(A), t(B)), library.distributions.Beta(t(B), t(A))
    )
    inverse = transforms.ExpTransform(cache_size=1).inv
    assert isinstance(inverse, transforms._InverseTransform)
    y = inverse(t(P))
    assert inverse.inv._cached_x_y[0] is y
    yield y


def test_private_helpers_that_others_import():
    for ours, theirs in zip(*map(_helpers, LIBRARIES), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-12)


def test_the_tail_of_a_generalized_pareto():
    values = []
    for library in LIBRARIES:
        d = library.distributions.GeneralizedPareto(*(library.tensor(x.astype("f4")) for x in (A, B, np.array([0.3, -0.1, 0.0]))))
        x = library.tensor((A + 0.5).astype("f4"))
        values.append((d.log_cdf(x), d.log_survival_function(x), d.cdf(x)))
    for ours, theirs in zip(*values, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-5)
