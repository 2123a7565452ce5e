"""Pooling as functions: PyTorch's arguments and refusals, and one dimension as two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._layer import Layer
from .._layout import like_images
from .._state import GRAD, get_mode
from .._tensor import Tensor, wrap
from ..ops import pool as ops
from ..ops._out import into
from ..ops._pool_windows import INDEX, Plan, means_directly, plan, sliding
from ..ops._registry import SAME

Numbers = int | Sequence[int]
Pair = tuple[Tensor, Tensor]

COUNT_NAMES = {2: "two", 3: "three"}
AXIS_NAMES = {2: ("H", "W"), 3: ("T", "H", "W")}


# ---- arguments ----------------------------------------------------------------------------------------------------------------------


POSITIONS = {"kernel_size": 2, "output_size": 2, "stride": 3, "padding": 4, "dilation": 5}


def _ints(function: str, argument: str, value: Any) -> tuple[int, ...]:
    """One number, or several of them."""
    if isinstance(value, int):
        return (value,)
    if not isinstance(value, Sequence) or isinstance(value, str):
        place = POSITIONS[argument]
        raise TypeError(f"{function}(): argument '{argument}' (position {place}) must be tuple of ints, not {type(value).__name__}")
    return tuple(value)


def _expanded(function: str, argument: str, value: Numbers, count: int) -> tuple[int, ...]:
    sizes = _ints(function, argument, value)
    if len(sizes) not in (1, count):
        form = "either be" if argument != "dilation" else "be either"
        if function == "avg_pool3d":
            form = "be omitted," if argument == "stride" else "be"
        raise RuntimeError(f"{function}: {argument} must {form} a single int, or a tuple of {COUNT_NAMES[count]} ints")
    return sizes * count if len(sizes) == 1 else sizes


def _steps(stride: Numbers | None, kernel_size: Numbers) -> Numbers:
    """The stride; without one, windows lie side by side."""
    return kernel_size if stride is None or (isinstance(stride, Sequence) and not stride) else stride


def _single(function: str, argument: str, value: Numbers) -> int:
    sizes = _ints(function, argument, value)
    if len(sizes) != 1:
        if function.startswith("max"):
            form = "an int, list of ints or tuple of ints" if argument != "stride" else "None, an int, list of ints, or tuple of ints"
            raise RuntimeError(f"{function}() {argument} must be {form} of size 1 but got size {len(sizes)}")
        raise RuntimeError(f"{function}() argument '{argument}' should contain one int (got {len(sizes)})")
    return sizes[0]


def _pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are. With `ceil_mode` the last one may reach over the end, but must begin in the input or before it."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def _plan(function: str, input: Tensor, *numbers: Any) -> Plan:
    """The windows along the last dimensions, after all checks. Lists of numbers are as good as tuples."""
    try:
        return _checked_plan(function, input._data.shape, *numbers)
    except TypeError:
        return _checked_plan(function, input._data.shape, *(tuple(n) if isinstance(n, list) else n for n in numbers))


@lru_cache(maxsize=512, typed=True)
def _checked_plan(
    function: str,
    shape: tuple[int, ...],
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    dilation: Numbers,
    ceil_mode: bool,
    include_pad: bool = True,
    divisor: int | None = None,
) -> Plan:
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    count, ndim = int(function[-2]), len(shape)
    kernel = _expanded(function, "kernel_size", kernel_size, count)
    steps = _expanded(function, "stride", _steps(stride, kernel), count)
    sides, spread = _expanded(function, "padding", padding, count), _expanded(function, "dilation", dilation, count)
    names = AXIS_NAMES[count]
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {_named('k', names, kernel)}")
    if min(steps) < 0:
        raise RuntimeError(f"stride should be greater than zero, but got {_named('d', names, steps)}")
    if min(spread) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {_named('dilation', names, spread)}")
    for k, p, d in zip(kernel, sides, spread, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    if any(p > k // 2 for k, p in zip(kernel, sides, strict=True)):
        pairs = [(f"pad{name}", p) for name, p in zip(names, sides, strict=True)]
        pairs += [(f"k{name}", k) for name, k in zip(names, kernel, strict=True)]
        given = ", ".join(f"{name} = {value}" for name, value in pairs)
        raise RuntimeError(f"pad should be smaller than or equal to half of kernel size, but got {given}")
    if function == "avg_pool2d" and ndim < count + 1:
        where = f"out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got -3)" if ndim else ""
        raise IndexError(f"Dimension {where or 'specified as -3 but tensor has no dimensions'}")
    if ndim not in (count + 1, count + 2) and function != "avg_pool2d":
        raise RuntimeError(f"non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input, but got {list(shape)}")
    if 0 in shape[ndim - count - 1 :] or ndim > count + 2:
        if count == 3:
            called = "max_pool3d_with_indices_out_cpu_template" if function == "max_pool3d" else function
            raise RuntimeError(
                f"{called}(): Expected input's non-batch dimensions to have positive length, but input has a shape of {list(shape)} and "
                f"non-batch dimension {shape.index(0, ndim - 4)} has length zero!"
            )
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(shape)}"
        )
    channels, *sizes = shape[ndim - count - 1 :]
    lines = list(zip(sizes, kernel, steps, sides, spread, strict=True))
    places = [_pooled_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in lines]
    if min(places) < 1:
        if function == "avg_pool3d":
            raise RuntimeError(f"input image ({_named('', names, sizes)}) smaller than kernel size ({_named('k', names, kernel)})")
        given, calculated = ("x".join(map(str, (channels, *s))) for s in (sizes, places))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({calculated}). Output size is too small")
    return plan(tuple(sliding(n, o, k, s, p, d, include_pad) for o, (n, k, s, p, d) in zip(places, lines, strict=True)), divisor)


@lru_cache(maxsize=256, typed=True)
def _line_plan(
    function: str, shape: tuple[int, ...], kernel: int, step: int, side: int, spread: int, ceil_mode: bool, include_pad: bool = True
) -> Plan:
    """The same for one dimension, with the checks that two have."""
    two = _checked_plan(
        function, (*shape[:-1], 1, shape[-1]), (1, kernel), (1, step), (0, side), (1, spread), bool(ceil_mode), bool(include_pad)
    )
    return plan(two.windows[1:])


def _named(prefix: str, names: Sequence[str], values: Sequence[int]) -> str:
    return " ".join(f"{prefix}{name}: {value}" for name, value in zip(names, values, strict=True))


def _check_dims(function: str, input: Tensor, text: str) -> None:
    count = int(function[-2])
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(text.format(function=function, low=count + 1, high=count + 2, shape=list(input.shape), ndim=input.ndim))


NEEDS_TWO_OR_THREE = (
    "Expected {low} to {high} dimensions, but got {ndim}-dimensional tensor for argument #1 'self' "
    "(while checking arguments for {function})"
)


# ---- maxima -------------------------------------------------------------------------------------------------------------------------


def _maxima(select: Any, input: Tensor, plan: Plan, return_indices: bool) -> Any:
    data = input._data
    if isinstance(data, Layer):
        places = ops.max_pool_places(input.detach(), plan)
        values = select(input, places, plan.dims)
        return (values, places) if return_indices else values
    mode = get_mode()
    needed = return_indices or mode > GRAD or (mode == GRAD and input.requires_grad)  # nobody asks for the places without a backward pass
    found, index = ops.search(data, plan, needed)
    if data.__class__ is np.ndarray and not data.flags.c_contiguous and select.op.images:
        found, index = like_images((found, index), (data,))
    places = wrap(found if index is None else index)
    values = select(input, places, plan.dims, found)
    return (values, places) if return_indices else values


def _constant(input: Tensor) -> bool:
    """Whether nothing is to be recorded and the input is an ordinary floating tensor. PyTorch treats one dimension as two, which shows in
    the nodes; without nodes it does not."""
    plain = input.__class__ is Tensor and input._fn is None and get_mode() <= GRAD
    return plain and input._data.__class__ is np.ndarray and input._data.dtype.kind == "f"


def max_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the last dimension; with `return_indices` also where it is.

    >>> import adjoint as ad
    >>> ad.nn.functional.max_pool1d(ad.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
    tensor([[3., 5.]])
    """
    given = kernel_size, stride, padding, dilation, ceil_mode, return_indices
    try:
        kernel, step, side, spread, plan = _line_numbers(input._data.shape, *given)
    except TypeError:
        kernel, step, side, spread, plan = _line_numbers(input._data.shape, *(tuple(n) if isinstance(n, list) else n for n in given))
    if _constant(input):
        found, places = ops.search(input._data, plan, return_indices)
        return (wrap(found), wrap(places)) if return_indices else wrap(found)
    if not return_indices and not input.is_floating_point():
        ops.refuse("max_pool1d_impl", input._data)
    result = max_pool2d(input.unsqueeze(-2), (1, kernel), (1, step), (0, side), (1, spread), ceil_mode, return_indices)
    return tuple(x.squeeze(-2) for x in result) if return_indices else result.squeeze(-2)


