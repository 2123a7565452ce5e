"""Changes of a tensor itself: its shape, its memory. The elements stay where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._layer import Pending
from .._layout import channels_inside, channels_last, channels_last_3d, inner_channels, preserve_format
from .._site import here
from .._state import GRAD, INFERENCE, recording, swap_bits
from .._tensor import Tensor
from .._unset import marked
from ..autograd.forward_ad import set_tangent
from ..autograd.node import INFERENCE_TENSOR, LEAF, Cut, Edge, Node, VersionCounter, new_node
from ..autograd.regions import leave_memory, reach, remember_geometry
from ..autograd.views import ORDINARY, View, check_writable, counter_of, edge_of
from ._general import array_to_write
from ._registry import Op, composite
from .memory import offset_of, owner_of
from .shape import sizes_given, squeeze, swapaxes, t, transpose, unsqueeze
from .strides import as_strided, dense_strides, laid_over


def _inplace_view(name: str, of: Callable[..., Any]) -> None:
    op: Op | None = getattr(of, "op", None)
    count = len(op.args) - 1 if op else -1

    def changing(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if op and len(args) == count and not kwargs and self._fn is None and (data := array_to_write(self)) is not None:
            changed = op.impl(data, *args)
            remember_geometry(self)
            self._data = changed
            return self._written()
        check_writable(self, recording() and self.requires_grad, one_value=True)  # (its elements stay as they are)
        with recorded_with(self):
            return _become(self, of(self, *args, **kwargs))

    changing.__name__ = changing.__qualname__ = name
    changing.__doc__ = f"In-place form of `{name[:-1]}`: the tensor takes the new shape itself."
    changing.__wrapped__ = of  # type: ignore[attr-defined]  # whose signature it has
    composite(function=False)(changing)


@contextmanager
def recorded_with(tensor: Tensor) -> Iterator[None]:
    """Record what changes the geometry of a tensor that has a history, also under no_grad: gradients arrive in the new one."""
    fn = tensor._fn
    if fn is None or fn is LEAF or fn.__class__ is Cut or (fn.__class__ is View and fn.creation is not ORDINARY):
        yield
        return
    bits = swap_bits(GRAD | INFERENCE, GRAD)
    try:
        yield
    finally:
        swap_bits(GRAD | INFERENCE, bits)


def _become(self: Tensor, view: Tensor) -> Tensor:
    """Take over the shape and the history of one's own view."""
    if isinstance(self._fn, View):
        self._fn = view._fn
    else:
        remember_geometry(self)
        if isinstance(view._fn, View) and view._fn.node is not None and self._fn is not LEAF:
            self._fn = view._fn.node
    self._data = view._data
    if view._tangent is not None:
        set_tangent(self, view._tangent)
    if self._vc is not INFERENCE_TENSOR:
        counter_of(self).bump(here())
    return self


for _name, _of in {
    "squeeze_": squeeze, "unsqueeze_": unsqueeze, "t_": t, "transpose_": transpose, "swapaxes_": swapaxes, "swapdims_": transpose,
    "as_strided_": as_strided,
}.items():  # fmt: skip
    _inplace_view(_name, _of)


def _resize(input: Tensor, size: tuple[int, ...], memory_format: Any = None) -> Tensor:
    """Give a tensor another size, in place. The elements that there is memory for are kept; new ones are arbitrary."""
    data = input._data
    if input._vc is not INFERENCE_TENSOR and input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad\n  fix: make a new tensor, or work on x.detach()")
    if input._tangent is not None:
        raise RuntimeError("cannot resize variables that has a forward grad\n  fix: make a new tensor, or work on x.detach()")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory format Preserve: resize_ takes contiguous_format or channels_last")
    if size == tuple(data.shape) and memory_format is None:
        return input
    check_writable(input, False, one_value=True)
    if size and min(size) < 0:
        raise RuntimeError(f"numel: integer multiplication overflow: sizes {list(size)} must not be negative")
    if not isinstance(data, np.ndarray | Pending):
        input._data = np.broadcast_to(data.reshape(-1)[:1], size)
        return input
    strides, offset = strides_in_format(size, memory_format), offset_of(data)
    needed = (offset + math.prod(size)) * data.itemsize
    if needed >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    memory = owner_of(data).ravel(order="K").view(data.dtype)
    if needed <= memory.nbytes or 0 in size:
        return _become(input, as_strided(input, size, strides, offset))
    if not (input if input._base is None else input._base)._resizable:
        raise RuntimeError("Trying to resize storage that is not resizable: NumPy shares it\n  fix: x = x.clone() before it grows")
    grown = marked(np.zeros(offset + math.prod(size), memory.dtype))
    grown[: memory.size] = memory
    leave_memory(input)
    if isinstance(input._fn, View):
        input._fn = None
    larger = laid_over(grown, size, strides, offset)
    input._data = data.like(larger) if isinstance(data, Pending) else larger
    if input._vc is not INFERENCE_TENSOR:
        counter_of(input).bump(here())
    return input


