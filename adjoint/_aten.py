"""`torch.ops.aten`: operations by PyTorch's names, as dispatch modes see them."""

from __future__ import annotations

from typing import Any

from ._watching import DispatchedOp
from .ops._registry import FUNCTIONS


class Packet:
    """`torch.ops.aten.add`: all overloads of an operation. Here there is one, whatever its name."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, overload: str) -> DispatchedOp:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return DispatchedOp(self.__name__, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.__name__ not in FUNCTIONS:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{self.__name__}' that can be called")
        return FUNCTIONS[self.__name__](*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


class Namespace:
    """Any name is an operation, since policies name many that never run."""

    def __getattr__(self, name: str) -> Packet:
        if name.startswith("__"):
            raise AttributeError(name)
        return Packet(name)


aten = Namespace()
