"""Tensors of numbers at equal distances: `arange`, `range`, `linspace`, `logspace`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._creation import Array, Device, check_options, finish, in_order_into, make_array, number_of, out_dtype, sized, usual
from ._dtype import as_numpy_dtype, default_complex_numpy, default_numpy, from_numpy_dtype
from ._layer import made_inside
from ._layout import layout, strided
from ._quiet import mute, unmute
from ._site import warn
from ._tensor import Tensor, wrap
from .ops._primitives import loops

FLOAT32 = np.dtype(np.float32)
PLAIN = {int, float}  # numbers as they are


def arange(
    *args: Any, start: Any = 0, end: Any = None, step: Any = 1, out: Tensor | None = None, dtype: Any = None,
    layout: layout = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` (0) up to, and without, `end`: `arange(end)` or `arange(start, end, step)`."""
    if len(args) == 1 and end is None:
        end = args[0]
        counts = start.__class__ is step.__class__ is int and (start, step) == (0, 1)
        if end.__class__ is int and 0 <= end < 1 << 63 and dtype is None and counts:
            if usual(out, layout, device, pin_memory) and not requires_grad:
                return wrap(np.arange(end))
    elif args:
        start, end, step = (*args, *(start, end, step)[len(args) :])[:3]
        if start.__class__ is end.__class__ is step.__class__ is int and start <= end and step > 0 and len(args) <= 3 and dtype is None:
            if usual(out, layout, device, pin_memory) and not requires_grad:
                return wrap(np.arange(start, end, step))
    if end is None or len(args) > 3:
        given = ", ".join(type(value).__name__ for value in args)
        raise TypeError(f"arange() received an invalid combination of arguments - got ({given}); write arange(start, end, step)")
    if {start.__class__, end.__class__, step.__class__} <= PLAIN:
        first, last, by = start, end, step
    else:
        first, last, by = number_of("arange", "start", start), number_of("arange", "end", end), number_of("arange", "step", step)
    for value in (first, last, by):
        if value.__class__ is complex or (value.__class__ is int and not -1 << 63 <= value < 1 << 63):
            kind = "double" if value.__class__ is complex else "int64_t"
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    floating = isinstance(first, float) or isinstance(last, float) or isinstance(by, float)
    if dtype is None and out is None:
        dtype = default_numpy() if floating else np.dtype(np.int64)
    numpy_dtype = as_numpy_dtype(dtype) if out is None else out_dtype(out, dtype)
    if numpy_dtype.kind in "bc":
        scalar_name = from_numpy_dtype(numpy_dtype).scalar_name
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{scalar_name}'; make it adjoint.int64 and convert it")
    count = _range_length(first, last, by, numpy_dtype)
    if usual(out, layout, device, pin_memory):
        return finish(_range(first, by, count, numpy_dtype), requires_grad)
    check_options(layout, pin_memory)
    if out is not None:
        return in_order_into(out, _range(first, by, count, numpy_dtype))
    array = make_array(lambda: _range(first, by, count, numpy_dtype), (count,), numpy_dtype, device)
    return made_inside(finish(array, requires_grad))


