"""Writing into tensors: `copy_`, `fill_`, `zero_`, and what all ops share that change a part of their input where it lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, update_wrapper
from typing import Any

import numpy as np

from .._dtype import NARROW, finfo, from_numpy_dtype
from .._layer import Pending, indices_in, top_level
from .._methods import OpMethods
from .._site import here, warn
from .._state import GRAD, get_mode, recording
from .._tensor import Parameter, Tensor
from .._tensor import wrap as tensor_of
from ..autograd.forward_ad import carries_tangent, propagate_inplace
from ..autograd.node import INFERENCE_TENSOR
from ..autograd.regions import ANY, PARTIAL, check_apart, same_memory
from ..autograd.views import check_writable, edge_of, overlaps_itself, set_history
from ._batching import behind_batch
from ._conversions import converted
from ._forward import NUMBERS
from ._general import array_to_write, is_sparse, operand, plain_array, settled_pending, watched
from ._inplace import check_read, overwritten_operands, shares_memory, write_inplace, write_to_watch
from ._operands import zero
from ._primitives import loops
from ._recording import edges_of, record
from ._registry import ELEMENTWISE, LEADING, LINEAR, Array, Op, composite, op
from ._rules import LARGE, cast, copied, sum_to
from ._writing_codegen import Kernel, Write, by_name, quietly, writing_function

# ---- writing a part -----------------------------------------------------------------------------------------------------------------


def write_through(fn: Callable[..., Any], write: Callable[..., None], *, one_value: bool = False, **values: Any) -> Tensor:
    """The in-place form of an op. `write(array, ...)` takes the op's arguments and changes the array; it checks before it writes.

    The in-place forms that the registry derives compute the whole result first. These ops change little of a large tensor.
    """
    op: Op = fn.op  # type: ignore[attr-defined]
    if written_at_once(op, write, values, one_value):
        return values[op.inputs[0]]._written()  # type: ignore[no-any-return]
    given = [values[name] for name in op.inputs]
    if (call := write_to_watch(op, values, given)) and (answer := watched(*call)) is not NotImplemented:
        return answer  # type: ignore[no-any-return]
    inputs = [operand(op, slot, value) for slot, value in enumerate(given)]
    if inputs[0]._data.__class__ is Pending or is_sparse(inputs) or top_level((*inputs, *indices_in(values))) is not None:
        return write_inplace(op, values)
    inputs = list(map(settled_pending, inputs))
    self: Tensor = inputs[0]
    recorded = recording() and self._data.dtype.kind in "fcV" and any(
        isinstance(x, Tensor) and edge_of(x) is not None and op.differentiates(name) for x, name in zip(inputs, op.inputs, strict=True)
    )
    check_writable(self, recorded, one_value=one_value)
    check_read(op, self._data, read(op, values))
    dual = carries_tangent(inputs)
    originals = overwritten_operands(op, inputs) if recorded or dual else {}
    tangents = [getattr(x, "_tangent", None) for x in inputs]
    edges = edges_of(inputs) if recorded else None
    arrays = {name: x._data if isinstance(x, Tensor) else x for x, name in zip(inputs, op.inputs, strict=True)}
    for name in op.inputs[1:]:
        if shares_memory(arrays[name], self._data):
            arrays[name] = arrays[name].copy()  # it is read as it was before the write
    quietly(write, *(arrays.get(name, values[name]) for name in op.args))
    if self._vc is not INFERENCE_TENSOR:
        self._written()
    if recorded:
        set_history(self, record(op, inputs, values, (self,), originals, edges), here())
    if dual:
        propagate_inplace(op, [originals.get(slot, x) for slot, x in enumerate(inputs)], values, self, tangents)
    return self


def warn_if_expanded(tensor: Tensor, name: str) -> bool:
    """Writing to elements that share memory is refused, except that PyTorch warns where it used not to look. True: `one_value`."""
    data = tensor._data
    if data.__class__ is np.ndarray and 0 in data.strides and overlaps_itself(data):
        warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            "This also applies to advanced indexing: x = x.clone() before x[index] = value"
        )
    return True


def arrays_to_write(
    args: Sequence[Any], tensors: tuple[int, ...], one_value: bool = False, check: Callable[[], None] | None = None
) -> list[Any] | None:
    """Arguments with arrays in the places of tensors, of which the first is written to. None if there is more to think about: one of them
    is not ordinary, or has a history that matters, or, unless it is `one_value` that is written, elements that share memory."""
    if (mode := get_mode()) > GRAD:
        return None
    given, target = [*args], None
    for place in tensors:
        tensor = args[place]
        if tensor.__class__ is not Tensor and tensor.__class__ is not Parameter:
            return None
        array = tensor._data
        if array.__class__ is not np.ndarray or (mode and tensor._fn is not None and tensor.requires_grad):
            return None
        if target is None:
            if tensor._vc is INFERENCE_TENSOR or (not one_value and 0 in array.strides):
                return None
            target = array
        elif (array.base is not None or target.base is not None or array is target) and shares_memory(array, target):
            if check is None:
                check_apart(target, array, ANY)
            else:
                check()
            array = array.copy()  # it is read as it was before the write
        given[place] = array
    return given


def read(op: Op, values: dict[str, Any]) -> list[Any]:
    """What a write reads besides what it changes."""
    return [None, *(values[name] for name in op.inputs[1:])]


def written_at_once(op: Op, write: Callable[..., None], values: dict[str, Any], one_value: bool) -> bool:
    """The common case: ordinary tensors, and none of their history matters. False if it is another."""
    args = [values[name] for name in op.args]
    given = arrays_to_write(args, op.places, one_value, lambda: check_read(op, values[op.inputs[0]]._data, read(op, values)))
    if given is None or top_level(indices_in(values)) is not None:
        return False
    quietly(write, *given)
    return True


def writing_form(
    fn: Callable[..., Any], write: Write, kernel: Callable[[], Kernel] | None = None, one_value: bool = False
) -> Callable[..., Tensor]:
    """The function that does this to a tensor, with the op's other arguments; `kernel()` is one that may do it."""
    of: Op = fn.op  # type: ignore[attr-defined]

    def otherwise(op: Op, values: dict[str, Any]) -> Tensor:
        return write_through(fn, write, one_value=one_value, **values)

    return writing_function(of, f"{of.name}_", lambda: by_name(of, otherwise), kernel, write, one_value)


