"""The named tuples that functions with several results return, under the names of `torch.return_types`."""

from __future__ import annotations

from . import _return_types as _types

_NAMES = {name: value for name, value in vars(_types).items() if isinstance(value, type) and issubclass(value, _types.ReturnType)}
_NAMES.pop("ReturnType")
# With `out=` PyTorch has types of their own, which look the same.
globals().update(_NAMES | {f"{name}_out": value for name, value in _NAMES.items()})


def __dir__() -> list[str]:
    return sorted([*_NAMES, *(f"{name}_out" for name in _NAMES)])
