"""The Kullback-Leibler divergence: the mean, over p, of log p(x) - log q(x)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._site import warn
from .._tensor import Tensor
from ..autograd.differentiate import grad
from ..linalg import solve_triangular
from ._functions import softplus, where
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_determinant
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Divergence], Divergence]:
    """Decorate a function of two distributions: the divergence for these classes and those derived from them."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")
    def register(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()  # what was found may not be the nearest any more
        return function

    return register


def _dispatch_kl(type_p: type, type_q: type) -> Divergence | None:
    """The function for the closest base classes: first by p, and by q. If the other order disagrees, the choice is ambiguous."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    place_p, place_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(matches, key=lambda pair: (place_p(pair[0]), place_q(pair[1])))
    by_q = min(matches, key=lambda pair: (place_q(pair[1]), place_p(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        ours, theirs = (f"kl_divergence({p.__name__}, {q.__name__})" for p, q in (by_p, by_q))
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, {by_q[1].__name__}); "
            f"{ours} is used, not {theirs}", RuntimeWarning,
        )  # fmt: skip
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Any, q: Any) -> Tensor:
    """The divergence of `p` from `q`, for each element of their batch shape."""
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    function = _KL_MEMOIZE[key]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}; "
            "write one and decorate it with @register_kl"
        )
    return function(p, q)


def _infinite_like(x: Tensor) -> Tensor:
    return x.new_full((), math.inf).expand(x.shape)


def _x_log_x(x: Tensor) -> Tensor:
    return x.xlogy(x)


# ---- within a family ----------------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    one = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, one))
    return one + where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, zero))


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    ends = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    starts = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    slopes = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    slopes = slopes + (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return ends - starts + slopes + (sum_q - sum_p) * sum_p.digamma()


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    # What p can reach and q cannot makes it infinite; with fewer trials than q there is no simple formula.
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where((q.probs == 0).expand_as(terms), math.inf, terms)
    return where((p.probs == 0).expand_as(terms), 0.0, terms).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return p.mean * (p.logits - q.logits) + p._log_norm() + (-p.probs).log1p() - q._log_norm() - (-q.probs).log1p()


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    ours, theirs = p.concentration, q.concentration
    total = ours.sum(-1)
    normalizers = total.lgamma() - theirs.sum(-1).lgamma() - (ours.lgamma() - theirs.lgamma()).sum(-1)
    result: Tensor = normalizers + ((ours - theirs) * (ours.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    return result


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """F(q) - F(p) - <grad F(p), q - p>: the Bregman divergence of the log normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families cannot be computed using Bregman divergences: "
            f"{type(p).__name__} and {type(q).__name__}"
        )
    ours = [parameter.detach()._set_requires_grad(True) for parameter in p._natural_params]
    theirs = q._natural_params
    normalizer = p._log_normalizer(*ours)
    slopes = grad(normalizer.sum(), ours, create_graph=True)
    result = q._log_normalizer(*theirs) - normalizer
    for our, their, slope in zip(ours, theirs, slopes, strict=True):
        result = result - _sum_rightmost((their - our) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    scales = q.concentration * (p.rate / q.rate).log()
    slopes = (p.concentration - q.concentration) * p.concentration.digamma()
    return scales + q.concentration.lgamma() - p.concentration.lgamma() + slopes + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, moved, shift = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return ratio * euler_constant + (moved + (ratio + 1).lgamma() - shift).exp() + shift - ratio.log() - moved - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    scale, alpha = p.scale / q.scale, q.alpha / p.alpha
    return where(p.support.lower_bound < q.support.lower_bound, math.inf, q.alpha * scale.log() - alpha.log() + alpha - 1)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The same transforms leave the divergence as it is."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of transformed distributions is known only for the same transforms and event shapes")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    return where((q.low > p.low) | (q.high < p.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of Independent distributions needs the same reinterpreted_batch_ndims")
    total: Tensor = _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
    return total


# ---- multivariate normal distributions ----------------------------------------------------------------------------------------------


def _batch_trace_XXT(x: Tensor) -> Tensor:
    """The trace of x x^T."""
    return x.pow(2).sum((-2, -1))


def _solved(factor: Tensor, x: Tensor) -> Tensor:
    solved: Tensor = solve_triangular(factor, x, upper=False)
    return solved


def _check_same_event(p: Distribution, q: Distribution, kind: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kind} with different event shapes cannot be computed")


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_same_event(p, q, "Multivariate Normals")
    ours, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    heights = half_log_determinant(theirs) - half_log_determinant(ours)
    spread = _batch_trace_XXT(_solved(theirs, ours))
    return heights + 0.5 * (spread + _batch_mahalanobis(theirs, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_same_event(p, q, "(Low Rank) Multivariate Normals")
    ours = p._unbroadcasted_scale_tril
    factor, diagonal, capacitance = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    heights = _batch_lowrank_logdet(factor, diagonal, capacitance) - 2 * half_log_determinant(ours)
    distance = _batch_lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, capacitance)
    solved = _solved(capacitance, factor.mT / diagonal.unsqueeze(-2))
    spread = _batch_trace_XXT(ours * diagonal.rsqrt().unsqueeze(-1)) - _batch_trace_XXT(solved @ ours)
    return 0.5 * (heights + distance + spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_same_event(p, q, "(Low Rank) Multivariate Normals")
    theirs, diagonal = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_diag
    heights = 2 * half_log_determinant(theirs) - _batch_lowrank_logdet(p._unbroadcasted_cov_factor, diagonal, p._capacitance_tril)
    spread = _batch_trace_XXT(_solved(theirs, p._unbroadcasted_cov_factor))
    spread = spread + _batch_trace_XXT(_solved(theirs, diagonal.sqrt().diag_embed()))
    return 0.5 * (heights + _batch_mahalanobis(theirs, q.loc - p.loc) + spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_same_event(p, q, "Low Rank Multivariate Normals")
    factor, diagonal, capacitance = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    heights = _batch_lowrank_logdet(factor, diagonal, capacitance)
    heights = heights - _batch_lowrank_logdet(p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, p._capacitance_tril)
    distance = _batch_lowrank_mahalanobis(factor, diagonal, q.loc - p.loc, capacitance)
    # The trace of q's precision times p's covariance, term by term of (D^-1 - A A^T) (W W^T + E).
    solved = _solved(capacitance, factor.mT / diagonal.unsqueeze(-2))
    spread = (p._unbroadcasted_cov_diag / diagonal).sum(-1)
    spread = spread + _batch_trace_XXT(p._unbroadcasted_cov_factor * diagonal.rsqrt().unsqueeze(-1))
    spread = spread - _batch_trace_XXT(solved * p._unbroadcasted_cov_diag.sqrt().unsqueeze(-2))
    spread = spread - _batch_trace_XXT(solved @ p._unbroadcasted_cov_factor)
    result: Tensor = 0.5 * (heights + distance + spread - p.event_shape[0])
    return result


# ---- between families ---------------------------------------------------------------------------------------------------------------


def _infinite(p: Any, q: Any) -> Tensor:
    """p has values that q cannot have."""
    return _infinite_like(p.mean if not isinstance(p, Pareto) else p.scale)


for _p, _others in {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform), Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():  # fmt: skip
    for _q in _others:
        register_kl(_p, _q)(_infinite)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _gaussian_cross_entropy(mean: Tensor, variance: Tensor, q: Normal) -> Tensor:
    """The mean of -log q, for moments of any distribution."""
    return 0.5 * (variance + (mean - q.loc).pow(2)) / q.scale.pow(2) + 0.5 * (q.scale.pow(2) * 2 * math.pi).log()


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p: Any, q: Normal) -> Tensor:
    result: Tensor = -p.entropy() + _gaussian_cross_entropy(p.mean, p.variance, q)
    return result


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    return where(p.alpha <= 2, math.inf, -p.entropy() + _gaussian_cross_entropy(p.mean, p.variance, q))


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._log_norm()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _to_exponential(p: Any, q: Exponential) -> Tensor:
    result: Tensor = -p.entropy() - q.rate.log() + q.rate * p.mean
    return result


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    return where(p.alpha <= 1, math.inf, -p.entropy() - q.rate.log() + q.rate * p.mean)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return where(p.low < 0, math.inf, -p.entropy() - q.rate.log() + q.rate * p.mean)


def _gamma_cross_entropy(mean: Tensor, mean_log: Tensor, q: Gamma) -> Tensor:
    return q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log + q.rate * mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() + _gamma_cross_entropy(p.mean, mean_log, q)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return -p.entropy() + _gamma_cross_entropy(p.mean, -euler_constant - p.rate.log(), q)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean_log = p.alpha.reciprocal() + p.scale.log()
    return where(p.alpha <= 1, math.inf, -p.entropy() + _gamma_cross_entropy(p.mean, mean_log, q))


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1
    return where(p.low < 0, math.inf, -p.entropy() + _gamma_cross_entropy(p.mean, mean_log, q))


def _gumbel_cross_entropy(mean: Tensor, mean_exp: Tensor, q: Gumbel) -> Tensor:
    """From the means of x and of exp(-x / q.scale)."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_exp


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    rate = p.rate * q.scale
    return -p.entropy() + _gumbel_cross_entropy(p.mean, rate / (rate + 1), q)


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    rate = p.rate * q.scale
    return -p.entropy() + _gumbel_cross_entropy(p.mean, (1 + rate.reciprocal()).pow(-p.concentration), q)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    mean_exp = (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return -p.entropy() + _gumbel_cross_entropy(p.mean, mean_exp, q)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    mean_exp = q.scale * ((-p.low / q.scale).exp() - (-p.high / q.scale).exp()) / (p.high - p.low)
    return -p.entropy() + _gumbel_cross_entropy(p.mean, mean_exp, q)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc) / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * distance.pow(2)).exp() + (p.loc - q.loc) * (distance / math.sqrt(2)).erf()
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_interval_uniform(p: Any, q: Uniform) -> Tensor:
    return where((q.high < 1) | (q.low > 0), math.inf, -p.entropy() + (q.high - q.low).log())


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low)) / width - 1
    mean_log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    cross = normalizer - (q.concentration1 - 1) * mean_log - (q.concentration0 - 1) * mean_log_rest
    return where((p.high > 1) | (p.low < 0), math.inf, -p.entropy() + cross)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    cross = -p.mean * q.logits - (-q.probs).log1p() - q._log_norm()
    return where((p.high > 1) | (p.low < 0), math.inf, -p.entropy() + cross)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1
    cross = (q.alpha + 1) * mean_log - q.alpha.log() - q.alpha * q.scale.log()
    return where(p.low < q.scale, math.inf, -p.entropy() + cross)
