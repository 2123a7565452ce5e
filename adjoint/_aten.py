"""`torch.ops.aten`: operations by PyTorch's names, as dispatch modes see them."""

from __future__ import annotations

from importlib import import_module
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
        return function_named(self.__name__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def function_named(name: str) -> Any:
    """What runs under a name: an op, a function that has its name here only, or one that `torch` itself has."""
    for home in (FUNCTIONS, "adjoint._aten_names", "adjoint", "adjoint.nn.functional"):
        found = home.get(name) if isinstance(home, dict) else getattr(import_module(home), name, None)
        if callable(found):
            return found
    raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}' that can be called")


class Namespace:
    """Any name is an operation, since policies name many that never run."""

    def __getattr__(self, name: str) -> Packet:
        if name.startswith("__"):
            raise AttributeError(name)
        return Packet(name)


aten = Namespace()
