"""The names in a graph: each is used once, and none means something else in Python."""

from __future__ import annotations

import builtins
import keyword
import math
import re
import sys
from typing import Any, NamedTuple

from .._device import device
from ..utils import _pytree as pytree
from . import _pytree as fx_pytree

_PARTS = re.compile(r"^([a-zA-Z_0-9]+?)(?:_(\d+))?$")  # `conv_2`: the base and the number


class _CustomBuiltin(NamedTuple):
    """A name that generated code may use without more ado, and the line that imports it elsewhere."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}
_illegal_names: dict[str, Any] = {name: object() for name in keyword.kwlist} | dict(vars(builtins))


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let code use a name, such as `nan`, that is how a value prints itself."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin("torch", "import torch", sys.modules["adjoint"])
_register_custom_builtin("device", "from torch import device", device)
_register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
_register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


class _Namespace:
    """Hands out names. An object that has got one gets the same again."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A free name like the candidate: `relu`, then `relu_1`, `relu_2`."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = _PARTS.match(candidate).groups()  # type: ignore[union-attr]
        if number is None:
            count = self._base_count.get(candidate, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(number)
        while candidate in self._used_names:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._base_count[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Let a name that is handed out already be this object's."""
        held = self._obj_to_name.setdefault(obj, name)
        if held != name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)
