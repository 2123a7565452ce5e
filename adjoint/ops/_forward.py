"""The forward of an op on operands of any dtype: what is refused, what they are promoted to, and who computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import NARROW, default_numpy, from_numpy_dtype, result_numpy_dtype
from .._layer import Pending, indices_in, top_level
from .._quiet import mute, unmute
from .._state import SAVED_HOOKS, get_mode
from .._tensor import Tensor
from ..autograd.packed import take_known_result
from ._compiled import forward_of
from ._precision import FLOAT32, in_single, is_half, rounded
from ._registry import FLOAT, KEEP, RANKED, Op
from ._rules import cast

NUMBERS = (bool, int, float, complex)


def forward(op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
    """The op on arrays, after promotion. Inside a transform its level computes."""
    level = top_level((*operands, *indices_in(values)))
    if level is not None:
        return level.forward(op, operands, values)
    if get_mode() & SAVED_HOOKS:
        known = take_known_result()
        if known is not None:
            return known
    arrays = [x._data if isinstance(x, Tensor) else x for x in operands]
    if op.view and arrays[0].__class__ is Pending:
        return op.view_of(arrays[0], tuple(values[name] for name in op.params))
    if NARROW and not op.narrow:
        check_wide(op, arrays)
    check_devices(op, arrays)
    if op.broadcasts:
        check_shapes(arrays)
    if op.check is not None:
        op.check(*arrays)
    narrow = None
    if op.promote == KEEP and op.widens and not op.sequence:
        return in_single(lambda *given: computed(op, list(given), values))(*arrays)
    if op.promote != KEEP:
        dtype = common_dtype(op, arrays)
        if op.widens and is_half(dtype):
            arrays = [array if slot == 1 and op.exact else rounded(array, dtype) for slot, array in enumerate(arrays)]
            narrow, dtype = dtype, FLOAT32
        return computed(op, promoted(arrays, dtype), values, narrow, arrays)
    return computed(op, arrays, values)


def computed(op: Op, arrays: list[Any], values: dict[str, Any], narrow: Any = None, given: list[Any] | None = None) -> Any:
    """The forward itself, muted, its result brought back to a half-precision dtype where it was computed in another."""
    token = mute()
    try:
        if op.sequence:
            return op.call({**values, op.inputs[0]: arrays})
        named = {**values, **dict(zip(op.inputs, arrays, strict=True))}
        kinds = kinds_of(arrays) if op.broadcasts else ""
        # The kernel of the fast path, so that equal numbers give equal bits however they come.
        result = forward_of(op, kinds)(*map(named.__getitem__, op.args)) if "T" in kinds else op.call(named)
        result = op.in_layout(result, arrays if given is None else given)
        return cast(result, narrow) if narrow is not None and result.dtype == FLOAT32 else result
    except TypeError:
        if isinstance(op.impl, np.ufunc):
            raise not_implemented_for(op.name, arrays) from None
        raise
    finally:
        unmute(token)


def kinds_of(arrays: list[Any]) -> str:
    """Which operands are arrays, and which numbers or absent, as kernels are known by; "" if there are others."""
    kinds = ["T" if x.__class__ is np.ndarray else "S" if x is None or x.__class__ in (int, float) else "" for x in arrays]
    return "".join(kinds) if all(kinds) else ""


def not_implemented_for(name: str, arrays: Sequence[Any]) -> NotImplementedError:
    """The error for a dtype that an op does not know. (NotImplementedError is a RuntimeError.)"""
    dtype = next(from_numpy_dtype(a.dtype) for a in arrays if hasattr(a, "dtype"))
    return NotImplementedError(f"\"{name}\" not implemented for '{dtype.scalar_name}'; convert it first, for example with x.float()")


def check_wide(op: Op, arrays: Sequence[Any]) -> None:
    narrow = [a for a in arrays if getattr(a, "dtype", None) in NARROW]
    if narrow:
        raise not_implemented_for(op.name, narrow)


def fitted(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """The dimension that the shorter of two shapes lacks."""
    (small, large), which = ((a, b), "a") if len(a) < len(b) else ((b, a), "b")
    if not small or len(small) != len(large) - 1:
        return ""
    wider = [(*small[:dim], 1, *small[dim:]) for dim in range(1, len(large))]
    places = [dim for dim, shape in enumerate(wider, 1) if all(x in (1, y) or y == 1 for x, y in zip(shape, large, strict=True))]
    return f"\n  fix: {' or '.join(f'{which}.unsqueeze({dim})' for dim in places)}" if places else ""


def check_shapes(arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape that arrays are broadcast to. Shapes that do not fit are refused, in PyTorch's words."""
    shapes = [tuple(array.shape) for array in arrays if array is not None and not isinstance(array, NUMBERS)]
    result: tuple[int, ...] = shapes[0] if shapes else ()
    for shape in shapes:
        if shape == result:
            continue
        together = list(result if len(result) > len(shape) else shape)
        for place in range(-1, -min(len(result), len(shape)) - 1, -1):
            a, b = result[place], shape[place]
            if a not in (b, 1) and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{max(len(result), len(shape)) + place} (the shapes are {list(result)} and {list(shape)}){fitted(result, shape)}"
                )
            together[place] = b if a == 1 else a
        result = tuple(together)
    return result


def check_devices(op: Op, arrays: list[Any]) -> None:
    if all(a.__class__ is np.ndarray or not hasattr(a, "shape") for a in arrays):
        return
    devices = {getattr(a, "device", "cpu") for a in arrays if hasattr(a, "shape") and len(a.shape) > 0}
    if len(devices) > 1:
        first, second = sorted(map(str, devices))[:2]
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
            f"(in {op.name}; move one of them: x.to({second!r}))"
        )


def promoted(arrays: list[Any], dtype: np.dtype[Any]) -> list[Any]:
    """The operands with the dtype that PyTorch's promotion gives them."""
    result = []
    for a in arrays:
        if isinstance(a, NUMBERS):
            # NumPy keeps a Python number weak, but refuses an integer that does not fit; PyTorch lets it wrap around. Alone, a truth value
            # would be computed with in half precision.
            result.append(np.asarray(a).astype(dtype) if dtype.kind in "iub" or a is True or a is False else a)
        else:
            result.append(a if a is None or a.dtype == dtype else cast(a, dtype))
    return result


def common_dtype(op: Op, arrays: list[Any]) -> np.dtype[Any]:
    if op.promote == RANKED and any(a.shape for a in arrays):
        arrays = [np.empty(1, a.dtype) for a in arrays]
    dtype = result_numpy_dtype([a for a in arrays if a is not None])
    if op.promote == FLOAT and dtype.kind in "iub":
        return default_numpy()
    return dtype
