"""Where gradients end: adding to `.grad` of a leaf, and PyTorch's AccumulateGrad node for those who look for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .._errors import spelled
from .._fork import hold
from .._layout import Sparse, is_dense
from .._site import Site
from .._state import FORWARD_AD, GRAD, get_mode
from .node import SAME, Node, VersionCounter

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .hooks import NodeHooks

# Set when Tensor exists, which is after this module: looking it up at each call would cost a microsecond.
wrap: Callable[[Any], Any] = NotImplemented

LARGE = 1 << 14  # elements that are worth a kernel

# One lock for all leaves: it is held for one addition, and threads that train on a shared leaf must not lose a gradient.
_lock = hold(Lock())


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
        if array.__class__ is np.ndarray and array.size >= LARGE:
            from .._kernels import copy_loops

            return copy_loops.copy(array)
        return np.array(array, order="C") if isinstance(array, np.ndarray | np.generic) else array.copy()  # of the meta device, say
    if isinstance(like, np.ndarray) and like.shape == array.shape and is_dense(like):
        copy = np.empty_like(like, dtype=array.dtype)
    else:
        copy = np.empty_like(array, order="C")
    copy[...] = array
    return copy


def lies_like(gradient: Any, data: Any) -> bool:
    """Whether strides differ only where that does not matter, along dimensions of one element; without gaps."""
    if data.__class__ is not np.ndarray or gradient.shape != data.shape or not is_dense(data):
        return False
    return all([n == 1 or a == b for n, a, b in zip(data.shape, gradient.strides, data.strides, strict=True)])


def is_whole(gradient: np.ndarray) -> bool:
    """Whether a gradient that has a base uses all of its memory, which huge arrays borrow."""
    from .._kernels import memory

    return memory.is_whole(gradient)


def accumulate(leaf: Tensor, gradient: Any, owned: bool, site: Site) -> None:
    """Add an array to `leaf.grad`. `owned` says that nobody else holds the array, so it may become the gradient itself."""
    with _lock:
        present = leaf._grad
        if present is None:
            data = leaf._data
            if gradient.__class__ is not np.ndarray:
                if isinstance(gradient, np.generic):
                    gradient = np.asarray(gradient)
                elif isinstance(gradient, Sparse):
                    gradient = gradient.copy()  # type: ignore[attr-defined]  # its values may be those of another gradient
            elif (
                not owned
                or (gradient.strides != data.strides and not lies_like(gradient, data))
                or ((base := gradient.base) is not None and (base.__class__ is np.ndarray or not is_whole(gradient)))
            ):
                gradient = laid_out_like(gradient, data)
            leaf._grad = wrap(gradient)
        else:
            target = present._data
            if target.__class__ is np.ndarray and 0 not in target.strides:
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
        if get_mode() & (GRAD | FORWARD_AD) == FORWARD_AD:  # nothing is recorded, and the first gradient leaves its tangent behind
            leaf._grad = gradient.detach().clone() if present is None else present.add_(gradient)
        else:
            leaf._grad = gradient.clone() if present is None else present + gradient


# ---- what may be assigned to `.grad` -------------------------------------------------------------------------------------------------


def check_gradient(tensor: Tensor, value: Any) -> None:
    """Refuse what cannot be the gradient of a tensor."""
    if not hasattr(value, "_fn"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(tensor.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    dtype = tensor.dtype if tensor._grad_dtype is SAME else tensor._grad_dtype
    if dtype is not None and value.dtype != dtype:
        raise RuntimeError(
            spelled(
                f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad_dtype '{dtype}'\n"
                f"  fix: x.grad = g.to({dtype}), or x.grad_dtype = {value.dtype} before"
            )
        )
    if value.device != tensor.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{tensor.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )


def set_grad_dtype(leaf: Tensor, value: Any) -> None:
    """Give the gradient of a leaf a dtype of its own; None lets it have any."""
    from .._dtype import dtype

    if not leaf.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if leaf._grad is not None and value is not None and leaf._grad.dtype != value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value}' because there is already a gradient with dtype '{leaf._grad.dtype}'. Please clear the "
            "gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
        )
    leaf._grad_dtype = value
    leaf._leaf_hooks()  # which sends its gradients the way where this is looked at


class AccumulateGrad(Node):
    """The node that PyTorch shows for a leaf. A view of the leaf: made on demand, the same one each time while it is in use."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.next = self.saved = ()
        self.seq = sys.maxsize  # leaves come first

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

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        """Called by hand: the gradient is added to that of the leaf."""
        if g is not None:
            accumulate_recorded(self.variable, g)
        return ()

    def _hooks(self) -> NodeHooks:
        return self.variable._leaf_hooks()
