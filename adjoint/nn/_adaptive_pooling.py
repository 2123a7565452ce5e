"""Adaptive pooling: the size of the result is given, and the windows follow from it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .._layout import suggests_channels_last
from .._tensor import Tensor, wrap
from ..ops import pool as ops
from ..ops._pool_windows import Plan, adaptive, plan
from ._pooling import NEEDS_TWO_OR_THREE, Numbers, _check_dims, _constant, _maxima, _single


def _output_size(name: str, shape: tuple[int, ...], output_size: Any, text: str) -> tuple[int, ...]:
    """The size wanted along each dimension; None keeps that of the input."""
    count, ndim = int(name[-2]), len(shape)
    if not isinstance(output_size, int) and output_size is not None and ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}, but is {ndim}")
    wanted = (output_size,) * count if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(wanted) != count:
        raise RuntimeError(text.format(name=name, count=count))
    if ndim not in (count + 1, count + 2):
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got{colon} {list(shape)}")
    for dim, size in enumerate(shape[1:], 1):
        if size == 0 and (dim >= ndim - count or name != "adaptive_avg_pool2d"):  # which is as good with no channels
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} with "
                f"dimension {dim} being empty"
            )
    chosen = tuple(n if o is None else o for o, n in zip(wanted, shape[ndim - count :], strict=True))
    if min(chosen) < 0:
        if "max" in name:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(chosen)}: {[*shape[: ndim - count], *chosen]}")
        given = ", ".join(map(str, chosen))
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{given}}}")
    result = [*shape[: ndim - count], *chosen]
    if math.prod(result) >= 1 << 60:
        words = "Storage size calculation overflowed" if "max" in name else "numel: integer multiplication overflow"
        raise RuntimeError(f"{words} with sizes={result}")
    return chosen


AVG_SIZE, MAX_SIZE = "{name}: output_size must be {count}", "{name}(): internal error: output_size.size() must be {count}"


@lru_cache(maxsize=512, typed=True)
def _adaptive_plan(name: str, shape: tuple[int, ...], output_size: Any) -> Plan:
    sizes = _output_size(name, shape, output_size, MAX_SIZE if "max" in name else AVG_SIZE)
    return plan(tuple(adaptive(n, o) for n, o in zip(shape[len(shape) - len(sizes) :], sizes, strict=True)))


def _adaptive(name: str, input: Tensor, output_size: Any) -> Plan:
    return _adaptive_plan(name, input._data.shape, tuple(output_size) if isinstance(output_size, list) else output_size)


def _adaptive_line(name: str, input: Tensor, wanted: int) -> Plan:
    """The same for one dimension, with the checks that two have."""
    shape = input._data.shape
    return plan(_adaptive_plan(name, (*shape[:-1], 1, shape[-1]), (1, wanted)).windows[1:])


def _adaptive_mean(op: Any, input: Tensor, plan: Plan) -> Tensor:
    if plan.by.size == 1:
        mean: Tensor = input.mean(tuple(range(-plan.dims, 0)), keepdim=True)
        if plan.dims == 2 and input._data.__class__ is np.ndarray and suggests_channels_last(input._data):
            mean = mean.as_strided(mean.shape, (mean.shape[1], 1, mean.shape[1], mean.shape[1]))
        return mean
    return op(input, plan)  # type: ignore[no-any-return]


def adaptive_avg_pool1d(input: Tensor, output_size: Numbers) -> Tensor:
    """The mean over as many windows of the last dimension as are wanted."""
    _check_dims("adaptive_avg_pool1d", input, NEEDS_TWO_OR_THREE)
    wanted = _single("adaptive_avg_pool1d", "output_size", output_size)
    if _constant(input) and input._data.flags.c_contiguous:
        return wrap(ops.means(input._data, _adaptive_line("adaptive_avg_pool2d", input, wanted)))
    result: Tensor = adaptive_avg_pool2d(input.unsqueeze(-2), (1, wanted)).squeeze(-2)
    return result


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over as many windows of the last two dimensions as are wanted."""
    return _adaptive_mean(ops.adaptive_avg_pool2d, input, _adaptive("adaptive_avg_pool2d", input, output_size))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean over as many windows of the last three dimensions as are wanted."""
    return _adaptive_mean(ops.adaptive_avg_pool3d, input, _adaptive("adaptive_avg_pool3d", input, output_size))


def _adaptive_maxima(name: str, select: Any, input: Tensor, plan: Plan, return_indices: bool) -> Any:
    if not input.is_floating_point():
        ops.refuse(f"{name}{'_cpu' * (plan.dims == 3)}", input._data)
    return _maxima(select, input, plan, return_indices)


def adaptive_max_pool1d(input: Tensor, output_size: Numbers, return_indices: bool = False) -> Any:
    """The maximum over as many windows of the last dimension as are wanted; with `return_indices` also where it is."""
    _check_dims("adaptive_max_pool1d", input, NEEDS_TWO_OR_THREE)
    if 0 in input.shape[1:]:
        raise RuntimeError(
            "adaptive_max_pool1d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty"
        )
    wanted = _single("adaptive_max_pool1d", "output_size", output_size)
    if _constant(input) and input._data.flags.c_contiguous:
        found, places = ops.search(input._data, _adaptive_line("adaptive_max_pool2d", input, wanted), return_indices)
        return (wrap(found), wrap(places)) if return_indices else wrap(found)
    values, index = (x.squeeze(-2) for x in adaptive_max_pool2d(input.unsqueeze(-2), (1, wanted), True))
    return (values, index) if return_indices else values


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over as many windows of the last two dimensions as are wanted; with `return_indices` also where it is."""
    plan = _adaptive("adaptive_max_pool2d", input, output_size)
    return _adaptive_maxima("adaptive_max_pool2d", ops.adaptive_max_pool2d, input, plan, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum over as many windows of the last three dimensions as are wanted; with `return_indices` also where it is."""
    plan = _adaptive("adaptive_max_pool3d", input, output_size)
    return _adaptive_maxima("adaptive_max_pool3d", ops.adaptive_max_pool3d, input, plan, return_indices)
