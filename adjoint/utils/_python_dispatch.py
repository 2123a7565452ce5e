"""PyTorch's `TorchDispatchMode`: sees each op below functions, as it is about to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from .._tensor import Tensor
from .._watching import dispatch_modes, pop_dispatch_mode, push_dispatch_mode

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing", "transform_subclass"]


class TorchDispatchMode:
    """Sees every op in a `with` block. Derive from it, and define `__torch_dispatch__(self, func, types, args=(), kwargs=None)`, which
    calls `func(*args, **kwargs)` to run the op; inside, the mode is off.

    Ops are those that adjoint has: `str(func)` is `aten.add.default`, whichever of PyTorch's overloads it stands for, and history is
    recorded when `func` is called. A backward pass computes on arrays, so its ops are seen with `create_graph=True` only.
    """

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__(self, func, types, args=(), kwargs=None)")

    def __enter__(self) -> Self:
        push_dispatch_mode(self)
        return self

    def __exit__(self, *_: object) -> None:
        pop_dispatch_mode()


def _get_current_dispatch_mode() -> Any:
    return dispatch_modes()[-1] if dispatch_modes() else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(dispatch_modes())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    return bool(dispatch_modes())


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Inside, no mode sees ops."""
    modes = list(dispatch_modes())
    for _ in modes:
        pop_dispatch_mode()
    try:
        yield modes
    finally:
        for mode in modes:
            push_dispatch_mode(mode)


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Inside, the innermost mode is off."""
    mode = dispatch_modes()[-1]
    pop_dispatch_mode()
    try:
        yield mode
    finally:
        push_dispatch_mode(mode)


# ---- classes of tensors that wrap others --------------------------------------------------------------------------------------------


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is of a class that says what its objects consist of: `__tensor_flatten__` and `__tensor_unflatten__`."""
    return isinstance(t, Tensor) and type(t) is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """The tensor that is made of what `callback(name, inner)` makes of the tensors that another one consists of."""
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size:
        raise RuntimeError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape {size}, but got: {made.shape}")
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What `__torch_dispatch__` returns for an op: what was written to, if the op writes; otherwise `out`."""
    written = (kwargs or {}).get("out")
    if written is not None:
        return written
    name = getattr(getattr(func, "overloadpacket", None), "__name__", "")
    return args[0] if name.endswith("_") and not name.endswith("__") else out