@lru_cache(maxsize=256, typed=True)
def _line_numbers(
    shape: tuple[int, ...], kernel_size: Numbers, stride: Numbers | None, padding: Numbers, dilation: Numbers, ceil_mode: bool, places: bool
) -> tuple[int, int, int, int, Plan]:
    """The numbers of `max_pool1d`, and its windows, after all checks."""
    name = "max_pool1d"
    if places and len(shape) not in (2, 3):
        raise RuntimeError(NEEDS_TWO_OR_THREE.format(function=name, low=2, high=3, ndim=len(shape)))
    if len(shape) not in (2, 3) or (0 in shape[-2:] and not places):
        raise RuntimeError(f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}")
    kernel = _single(name, "kernel_size", kernel_size)
    step = _single(name, "stride", _steps(stride, kernel))
    side, spread = _single(name, "padding", padding), _single(name, "dilation", dilation)
    if not places:  # with them, PyTorch has max_pool2d refuse its arguments
        _check_line(name, shape[-1], kernel, step, side, spread, ceil_mode)
    return kernel, step, side, spread, _line_plan("max_pool2d", shape, kernel, step, side, spread, ceil_mode)


def _check_line(name: str, size: int, kernel: int, step: int, side: int, spread: int, ceil_mode: bool) -> None:
    for what, value in (("kernel_size", kernel), ("stride", step), ("dilation", spread)):
        if value <= 0:
            raise RuntimeError(f"{name}() {what} must be greater than zero, but got {value}")
    if side < 0:
        raise RuntimeError(f"{name}() padding must be non-negative, but got {side}")
    if side > kernel // 2:
        raise RuntimeError(f"{name}() padding should be at most half of kernel size, but got padding={side} and kernel_size={kernel}")
    places = _pooled_size(size, kernel, step, side, spread, ceil_mode)
    if places < 1:
        raise RuntimeError(f"{name}() Invalid computed output size: {places}")


