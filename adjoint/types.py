"""PyTorch's `torch.types`: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from ._device import device as _device
from ._dtype import dtype as _dtype
from ._layout import layout as _layout
from ._size import Size
from ._tensor import Tensor

Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
IntLikeType: TypeAlias = int
Number: TypeAlias = int | float | bool
Storage: TypeAlias = Any
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_bool: TypeAlias = builtins.bool
_float: TypeAlias = builtins.float
_int: TypeAlias = builtins.int
_size: TypeAlias = Size | list[int] | tuple[int, ...]

__all__ = [
    "Device",
    "FileLike",
    "IntLikeType",
    "Number",
    "Storage",
    "_TensorOrTensors",
    "_bool",
    "_device",
    "_dtype",
    "_float",
    "_int",
    "_layout",
    "_size",
]
