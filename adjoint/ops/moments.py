"""Variance, standard deviation and covariance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._site import warn
from .._tensor import wrap_result
from ._general import plain_array
from ._joined import joined
from ._precision import real_dtype, wide
from ._primitives import loops
from ._registry import FUNCTIONS, REDUCTION, Array, composite, op
from ._rules import as_axis, cast, contiguous, holds, normalize_dims, unreduce
from .matmul import matmul
from .reduce import Dims, axes_of, count_of, mean, mean_of, total
from .vector_norm import divided


def centered(x: Array, dim: Dims) -> Array:
    """The differences from the mean."""
    return x - total(x, axes_of(dim, len(x.shape)), True) / (count_of(x.shape, dim) or 1)


def first_along(x: Array, dim: Dims) -> Array:
    """The first elements along dimensions. Where all are compared with these, those that are equal have exactly no variance."""
    ndim = len(x.shape)
    if dim.__class__ is int and ndim:
        return x[(slice(None),) * (dim % ndim) + (slice(0, 1),)]
    reduced = range(ndim) if dim is None else normalize_dims(dim, ndim)
    return x[tuple([slice(0, 1) if d in reduced else slice(None) for d in range(ndim)])]


def by_kernel(name: str, input: Array, dim: Dims, correction: float, keepdim: bool) -> tuple[Array, Array] | None:
    """The variance or the deviation, and the mean; None where NumPy has to compute them."""
    if input.__class__ is not np.ndarray or input.dtype.kind != "f":
        return None
    reductions, axes, x = loops("reduce"), axes_of(dim, input.ndim), input if input.dtype.char in "fd" else wide(input)
    count = count_of(input.shape, dim)
    if not x.size or (means := reductions.mean_from.run(x, axes, keepdim, count, first_along(x, dim).copy())) is None:
        return None
    degrees = count - correction
    found = getattr(reductions, name).run(x, axes, keepdim, degrees if degrees > 0 else 0.0, means)
    if found is None or x is input:
        return None if found is None else (found, means)
    return cast(found, input.dtype), cast(means, input.dtype)


def spread_of(input: Array, dim: Dims, correction: float, keepdim: bool) -> Array:
    """The variance, in the dtype it is computed with."""
    if input.dtype.kind in "iub":
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, got {from_numpy_dtype(input.dtype).scalar_name}\n  fix: x.float()"
        )
    x, degrees = wide(input), max(0.0, count_of(input.shape, dim) - correction)
    axes = axes_of(dim, len(input.shape))
    difference = centered(x - first_along(x, dim), dim)
    squares = (difference * np.conjugate(difference)).real if input.dtype.kind == "c" else difference * difference
    sums = total(squares, axes, keepdim)
    return np.divide(sums, degrees, dtype=sums.dtype)


def var_rule(g: Array, input: Array, input_shape: Any, input_dtype: Any, dim: Dims, correction: float, keepdim: bool) -> Array:
    degrees = count_of(input_shape, dim) - correction
    if degrees <= 0 and (dim is None or not input_shape):  # PyTorch's answers where there is none: along dimensions it is another
        return cast(g * np.where(centered(wide(input), None) == 0, np.nan, np.inf), input_dtype)
    slope = 2 / degrees if degrees else np.inf
    if input.__class__ is np.ndarray:
        found = loops("spread").by_deviation(input_shape, as_axis(dim), g * slope, input, mean_of(input, dim, keepdim))
        if found is not None:
            return found
    return cast(unreduce(g, input_shape, dim, keepdim) * slope * centered(wide(input), dim), input_dtype)


@op("var", method=False, function=False, holomorphic=False, wide=False, input=var_rule, jvp=REDUCTION)
def var_op(input: Array, dim: Dims, correction: float, keepdim: bool) -> Array:
    if (found := by_kernel("variance", input, dim, correction, keepdim)) is not None:
        return found[0]
    return contiguous(cast(spread_of(input, dim, correction, keepdim), real_dtype(input.dtype)))


def std_rule(
    g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: Dims, correction: float, keepdim: bool
) -> Array:
    return var_rule(divided(g, wide(out) * 2), input, input_shape, input_dtype, dim, correction, keepdim)


@op("std", method=False, function=False, holomorphic=False, wide=False, input=std_rule, jvp=REDUCTION)
def std_op(input: Array, dim: Dims, correction: float, keepdim: bool) -> Array:
    if (found := by_kernel("deviation", input, dim, correction, keepdim)) is not None:
        return found[0]
    return contiguous(cast(np.sqrt(spread_of(input, dim, correction, keepdim)), real_dtype(input.dtype)))


def arguments(name: str, input: Array, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> tuple[Array, Dims, float, bool]:
    """The arguments of `var(x, dim, correction=1)`, also in the older forms `var(x, unbiased)` and `var(x, dim, unbiased, keepdim)`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes either 'unbiased' or 'correction', not both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if name.endswith("_mean") and not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise RuntimeError(f"{name} only support floating point and complex dtypes, got {input.dtype.scalar_name}\n  fix: x.float()")
    if count_of(input._data.shape, dim) - correction <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by "
            "output numel): write correction=0 for the variance of a single element."
        )
    return input, dim, correction, keepdim


