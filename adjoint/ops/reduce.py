"""Reductions: many elements become one.

A reduction over everything and one along dimensions are two ops, as in PyTorch, whose nodes have different names (SumBackward0,
SumBackward1). The public function chooses.
"""

from __future__ import annotations

import builtins
import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _return_types as return_types
from .._dtype import as_dtype, as_numpy_dtype, from_numpy_dtype
from .._errors import spelled
from .._methods import OpMethods
from .._state import GRAD, get_mode
from .._tensor import Tensor, wrap
from ._batching import rows
from ._joined import joined
from ._out import several_into
from ._precision import FLOAT32, INT64, compute_dtype, wide, with_dtype
from ._primitives import loops, primitive
from ._registry import FLOAT, FUNCTIONS, LINEAR, REDUCTION, SAME, Array, composite, op
from ._rules import as_axis, call, cast, contiguous, normalize_dims, spread, sum_to, unreduce, whole_number, wrap_dim, zeros_on
from .scatter import scatter_add

Dims = Any  # an int, a sequence of them, or None for all dimensions


# ---- dimensions ---------------------------------------------------------------------------------------------------------------------


def axes_of(dim: Dims, ndim: int) -> Any:
    """The axes that NumPy should reduce."""
    if dim.__class__ is int and -ndim <= dim < ndim:
        return dim
    if dim is None or (dim.__class__ is tuple and not dim):
        return None if ndim else ()
    dims = normalize_dims(dim, ndim)
    return dims if ndim else ()