def _range_length(first: Any, last: Any, by: Any, dtype: np.dtype[Any]) -> int:
    if not math.isfinite(first) or not math.isfinite(last):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if (by > 0 and first > last) or (by < 0 and first < last):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype.kind in "iu" and int(by) == 0:
        raise ValueError("step must be nonzero: as an integer it is 0; leave dtype out, or pass a floating dtype")
    if dtype == np.int64:  # (PyTorch counts the steps of the other dtypes in floating point)
        return -int((int(last) - int(first)) // -int(by))
    count: int = math.ceil((last - first) / by)
    return count


def _range(first: Any, by: Any, count: int, dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "iu":
        if dtype.itemsize == np.dtype(np.int64).itemsize:
            return np.arange(int(first), int(first) + count * int(by), int(by), dtype=dtype)
        return (np.arange(count) * int(by) + int(first)).astype(dtype)
    # PyTorch computes with vectors of 32 bytes: the first number of each exactly, the others by adding multiples of the step to that one,
    # already rounded. What is left over at the end, less than two vectors, is computed one by one. The last bit depends on it.
    step, start, lanes = float(by), float(first), 32 // dtype.itemsize
    exact = step.is_integer() and start.is_integer()
    if dtype is FLOAT32 and count:
        values, kernels = np.empty(count, dtype), loops("range")
        if exact:
            served = kernels.exact.run(values, start, step, count, 1)
        else:
            served = kernels.stepped.run(values, start, step, count // (2 * lanes) * (2 * lanes), count, 1)
        if served:
            return values
    values = _stepped(np.arange(count, dtype=np.float64), step, start, dtype)
    if count >= 2 * lanes and not exact:
        vectors = values[: count // (2 * lanes) * (2 * lanes)].reshape(-1, lanes)
        places = np.empty(vectors.shape)
        places[...] = np.arange(lanes)
        vectors[...] = _stepped(places, step, vectors[:, :1].astype(np.float64), dtype)
    return values


def _stepped(places: Array, step: float, start: Any, dtype: np.dtype[Any]) -> Array:
    """`start + step * places`, computed in double precision and rounded once. The places, of float64, are overwritten."""
    if dtype.itemsize == np.dtype(np.float64).itemsize:
        from ._random._filling import fused_unscaled

        return fused_unscaled(places, step, start)
    token = mute()
    try:
        places *= step
        places += start  # one rounding more, far below the last bit of the result
        return places.astype(np.float32).astype(dtype, copy=False)
    finally:
        unmute(token)


def range(
    start: float = 0, end: float | None = None, step: float = 1, *, out: Tensor | None = None, dtype: Any = None,
    layout: layout = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` up to and including `end`. Deprecated in PyTorch: use `arange`."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    if end is None:
        start, end = 0, start
    _range_length(start, end, step, np.dtype(np.float64))
    numpy_dtype = as_numpy_dtype(dtype) if out is None else out_dtype(out, dtype)
    if numpy_dtype.kind in "bc":
        raise NotImplementedError(f"\"range_cpu\" not implemented for '{from_numpy_dtype(numpy_dtype).scalar_name}'; use arange")
    count = math.floor((end - start) / step) + 1
    check_options(layout, pin_memory)
    array = make_array(lambda: _range(start, step, count, numpy_dtype), (count,), numpy_dtype, device)
    return made_inside(finish(array, requires_grad)) if out is None else in_order_into(out, array)


def linspace(
    start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: Any = None, layout: layout = strided,
    device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    if usual(out, layout, device, pin_memory) and not requires_grad and dtype is None and steps.__class__ is int:
        if (array := _line(start, end, steps, default_numpy())) is not None:
            return wrap(array)
    first, last = _ends("linspace", start, end)

    def fill(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        _refuse_bool("linspace_cpu", dtype)
        return _linear(first, last, shape[0], dtype)

    dtype = _space_dtype("linspace", dtype, out, first, last)
    shape = (_steps("linspace", steps),)
    if out is not None:
        return in_order_into(out, fill(shape, out_dtype(out, dtype)))
    return sized("linspace", fill, (shape,), None, out, dtype, layout, device, pin_memory, requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None, dtype: Any = None,
    layout: layout = strided, device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """`base` to the power of `steps` numbers from `start` to `end`, both included, at equal distances."""
    if usual(out, layout, device, pin_memory) and not requires_grad and dtype is None and steps.__class__ is int:
        if base.__class__ is float and (array := _line(start, end, steps, default_numpy())) is not None:
            return wrap(_power(base, array))
    first, last = _ends("logspace", start, end)

    def fill(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        _refuse_bool("logspace_cpu", dtype)
        low, high = (int(first), int(last)) if dtype.kind in "iu" else (first, last)  # as PyTorch takes them
        exponents = _linear(low, high, shape[0], dtype if dtype.kind in "fc" else np.dtype(np.float64))
        return _power(base, exponents).astype(dtype, copy=False)

    dtype = _space_dtype("logspace", dtype, out, first, last)
    shape = (_steps("logspace", steps),)
    if out is not None:
        return in_order_into(out, fill(shape, out_dtype(out, dtype)))
    return sized("logspace", fill, (shape,), None, out, dtype, layout, device, pin_memory, requires_grad)


def _power(base: Any, exponents: Array) -> Array:
    token = mute()
    try:
        return np.power(np.asarray(base, exponents.dtype), exponents)
    finally:
        unmute(token)


def _refuse_bool(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'; make numbers and compare them")


def _ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    for argument, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {argument} with {value.ndim} dimension(s)."
            )
    return number_of(name, "start", start), number_of(name, "end", end)


def _space_dtype(name: str, dtype: Any, out: Tensor | None, *ends: Any) -> Any:
    if not any(isinstance(end, complex) for end in ends):
        return dtype
    if dtype is not None and as_numpy_dtype(dtype).kind != "c":
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {from_numpy_dtype(default_complex_numpy())} can't be safely cast to passed dtype "
            f"{from_numpy_dtype(as_numpy_dtype(dtype)).scalar_name}"
        )
    return default_complex_numpy() if dtype is None and out is None else dtype


def _steps(name: str, steps: Any) -> int:
    if not hasattr(steps, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got steps of type {type(steps).__name__}, but expected an int; "
            "write int(steps)"
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(steps)


def _line(first: Any, last: Any, steps: int, dtype: np.dtype[Any]) -> Array | None:
    """The same by a kernel: at least two numbers, in single precision. None of others."""
    if dtype is not FLOAT32 or steps < 2:
        return None
    values = np.empty(steps, dtype)
    return values if loops("range").linear.run(values, first, last, steps, steps, 1) else None


def _linear(first: Any, last: Any, steps: int, dtype: np.dtype[Any]) -> Array:
    """Counted from the near end on both halves, so that both ends are exact and the middle is symmetric."""
    if steps == 1:
        return np.full(1, first, dtype)
    token = mute()
    try:
        if steps and (found := _line(first, last, steps, dtype)) is not None:
            return found
        working = dtype if dtype.kind in "fcV" else np.dtype(np.float64)
        start, end = np.asarray(first, dtype).astype(working, copy=False), np.asarray(last, dtype).astype(working, copy=False)
        step = ((end - start) / np.asarray(max(steps - 1, 1), working)).astype(working, copy=False)
        half = steps // 2
        values = np.empty(steps, working)
        values[:half] = _counted(np.arange(half), step, start)
        values[half:] = _counted(np.arange(steps - half - 1, -1, -1), -step, end)
        return values.astype(dtype, copy=False)
    finally:
        unmute(token)


def _counted(places: Array, step: Array, start: Array) -> Array:
    """`start + step * places`, rounded once in single and double precision and after each operation in half precision."""
    if step.dtype.kind == "f" and step.dtype != np.float16:
        return _stepped(places.astype(np.float64), float(step), float(start), step.dtype)
    return start + step * places.astype(step.dtype)
