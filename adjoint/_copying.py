"""Copies and pickles of tensors: `copy.copy`, `copy.deepcopy`, `pickle`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ._layer import Layer, Pending
from ._tensor import Parameter, Tensor
from .autograd.node import LEAF
from .ops._registry import composite
from .ops.memory import alias

# What adjoint itself keeps beside the user's own attributes of a tensor.
INTERNAL = frozenset({"_accumulator", "_alias_of", "_cut", "_hooks", *(name for name in Tensor.__annotations__ if name.startswith("_"))})


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """What the user attached to a tensor."""
    return {name: value for name, value in tensor.__dict__.items() if name not in INTERNAL}


def slots_of(tensor: Tensor) -> dict[str, Any]:
    """What lies in the slots of the classes that the user derived from Tensor."""
    own = [cls for cls in type(tensor).__mro__ if "__slots__" in vars(cls) and cls not in Tensor.__mro__ and cls is not Parameter]
    names: list[str] = []
    for cls in own:
        slots: Any = vars(cls)["__slots__"]
        names += [slots] if isinstance(slots, str) else slots
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}


def refuse_layer(tensor: Tensor) -> None:
    """Inside a transform a copy without history would silently be a constant."""
    data = tensor._data
    if isinstance(data, Layer):
        kind = "BatchedTensorImpl" if data.level.hides_dimension else "TensorWrapper"
        raise NotImplementedError(f"Cannot access storage of {kind}: this tensor lives inside {data.level.kind}\n  fix: x.clone()")


def _rebuild(cls: type[Tensor], data: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    tensor = object.__new__(cls)
    if isinstance(data, np.ndarray) and data.dtype.kind in "biufc":
        data = data.view(np.dtype(data.dtype.char))  # pickle makes dtypes anew; fast paths know the usual ones by identity
    tensor._data = data
    tensor._vc = None
    tensor._fn = LEAF if requires_grad else None
    tensor.__dict__.update(attributes)
    return tensor


@composite(function=False)
def __reduce_ex__(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """A tensor comes back as a leaf, with its values, `requires_grad` and attributes; history and `.grad` are not kept."""
    from ._utils import reduced

    return reduced(self)


@composite(function=False)
def __setstate__(self: Tensor, state: dict[str, Any]) -> None:
    self.__dict__.update(state)


@composite(function=False)
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of a leaf. Tensors that share memory share it after a common deep copy too."""
    refuse_layer(self)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: this one "
            f"was made by {self.grad_fn.name()}, recorded at {self.grad_fn.site}\n"
            "  fix: copy.deepcopy(x.detach()), or x.clone() to keep the history"
        )
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    trained = issubclass(type(self), Parameter)
    data = self._data.copy(order="K") if trained else _copied_memory(self._data, memo)
    twin = _rebuild(type(self), data, self.requires_grad, {})
    memo[id(self)] = twin
    if not trained:  # as in PyTorch, a copied parameter starts afresh
        twin.__dict__.update(copy.deepcopy(attributes_of(self), memo))
        for name, value in slots_of(self).items():
            setattr(twin, name, copy.deepcopy(value, memo))
        if self._grad is not None:
            twin._grad = copy.deepcopy(self._grad, memo)
    return twin


def _copied_memory(data: Any, memo: dict[int, Any]) -> Any:
    """The same view of a copy of the memory that `data` is a view of."""
    if isinstance(data, Pending):
        return data.resolved()
    if not isinstance(data, np.ndarray):
        return copy.deepcopy(data, memo)
    owner: Any = data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if id(owner) not in memo:
        memo[id(owner)] = owner.copy(order="K")
        memo.setdefault(id(memo), []).append(owner)  # keeps it alive, and its id with it, as long as the memo
    copied = memo[id(owner)]
    if owner is data:
        return copied
    if copied.strides != owner.strides:  # memory with gaps was closed up: there is no such view any more
        return data.copy(order="K")
    offset = data.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    memory = copied.reshape(-1, order="A") if copied.flags.forc else None
    if memory is None:
        return data.copy(order="K")
    return np.ndarray(data.shape, data.dtype, memory, offset, data.strides)


@composite(function=False)
def __copy__(self: Tensor) -> Tensor:
    """Another tensor on the same memory, without history."""
    refuse_layer(self)
    twin = _rebuild(type(self), self._data, self.requires_grad, attributes_of(self))
    for name, value in slots_of(self).items():
        setattr(twin, name, value)
    return twin


@composite(function=False)
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """The same tensor, with its history, as an object of a subclass of Tensor."""
    same: Tensor = alias(self)
    try:
        same.__class__ = cls
    except TypeError:  # it has slots of its own
        other: Tensor = object.__new__(cls)
        other.__dict__.update(same.__dict__)
        for name in ("_data", "_fn", "_vc"):
            setattr(other, name, getattr(same, name))
        return other
    return same
