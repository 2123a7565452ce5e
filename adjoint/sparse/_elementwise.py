"""Arithmetic with sparse tensors, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._creation import zeros
from .._layout import sparse_coo
from .._tensor import Tensor, wrap
from ..ops._general import called
from ..ops._registry import FUNCTIONS, Op
from ..ops.arithmetic import mul as multiply
from ..ops.scatter import index_add
from ._forms import computed, form, is_sparse
from ._make import coalesced, converted, lines_of, made, nothing, pattern_of, to_dense, values_of, with_values
from ._ops import values_in
from ._pattern import IN_BLOCKS, Coo, at_places

LINEAR = frozenset({"neg", "clone", "_to_copy", "_to_integer", "positive", "real", "imag", "conj", "conj_physical"})


def on_values(op: Op, args: tuple[Any, ...], operands: Sequence[Any]) -> Any:
    """An op that works element by element, where it makes 0 of what is 0 in all sparse operands: on their values."""
    sparse = [x for x in operands if is_sparse(x)]
    if any(isinstance(x, Tensor) and not is_sparse(x) and x.ndim for x in operands):
        return NotImplemented
    elements = {id(x): np.zeros((), x._data.values.dtype) for x in sparse}
    zero = computed(op, *(elements.get(id(x), x) for x in args))
    if zero.shape or zero != 0:
        return NotImplemented
    if op.name not in LINEAR:
        sparse = list(map(coalesced_any, sparse))
    sparse = aligned(sparse)
    places = iter(sparse)
    given = [values_of(next(places)) if is_sparse(x) else x for x in args]
    return with_values(sparse[0], called(op, given))


def coalesced_any(x: Tensor) -> Tensor:
    return coalesced(x) if x.layout is sparse_coo else x


def aligned(tensors: list[Tensor]) -> list[Tensor]:
    """Sparse tensors with values in the same places: those where one of them has a value."""
    first, *others = map(pattern_of, tensors)
    if all(first.same_places(other) for other in others):
        return tensors
    check_alike(tensors)
    flat = np.unique(np.concatenate([pattern_of(x).flat for x in tensors]))
    pattern = at_places(flat, first.shape, len(first.sparse_shape))
    found = [made(values_in(x, pattern), pattern) for x in tensors]
    return found if first.layout is sparse_coo else [converted(x, first.layout, first.block) for x in found]


def check_alike(tensors: list[Tensor]) -> None:
    first, *others = tensors
    for other in others:
        if other.shape != first.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(first.shape)} != {list(other.shape)}: "
                "sparse tensors are not broadcast\n  fix: make them dense, x.to_dense() + y.to_dense()"
            )
        if other.layout is not first.layout:
            raise RuntimeError(
                f"expected tensors of one layout, but got {first.layout} and {other.layout}\n  fix: y.to_sparse(layout=x.layout)"
            )
        if pattern_of(other).dense_dim != pattern_of(first).dense_dim:
            raise RuntimeError("sparse tensors have to have the same number of sparse dimensions; use to_sparse(sparse_dim)")


# ---- sums ---------------------------------------------------------------------------------------------------------------------------


@form("add")
def add(input: Any, other: Any) -> Any:
    if is_sparse(input) and is_sparse(other):
        return joined(input, other)
    if is_sparse(other) and isinstance(input, Tensor):
        return added_to(input, other)
    if is_sparse(input) and isinstance(other, Tensor) and other.ndim and input.layout is not sparse_coo:
        return added_to(other, input)
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead. Or make it dense: x.to_dense() + y")


@form("sub")
def sub(input: Any, other: Any) -> Any:
    return add(input, -other if is_sparse(other) else other)


@form("add_scaled")
def add_scaled(input: Any, other: Any, alpha: Any) -> Any:
    return add(input, other * alpha)


@form("sub_scaled")
def sub_scaled(input: Any, other: Any, alpha: Any) -> Any:
    return sub(input, other * alpha)


@form("rsub")
def rsub(input: Any, other: Any, alpha: Any = 1) -> Any:
    return sub(other, input * alpha)


def joined(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two sparse tensors. Where one of them is not coalesced, nothing is added up: the values of both stand in the result."""
    check_alike([a, b])
    first, second = pattern_of(a), pattern_of(b)
    if first.same_places(second):
        return with_values(a, values_of(a) + values_of(b))
    if first.coalesced and second.coalesced:
        a, b = aligned([a, b])
        return with_values(a, values_of(a) + values_of(b))
    values = FUNCTIONS["cat"]([values_of(a), values_of(b)])
    return made(values, Coo(np.concatenate([first.indices, second.indices], 1), first.shape, False))


