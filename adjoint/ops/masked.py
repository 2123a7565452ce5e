"""Choosing by truth values: `where`, `masked_fill` and their relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype, int64, result_numpy_dtype
from .._errors import compose, spelled
from .._site import here
from .._tensor import Tensor, wrap
from ..autograd.regions import ANY, same_memory
from ._batching import Composed, aligned, behind_batch, by_example, rows
from ._forward import NUMBERS, check_shapes
from ._general import array_to_write, plain_array
from ._out import into
from ._primitives import loops, opaque
from ._registry import DYNAMIC, ELEMENTWISE, FUNCTIONS, LINEAR, Array, composite, op
from ._rules import call, cast, copied, holds, sum_to, zeros_on
from .assign import SMALL, inplace_form, number_as, number_for, raise_overflow, warn_if_expanded, write_through
from .convert import convert
from .scatter import gather, scatter_add

Shape = tuple[int, ...]


# ---- where --------------------------------------------------------------------------------------------------------------------------


@op(
    "where", wide=True, method=False, function=False, broadcasts=True, jvp=ELEMENTWISE, warns=False, like=("condition", "input", "other"),
    narrow=True,
    input=lambda g, condition: np.where(condition, g, 0),
    other=lambda g, condition: np.where(condition, 0, g),
)  # fmt: skip
def _where(input: Array, other: Array, condition: Array) -> Array:
    return np.where(condition, input, other)


@composite(method=False)
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where the condition is true, `other` elsewhere. Of the condition alone: the indices where it is true, as a tuple."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition._data.dtype.kind != "b":
        if condition._data.dtype != np.uint8:
            raise RuntimeError(
                spelled(
                    f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.scalar_name}\n"
                    "  fix: torch.where(x != 0, ...), or x.bool()"
                )
            )
        condition = convert(condition, np.dtype(bool))
    if input.__class__ is Tensor and input._data.dtype.kind == "f" and (other.__class__ is float or other.__class__ is int):
        other = _number_like(other, input)
    elif other.__class__ is Tensor and other._data.dtype.kind == "f" and (input.__class__ is float or input.__class__ is int):
        input = _number_like(input, other)
    elif input.__class__ is not Tensor or other.__class__ is not Tensor or input._data.dtype != other._data.dtype:
        for value in (input, other):
            if not isinstance(value, (Tensor, np.ndarray, np.generic, *NUMBERS)):
                raise TypeError(
                    f"where() received an invalid combination of arguments - got ({type(condition).__name__}, {type(input).__name__}, "
                    f"{type(other).__name__}), but expected tensors or numbers"
                )
        dtype = result_numpy_dtype([value._data if isinstance(value, Tensor) else value for value in (input, other)])
        input, other = _as_operand(input, dtype), _as_operand(other, dtype)
    return _where(input, other, condition, out=out)


def _number_like(number: float, tensor: Tensor) -> Tensor:
    """A number in the dtype of a tensor, and not in that of its layer."""
    data = tensor._data
    return wrap(np.asarray(number, data.dtype if data.__class__ is np.ndarray else tensor.dtype.numpy))


def _as_operand(value: Any, dtype: np.dtype[Any]) -> Tensor:
    if isinstance(value, Tensor):
        return convert(value, dtype)
    return wrap(number_as(value, dtype) if dtype.kind in "iu" and isinstance(value, int) else np.asarray(value).astype(dtype))


@composite("where", function=False, direct=True)
def _where_method(input: Any, condition: Any, other: Any) -> Any:
    """This tensor where the condition is true, `other` elsewhere."""
    return where(condition, input, other)


# ---- masks --------------------------------------------------------------------------------------------------------------------------


def check_mask(name: str, mask: Array) -> None:
    if mask.dtype != bool:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {from_numpy_dtype(mask.dtype).name}\n  fix: pass mask.bool()"
        )


def check_target(target: Array, mask: Array) -> None:
    """A write cannot make its target grow."""
    if mask.shape != target.shape and (shape := check_shapes([target, mask])) != target.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


@op("masked_fill", method=False, function=False, broadcasts=True, holomorphic=True, jvp=ELEMENTWISE, warns=False,
    input=lambda g, mask: np.where(mask, 0, g))  # fmt: skip
def _masked_fill(input: Array, mask: Array, value: Any) -> Array:
    check_mask("masked_fill_", mask)
    fill = number_for if input.dtype.kind in "fc" else number_as
    return np.where(mask, fill(value, input.dtype), input)


def _masked_fill_into(input: Array, mask: Array, value: Any) -> None:
    check_mask("masked_fill_", mask)
    check_target(input, mask)
    np.copyto(input, number_as(value, input.dtype), where=mask)


def _filled_examples(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return FUNCTIONS["where"](*aligned(mask, value, input))  # type: ignore[no-any-return]


@op(
    "masked_fill_tensor", method=False, function=False, broadcasts=True, holomorphic=True, jvp=ELEMENTWISE, warns=False,
    nodes="MaskedFillBackward1",
    batch=lambda input, mask, value: _filled_examples(input, mask, value.to(input.dtype)),
    input=lambda g, mask: np.where(mask, 0, g),
    value=lambda g, mask: np.where(mask, g, 0),
)  # fmt: skip
def _masked_fill_tensor(input: Array, mask: Array, value: Array) -> Array:
    _check_value(input, mask, value)
    return np.where(mask, cast(value, input.dtype), input)


def _masked_fill_tensor_into(input: Array, mask: Array, value: Array) -> None:
    _check_value(input, mask, value)
    check_target(input, mask)
    np.copyto(input, cast(value, input.dtype), where=mask)


def _check_value(input: Array, mask: Array, value: Array) -> None:
    if value.shape:
        raise RuntimeError(
            spelled(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value.shape)} dimension(s).\n"
                "  fix: torch.where(mask, value, x)"
            )
        )
    check_mask("masked_fill_", mask)
    if value.dtype.kind == "c" and input.dtype.kind != "c" and not (value.__class__ is np.ndarray and value.imag == 0):
        raise_overflow(input.dtype)


@composite(direct=True)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """A copy with one value where the mask is true."""
    return _masked_fill_tensor(input, mask, value) if isinstance(value, Tensor) else _masked_fill(input, mask, value)


def fill_masked(input: Any, mask: Any, value: Any) -> bool:
    """The common case of that: a number, and a mask of the same shape, where nothing is recorded. False if it is another."""
    if value.__class__ is not float and value.__class__ is not int:
        return False
    data, where = array_to_write(input), plain_array(mask)
    if data is None or where is None or where.dtype.kind != "b" or where.shape != data.shape or 0 in data.strides:
        return False
    if same_memory(data, where) or data.dtype.kind != "f" or not -SMALL <= value <= SMALL:
        return False
    if not loops("mask").filled(data, where, value):
        np.copyto(data, value, where=where)
    return True


@composite()
def masked_fill_(input: Tensor, mask: Any, value: Any) -> Tensor:
    """Write one value where the mask is true."""
    if fill_masked(input, mask, value):
        return input._written()
    fn, write = (_masked_fill_tensor, _masked_fill_tensor_into) if isinstance(value, Tensor) else (_masked_fill, _masked_fill_into)
    return write_through(fn, write, one_value=warn_if_expanded(input, "masked_fill_"), input=input, mask=mask, value=value)


def _same_places(mask: Any, batched: list[bool]) -> Any:
    """The places, counted in one line, where a mask is true, which all examples must share."""
    if batched[1]:
        raise RuntimeError(
            compose(
                "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this "
                "would return a differently shaped Tensor.",
                {"here": here()},
                "torch.where(mask, x, 0) keeps the shape",
            )
        )
    return nonzero(mask.reshape(-1)).reshape(-1)


def _placed_examples(input: Any, mask: Any, batched: list[bool]) -> Any:
    whole = input.new_zeros(input.shape[0], mask.numel())
    return whole.index_copy(1, _same_places(mask, batched), input).reshape(input.shape[0], *mask.shape)


def _selected_examples(input: Any, mask: Any, batched: list[bool]) -> Any:
    if batched[1]:
        return _same_places(mask, batched)
    shape = np.broadcast_shapes(tuple(input.shape[1:]), tuple(mask.shape))
    wide = behind_batch(input, len(shape) + 1).expand(input.shape[0], *shape)
    return rows(wide).index_select(1, _same_places(mask.expand(shape), batched))


@op(method=False, function=False, jvp=LINEAR, warns=False, input=lambda g, mask: call(masked_select, g, mask), batch=_placed_examples)
def place_masked(input: Array, mask: Array) -> Array:
    """Zeros, with the elements of `input` in order where the mask is true."""
    if (whole := loops("mask").spread(input, mask)) is None:
        whole = np.zeros_like(input, shape=mask.shape)
        whole[mask] = input
    return whole


def _unselect(g: Array, input_shape: Shape, mask: Array) -> Array:
    shape = np.broadcast_shapes(input_shape, tuple(mask.shape))
    return sum_to(call(place_masked, g, np.broadcast_to(mask, shape)), input_shape)


@op(jvp=LINEAR, warns=False, overlap=ANY, same="masked_select(): self and result must have the same scalar type", input=_unselect,
    batch=_selected_examples)  # fmt: skip
def masked_select(input: Array, mask: Array) -> Array:
    """The elements where the mask is true, in one dimension."""
    if mask.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask\n  fix: pass mask.bool()")
    if (found := loops("mask").taken(input, mask)) is not None:
        return found
    check_broadcast(input.shape, mask.shape)
    array, mask = np.broadcast_arrays(input, mask)
    return array[mask]


def check_broadcast(a: Shape, b: Shape) -> None:
    if a == b:
        return
    ndim = max(len(a), len(b))
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise RuntimeError(
                f"The size of tensor a ({b[dim]}) must match the size of tensor b ({a[dim]}) at non-singleton dimension {ndim + dim}"
            )


def _source_places(mask: Array, shape: Shape, count: int) -> Array:
    """For each element of a mask, laid out in one line, the element of the source that stands there if it is true."""
    return np.clip(np.cumsum(np.reshape(np.broadcast_to(mask, shape), (math.prod(shape),)), axis=0) - 1, 0, count - 1)


def _source_grad(g: Array, mask: Array, source_shape: Shape, source_dtype: Any) -> Array:
    """What was taken from the source has gradients, the rest of it zeros."""
    count = math.prod(source_shape)
    rest = zeros_on(g, (count,), source_dtype)
    if not count:
        return np.reshape(rest, source_shape)
    taken = np.reshape(np.where(mask, g, 0), (math.prod(g.shape),))
    return np.reshape(call(scatter_add, rest, 0, _source_places(mask, tuple(g.shape), count), taken), source_shape)


def _scattered_example(input: Any, mask: Any, source: Any) -> Any:
    check_mask("masked_scatter_", mask._data)
    check_source(mask.expand(np.broadcast_shapes(input.shape, mask.shape)).sum(), source.numel())
    if not source.numel():
        return input.expand(np.broadcast_shapes(input.shape, mask.shape)).clone()
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    taken = gather(source.reshape(-1), 0, _source_places(mask, shape, source.numel()))
    return where(mask, taken.reshape(shape), input)


def check_source(wanted: Any, given: int) -> None:
    if holds(wanted > given):
        raise RuntimeError(f"Number of elements of source < number of ones in mask (the source has only {given})\n  fix: give more of them")


@op(
    jvp=LINEAR, batch=Composed(_scattered_example),
    input=lambda g, mask, input_shape: sum_to(np.where(mask, 0, g), input_shape),
    source=_source_grad,
)  # fmt: skip
def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """A copy in which the elements of `source`, in order, stand where the mask is true."""
    check_broadcast(input.shape, mask.shape)
    same = mask.shape == input.shape
    result = copied(input) if same else np.broadcast_to(input, np.broadcast_shapes(input.shape, mask.shape)).copy()
    _scatter_into(result, mask, source)
    return result


def _scatter_by_kernel(input: Array, mask: Array, source: Array) -> bool:
    return input.dtype is source.dtype and bool(loops("mask").written(input, mask, source))


def _scatter_into(input: Array, mask: Array, source: Array) -> None:
    if _scatter_by_kernel(input, mask, source):
        return
    check_mask("masked_scatter_", mask)
    if input.dtype != source.dtype:
        names = [from_numpy_dtype(array.dtype).scalar_name for array in (input, source)]
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {names[0]} and {names[1]}")
    check_broadcast(input.shape, mask.shape)
    check_target(input, mask)
    write_where(input, mask, source)


@opaque("mask.write", meta=lambda input, mask, source: input)
def write_where(input: Array, mask: Array, source: Array) -> Array:
    mask = np.broadcast_to(mask, input.shape)
    count = int(np.count_nonzero(mask))
    check_source(count, source.size)
    input[mask] = source.reshape(-1)[:count]
    return input


inplace_form(masked_scatter, _scatter_into, lambda: _scatter_by_kernel)


# ---- where values are not zero ------------------------------------------------------------------------------------------------------


_LONG = ": Expected out tensor to have scalar type {wanted} but got scalar type{given}"


@op("nonzero", method=False, function=False, differentiable=False, warns=False, batch=DYNAMIC, overlap=ANY, same="nonzero" + _LONG)
def _nonzero(input: Array) -> Array:
    found = loops("mask").places(input)
    return np.argwhere(input) if found is None else found


@composite()
def nonzero(input: Any, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of all elements that are not zero: one row for each, or as a tuple of vectors that can serve as an index."""
    if not as_tuple:
        return _nonzero(input, out=out)
    return _nonzero(input if input.ndim else input.unsqueeze(0)).unbind(1)


@composite()
@by_example
def nonzero_static(input: Any, *, size: int, fill_value: int = -1, out: Any = None) -> Any:
    """The first `size` rows of what `nonzero` finds; rows of `fill_value` after the last."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    if input.is_meta:
        return input.new_empty((size, input.ndim), dtype=int64)
    found = _nonzero(input)[:size]
    rest = found.new_full((size - found.shape[0], found.shape[1]), fill_value)
    return into(out, FUNCTIONS["cat"]([found, rest]), "nonzero_static" + _LONG)


@composite()
def argwhere(input: Any) -> Any:
    """The indices of all elements that are not zero, one row for each."""
    return _nonzero(input)
