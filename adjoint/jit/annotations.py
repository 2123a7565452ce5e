"""PyTorch's `torch.jit.annotations`: types as Python's own, and the lists for which TorchScript also takes one number."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, Dict, List, Optional, Tuple, Union, get_args, get_origin  # noqa: UP035

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tuple", "Union"]


class BroadcastingListCls:
    """`BroadcastingList2[int]`: a list of two numbers, or one that stands for both."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1


def matches(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, or of one of several, and so are its elements where the type names theirs."""
    if isinstance(kind, tuple):
        return any(matches(value, one) for one in kind)
    if kind is None:
        return value is None
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is None:
        if kind in (list, dict, tuple, Optional):
            raise RuntimeError(f"Attempted to use {kind} without a contained type. Please add a contained type, e.g. List[int]")
        return isinstance(value, kind)
    if origin in (Union, UnionType):
        return any(matches(value, NoneType if one is None else one) for one in arguments)
    if not isinstance(value, origin):
        return False
    if origin is dict:
        return _all(value.keys(), arguments[0]) and _all(value.values(), arguments[1])
    if origin is tuple and Ellipsis not in arguments:
        return len(value) == len(arguments) and all(map(matches, value, arguments))
    return _all(value, arguments[0])


def _all(values: Iterable[Any], kind: Any) -> bool:
    return all(matches(value, kind) for value in values)