def max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the last two dimensions; with `return_indices` also where it is."""
    plan = _plan("max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode)
    return _maxima(ops.max_pool2d, input, plan, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of the last three dimensions; with `return_indices` also where it is."""
    plan = _plan("max_pool3d", input, kernel_size, stride, padding, dilation, ceil_mode)
    return _maxima(ops.max_pool3d, input, plan, return_indices)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Pair:
    """`max_pool1d` with `return_indices=True`."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)  # type: ignore[no-any-return]


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Pair:
    """`max_pool2d` with `return_indices=True`."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)  # type: ignore[no-any-return]


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Pair:
    """`max_pool3d` with `return_indices=True`."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)  # type: ignore[no-any-return]


# ---- means --------------------------------------------------------------------------------------------------------------------------


def avg_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean over windows of the last dimension."""
    name = "avg_pool1d"
    _check_dims(name, input, NEEDS_TWO_OR_THREE)
    kernel, side = _single(name, "kernel_size", kernel_size), _single(name, "padding", padding)
    step = _single(name, "stride", _steps(stride, kernel))
    if _constant(input) and input._data.flags.c_contiguous:
        plan = _line_plan("avg_pool2d", input._data.shape, kernel, step, side, 1, ceil_mode, count_include_pad)
        return wrap(ops.means(input._data, plan))
    result: Tensor = avg_pool2d(input.unsqueeze(-2), (1, kernel), (1, step), (0, side), ceil_mode, count_include_pad).squeeze(-2)
    return result