@composite()
def var(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None, out: Any = None
) -> Array:
    """The variance of all elements, or along dimensions. The sum of squares is divided by their number less the correction."""
    return var_op(*arguments("var", input, dim, unbiased, keepdim, correction), out=out)


@composite()
def std(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None, out: Any = None
) -> Array:
    """The standard deviation of all elements, or along dimensions."""
    return std_op(*arguments("std", input, dim, unbiased, keepdim, correction), out=out)


@composite(method=False)
def var_mean(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Array, ...]:
    """The variance and the mean."""
    return with_mean("variance", var_op, *arguments("var_mean", input, dim, unbiased, keepdim, correction))


@composite(method=False)
def std_mean(
    input: Array, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Array, ...]:
    """The standard deviation and the mean."""
    return with_mean("deviation", std_op, *arguments("std_mean", input, dim, unbiased, keepdim, correction))


def with_mean(name: str, op: Any, input: Array, dim: Dims, correction: float, keepdim: bool) -> tuple[Array, ...]:
    if input._fn is None and (array := plain_array(input)) is not None:
        if (found := by_kernel(name, array, dim, correction, keepdim)) is not None and np.isfinite(found[1]).all():
            return wrap_result(found[0]), wrap_result(found[1])
    spread, means = op(input, dim, correction, keepdim), mean(input, dim, keepdim)
    if means._data.__class__ is np.ndarray and not np.isfinite(wide(means._data)).all():
        means = means.masked_fill(wrap_result(after_infinity(wide(input._data), dim, keepdim)), math.nan)
    return joined("VarMeanBackward0" if name == "variance" else "StdMeanBackward0", (spread, means))


def after_infinity(x: Array, dim: Dims, keepdim: bool) -> Array:
    """Where a mean that is updated element by element, as PyTorch's is beside a variance, has met an infinity before the last one."""
    axes = normalize_dims(dim, len(x.shape))
    infinite = np.array(np.isinf(x))
    if not infinite.size:
        return np.any(infinite, axis=axes, keepdims=keepdim)
    infinite[tuple([-1 if d in axes else slice(None) for d in range(len(x.shape))])] = False
    return np.any(infinite, axis=axes, keepdims=keepdim)


# ---- covariance ---------------------------------------------------------------------------------------------------------------------


def check_weights(name: str, weights: Array, observations: int, integral: bool) -> None:
    if len(weights.shape) > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(weights.shape)} dimensions")
    if integral == (weights.is_floating_point() or weights.is_complex()):
        kind = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.scalar_name} dtype")
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if holds((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite()
def cov(input: Array, *, correction: int = 1, fweights: Array | None = None, aweights: Array | None = None) -> Array:
    """The covariances of the variables in the rows; each column is an observation, which may be counted several times or weighted."""
    if len(input.shape) > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {len(input.shape)} dimensions")
    x = input if len(input.shape) == 2 else input.reshape(1, -1)
    observations = x.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            check_weights(name, given, observations, name == "fweights")
            weights = given if weights is None else weights * given
    if weights is None:
        x = x - x.sum(1, keepdim=True) / max(observations, 1)
        freedom_left: Any = observations - correction
        weighted = x
    else:
        total_weight = weights.sum()
        x = x - (x * weights).sum(1, keepdim=True) / total_weight
        mean_weight = 1 if aweights is None else (weights * aweights).sum() / total_weight
        freedom_left = total_weight - correction * mean_weight
        weighted = x * weights
    if holds(freedom_left <= 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        freedom_left = 0.0
    result = matmul(weighted, x.mT.conj() if x.is_complex() else x.mT) / freedom_left
    return result.reshape(()) if result.shape == (1, 1) else result


@composite()
def corrcoef(input: Array) -> Array:
    """The correlations of the variables in the rows."""
    if len(input.shape) > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(input.shape)} dimensions"
        )
    covariance = cov(input)
    if not covariance.shape:
        return covariance / covariance
    variances = covariance.diagonal()
    deviations = (variances.real if covariance.is_complex() else variances).sqrt()
    ratio = covariance / deviations[:, None] / deviations
    if not ratio.is_complex():
        return ratio.clamp(-1, 1)
    return FUNCTIONS["complex"](ratio.real.clamp(-1, 1), ratio.imag.clamp(-1, 1))
