"""Where gradients end: adding to `.grad` of a leaf, and PyTorch's AccumulateGrad node for those who look for it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .._site import Site
from .node import VersionCounter

if TYPE_CHECKING:
    from .._tensor import Tensor

# Set when Tensor exists, which is after this module: looking it up at each call would cost a microsecond.
wrap: Callable[[Any], Any] = NotImplemented

LARGE = 1 << 14  # elements that are worth a kernel

# One lock for all leaves: it is held for one addition, and threads that train on a shared leaf must not lose a gradient.
_lock = Lock()


def add_by_numpy(total: Any, more: Any) -> Any:
    """Add an array to another in place."""
    return np.add(total, more, out=total, casting="same_kind")


add_into: Callable[[Any, Any], Any] = add_by_numpy


def use_kernel(kernel: Callable[[Any, Any], Any]) -> None:
    """Replace `add_into` by a compiled one."""
    global add_into
    from . import engine

    add_into = engine.add_into = kernel


def laid_out_like(array: Any, like: Any) -> Any:
    """A copy of `array` with the memory layout of `like` where that layout is dense, C order otherwise."""
    if like.__class__ is np.ndarray and like.flags.c_contiguous:
        if array.__class__ is not np.ndarray or array.size < LARGE:
            return np.array(array, order="C")
        from .._kernels import copy_loops

        return copy_loops.copy(array)
    if isinstance(like, np.ndarray) and like.shape == array.shape and is_dense(like):
        copy = np.empty_like(like, dtype=array.dtype)
    else:
        copy = np.empty_like(array, order="C")
    copy[...] = array
    return copy


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill a block of memory, in whatever order."""
    span = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True))
    return span + array.itemsize == array.nbytes and min(array.strides, default=1) > 0


def accumulate(leaf: Tensor, gradient: Any, owned: bool, site: Site) -> None:
    """Add an array to `leaf.grad`. `owned` says that nobody else holds the array, so it may become the gradient itself."""
    with _lock:
        present = leaf._grad
        if present is None:
            data = leaf._data
            if gradient.__class__ is not np.ndarray:
                if isinstance(gradient, np.generic):
                    gradient = np.asarray(gradient)
            elif not owned or gradient.base is not None or gradient.strides != data.strides:
                gradient = laid_out_like(gradient, data)
            leaf._grad = wrap(gradient)
        else:
            target = present._data
            if target.__class__ is np.ndarray and present._fn is None:
                add_into(target, gradient)
                counter = present._vc
                if counter is None:
                    counter = present._vc = VersionCounter()
                counter.bump(site)
            else:
                leaf._grad = wrap(target + gradient)


def accumulate_recorded(leaf: Tensor, gradient: Tensor) -> None:
    """The same under `create_graph=True`: out of place, so that the gradient keeps its history."""
    with _lock:
        present = leaf._grad
        leaf._grad = gradient.clone() if present is None else present + gradient


class AccumulateGrad:
    """The node that PyTorch shows for a leaf. A view of the leaf: made on demand, the same one each time while it is in use."""

    __slots__ = ("__weakref__", "variable")
    next_functions: tuple[()] = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    @classmethod
    def of(cls, leaf: Tensor) -> AccumulateGrad:
        known = leaf.__dict__.get("_accumulator")
        found = known() if known is not None else None
        if found is None:
            found = cls(leaf)
            leaf.__dict__["_accumulator"] = ref(found)
        return found

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._hooks().metadata
        return found

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        return self._hooks().add_post(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        return self._hooks().add_pre(hook)

    def _hooks(self) -> Any:
        return self.variable._leaf_hooks()

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"