def count_of(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements go into each result."""
    if dim is None or not shape:
        return math.prod(shape)
    if dim.__class__ is int:
        return shape[wrap_dim(dim, len(shape))]
    return count_along(shape, as_axis(dim))


@lru_cache(256)
def count_along(shape: tuple[int, ...], dim: Any) -> int:
    return math.prod([shape[d] for d in normalize_dims(dim, len(shape))])


def require_elements(name: str, input: Array, dim: Dims = None) -> None:
    """Refuse a reduction that has no answer for zero elements."""
    if input.size:
        return
    if dim is None:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    for d in normalize_dims(dim, len(input.shape)):
        if input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


# ---- sums and means -----------------------------------------------------------------------------------------------------------------


PLAIN = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))  # summed as they are
MANY = 1 << 13
# What np.any and the other do in the end, in half the time: (array, axis, dtype, out, keepdims).
or_reduce: Any = np.logical_or.reduce
and_reduce: Any = np.logical_and.reduce


def counts(x: Any) -> bool:
    """Whether these are so many truth values that NumPy counts them sooner, or stops at the first that decides, than a kernel goes over
    all of them."""
    return bool(x.dtype.kind == "b" and x.size > MANY)


def total_by_kernel(x: Array, axis: Any, keepdim: bool) -> Array | None:
    if counts(x) and axis is None and not keepdim:
        return np.asarray(np.count_nonzero(x), INT64)
    return loops("reduce").total.run(x, axis, keepdim)


@primitive("reduce.sum", total_by_kernel)
def total(x: Array, axis: Any, keepdim: bool) -> Array:
    """The sum: of integers as int64, in half precision computed in single. For rules too, which may run on Tensors."""
    dtype = x.dtype
    if dtype not in PLAIN:
        if isinstance(x, OpMethods):
            return np.sum(x, axis=axis, keepdims=keepdim)
        if dtype.kind not in "iub":
            return cast(total(cast(x, FLOAT32), axis, keepdim), dtype)
        dtype = INT64
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdim)


def summed(x: Array, axis: Any, keepdim: bool, dtype: Any) -> Array:
    x = x if dtype is None else with_dtype(x, dtype)
    result = total(x, axis, keepdim)
    if result.dtype is x.dtype or (dtype is None and x.dtype.kind in "iub"):
        return result
    return cast(result, x.dtype)


@op(nodes="SumBackward0", along="reduce.total", adopts=True, method=False, function=False, jvp=LINEAR,
    batch=lambda input, dtype: sum_dim(rows(input), 1, dtype=dtype),
    input=lambda g, input_shape, input_dtype: cast(spread(g, input_shape, None, False), input_dtype))  # fmt: skip
def sum_all(input: Array, *, dtype: Any = None) -> Array:
    return summed(input, None, False, dtype)


@op(nodes="SumBackward1", along="reduce.total", adopts=True, method=False, function=False, jvp=LINEAR,
    input=lambda g, input_shape, input_dtype, dim, keepdim: cast(spread(g, input_shape, dim, keepdim), input_dtype))  # fmt: skip
def sum_dim(input: Array, dim: Dims, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return summed(input, axes_of(dim, len(input.shape)), keepdim, dtype)


# The hottest of these functions take NumPy's names for `dim` and `keepdim` themselves; for the others `composite` translates them.


@composite(direct=True)
def sum(
    input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, axis: Dims = None, keepdims: bool = False, out: Any = None
) -> Array:
    """The sum of all elements, or along dimensions. Integers are summed as int64."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim is None and not keepdim:
        return sum_all(input, dtype=dtype, out=out)
    return sum_dim(input, dim, keepdim, dtype=dtype, out=out)


@composite(function=False)
def sum_to_size(input: Array, *size: Any) -> Array:
    """The sum over the dimensions that broadcasting would have to expand from `size`."""
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], tuple | list) else size
    own = tuple(input.shape)
    lead = len(own) - len(shape)
    if lead < 0 or builtins.any(wanted not in (1, given) for wanted, given in zip(shape, own[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    if own != tuple(shape) and not (input.is_floating_point() or input.is_complex()):
        input = input.long()
    return sum_to(input, shape) if own else input.sum()


def averaged(x: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    x = with_dtype(x, dtype)
    if x.dtype.kind in "iub":
        raise RuntimeError(
            spelled(
                "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                f"Got: {from_numpy_dtype(x.dtype).scalar_name}\n  fix: x.float().mean(), or x.mean(dtype=torch.float32)"
            )
        )
    return cast(mean_of(x, dim, keepdim), x.dtype)


def mean_of(x: Array, dim: Dims, keepdim: bool) -> Array:
    """The mean in the dtype it is computed in. Of nothing it is NaN."""
    return mean_along(x, axes_of(dim, len(x.shape)), keepdim)


@primitive("reduce.mean.run")
def mean_along(x: Array, axis: Any, keepdim: bool) -> Array:
    return total(wide(x), axis, keepdim) / (count_of(x.shape, axis) or math.nan)


def spread_mean(g: Array, input_shape: tuple[int, ...], input_dtype: Any, dim: Dims, keepdim: bool) -> Array:
    return cast(spread(g / (count_of(input_shape, dim) or 1), input_shape, dim, keepdim), input_dtype)


@op(nodes="MeanBackward0", along="reduce.mean", method=False, function=False, jvp=LINEAR,
    batch=lambda input, dtype: mean_dim(rows(input), 1, dtype=dtype),
    input=lambda g, input_shape, input_dtype: spread_mean(g, input_shape, input_dtype, None, False))  # fmt: skip
def mean_all(input: Array, *, dtype: Any = None) -> Array:
    return averaged(input, None, False, dtype)


@op(nodes="MeanBackward1", along="reduce.mean", method=False, function=False, jvp=LINEAR, input=spread_mean)
def mean_dim(input: Array, dim: Dims, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return averaged(input, dim, keepdim, dtype)


@composite(direct=True)
def mean(
    input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, axis: Dims = None, keepdims: bool = False, out: Any = None
) -> Array:
    """The mean of all elements, or along dimensions."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim is None and not keepdim:
        return mean_all(input, dtype=dtype, out=out)
    return mean_dim(input, dim, keepdim, dtype=dtype, out=out)


# ---- extreme values -----------------------------------------------------------------------------------------------------------------


def refuse_complex(name: str, input: Array) -> None:
    if input.dtype.kind == "c":
        raise NotImplementedError(
            f'"{name}" not implemented for \'{from_numpy_dtype(input.dtype).scalar_name}\': complex numbers have no order\n'
            "  fix: reduce x.abs(), x.real or x.imag instead"
        )


def shared(g: Array, chosen: Array, dtype: Any, dim: Dims = None) -> Array:
    """A gradient divided evenly among the chosen elements of each slice. `g` broadcasts against `chosen`."""
    marks = cast(chosen, compute_dtype(dtype))
    axes = normalize_dims(dim, len(chosen.shape)) if chosen.shape else ()
    return cast(marks * (g / total(marks, axes, True)), dtype)


def share_all_by_kernel(g: Array, input: Array, out: Array, dtype: Any) -> Array | None:
    count = loops("reduce").count_alike.run(input, None, False, 1, out)
    return None if count is None else loops("spread").to_alike(input.shape, None, np.asarray(g / count), input, out)


@primitive("spread.shared", share_all_by_kernel)
def share_all(g: Array, input: Array, out: Array, input_dtype: Any) -> Array:
    alike = (input == out) | (np.isnan(input) & np.isnan(out))  # NaN wins, and equals itself here
    return shared(g, alike, input_dtype)


@op(nodes="MaxBackward1", along="reduce.largest", converts=True, method=False, function=False, jvp=REDUCTION, input=share_all,
    batch=lambda input: amax(rows(input), 1))  # fmt: skip
def max_all(input: Array) -> Array:
    require_elements("max", input)
    refuse_complex("max_all", input)
    return largest_along(input, None, False)


@primitive("reduce.largest.run")
def largest_along(x: Array, axis: Any, keepdim: bool) -> Array:
    return np.max(x, axis=axis, keepdims=keepdim)


@primitive("reduce.smallest.run")
def smallest_along(x: Array, axis: Any, keepdim: bool) -> Array:
    return np.min(x, axis=axis, keepdims=keepdim)


@op(nodes="MinBackward1", along="reduce.smallest", converts=True, method=False, function=False, jvp=REDUCTION, input=share_all,
    batch=lambda input: amin(rows(input), 1))  # fmt: skip
def min_all(input: Array) -> Array:
    require_elements("min", input)
    refuse_complex("min_all", input)
    return smallest_along(input, None, False)


def share_dim_by_kernel(g: Array, input: Array, out: Array, shape: Any, dtype: Any, dim: Dims, keepdim: bool) -> Array | None:
    axis = as_axis(dim)
    count = loops("reduce").count_equal.run(input, axis, keepdim, 1, out)
    return None if count is None else loops("spread").to_equal(shape, axis, g / count, input, out)


@primitive("spread.shared_along", share_dim_by_kernel)
def share_dim(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: Dims, keepdim: bool) -> Array:
    best = unreduce(out, input_shape, dim, keepdim)
    return shared(unreduce(g, input_shape, dim, keepdim), input == best, input_dtype, dim)


_MATCH = "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {given} for out's dtype."


@op(along="reduce.largest", same=_MATCH, jvp=REDUCTION, input=share_dim)
def amax(input: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The largest element along dimensions; equal ones share the gradient evenly."""
    require_elements("amax", input, dim if dim != () else None)
    refuse_complex("max_values_cpu", input)
    return largest_along(input, axes_of(dim, len(input.shape)), keepdim)


@op(along="reduce.smallest", same=_MATCH, jvp=REDUCTION, input=share_dim)
def amin(input: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The smallest element along dimensions; equal ones share the gradient evenly."""
    require_elements("amin", input, dim if dim != () else None)
    refuse_complex("min_values_cpu", input)
    return smallest_along(input, axes_of(dim, len(input.shape)), keepdim)


def position(name: str, input: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is not None and dim.__class__ is not int:
        dim = whole_number(dim)
    return (largest_place if name == "argmax" else smallest_place)(input, dim, keepdim)


@primitive("select.argmax.run")
def largest_place(x: Array, dim: int | None, keepdim: bool) -> Array:
    return place_along("argmax", x, dim, keepdim)


@primitive("select.argmin.run")
def smallest_place(x: Array, dim: int | None, keepdim: bool) -> Array:
    return place_along("argmin", x, dim, keepdim)


def place_along(name: str, input: Array, dim: int | None, keepdim: bool) -> Array:
    if input.dtype.kind in "bc":
        raise RuntimeError(f"{name}(): does not support {'bool' if input.dtype.kind == 'b' else 'complex'} input")
    if dim is None:
        if not input.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    else:
        dim = wrap_dim(dim, len(input.shape))
        require_elements(name, input, dim)
        if not input.shape:
            return np.zeros_like(input, INT64)
    return getattr(np, name)(input, axis=dim, keepdims=keepdim)


def position_in_batch(find: Any, input: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is not None and input.ndim > 1:
        return find(input, wrap_dim(dim, input.ndim - 1) + 1, keepdim)
    found = find(rows(input), 1)
    return found.reshape(-1, *(1,) * (input.ndim - 1)) if keepdim else found


@op(differentiable=False, along="select.argmax", batch=lambda input, dim, keepdim: position_in_batch(argmax, input, dim, keepdim))
def argmax(input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The position of the largest element (the first of several), of the flattened tensor or along a dimension."""
    return position("argmax", input, dim, keepdim)


@op(differentiable=False, along="select.argmin", batch=lambda input, dim, keepdim: position_in_batch(argmin, input, dim, keepdim))
def argmin(input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The position of the smallest element (the first of several), of the flattened tensor or along a dimension."""
    return position("argmin", input, dim, keepdim)


# Note [Selected elements]
# The values that max, median, mode and their like return along a dimension are elements of the input: the op finds their positions, and
# the values are one look-up, whose gradient goes back to those positions. So each of these ops is a search, and `selection` makes the rest.


@primitive("select.put_back", lambda g, index, shape, dtype, dim, keepdim: loops("select").returned(g, index, dim, shape))
def put_back(g: Array, index: Array, input_shape: tuple[int, ...], input_dtype: Any, dim: int, keepdim: bool) -> Array:
    g, index = (unreduce(x, input_shape, dim, keepdim) for x in (g, index))
    dtype = g.dtype if isinstance(g.dtype, np.dtype) else input_dtype  # of half precision, single
    return cast(call(scatter_add, zeros_on(g, input_shape, dtype), dim, index, g), input_dtype)


def look_up(input: Array, index: Array, dim: int, keepdim: bool) -> Array:
    """The elements at `index`, one for each slice along `dim`."""
    return taken_along(input, index, wrap_dim(dim, len(input.shape)), keepdim) if input.shape else np.copy(input)


@primitive("select.taken_along", lambda input, index, dim, keepdim: loops("select").taken(input, index, dim))
def taken_along(input: Array, index: Array, dim: int, keepdim: bool) -> Array:
    found = np.take_along_axis(input, index if keepdim else np.expand_dims(index, dim), axis=dim)
    return contiguous(found if keepdim else np.squeeze(found, axis=dim))


def look_up_tangent(input_t: Array, index: Array, dim: int, keepdim: bool) -> Array:
    return look_up(input_t, index, dim, keepdim)


def in_batch(select: Any, input: Any, index: Any, dim: int, keepdim: bool) -> Any:
    """The selected elements of a batch. An example without dimensions is its own only element."""
    return select(input, index, wrap_dim(dim, input.ndim - 1) + 1, keepdim) if input.ndim > 1 else input.clone()


def selection(name: str, node: str) -> Any:
    """The op that looks up the elements that an op of this name has found; see Note [Selected elements]. `found`: these elements, where
    they came with the index."""

    def select(input: Array, index: Array, dim: int, keepdim: bool, found: Any = None) -> Array:
        return look_up(input, index, dim, keepdim) if found is None else found

    made: Any = op(f"{name}_values", nodes=node, method=False, function=False, out=False, input=put_back, jvp=look_up_tangent,
              batch=lambda input, index, dim, keepdim: in_batch(made, input, index, dim, keepdim))(select)  # fmt: skip
    return made


_MEDIAN = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{given}Tensor does not equal "
    "torch.{wanted}Tensor (while checking arguments for median)",
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{given}Tensor instead (while checking arguments for "
    "median)",
)
# What is said of targets of another dtype, where PyTorch has words of its own for it.
WORDS: dict[str, Any] = {
    "median": _MEDIAN, "nanmedian": _MEDIAN,
    "mode": tuple(f"expected scalar type '{{wanted}}' but got '{{given}}' for {which} output" for which in ("values", "indices")),
    "kthvalue": ("output values must be of same type as input", "output indices must be of scalar type Long"),
    "cummax": "expected scalar_type {wanted} but found {given}", "cummin": "expected scalar_type {wanted} but found {given}",
}  # fmt: skip


def selected(select: Any, result: Any, input: Array, index: Array, dim: int, keepdim: bool, out: Any) -> Any:
    """`(values, indices)` under PyTorch's name for the pair; `out` is a pair of tensors to put them in."""
    pair = select(input, index, dim, keepdim), index
    return result(several_into(out, pair, WORDS.get(result.__name__, SAME), input))


def selected_at_once(select: Any, result: Any, find: Any, input: Any, dim: Any, keepdim: bool, out: Any, *args: Any) -> Any:
    """The same by one kernel, `find(array, dim, *args)`, which finds elements and places; None where it takes a search first."""
    data = input._data
    if out is not None or get_mode() > GRAD or input.__class__ is not Tensor or dim.__class__ is not int:
        return None
    if data.__class__ is not np.ndarray or not -data.ndim <= dim < data.ndim or (found := find(data, dim, *args)) is None:
        return None
    values, places = found
    index = wrap(places)
    return tuple.__new__(result, (wrap(values) if input._fn is None else select(input, index, dim, keepdim, values), index))


@op(wide=True, nodes="MaxBackward0", along="reduce.largest", method=False, function=False, out=False, input=put_back, jvp=look_up_tangent,
    batch=lambda input, index, dim, keepdim: in_batch(max_values, input, index, dim, keepdim))  # fmt: skip
@primitive("reduce.max_values", lambda input, index, dim, keepdim: loops("reduce").largest.run(input, dim, keepdim))  # faster
def max_values(input: Array, index: Array, dim: int, keepdim: bool) -> Array:
    return look_up(input, index, dim, keepdim)


@op(wide=True, nodes="MinBackward0", along="reduce.smallest", method=False, function=False, out=False, input=put_back, jvp=look_up_tangent,
    batch=lambda input, index, dim, keepdim: in_batch(min_values, input, index, dim, keepdim))  # fmt: skip
@primitive("reduce.min_values", lambda input, index, dim, keepdim: loops("reduce").smallest.run(input, dim, keepdim))
def min_values(input: Array, index: Array, dim: int, keepdim: bool) -> Array:
    return look_up(input, index, dim, keepdim)


def extreme(name: str, input: Array, dim: Any, keepdim: bool, other: Any, out: Any) -> Any:
    """The further meanings of max and min: along a dimension, and of two tensors."""
    largest = name == "max"
    if other is not None or isinstance(dim, OpMethods):
        return FUNCTIONS[f"{name}imum"](input, dim if other is None else other, out=out)
    if not isinstance(dim, int) or not hasattr(input, "_data"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(input).__name__}, {type(dim).__name__}), but expected a "
            "Tensor, and an int or a Tensor"
            f"\n  fix: x.a{name}(dim=...) reduces several dimensions"
        )
    data: Array = input._data
    if not data.size:
        wrap_dim(dim, len(data.shape))
        require_elements(name, data, dim)
    if data.dtype.kind == "c":
        refuse_complex(name, data)
    order = input.byte() if data.dtype.kind == "b" else input
    index = (argmax if largest else argmin)(order, dim, keepdim)
    select, result = (max_values, return_types.max) if largest else (min_values, return_types.min)
    return selected(select, result, input, index, dim, keepdim, out)


@composite(direct=True)
def max(
    input: Array, dim: Any = None, keepdim: bool = False, *, other: Array | None = None, axis: Any = None, keepdims: bool = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """The largest element; along a dimension, `(values, indices)`; of two tensors, their elementwise maximum."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim is None and other is None:
        return max_all(input, out=out)
    return extreme("max", input, dim, keepdim, other, out)


@composite(direct=True)
def min(
    input: Array, dim: Any = None, keepdim: bool = False, *, other: Array | None = None, axis: Any = None, keepdims: bool = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """The smallest element; along a dimension, `(values, indices)`; of two tensors, their elementwise minimum."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim is None and other is None:
        return min_all(input, out=out)
    return extreme("min", input, dim, keepdim, other, out)


@composite()
def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest element, of everything or along a dimension."""
    if dim is not None and 0 in input.shape[(place := wrap_dim(dim, input.ndim)) : place + 1]:
        raise IndexError(f"aminmax: Expected reduction dim {place} to have non-zero size.")
    if dim is None and not input.numel():
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    dims = () if dim is None else dim
    results = joined("AminmaxBackward0", (amin(input, dims, keepdim), amax(input, dims, keepdim)))
    return return_types.aminmax(several_into(out, results))


# ---- other sums ---------------------------------------------------------------------------------------------------------------------


@primitive("spread.nansum", lambda g, x, shape, dtype, dim, keepdim: loops("spread").unless_nan(shape, as_axis(dim), g, x))
def nansum_rule(g: Array, input: Array, input_shape: Any, input_dtype: Any, dim: Dims, keepdim: bool) -> Array:
    return cast(np.where(np.isnan(input), 0, unreduce(g, input_shape, dim, keepdim)), input_dtype)


@op(input=nansum_rule, jvp=REDUCTION)
def nansum(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    """The sum, where NaN counts as zero."""
    if input.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs; sum the real and imaginary parts")
    found = loops("reduce").nan_total.run(input, axes_of(dim, len(input.shape)), keepdim) if dtype is None else None
    if found is not None:
        return found
    return summed(np.where(np.isnan(input), np.zeros((), input.dtype), input), axes_of(dim, len(input.shape)), keepdim, dtype)


@composite()
def nanmean(input: Array, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Array:
    """The mean of the elements that are not NaN."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.scalar_name}")
    if dtype is not None and as_numpy_dtype(dtype).kind in "iub":
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {as_dtype(dtype).scalar_name}"
        )
    counted = sum_dim(input.isnan().logical_not(), dim, keepdim)
    return FUNCTIONS["div"](nansum(input, dim, keepdim, dtype=dtype), counted, out=out)


@primitive("spread.logsumexp", lambda g, x, out, shape, dtype, dim, keepdim: loops("spread").by_exponential(
    shape, as_axis(dim), g, x, out))  # fmt: skip
def logsumexp_rule(g: Array, input: Array, out: Array, input_shape: Any, input_dtype: Any, dim: Dims, keepdim: bool) -> Array:
    g, out = (unreduce(x, input_shape, dim, keepdim) for x in (g, out))
    return cast(g * np.exp(input - out), input_dtype)


@op(promote=FLOAT, input=logsumexp_rule, holomorphic=True, jvp=REDUCTION)
def logsumexp(input: Array, dim: Dims, keepdim: bool = False) -> Array:
    """`log(exp(x).sum(dim))`, computed without overflow."""
    return cast(log_sum(wide(input), axes_of(dim, len(input.shape)), keepdim), input.dtype)


def log_sum_by_kernel(x: Array, axes: Any, keepdim: bool) -> Array | None:
    level = loops("reduce").largest.run(x, axes, keepdim)
    return None if level is None else loops("reduce").log_sum.run(x, axes, keepdim, 1, level)


@primitive("reduce.logsumexp", log_sum_by_kernel)
def log_sum(x: Array, axes: Any, keepdim: bool) -> Array:
    if not x.size:
        return np.log(np.sum(np.exp(x), axis=axes, keepdims=keepdim))
    top = np.max(x.real if x.dtype.kind == "c" else x, axis=axes, keepdims=True)
    top = np.where(np.abs(top) == np.inf, 0, top)
    sums = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=keepdim))
    return contiguous(sums + (top if keepdim else np.reshape(top, sums.shape)))


# ---- truth and counts ---------------------------------------------------------------------------------------------------------------


def no_dims(dim: Dims) -> bool:
    """Whether none are given: then `all` and `any` ask each element. (Other reductions take that for all dimensions.)"""
    return (dim.__class__ is tuple or dim.__class__ is list) and not dim


def truth(found: Array, input: Array) -> Array:
    """Truth values, but bytes of bytes, as in PyTorch."""
    return cast(found, input.dtype) if input.dtype.char == "B" else found


@op(differentiable=False, along="reduce.every", same="all only supports bool tensor for result, got: {given}")
def all(input: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether all elements are nonzero."""
    return truth(input != 0, input) if no_dims(dim) else all_along(input, axes_of(dim, len(input.shape)), keepdim)


@primitive("reduce.all", lambda x, axes, keepdim: (
    and_reduce(x, axes, None, None, keepdim) if counts(x) else loops("reduce").every.run(x, axes, keepdim)))  # fmt: skip
def all_along(x: Array, axes: Any, keepdim: bool) -> Array:
    return truth(np.all(x, axis=axes, keepdims=keepdim), x)


@op(differentiable=False, along="reduce.some", same="any only supports bool tensor for result, got: {given}")
def any(input: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Whether some element is nonzero."""
    return truth(input != 0, input) if no_dims(dim) else any_along(input, axes_of(dim, len(input.shape)), keepdim)


@primitive("reduce.any", lambda x, axes, keepdim: (
    or_reduce(x, axes, None, None, keepdim) if counts(x) else loops("reduce").some.run(x, axes, keepdim)))  # fmt: skip
def any_along(x: Array, axes: Any, keepdim: bool) -> Array:
    return truth(np.any(x, axis=axes, keepdims=keepdim), x)


@op(differentiable=False, along="reduce.count")
def count_nonzero(input: Array, dim: Dims = None) -> Array:
    """The number of nonzero elements."""
    return count_along_axes(input, axes_of(dim, len(input.shape)))


@primitive("reduce.nonzero", lambda x, axes: (
    np.asarray(np.count_nonzero(x), INT64) if axes is None and counts(x) else loops("reduce").count.run(x, axes, False)))  # fmt: skip
def count_along_axes(x: Array, axes: Any) -> Array:
    return np.sum(x != 0, axis=axes, dtype=INT64)
