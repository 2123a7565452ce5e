"""Tensors from a size: `zeros`, `full`, `eye` and their kin, `*_like` and `new_*`."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from . import _unset
from ._device import CPU, _defaults, device, get_default_device, require_usable, resolve
from ._dtype import as_dtype, as_numpy_dtype, default_numpy, from_numpy_dtype, infer_numpy_dtype
from ._layer import Layer, deepest, in_layers_of, levels, made_inside, refuse_out
from ._layout import (
    Sparse,
    contiguous_format,
    copy_in_format,
    empty_in_format,
    empty_like_array,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from ._quiet import mute, unmute
from ._state import INFERENCE, get_mode
from ._tensor import Tensor, new, replaceable, wrap
from .autograd.node import INFERENCE_TENSOR, leaf_history
from .ops._registry import composite
from .ops._rules import LARGE
from .ops.assign import SMALL, fill_array, number_as

Array = Any
Device = device | str | int | None

HUGE = 1 << 22  # elements from which on it is better to leave zeros to the system

# ---- what all of them share ---------------------------------------------------------------------------------------


def size_of(name: str, given: Any) -> tuple[int, ...]:
    """A size from the arguments of `f(2, 3)`, `f((2, 3))` or `f([2, 3])`."""
    for length in given:
        if length.__class__ is not int or length < 0:
            break
    else:
        return given  # type: ignore[no-any-return]
    nested = len(given) == 1 and isinstance(given[0], (tuple, list))
    lengths = given[0] if nested else given
    for length in lengths:
        if length.__class__ is not int or length < 0:
            return _checked_size(name, lengths, nested)
    return lengths if lengths.__class__ is tuple else tuple(list.__iter__(lengths) if isinstance(lengths, list) else lengths)


def _checked_size(name: str, lengths: Any, nested: bool) -> tuple[int, ...]:
    for position, length in enumerate(lengths):
        if isinstance(length, bool) or (isinstance(length, np.ndarray) and length.shape) or not hasattr(length, "__index__"):
            kind = "numpy.ndarray" if isinstance(length, np.ndarray) else type(length).__name__
            found = f"but found element of type {kind} at pos {position}" if nested else f"not {kind}"
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, {found}; write {name}(2, 3)")
    shape = tuple(length.__index__() for length in lengths)
    for length in shape:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(shape)}")
    return shape


def check_extent(shape: tuple[int, ...]) -> None:
    """Refuse more elements than can be counted."""
    for place, length in enumerate(shape):
        if length >= 1 << 63:
            raise TypeError(f"argument 'size' failed to unpack the object at pos {place + 1}: Overflow when unpacking long long")
    if math.prod(shape) >= 1 << 60:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if len(shape) > 64:
        raise ValueError(f"number of dimensions must be within [0, 64], but there are {len(shape)}")


def size_arguments(name: str, args: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """The size of a function that takes it as `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if size is not None:
        if args:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        args = (size,)
    elif not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"; write {name}(()) for a 0-d tensor')
    return size_of(name, args)


def sparse_zeros(name: str, value: Any, shape: tuple[int, ...], dtype: Any, layout: layout, requires_grad: bool) -> Tensor:
    """A sparse tensor without values, which zeros, and what is not set, are."""
    if value is not None and value != 0:
        refuse_layout(name, layout)
    from .sparse._make import nothing

    return nothing(tuple(shape), default_numpy() if dtype is None else as_numpy_dtype(dtype), layout, requires_grad)


def refuse_layout(name: str, layout: layout) -> NoReturn:
    raise NotImplementedError(f"{name} makes no tensors of layout {layout}\n  fix: leave layout out, and call .to_sparse(layout={layout})")


def check_options(layout: layout | None, pin_memory: bool) -> None:
    if layout is not strided and layout is not None:
        refuse_layout("the function", layout)
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system. Leave pin_memory out"
        )


def usual(out: Tensor | None, layout: layout, place: Device, pin_memory: bool) -> bool:
    """Whether nothing else than an ordinary new tensor is asked for, and no mode or transform has a say in it."""
    if out is not None or layout is not strided or pin_memory or get_mode() >= INFERENCE or levels():
        return False
    if place is None:
        return _defaults.get()[-1] is CPU
    return place is CPU or place == "cpu" or (place.__class__ is device and place.type == "cpu")


def filled(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any]) -> Array:
    """An array of one number, which the dtype can hold."""
    array = np.empty(shape, dtype)
    fill_array(array, value)
    return array


def zeros_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros. Threads write them where that is quicker than memory that the system has cleared, which costs time when it is first used."""
    return filled(shape, 0, dtype) if LARGE <= math.prod(shape) <= HUGE else np.zeros(shape, dtype)


def ones_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return filled(shape, 1, dtype)


def quietly(make: Callable[[], Array]) -> Array:
    """`make()` without NumPy's warnings: a number too large for its dtype becomes infinite, as in PyTorch."""
    token = mute()
    try:
        return make()
    finally:
        unmute(token)


def make_array(
    make: Callable[[], Array], shape: tuple[int, ...], dtype: np.dtype[Any], device: Device, make_meta: Callable[[], Array] | None = None
) -> Array:
    """`make()` where that is on the CPU. On the meta device an array without elements: `make_meta()` if it is not laid out as usual."""
    where = get_default_device() if device is None else resolve(device)
    if where is CPU or require_usable(where) is CPU:
        return make()
    from ._meta import empty

    return empty(shape, dtype) if make_meta is None else make_meta()


def meta_like(data: Array, dtype: np.dtype[Any], memory_format: memory_format) -> Array:
    """An array without elements, laid out as one like `data` would be."""
    from ._meta import empty_like

    return copy_in_format(empty_like(data), dtype, memory_format)


def finish(array: Array, requires_grad: bool = False) -> Tensor:
    """A new tensor that owns its memory."""
    tensor = wrap(array)
    if get_mode() & INFERENCE:
        tensor._vc = INFERENCE_TENSOR
    if requires_grad:
        if array.dtype.kind in "iub":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients: this one would be "
                f"{from_numpy_dtype(array.dtype)}; pass dtype=adjoint.float32"
            )
        tensor._fn = leaf_history(tensor)
    return tensor


def out_dtype(out: Tensor, dtype: Any) -> np.dtype[Any]:
    """The dtype of a result that goes into `out`."""
    found: np.dtype[Any] = out._data.dtype
    if dtype is not None and as_numpy_dtype(dtype) != found:
        raise RuntimeError(
            f"dtype {as_dtype(dtype).scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name}); "
            "leave dtype out"
        )
    return found


def into(out: Tensor, array: Array) -> Tensor:
    """Write a result into `out`, which is resized if it has another shape."""
    from .autograd.views import check_writable
    from .ops._inplace import resize_out, write

    refuse_out("out", (out,))
    check_writable(out, False)
    resize_out(out, array.shape)
    write(out, array)
    return out


def in_order_into(out: Tensor, array: Array) -> Tensor:
    """The same for numbers in a row: `out` keeps its shape if it has as many elements."""
    return into(out, array.reshape(out._data.shape) if out._data.size == array.size else array)


def sized(
    name: str, fill: Callable[..., Array], args: tuple[Any, ...], size: Any, out: Tensor | None, dtype: Any, layout: layout,
    device: Device, pin_memory: bool, requires_grad: bool,
) -> Tensor:
    if args and size is None and usual(out, layout, device, pin_memory):
        tensor = new(Tensor)
        shape = size_of(name, args)
        try:
            tensor._data = array = fill(shape, default_numpy() if dtype is None else as_numpy_dtype(dtype))
        except ValueError:
            check_extent(shape)
            raise
        tensor._fn = tensor._vc = None
        return finish(array, True) if requires_grad else tensor
    made = _alone(name, fill, args, size, out, dtype, layout, device, pin_memory, requires_grad)
    return made_inside(made) if out is None else made


def _alone(
    name: str, fill: Callable[..., Array], args: tuple[Any, ...], size: Any, out: Tensor | None, dtype: Any,
    layout: layout | None, device: Device, pin_memory: bool, requires_grad: bool,
) -> Tensor:
    """A tensor that belongs to no transform."""
    shape = size_arguments(name, args, size)
    if layout is not strided and layout is not None:
        return sparse_zeros(name, int(name.removeprefix("new_") not in ("zeros", "empty")), shape, dtype, layout, requires_grad)
    check_options(layout, pin_memory)
    if out is not None:
        found = out_dtype(out, dtype)
        if fill is not np.empty:
            return into(out, fill(shape, found))
        from .ops._inplace import resize_out

        resize_out(out, shape)
        return out
    numpy_dtype = default_numpy() if dtype is None else as_numpy_dtype(dtype)
    check_extent(shape)
    return finish(make_array(lambda: fill(shape, numpy_dtype), shape, numpy_dtype, device), requires_grad)


FILLINGS: dict[Any, Callable[..., Array]] = {None: _unset.empty, 0: zeros_array, 1: ones_array}


def made_tensor(like: Any, dtype: np.dtype[Any], value: Any, name: str) -> Tensor:
    """A tensor of one number, or of whatever was in memory if that is None. `like`: lengths, or an array that has them. (A built-in takes
    its place where a program goes on for a while.)"""
    if like.__class__ is not tuple:
        array = empty_like_array(like, dtype)
        if value is not None:
            fill_array(array, as_element(value, dtype))
        return finish(array)
    fill = FILLINGS.get(value) if value is None or value.__class__ is int else None
    if fill is None:

        def fill(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
            return filled(shape, as_element(value, dtype), dtype)

    return sized(name, fill, like, None, None, dtype, strided, None, False, False)


replaceable["made_tensor"] = globals()


# ---- by size ------------------------------------------------------------------------------------------------------


def zeros(
    *args: Any, size: Any = None, out: Tensor | None = None, dtype: Any = None, layout: layout = strided, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    if args and size is None and out is None and device is None and layout is strided and not pin_memory and not requires_grad:
        return made_tensor(args, as_numpy_dtype(dtype), 0, "zeros")
    return sized("zeros", zeros_array, args, size, out, dtype, layout, device, pin_memory, requires_grad)


def ones(
    *args: Any, size: Any = None, out: Tensor | None = None, dtype: Any = None, layout: layout = strided, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    if args and size is None and out is None and device is None and layout is strided and not pin_memory and not requires_grad:
        return made_tensor(args, as_numpy_dtype(dtype), 1, "ones")
    return sized("ones", ones_array, args, size, out, dtype, layout, device, pin_memory, requires_grad)


def empty(
    *args: Any, size: Any = None, out: Tensor | None = None, dtype: Any = None, layout: layout = strided, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: memory_format = contiguous_format,
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    if args and size is None and out is None and device is None and layout is strided and not pin_memory and not requires_grad:
        if memory_format is contiguous_format and not _unset.on:
            return made_tensor(args, as_numpy_dtype(dtype), None, "empty")
    if memory_format is contiguous_format:

        def unset(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
            """What the target holds already, if it fits."""
            if out is not None and not _unset.on and out._data.shape == shape and out._data.dtype == dtype:
                return out._data
            return _unset.empty(shape, dtype)

        return sized("empty", unset, args, size, out, dtype, layout, device, pin_memory, requires_grad)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: it belongs to empty_like; use contiguous_format")

    def fill(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return _unset.marked(empty_in_format(shape, dtype, memory_format))

    made = sized("empty", fill, args, size, out, dtype, layout, device, pin_memory, requires_grad)
    if made.device.type == "meta":
        return finish(copy_in_format(made._data, made._data.dtype, memory_format), requires_grad)
    return made


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, layout: layout = strided, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor with the given strides, counted in elements."""
    shape = size_of("empty_strided", (size,))
    check_options(layout, pin_memory)
    strides = tuple(int(step) for step in stride)
    if len(strides) != len(shape):
        raise RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})")
    if any(step < 0 for step in strides) or sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) >= 1 << 60:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}"
        )
    numpy_dtype = as_numpy_dtype(dtype)

    steps = tuple(step * numpy_dtype.itemsize for step in strides)

    def make() -> Array:
        last = 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        return np.lib.stride_tricks.as_strided(_unset.empty((last,), numpy_dtype), shape, steps)

    def make_meta() -> Array:
        from ._meta import empty

        return empty(shape, numpy_dtype, steps)

    return made_inside(finish(make_array(make, shape, numpy_dtype, device, make_meta), requires_grad))


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, layout: layout = strided, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:
    """An uninitialised dense tensor whose dimensions lie in memory in the given order, the outermost first."""
    shape = size_of("empty_permuted", (size,))
    for place, dim in enumerate(physical_layout):
        if len(physical_layout) == len(shape) and not 0 <= dim < len(shape):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {dim} at index {place}).")
    if sorted(physical_layout) != list(builtins.range(len(shape))):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(shape)} is not equal "
            f"to len(physical_layout) = {len(physical_layout)}. (Or Duplicate dim not allowed: {list(physical_layout)})"
        )
    strides, step = [0] * len(shape), 1
    for dim in reversed(physical_layout):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return empty_strided(shape, strides, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def number_of(name: str, argument: str, value: Any) -> Any:
    """A Python number from a number, a NumPy scalar or a one-element tensor."""
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and value.numel() == 1):
        return value.item()
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


def full(
    size: Sequence[int], fill_value: Any, *, out: Tensor | None = None, dtype: Any = None, layout: layout = strided,
    device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value, whose type decides the dtype if none is given."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    value = number_of("full", "fill_value", fill_value)
    if value.__class__ is int and not -1 << 63 <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    if out is None and dtype is None:
        dtype = infer_numpy_dtype(value)
    if out is None and device is None and layout is strided and not pin_memory and not requires_grad:
        return made_tensor((size_of("full", (size,)),), as_numpy_dtype(dtype), value, "full")

    def fill(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return filled(shape, as_element(value, dtype), dtype)

    return sized("full", fill, (size,), None, out, dtype, layout, device, pin_memory, requires_grad)


def as_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number as an element of `dtype`, as PyTorch converts it: floats are truncated, too large ones refused."""
    if dtype.kind == "f" and (value.__class__ is float or value.__class__ is int) and -SMALL <= value <= SMALL:
        return value
    if dtype.kind == "i" and dtype.itemsize == 8 and value.__class__ is int and -1 << 63 <= value < 1 << 63:
        return value
    return number_as(value, dtype)


def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: layout = strided, device: Device = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor; of the default dtype, whatever the type of the number."""
    dtype = default_numpy() if dtype is None else dtype
    return full((), s, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, requires_grad=requires_grad)


def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: Any = None, layout: layout = strided,
    device: Device = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal."""
    if m is None and n.__class__ is int and n >= 0 and usual(out, layout, device, pin_memory) and not requires_grad:
        return wrap(identity((n, n), as_numpy_dtype(dtype)))
    shape = (n, n if m is None else m)
    for name, length in zip("nm", shape, strict=True):
        if not hasattr(length, "__index__"):
            raise TypeError(f"eye(): argument '{name}' (position 1) must be int, not {type(length).__name__}")
        if length < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {length}")
    return sized("eye", identity, (shape,), None, out, dtype, layout, device, pin_memory, requires_grad)


def identity(shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    array = np.zeros(shape, dtype)
    array.reshape(-1)[: shape[1] * shape[1] : shape[1] + 1] = 1
    return array


# ---- like another tensor ------------------------------------------------------------------------------------------


def _like(
    name: str, value: Any, input: Tensor, dtype: Any, layout: layout | None, device: Device, pin_memory: bool, requires_grad: bool,
    memory_format: memory_format,
) -> Tensor:
    """One number everywhere, or whatever the memory held if it is None."""
    if input.__class__ is not Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        input.numel()  # which a lazy parameter refuses
    data = input._data
    if data.__class__ is np.ndarray and memory_format is preserve_format and device is None and layout is None:
        if not pin_memory and not requires_grad and (value is not None or not _unset.on):
            return made_tensor(data, data.dtype if dtype is None else as_numpy_dtype(dtype), value, name)
    if isinstance(data, Sparse) or layout not in (None, strided):
        wanted = input.layout if layout is None else layout
        if wanted is not strided:
            return sparse_zeros(name, value, input.shape, data.dtype if dtype is None else dtype, wanted, requires_grad)
    check_options(layout, pin_memory)
    if hasattr(data, "twin"):  # a wrapper's, whose class says what is like it
        from ._class_dispatch import answer_like

        options = dict(dtype=dtype, device=device, requires_grad=requires_grad)
        if (answer := answer_like(name, input, () if name != "full_like" else (value,), options)) is not NotImplemented:
            return answer  # type: ignore[no-any-return]
    if isinstance(data, Layer) and memory_format is preserve_format:
        with data.level.left():  # in the order of all examples in memory
            below = _like(name, value, data.value, dtype, layout, device, pin_memory, False, memory_format)
        return finish(type(data)(data.level, below), requires_grad)
    numpy_dtype = as_numpy_dtype(data.dtype if dtype is None else dtype)
    where = input.device if device is None else require_usable(resolve(device))

    def make() -> Array:
        if memory_format is preserve_format:
            array = empty_like_array(data, numpy_dtype)
        else:
            array = empty_in_format(data.shape, numpy_dtype, memory_format)
        if value is None:
            return _unset.marked(array)
        fill_array(array, as_element(value, numpy_dtype))
        return array

    made = finish(make_array(make, data.shape, numpy_dtype, where, lambda: meta_like(data, numpy_dtype, memory_format)), requires_grad)
    return made if data.__class__ is np.ndarray else in_layers_of(input, made)


def zeros_like(
    input: Tensor, *, dtype: Any = None, layout: layout | None = None, device: Device = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: memory_format = preserve_format,
) -> Tensor:
    """Zeros, with the size, dtype and device of `input`."""
    return _like("zeros_like", 0, input, dtype, layout, device, pin_memory, requires_grad, memory_format)


def ones_like(
    input: Tensor, *, dtype: Any = None, layout: layout | None = None, device: Device = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: memory_format = preserve_format,
) -> Tensor:
    """Ones, with the size, dtype and device of `input`."""
    return _like("ones_like", 1, input, dtype, layout, device, pin_memory, requires_grad, memory_format)


def empty_like(
    input: Tensor, *, dtype: Any = None, layout: layout | None = None, device: Device = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: memory_format = preserve_format,
) -> Tensor:
    """Whatever the memory held, with the size, dtype and device of `input`."""
    return _like("empty_like", None, input, dtype, layout, device, pin_memory, requires_grad, memory_format)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: layout | None = None, device: Device = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: memory_format = preserve_format,
) -> Tensor:
    """One value everywhere, with the size, dtype and device of `input`."""
    value = number_of("full_like", "fill_value", fill_value)
    return _like("full_like", value, input, dtype, layout, device, pin_memory, requires_grad, memory_format)


# ---- methods: the dtype and device of self ------------------------------------------------------------------------


def _new(
    name: str, value: Any, self: Tensor, args: tuple[Any, ...], size: Any, dtype: Any, layout: layout | None,
    device: Device, pin_memory: bool, requires_grad: bool,
) -> Tensor:
    if size is device is None and args and (data := self._data).__class__ is np.ndarray and layout is None and not pin_memory:
        if not requires_grad and _defaults.get()[-1] is CPU and not levels() and (value is not None or not _unset.on):
            return made_tensor(args, data.dtype if dtype is None else as_numpy_dtype(dtype), value, name)
    dtype, device = like_self(self, dtype, device)
    if layout is None and isinstance(self._data, Sparse):
        layout = self.layout
    fill = FILLINGS[value]
    return in_layers_of(self, _alone(name, fill, args, size, None, dtype, layout, device, pin_memory, requires_grad))


@composite(function=False)
def new_zeros(
    self: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    layout: layout | None = None, pin_memory: bool = False,
) -> Tensor:
    """Zeros with the dtype and device of this tensor."""
    return _new("new_zeros", 0, self, args, size, dtype, layout, device, pin_memory, requires_grad)


@composite(function=False)
def new_ones(
    self: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    layout: layout | None = None, pin_memory: bool = False,
) -> Tensor:
    """Ones with the dtype and device of this tensor."""
    return _new("new_ones", 1, self, args, size, dtype, layout, device, pin_memory, requires_grad)


@composite(function=False)
def new_empty(
    self: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    layout: layout | None = None, pin_memory: bool = False,
) -> Tensor:
    """Whatever the memory held, with the dtype and device of this tensor."""
    return _new("new_empty", None, self, args, size, dtype, layout, device, pin_memory, requires_grad)


@composite(function=False)
def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """Whatever the memory held, with the given strides and the dtype and device of this tensor."""
    options["dtype"], options["device"] = like_self(self, options.get("dtype"), options.get("device"))
    return empty_strided(size, stride, **options)


@composite(function=False)
def new_full(self: Tensor, size: Sequence[int], fill_value: Any, **options: Any) -> Tensor:
    """One value everywhere, with the dtype and device of this tensor."""
    if not options and (data := self._data).__class__ is np.ndarray and _defaults.get()[-1] is CPU and not levels():
        return full(size, fill_value, dtype=data.dtype)
    options["dtype"], options["device"] = like_self(self, options.get("dtype"), options.get("device"))
    requires_grad = options.pop("requires_grad", False)
    made: Tensor = in_layers_of(self, wrap(deepest(full(size, fill_value, **options))))
    return made.requires_grad_() if requires_grad else made


def like_self(self: Tensor, dtype: Any, device: Device) -> tuple[Any, Device]:
    data = self._data
    where = CPU if data.__class__ is np.ndarray else self.device
    return (data.dtype if dtype is None else dtype), (where if device is None else device)