def avg_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over windows of the last two dimensions, or their sum divided by `divisor_override`."""
    plan = _plan("avg_pool2d", input, kernel_size, stride, padding, 1, ceil_mode, count_include_pad, divisor_override)
    if out is None and _constant(input) and (found := means_directly(input._data, plan)) is not None:
        return wrap(found)
    result: Tensor = ops.avg_pool2d(input, plan)
    return into(out, result, SAME)  # type: ignore[no-any-return]


def avg_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over windows of the last three dimensions, or their sum divided by `divisor_override`."""
    plan = _plan("avg_pool3d", input, kernel_size, stride, padding, 1, ceil_mode, count_include_pad, divisor_override)
    result: Tensor = ops.avg_pool3d(input, plan)
    return into(out, result, SAME)  # type: ignore[no-any-return]


def _extreme(pool: Any, input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None, ceil_mode: bool) -> Tensor:
    """The limit of a norm: the largest size in each window, or (at minus infinity) the smallest."""
    if norm_type > 0:
        return pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)  # type: ignore[no-any-return]
    return -pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)  # type: ignore[no-any-return]


def _power_mean(mean: Tensor, norm_type: float, count: int) -> Tensor:
    positive = mean.sign() * mean.abs().relu()
    return positive.mul(count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of windows of the last dimension."""
    if math.isinf(norm_type):
        return _extreme(max_pool1d, input, norm_type, kernel_size, stride, ceil_mode)
    return _power_mean(avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, kernel_size)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of windows of the last two dimensions."""
    if math.isinf(norm_type):
        return _extreme(max_pool2d, input, norm_type, kernel_size, stride, ceil_mode)
    count = math.prod(_expanded("lp_pool2d", "kernel_size", kernel_size, 2))
    return _power_mean(avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, count)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of windows of the last three dimensions."""
    if math.isinf(norm_type):
        return _extreme(max_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
    count = math.prod(_expanded("lp_pool3d", "kernel_size", kernel_size, 3))
    return _power_mean(avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, count)


# ---- maxima put back ----------------------------------------------------------------------------------------------------------------


def _unpooled_size(
    input: Tensor, count: int, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], output_size: Any
) -> tuple[int, ...]:
    sizes = input.shape[input.ndim - count :]
    usual = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True))
    if output_size is None:
        return usual
    wanted = tuple(output_size)
    if len(wanted) == count + 2:
        wanted = wanted[2:]
    if len(wanted) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of '{len(wanted)}'"
        )
    for dim, (n, default, s) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not default - s < n < default + s:
            raise ValueError(f'invalid output_size "{wanted}" (dim {dim} must be between {default - s} and {default + s})')
    return wanted


def _unpool(
    count: int, input: Tensor, indices: Tensor, kernel_size: Numbers, stride: Numbers | None, padding: Numbers, output_size: Any
) -> Tensor:
    name = f"max_unpool{count}d"
    kernel = _expanded(name, "kernel_size", kernel_size, count)
    steps = _expanded(name, "stride", _steps(stride, kernel), count)
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with {input.ndim} "
            "dimensions."
        )
    if not input.is_floating_point():
        ops.refuse(name, input._data)
    if indices._data.dtype != INDEX:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.scalar_name}\n  fix: indices.long()")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor with shape: "
            f"{list(indices.shape)}"
        )
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"max_unpooling{count}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
            f"{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty."
        )
    size = _unpooled_size(input, count, kernel, steps, _expanded(name, "padding", padding, count), output_size)
    return (ops.max_unpool2d if count == 2 else ops.max_unpool3d)(input, indices, size)  # type: ignore[no-any-return]


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0, output_size: Any = None
) -> Tensor:
    """The maxima of `max_pool1d` put back where they were, with zeros elsewhere."""
    name = "max_unpool1d"
    kernel, side = _single(name, "kernel_size", kernel_size), _single(name, "padding", padding)
    step = _single(name, "stride", _steps(stride, kernel))
    size = _unpooled_size(input, 1, (kernel,), (step,), (side,), output_size)
    result: Tensor = _unpool(2, input.unsqueeze(-1), indices.unsqueeze(-1), (kernel, 1), (step, 1), (side, 0), (*size, 1)).squeeze(-1)
    return result


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0, output_size: Any = None
) -> Tensor:
    """The maxima of `max_pool2d` put back where they were, with zeros elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0, output_size: Any = None
) -> Tensor:
    """The maxima of `max_pool3d` put back where they were, with zeros elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