def suggested_format(data: Any) -> Any:
    """The format that an array is in, where it is one of those with the channels last; None: any other."""
    wanted = {4: channels_last, 5: channels_last_3d}.get(len(data.shape))
    return wanted if wanted and channels_inside(data) and not data.flags.c_contiguous else None


def strides_in_format(size: tuple[int, ...], memory_format: Any) -> tuple[int, ...]:
    if not inner_channels(memory_format, len(size)):
        return dense_strides(size)
    first, channels, *others = dense_strides((size[0], *size[2:], size[1]))
    return (first, others[-1], channels, *others[:-1])


@composite(function=False)
def resize_(input: Tensor, *size: Any, memory_format: Any = None, **named: Any) -> Tensor:
    """Give a tensor another size, in place. The elements that there is memory for are kept; new ones are arbitrary."""
    return _resize(input, sizes_given("resize_", "size", size, named), memory_format)


@composite()
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give a tensor the size of another, in place."""
    shape = tuple(the_template._data.shape)
    if memory_format is preserve_format:
        memory_format = suggested_format(the_template._data)
    if shape != tuple(input._data.shape) or memory_format is not None:
        return _resize(input, shape, memory_format)
    return _resize(input, shape)


class NoDerivative(Node):
    """The history of a tensor that took over another's memory: there is none, and backward says so."""

    __slots__ = ()

    def apply(self, g: Any) -> tuple[Any, ...]:
        raise RuntimeError("derivative for set_ is not implemented\n  fix: y = x, or y.copy_(x), where gradients are to flow")

    apply_recorded = apply


NoDerivative.__name__ = "NotImplemented"


@composite(function=False)
def set_(
    input: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let a tensor look at the memory of another (or at a storage), as that one does or with a geometry of its own; without one it
    becomes empty."""
    check_writable(input, recording() and input._fn is LEAF, one_value=True)
    data = _memory_given(input, source)
    edges: tuple[Edge, ...] = ()
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if size is not None:
        shape = tuple(size)
        strides = dense_strides(shape) if stride is None else tuple(stride)
        data = laid_over(_grown(data, shape, strides, storage_offset), shape, strides, storage_offset)
    if recording() and (input.requires_grad or (isinstance(source, Tensor) and source.requires_grad)):
        edges = tuple(edge_of(x) if isinstance(x, Tensor) else None for x in (input, source))
    leave_memory(input)
    counter = VersionCounter()
    counter.version = 0 if input._vc is None else input._vc.version
    input._data = data
    if edges:
        input._fn = new_node(NoDerivative, edges, (), here())
    elif isinstance(input._fn, View):
        input._fn = None
    if input._vc is not INFERENCE_TENSOR:
        if input._vc is not None:
            input._vc.bump(here())  # its views stay with that one
        input._vc = counter
        counter.bump(here())
    return input


def _memory_given(input: Tensor, source: Any) -> Any:
    """The array that `set_` is to look at."""
    dtype = input._data.dtype
    if source is None:
        return np.empty(0, dtype)
    if isinstance(source, Tensor):
        if source.dtype != input.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {input.dtype}")
        return source._data
    memory_of, kind = getattr(source, "untyped_bytes", None), getattr(source, "dtype", input.dtype)
    if memory_of is None:
        raise TypeError(
            f"set_() received an invalid combination of arguments - got ({type(source).__name__}), but expected a Tensor or a Storage"
        )
    if kind != input.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {input.dtype.scalar_name} or an UntypedStorage, but got type {kind.scalar_name} "
            "for argument 1 'storage'"
        )
    memory = memory_of()
    return memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype)


def _grown(data: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """The memory under an array; a copy of it if it is too short."""
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(strides)} strides for {len(shape)} dimensions")
    memory = owner_of(data).ravel(order="K").view(data.dtype)
    needed = reach((shape, strides, offset))
    if needed <= memory.size or 0 in shape:
        return memory
    return np.concatenate([memory, np.zeros(needed - memory.size, data.dtype)])
