"""Tensors in memory that several processes share: writing in one is seen in all.

The memory is a file without a name, so nothing is left behind when the last process ends. Forked processes inherit it; others are handed
its descriptor when a tensor is sent to them, by Python's own means (`multiprocessing.reduction`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from mmap import mmap
from multiprocessing.reduction import DupFd, ForkingPickler
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ._copying import _rebuild, attributes_of
from ._tensor import Parameter, Tensor

_ALIGNMENT = 64


class SharedMemory(mmap):
    """A mapped file that is known by its descriptor."""

    descriptor: int

    def __del__(self) -> None:
        os.close(self.descriptor)


def share(tensors: Iterable[Tensor]) -> None:
    """Move tensors into shared memory, all into one piece. What is shared stays where it is, and views stay with the old memory."""
    moving = {id(tensor): tensor for tensor in tensors if isinstance(tensor._data, np.ndarray) and memory_of(tensor._data) is None}
    offsets, size = [], 0
    for tensor in moving.values():
        offsets.append(size)
        size += -(-tensor._data.nbytes // _ALIGNMENT) * _ALIGNMENT
    if not moving:
        return
    memory = _new(max(size, 1))
    for tensor, offset in zip(moving.values(), offsets, strict=True):
        before = tensor._data
        tensor._data = np.ndarray(before.shape, before.dtype, memory, offset)
        tensor._data[...] = before


def memory_of(owner: Any) -> SharedMemory | None:
    """The shared memory that an array lies in."""
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, SharedMemory) else None


def _new(size: int) -> SharedMemory:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("adjoint")
    else:
        with TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return _mapped(descriptor, size)


def _mapped(descriptor: int, size: int) -> SharedMemory:
    memory = SharedMemory(descriptor, size)
    memory.descriptor = descriptor
    return memory


def _received(descriptor: Any, size: int) -> SharedMemory:
    return _mapped(descriptor.detach(), size)


def _view(cls: type[Tensor], memory: Any, place: tuple[Any, ...], requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    shape, dtype, offset, strides = place
    return _rebuild(cls, np.ndarray(shape, dtype, memory, offset, strides), requires_grad, attributes)


def _reduce_memory(memory: SharedMemory) -> tuple[Any, ...]:
    return _received, (DupFd(memory.descriptor), len(memory))


def _reduce(tensor: Tensor) -> Any:
    """The memory, and the tensor's place in it. A pickle has the memory once, however many tensors of it lie there."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            f"boundaries. This one was made by {tensor.grad_fn.name()}, recorded at {tensor.grad_fn.site}\n  fix: send x.detach()"
        )
    data = tensor._data
    if not isinstance(data, np.ndarray):
        return tensor.__reduce_ex__(2)
    owner = data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    shared = memory_of(owner)
    if shared is not None:
        owner = np.frombuffer(shared, np.uint8)
    elif owner.base is not None or not owner.flags.c_contiguous:  # another's memory, or one with gaps
        return tensor.__reduce_ex__(2)
    place = data.shape, data.dtype, data.__array_interface__["data"][0] - owner.__array_interface__["data"][0], data.strides
    return _view, (type(tensor), owner if shared is None else shared, place, tensor.requires_grad, attributes_of(tensor))


# Pickles that go to another process ask here first.
ForkingPickler.register(SharedMemory, _reduce_memory)
for kind in (Tensor, Parameter):
    ForkingPickler.register(kind, _reduce)
