"""Tensors that the code inside a transform made without the transform's knowledge, and now writes derivatives into.

An op on ordinary tensors does not ask whether a transform is running, so `y = constant * 2` is an ordinary tensor inside of one too. When
a value of the transform is written into it, it has to become one of the transform's. A tensor from outside must not: its writer would not
find it again. Nothing tells the two apart but who knows them: what came from outside is held by a closure, a module or an object, and not
by the variables of the running code alone.
"""

from __future__ import annotations

import gc
from types import CellType
from typing import Any

from .._layer import Level, level_of
from .._tensor import Tensor, wrap
from ..autograd.node import Cut
from ..autograd.views import View


def adopted(level: Level, tensor: Tensor, arguments: tuple[str, ...]) -> bool:
    """Make a tensor one of the level's, if only the running code knows it. `arguments`: the names of those of the op that writes."""
    view = tensor._fn if tensor._fn.__class__ is View else None
    base = tensor if view is None else view.base
    if level_of(base) is not None or not (base._fn is None or base._fn.__class__ is Cut) or any(held(x, arguments) for x in {tensor, base}):
        return False
    below = wrap(base._data)
    below._vc = base._vc
    if view is not None:
        with level.below():
            seen = view.replay(below)
        view.made_for = view.node = None
        tensor._data, tensor._vc = level.dressed(seen)._data, None
    base._data, base._fn, base._vc = level.dressed(below)._data, None, None
    return True


def held(tensor: Tensor, arguments: tuple[str, ...]) -> bool:
    """Whether a closure or an object knows a tensor, apart from the arguments of the op that is running."""
    holders: list[Any] = gc.get_referrers(tensor)
    return any(isinstance(holder, CellType) or (isinstance(holder, dict) and tuple(holder) != arguments) for holder in holders)
