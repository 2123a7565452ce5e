"""PyTorch's `torch.export`, which writes down a program as a graph. adjoint does not: names are here, and say so when they are called."""

from __future__ import annotations

from typing import Any

from ._homes import settle
from ._standing import refused

__all__ = ["Dim", "ExportedProgram", "ShapesCollection", "export", "load", "register_dataclass", "save"]
__path__: list[str] = []

_not_exported = refused(
    "adjoint does not export programs; write torch.save(model.state_dict(), path), and export from PyTorch after load_state_dict"
)


class _DimHint:
    """What is known of a size."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"DimHint({self._kind})"


class Dim:
    """A size that may differ from call to call, between two bounds."""

    AUTO, DYNAMIC, STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several of them."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """What PyTorch's exporter returns."""


class CustomDecompTable(dict[Any, Any]):
    """How operations are written by others."""


class ShapesCollection:
    """Which sizes of which tensors may differ from call to call."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, tensor: Any, shape: Any) -> None:
        self._shapes[id(tensor)] = shape

    def __getitem__(self, tensor: Any) -> Any:
        return self._shapes[id(tensor)]

    def __len__(self) -> int:
        return len(self._shapes)


@_not_exported
def export(mod: Any, args: Any = (), kwargs: Any = None, **options: Any) -> Any: ...


@_not_exported
def draft_export(mod: Any, args: Any = (), kwargs: Any = None, **options: Any) -> Any: ...


@_not_exported
def save(ep: Any, f: Any, **options: Any) -> Any: ...


@_not_exported
def load(f: Any, **options: Any) -> Any: ...


@_not_exported
def unflatten(module: Any, flat_args_adapter: Any = None) -> Any: ...


def register_dataclass(cls: Any, *, serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container, for `utils._pytree`."""
    from .utils._pytree_paths import register_dataclass as register

    register(cls, serialized_type_name=serialized_type_name)


settle(__name__, dict.fromkeys(("_trace", "decomp_utils", "dynamic_shapes", "exported_program"), ("",)))
