"""PyTorch's `torch.utils.deterministic`: whether memory that nobody has written to is filled in deterministic mode."""

import sys
from types import ModuleType

from .. import _unset


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return _unset.settings["fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected mode to be bool, but got {type(mode).__name__}")
        _unset.choose(fill=mode)


sys.modules[__name__].__class__ = _Deterministic
