"""Tensors and other libraries' arrays: `numpy()`, `np.asarray`, DLPack, storage objects.

NumPy's own functions on tensors are in `_numpy_functions.py`, copies and pickles in `_copying.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._errors import compose
from ._layer import Layer, Pending
from ._layout import Sparse
from ._site import here
from ._state import grad_enabled
from ._tensor import Tensor, wrap
from .autograd.taken import take
from .ops._registry import composite

if TYPE_CHECKING:
    from .storage import TypedStorage, UntypedStorage

Ndarray = np.ndarray[Any, Any]

# ---- NumPy --------------------------------------------------------------------------------------------------------


def plain_array(tensor: Tensor) -> Ndarray:
    """The NumPy array that a tensor without history holds."""
    if tensor.requires_grad and grad_enabled():
        _refuse_history()
    data = tensor._data
    if not isinstance(data, np.ndarray):
        if isinstance(data, Layer):
            data.refuse_storage()
        if isinstance(data, Sparse):
            data.__array__()  # type: ignore[attr-defined]
        if isinstance(data, Pending):
            bit, name = ("conjugate", "conj") if data.conj else ("negative", "neg")
            raise RuntimeError(f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{name}().numpy() instead.")
        kind = f"{tensor.device.type} device type tensor" if tensor.is_meta else f"a tensor of {type(data).__name__}"
        raise TypeError(
            f"can't convert {kind} to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            + (" A meta tensor has no elements: make one with adjoint.empty_like(x, device='cpu')" if tensor.is_meta else "")
        )
    if tensor._fn is not None:
        take(data, ".numpy()")
    (tensor if tensor._base is None else tensor._base)._resizable = False
    return data


def _refuse_history() -> NoReturn:
    from ._source import simple_statement

    site = here()
    line = simple_statement(site) or site.text
    fix = line.replace(".numpy(", ".detach().numpy(") if ".numpy(" in line and ".detach()" not in line else "t.detach().numpy()"
    message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    raise RuntimeError(compose(message, {"here": site}, fix))


@composite(function=False)
def numpy(self: Tensor, *, force: bool = False) -> Ndarray:
    """The NumPy array on the tensor's memory. `force=True` drops the history first, where there is one."""
    return plain_array(self.detach().resolve_conj().resolve_neg() if force else self)


@composite(function=False)
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Ndarray:
    return np.array(plain_array(self), dtype=dtype, copy=copy)


# ---- DLPack -------------------------------------------------------------------------------------------------------


@composite(function=False)
def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A capsule through which other libraries take the tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    from ._dlpack import capsule_of

    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    return capsule_of(plain_array(self), dict(max_version=max_version, dl_device=dl_device, copy=copy))


@composite(function=False)
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's tensor or array (or of a DLPack capsule)."""
    from ._dlpack import taken
    from ._from_data import check_array

    array = taken(ext_tensor)
    check_array(array)
    tensor = wrap(array.copy() if copy else array)
    return tensor if device is None else tensor.to(device)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule on the tensor's memory; it can be taken once."""
    return __dlpack__(tensor)


# ---- storage ------------------------------------------------------------------------------------------------------


def _owner(tensor: Tensor) -> Ndarray:
    """The array that owns the memory of a tensor."""
    owner: Any = tensor._data
    if isinstance(owner, Pending):
        owner = owner.array
    if not isinstance(owner, np.ndarray):
        raise NotImplementedError("Cannot access data pointer of Tensor that doesn't have storage")
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner  # type: ignore[no-any-return]


def _shared(owner: Ndarray) -> bool:
    from ._sharing import memory_of

    return memory_of(owner) is not None


@composite(function=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor shares with its views."""
    from .storage import UntypedStorage

    if self.is_meta:
        return UntypedStorage(self.numel() * self.element_size(), device="meta")
    return UntypedStorage(_owner(self))


@composite(function=False)
def _typed_storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor shares with its views, counted in elements."""
    from .storage import TypedStorage

    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype, _internal=True)


@composite(function=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor shares with its views, counted in elements."""
    from .storage import _warn_typed_storage_removal

    _warn_typed_storage_removal()
    return _typed_storage(self)  # type: ignore[no-any-return]


@composite(function=False)
def share_memory_(self: Tensor) -> Tensor:
    """Move the elements into memory that processes share: those that are forked, and those that the tensor is sent to."""
    from ._sharing import share

    if isinstance(self._data, Sparse):
        raise NotImplementedError("Cannot access storage of SparseTensorImpl: share x.values() and x.indices(), and make it of those")
    share([self])
    return self


@composite(function=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module swaps this parameter for when it loads `other`, if that is how it loads: see `torch.__future__`."""
    return other.detach() if assign else self.copy_(other).detach()


@composite(function=False)
def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared between processes."""
    return _shared(_owner(self))


@composite(function=False)
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked, which without a GPU it never is."""
    return False


@composite(function=False)
def pin_memory(self: Tensor, device: Any = None) -> NoReturn:
    """Refused: there is no GPU to pin memory for."""
    raise RuntimeError("Cannot access accelerator device when none is available: leave pin_memory() out")