def inplace_form(
    fn: Callable[..., Any], write: Write, kernel: Callable[[], Kernel] | None = None, one_value: bool = False
) -> Callable[..., Tensor]:
    """Export `name_` for an op `name`, with the function that writes into its input's array."""
    changing = writing_form(fn, write, kernel, one_value)
    changing.__doc__ = f"In-place form of `{fn.op.name}`."  # type: ignore[attr-defined]
    return exported(changing)


def in_common_cases(
    fn: Callable[..., Any], write: Write, kernel: Callable[[], Kernel]
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Decorates an in-place function that takes more than an op does: it answers for what is more than that."""

    def export(otherwise: Any) -> Callable[..., Tensor]:
        of: Op = fn.op  # type: ignore[attr-defined]
        return exported(update_wrapper(writing_function(of, otherwise.__name__, lambda: otherwise, kernel, write), otherwise))

    return export


def exported(changing: Any) -> Callable[..., Tensor]:
    setattr(OpMethods, changing.__name__, changing)
    return changing  # type: ignore[no-any-return]


# ---- numbers ------------------------------------------------------------------------------------------------------------------------

SMALL = 65504.0  # fits into every floating-point type
_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int32": "int"}


def number_for(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a type holds it: without a fraction if it is for integers; a negative one for a type without a sign counts from its end.
    Refused if it is too large."""
    if isinstance(value, complex) and dtype.kind != "c":
        if value.imag:
            raise_overflow(dtype)
        value = value.real
    if dtype.kind in "iu":
        if not math.isfinite(value):
            raise_overflow(dtype)
        value = math.trunc(value)
        limits = np.iinfo(dtype)
        if not (limits.min or -limits.max) <= value <= limits.max:
            raise_overflow(dtype)
        if value < limits.min:
            value += limits.max + 1
    if dtype.kind in "fV" and not -SMALL <= value <= SMALL and abs(value) != math.inf and dtype not in NARROW:
        if abs(value) > finfo(from_numpy_dtype(dtype)).max:
            raise_overflow(dtype)
    return value


def number_as(value: Any, dtype: np.dtype[Any]) -> Array:
    """The same as an array without dimensions."""
    number = np.asarray(number_for(value, dtype))
    return converted(number, dtype) if dtype in NARROW else number.astype(dtype)


def raise_overflow(dtype: np.dtype[Any]) -> None:
    name = from_numpy_dtype(dtype).name
    raise RuntimeError(f"value cannot be converted to type {_C_NAMES.get(name, f'{name}_t')} without overflow")


# ---- copy ---------------------------------------------------------------------------------------------------------------------------


@op(
    "copy", method=False, function=False, nodes="CopyBackwards", overlap=PARTIAL, narrow=True,
    batch=lambda input, src: _copy(input, behind_batch(src, input.ndim)),
    input=zero,
    src=lambda g, src_shape, src_dtype: cast(sum_to(g, src_shape), src_dtype),
    jvp=lambda input, src_t: np.zeros_like(input) if src_t is None else src_t.to(input.dtype).expand(input.shape),
)  # fmt: skip
def _copy(input: Array, src: Array, non_blocking: bool = False) -> Array:
    return np.broadcast_to(cast(src, input.dtype), input.shape).copy()


def _copy_into(input: Array, src: Array, non_blocking: bool) -> None:
    check_copy(input.shape, src.shape)
    input[...] = cast(src, input.dtype)


def check_copy(target: tuple[int, ...], source: tuple[int, ...]) -> None:
    lead = len(target) - len(source)
    for dim in range(len(target) - 1, -1, -1):
        size = source[dim - lead] if dim >= lead else 1
        if size not in (1, target[dim]):
            raise RuntimeError(
                f"The size of tensor a ({target[dim]}) must match the size of tensor b ({size}) at non-singleton dimension {dim}"
            )
    if lead < 0:
        raise RuntimeError(f"output with shape {list(target)} doesn't match the broadcast shape {list(source)}")


def copied_alike(target: Array, source: Array) -> bool:
    """Copy an array into one of the same shape and dtype, or whole numbers into one of floating numbers; False, and nothing is done, if it
    is another or has elements in common."""
    if target.shape != source.shape or 0 in target.strides or same_memory(target, source):
        return False
    if (same := target.dtype is source.dtype) is False and not (target.dtype.char in "fd" and source.dtype.kind in "iub"):
        return False
    if same and target.size >= LARGE and target is not source and loops("copy").are_whole(target, source):
        loops("copy").assign(target, source)
    else:
        target[...] = source  # which looks whether they have memory in common
    return True


@composite(function=False)
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor, broadcast and converted, into this one."""
    target, source = array_to_write(input), plain_array(src)
    if target is not None and source is not None and copied_alike(target, source):
        return input._written()
    if src is input and not input.requires_grad:  # nothing changes, but it counts as a write
        return input if input._vc is INFERENCE_TENSOR else input._written()  # type: ignore[no-any-return]
    if isinstance(src, NUMBERS):
        src = np.asarray(src)
    return write_through(_copy, _copy_into, input=input, src=src, non_blocking=non_blocking)


# ---- fill ---------------------------------------------------------------------------------------------------------------------------


@op("fill", method=False, function=False, warns=False, input=zero, jvp=ELEMENTWISE, batch=LEADING, narrow=True)
def _fill_number(input: Array, value: Any) -> Array:
    if input.__class__ is not np.ndarray:
        return np.full_like(input, number_as(value, input.dtype))
    result = np.empty_like(input)
    result.fill(number_as(value, input.dtype))
    return result


def _write_number(input: Array, value: Any) -> None:
    input[...] = number_as(value, input.dtype)


@op(
    "fill_tensor", method=False, function=False, holomorphic=True, nodes="FillBackward1",
    batch=lambda input, value: _copy(input, behind_batch(value, input.ndim)),
    input=zero,
    value=lambda g, value_dtype: cast(np.sum(g), value_dtype),
    jvp=lambda input, value_t: np.zeros_like(input) if value_t is None else value_t.to(input.dtype).expand(input.shape),
)  # fmt: skip
def _fill_tensor(input: Array, value: Array) -> Array:
    check_single("fill", value)
    return np.full_like(input, cast(value, input.dtype))


def _write_tensor(input: Array, value: Array) -> None:
    check_single("fill_", value)
    input[...] = cast(value, input.dtype)


def check_single(name: str, value: Array) -> None:
    if value.shape:
        raise RuntimeError(f"{name} only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.")


@composite(method=False)
def fill(input: Any, value: Any) -> Any:
    """A tensor of the same shape and dtype with one value everywhere."""
    return _fill_tensor(input, value) if isinstance(value, Tensor) else _fill_number(input, value)


def fill_array(array: Array, value: float) -> None:
    """`array[...] = value`, which is a number that the array can hold."""
    if array.size < LARGE:
        array.fill(value)
    else:
        loops("copy").fill(array, value)


@composite(direct=True)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    data = array_to_write(input)
    if data is not None and (value.__class__ is float or value.__class__ is int or value.__class__ is bool):
        kind = data.dtype.kind
        if kind in "ib" or (kind == "f" and data.itemsize > 1 and -SMALL <= value <= SMALL):
            fill_array(data, number_for(value, data.dtype) if kind == "i" else value)
            return input._written()
    if isinstance(value, Tensor):
        return write_through(_fill_tensor, _write_tensor, input=input, value=value)
    return write_through(_fill_number, _write_number, one_value=True, input=input, value=value)


@op("zero", method=False, function=False, input=zero, jvp=LINEAR, batch=LEADING, narrow=True)
def _zero(input: Array) -> Array:
    return np.zeros_like(input)


def _write_zero(input: Array) -> None:
    input[...] = 0


@composite(direct=True)
def zero_(input: Tensor) -> Tensor:
    """Write zeros everywhere."""
    data = array_to_write(input)
    if data is not None:
        fill_array(data, 0)
        return input._written()
    return write_through(_zero, _write_zero, one_value=True, input=input)


@lru_cache(256)
def _diagonal_places(shape: tuple[int, ...], wrap: bool) -> slice:
    """Where the elements of a diagonal lie in memory that is in order."""
    step = sum([math.prod(shape[dim + 1 :]) for dim in range(len(shape))])
    return slice(0, None if wrap and len(shape) == 2 else (min(shape) - 1) * step + 1, step)


def _set_diagonal(array: Array, value: Any, wrap: bool) -> None:
    shape = array.shape
    if array.flags.c_contiguous and array.size:
        array.reshape(-1)[_diagonal_places(shape, wrap)] = value
        return
    along = np.arange(min(shape))
    array[(along,) * len(shape)] = value
    if wrap and len(shape) == 2:
        # The diagonal begins again below, with one row left out each time.
        for start in range(shape[1] + 1, shape[0], shape[1] + 1):
            along = np.arange(min(shape[0] - start, shape[1]))
            array[start + along, along] = value


def _off_diagonal(g: Any, wrap: bool) -> Any:
    mask = np.ones(tuple(g.shape), bool)
    _set_diagonal(mask, False, wrap)
    return np.where(mask, g, 0)


def _fill_diagonals(input: Any, fill_value: Any, wrap: bool) -> Any:
    mask = np.zeros(tuple(input.shape[1:]), bool)
    _set_diagonal(mask, True, wrap)
    return input.masked_fill(tensor_of(mask), fill_value)


@op("fill_diagonal", method=False, function=False, holomorphic=True, jvp=ELEMENTWISE, input=_off_diagonal, batch=_fill_diagonals)
def _fill_diagonal(input: Array, fill_value: Any, wrap: bool = False) -> Array:
    result = copied(input)
    _set_diagonal(result, number_as(fill_value, input.dtype), wrap)
    return result


def _write_diagonal(input: Array, fill_value: Any, wrap: bool) -> None:
    shape = input.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    _set_diagonal(input, (number_for if input.dtype.kind == "f" else number_as)(fill_value, input.dtype), wrap)


fill_diagonal_ = inplace_form(_fill_diagonal, _write_diagonal, one_value=True)