def added_to(dense: Tensor, sparse: Tensor) -> Tensor:
    pattern = pattern_of(sparse)
    dense = dense.expand(pattern.shape) if dense.ndim else dense + zeros(pattern.shape, dtype=dense.dtype, device=dense.device)
    flat = dense.reshape(-1, *pattern.dense_shape)
    lines = lines_of(sparse)
    kind = np.result_type(flat._data.dtype, lines._data.dtype) if flat.dtype is not lines.dtype else None
    if kind is not None:
        return dense + to_dense(sparse)
    total: Tensor = index_add(flat, 0, wrap(pattern.flat), lines)
    return total.reshape(pattern.shape)


# ---- products -----------------------------------------------------------------------------------------------------------------------


@form("mul")
def mul(input: Any, other: Any) -> Any:
    if not is_sparse(input):
        input, other = other, input
    if not is_sparse(other):
        return with_values(input, values_of(input) * elements_at(other, input))
    a, b = coalesced_any(input), coalesced_any(other)
    if pattern_of(a).same_places(pattern_of(b)):
        return with_values(a, values_of(a) * values_of(b))
    check_alike([a, b])
    pattern = pattern_of(a)
    flat = np.intersect1d(pattern.flat, pattern_of(b).flat)
    both = at_places(flat, pattern.shape, len(pattern.sparse_shape))
    product = made(multiply(values_in(a, both), values_in(b, both)), both)
    return product if pattern.layout is sparse_coo else converted(product, pattern.layout, pattern.block)


def elements_at(dense: Any, sparse: Tensor) -> Any:
    """The elements of a dense tensor in the places of a sparse one; numbers as they are."""
    if not isinstance(dense, Tensor) or not dense.ndim:
        return dense
    pattern = pattern_of(sparse)
    if np.broadcast_shapes(tuple(dense.shape), pattern.shape) != pattern.shape:
        raise RuntimeError(
            f"mul: the dense tensor, of shape {list(dense.shape)}, is larger than the sparse one, of shape {list(pattern.shape)}\n"
            "  fix: make it dense first, x.to_dense()"
        )
    found: Tensor = values_in(dense.expand(pattern.shape), pattern)
    return found


@form("div", "true_divide")
def div(input: Any, other: Any) -> Any:
    check_divisor(input, other)
    return with_values(input, values_of(input) / other)


@form("div_floor", "div_trunc", "floor_divide", "remainder", "fmod")
def div_rounded(input: Any, other: Any) -> Any:
    return NotImplemented


def check_divisor(input: Any, other: Any) -> None:
    if is_sparse(other) or (isinstance(other, Tensor) and other.ndim):
        shape = list(other.shape)
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)\n"
            "  fix: x.to_dense() / y, or x * (1 / y), which keeps the pattern of x"
        )


@form("clone")
def clone(input: Tensor, memory_format: Any = None) -> Tensor:
    return with_values(input, values_of(input).clone())


@form("_to_copy", "_to_integer")
def convert(input: Tensor, dtype: Any, memory_format: Any = None) -> Tensor:
    from ..ops.convert import convert as with_dtype

    return with_values(input, with_dtype(values_of(input), dtype, True))


@form("pow", "pow_number")
def pow(input: Any, exponent: Any) -> Any:
    if is_sparse(exponent) or isinstance(exponent, Tensor):
        return NotImplemented
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense: x.to_dense() ** 0")
    x = coalesced_any(input)
    return with_values(x, values_of(x) ** exponent)


@form("zero")
def zero(input: Tensor) -> Tensor:
    """No values at all."""
    pattern = pattern_of(input)
    if pattern.dense_dim or pattern.layout in IN_BLOCKS:
        return with_values(input, values_of(input) * 0)
    return nothing(pattern.shape, input._data.values.dtype, pattern.layout)


@form("copy")
def copy(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if input.layout is not src.layout:
        raise RuntimeError(
            f"copy_() between dense and sparse Tensors is not implemented! Found layouts {input.layout} and {src.layout}\n"
            "  fix: x.copy_(y.to_dense()), or y.to_sparse(layout=x.layout)"
        )
    return clone(src)


@form("fill", "fill_tensor")
def fill(input: Tensor, value: Any) -> Any:
    return zero(input) if value == 0 else NotImplemented
