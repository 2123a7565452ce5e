"""Tensors that change places."""

from __future__ import annotations

from copyreg import _slotnames  # type: ignore[attr-defined]
from weakref import getweakrefs

from .._tensor import Tensor

OWN = ("_data", "_fn", "_vc")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Give each of two tensors all that the other one is: class, values, history, gradient and attributes. Who knows one by its identity
    finds the other's content.

    >>> import adjoint as ad
    >>> a, b = ad.ones(2), ad.zeros(3)
    >>> ad.utils.swap_tensors(a, b)
    >>> a
    tensor([0., 0., 0.])
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = {*_slotnames(type(t1)), *OWN}
    if slots != {*_slotnames(type(t2)), *OWN}:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in slots:
        first, second = ({slot: getattr(tensor, slot)} if hasattr(tensor, slot) else {} for tensor in (t1, t2))
        for tensor, taken in ((t1, second), (t2, first)):
            if taken:
                setattr(tensor, slot, taken[slot])
            elif hasattr(tensor, slot):
                delattr(tensor, slot)
