"""Running sums and extremes, differences, integrals. Running products are in product.py."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._dtype import bool_, from_numpy_dtype, get_default_dtype
from .._methods import OpMethods
from ..autograd.regions import PARTIAL
from ._out import into
from ._precision import INT64, compute_dtype, wide, with_dtype
from ._primitives import loops
from ._registry import ALONG, FUNCTIONS, LINEAR, Array, composite, op
from ._rules import call, cast, copied, flipped, normalize_dims, wrap_dim, zeros_on
from .product import from_the_end, refuse_truths
from .reduce import look_up, refuse_complex, selected, selected_at_once
from .scatter import scatter_add
from .transcendental import logaddexp

# ---- running sums -------------------------------------------------------------------------------------------------------------------


def reversed_scan(scan: Any, x: Array, dim: int) -> Array:
    """A scan that runs from the end."""
    return flipped(scan(flipped(x, dim), dim), dim)




def cumsum_rule(g: Array, input_shape: Any, input_dtype: Any, dim: int) -> Array:
    if not input_shape:
        return cast(g * 1, input_dtype)
    return cast(from_the_end(g, wrap_dim(dim, len(input_shape))), input_dtype)


WRONG = "expected scalar_type {wanted} but found {given}"


@op(inplace=True, along="scan.sums", adopts=True, overlap=PARTIAL, input=cumsum_rule, jvp=LINEAR)
def cumsum(input: Array, dim: int, *, dtype: Any = None) -> Array:
    """The sum of the elements up to each one, along a dimension."""
    dim = wrap_dim(dim, len(input.shape))
    x = with_dtype(input, dtype)
    refuse_truths("cumsum", x, dtype)
    if x.shape and (found := loops("scan").sums.run(x, dim, False)) is not None:
        return found if dtype is None else cast(found, x.dtype)  # (integers are added up as int64)
    whole = x.dtype.kind in "iub"
    inner = INT64 if whole and dtype is None else compute_dtype(x.dtype)
    result = np.cumsum(x, axis=dim, dtype=inner) if x.shape else cast(x, inner) * 1
    return result if whole else cast(result, x.dtype)


# Note [Logarithms of signed sums]
# The gradient of logcumsumexp is a running sum of terms that may differ by hundreds of orders of magnitude and have either sign. It stays
# within range in logarithms, taken separately for the positive and the negative gradients.


def positive_log(x: Array, present: Array) -> Array:
    """The logarithms of the positive ones among the elements that are present, and minus infinity for the rest."""
    counts = (x > 0) & present
    return np.where(counts, np.log(np.where(counts, x, 1)), -np.inf)


def logcumsumexp_rule(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: int) -> Array:
    if not input_shape:
        return cast(g * 1, input_dtype)
    dim = wrap_dim(dim, len(input_shape))
    if input_dtype.kind == "c":
        return np.exp(reversed_scan(partial(call, logcumsumexp), np.log(g) - out, dim) + input)
    g, input, out = wide(g), wide(input), wide(out)
    present = out != -np.inf
    level = np.where(present, out, 0)

    def part(size: Array) -> Array:
        return np.exp(reversed_scan(partial(call, logcumsumexp), positive_log(size, present) - level, dim) + input)

    return cast(part(g) - part(-g), input_dtype)


def logcumsumexp_jvp(input: Array, input_t: Array, out: Array, dim: int) -> Array:
    if not input.shape:
        return input_t * 1
    if input.is_complex():
        return np.exp(logcumsumexp(np.log(input_t) + input, dim) - out)
    present = out != -np.inf
    level = np.where(present, out, 0)

    def part(size: Array) -> Array:
        return np.exp(logcumsumexp(positive_log(size, present) + input, dim) - level)

    return part(input_t) - part(-input_t)


@op(along="scan.log_sums", same=WRONG, input=logcumsumexp_rule, holomorphic=True, jvp=logcumsumexp_jvp)
def logcumsumexp(input: Array, dim: int) -> Array:
    """`log(cumsum(exp(x)))`, computed without overflow."""
    dim = wrap_dim(dim, len(input.shape))
    if input.dtype.kind in "iub":
        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()"
        )
    if not input.shape:
        return input * 1
    if input.dtype.kind == "c":
        start = np.full_like(input, -np.inf, shape=(*input.shape[:dim], *input.shape[dim + 1 :]))
        sums = accumulate(np.moveaxis(input, dim, 0), lambda total, x: call(logaddexp, x, total), initial=start)
        return np.stack(list(sums)[1:], axis=dim) if input.size else copied(input)
    x = wide(input)
    found = loops("scan").log_sums.run(x, dim, False)
    return cast(np.logaddexp.accumulate(x, axis=dim) if found is None else found, input.dtype)


# ---- running extremes ---------------------------------------------------------------------------------------------------------------


def running_values(name: str) -> Any:
    """The op that looks up the elements at `index`; see Note [Selected elements] in reduce.py."""

    def select(input: Array, index: Array, dim: int, keepdim: bool, found: Any = None) -> Array:
        return look_up(input, index, dim, True) if found is None else found

    def add_back(g: Array, index: Array, input_shape: Any, input_dtype: Any, dim: int) -> Array:
        found = loops("select").returned(g, index, dim, input_shape)
        if found is not None:
            return found
        return call(scatter_add, zeros_on(g, input_shape, input_dtype), dim, index, g)

    def tangent(input_t: Array, index: Array, dim: int, keepdim: bool) -> Array:
        return declared(input_t, index, dim, keepdim)

    node = f"{name.capitalize()}Backward0"
    declared = op(f"{name}_values", nodes=node, method=False, function=False, out=False, input=add_back, jvp=tangent, batch=ALONG)(select)
    return declared


cummax_values = running_values("cummax")
cummin_values = running_values("cummin")


@op(method=False, function=False, differentiable=False)
def record_index(input: Array, dim: int, largest: bool) -> Array:
    """Where the largest (or smallest) element so far stands: the last of several; NaN beats everything."""
    dim = wrap_dim(dim, len(input.shape))
    refuse_complex("cummax" if largest else "cummin", input)
    if not input.shape:
        return np.zeros_like(input, INT64)
    found = loops("select").running_best(input, dim, largest)
    if found is not None:
        return found[1]
    best = (np.maximum if largest else np.minimum).accumulate(input, axis=dim)
    places = np.reshape(np.arange(input.shape[dim]), (-1,) + (1,) * (len(input.shape) - 1 - dim))
    return np.maximum.accumulate(np.where((input == best) | np.isnan(input), places, 0), axis=dim)


@composite()
def cummax(input: Array, dim: int, *, out: Any = None) -> Any:
    """The largest element up to each one, along a dimension, and where it stands."""
    found = selected_at_once(cummax_values, return_types.cummax, loops("select").running_best, input, dim, True, out, True)
    if found is not None:
        return found
    return selected(cummax_values, return_types.cummax, input, record_index(input, dim, True), dim, True, out)


@composite()
def cummin(input: Array, dim: int, *, out: Any = None) -> Any:
    """The smallest element up to each one, along a dimension, and where it stands."""
    found = selected_at_once(cummin_values, return_types.cummin, loops("select").running_best, input, dim, True, out, False)
    if found is not None:
        return found
    return selected(cummin_values, return_types.cummin, input, record_index(input, dim, False), dim, True, out)


# ---- differences and integrals ------------------------------------------------------------------------------------------------------


def between(x: Array, dim: int, start: int | None, stop: int | None) -> Array:
    return x[(slice(None),) * dim + (slice(start, stop),)]


@composite()
def diff(
    input: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None, *, out: Any = None
) -> Array:
    """The differences of neighbours along a dimension, taken n times."""
    if not input.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, len(input.shape))
    parts = [input] if prepend is append is None else [x for x in (prepend, input, append) if x is not None]
    for x in parts:
        if x is input:
            continue
        if len(x.shape) != len(input.shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d, (size, own) in enumerate(zip(x.shape, input.shape, strict=True)):
            if size != own and d != dim:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
                    f"input.size({d}) = {own}, but got tensor.size({d}) = {size}"
                )
    result = FUNCTIONS["cat"](parts, dim) if len(parts) > 1 and n else input
    if n >= result.shape[dim]:
        return into(out, between(result, dim, 0, 0).clone(), WRONG)
    for _ in range(n):
        later, earlier = between(result, dim, 1, None), between(result, dim, None, -1)
        result = later.logical_xor(earlier) if result.dtype is bool_ else later - earlier
    if n == 0:
        result = result.clone()
    return into(out, result)


def pieces(name: str, y: Array, x: Array | None, dx: Any, dim: int) -> Array:
    """The areas of the trapezoids between neighbours, in the last dimension."""
    if not y.shape:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes either 'x' or 'dx', not both")
    if y.dtype is bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported\n  fix: y.float()")
    y = y.movedim(dim, -1)
    sums = y[..., 1:] + y[..., :-1]
    if x is None:
        return sums * ((1 if dx is None else dx) * 0.5)
    if len(x.shape) > 1:
        x = x.movedim(dim, -1)
    if x.shape[-1] != y.shape[-1] and x.shape[-1] != 1:
        raise RuntimeError(
            f"{name}: There must be one `x` value for each sample point: there are {x.shape[-1]} values for {y.shape[-1]} points"
        )
    return sums * (x[..., 1:] - x[..., :-1]) * 0.5


@composite("trapezoid", "trapz", method=False)
def trapezoid(y: Array, x: Array | None = None, *, dx: Any = None, dim: int = -1) -> Array:
    """The integral along a dimension by the trapezoidal rule, of points at `x` or at distances of `dx`."""
    return pieces("trapezoid", y, x, dx, dim).sum(-1)


@composite(method=False)
def cumulative_trapezoid(y: Array, x: Array | None = None, *, dx: Any = None, dim: int = -1) -> Array:
    """The integral up to each point."""
    return cumsum(pieces("cumulative_trapezoid", y, x, dx, dim).movedim(-1, dim), dim)


# ---- derivatives of samples ---------------------------------------------------------------------------------------------------------


def slopes(x: Array, dim: int, points: Array, edge_order: int) -> Array:
    """The derivative along a dimension of values given at `points`, exact for parabolas inside."""
    shape = (-1,) + (1,) * (len(x.shape) - 1 - dim)
    gaps = points[1:] - points[:-1]
    before, after = gaps[:-1].reshape(shape), gaps[1:].reshape(shape)
    left, here, right = between(x, dim, None, -2), between(x, dim, 1, -1), between(x, dim, 2, None)
    inner = right * (before / (after * (before + after))) + here * ((after - before) / (before * after)) - left * (
        after / (before * (before + after))
    )
    return FUNCTIONS["cat"]([edge(x, dim, gaps, edge_order), inner, edge(x.flip(dim), dim, -gaps.flip(0), edge_order)], dim)


def even_slopes(x: Array, dim: int, gap: Any, edge_order: int) -> Array:
    """The same for points that are `gap` apart."""
    last = x.shape[dim] - 1
    points = [between(x, dim, k, k + 1) for k in (0, 1, last - 1, last)]
    if edge_order == 1:
        start, end = (points[1] - points[0]) / gap, (points[3] - points[2]) / gap
    else:
        start = (points[1] * 4 - points[0] * 3 - between(x, dim, 2, 3)) / (2 * gap)
        end = (points[3] * 3 - points[2] * 4 + between(x, dim, last - 2, last - 1)) / (2 * gap)
    return FUNCTIONS["cat"]([start, (between(x, dim, 2, None) - between(x, dim, None, -2)) / (2 * gap), end], dim)


def edge(x: Array, dim: int, gaps: Array, order: int) -> Array:
    """The derivative at the first point, from the next one or two."""
    first, second = between(x, dim, 0, 1), between(x, dim, 1, 2)
    if order == 1:
        return (second - first) / gaps[0]
    a, b = gaps[0], gaps[1]
    return between(x, dim, 2, 3) * (-a / (b * (a + b))) + second * ((a + b) / (a * b)) - first * ((2 * a + b) / (a * (a + b)))


@composite(method=False)
def gradient(input: Array, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Array, ...]:
    """The derivatives of a sampled function along dimensions. `spacing` is the distance of the samples, or their coordinates."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = normalize_dims(dim, len(input.shape))
    given = list(spacing) if isinstance(spacing, list | tuple) else [1 if spacing is None else spacing] * len(dims)
    if len(given) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length {len(dims)} "
            f"but got a list of length {len(given)}"
        )
    if input.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input; its differences may be negative: write x.int()")
    results = []
    for d, space in zip(dims, given, strict=True):
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        half = input.is_floating_point() and input.element_size() == 2
        x = input.float() if half else input if input.is_floating_point() or input.is_complex() else input.to(get_default_dtype())
        uneven = isinstance(space, OpMethods) and len(space.shape)  # type: ignore[attr-defined]
        found = (slopes if uneven else even_slopes)(x, d, space, edge_order)
        results.append(found.to(input.dtype) if half else found)
    return tuple(results)
