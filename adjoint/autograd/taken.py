"""Values that left the graph: plain numbers and arrays that `.item()`, `.tolist()` and `.numpy()` gave of tensors with a history.

The last few are remembered, so that a tensor made of one of them can say which line took it. A value is known by its identity: the very
number or array. Nothing is kept alive but single numbers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from weakref import ref

from .._site import user_frame
from .node import Cut

if TYPE_CHECKING:
    from .._tensor import Tensor

KEPT = 16
_taken: dict[int, tuple[Any, Cut]] = {}  # by the identity of the value: the value, or a reference to it, and the cut


def take(value: Any, how: str) -> None:
    """Remember a value that the line that is running has just taken out of a tensor with a history."""
    if value.__class__ is int or value.__class__ is bool:
        return  # Python has just one object for each small one
    frame = user_frame(sys._getframe(2))
    cut = Cut("value taken", how, frame.f_code, frame.f_lasti)
    if len(_taken) >= KEPT:
        _taken.pop(next(iter(_taken)), None)
    _taken[id(value)] = (value if value.__class__ is float or value.__class__ is complex else ref(value)), cut


def mark_taken(made: Tensor, data: Any) -> None:
    """Note with a tensor that it was made of such a value, or of a list that begins with one."""
    if not _taken or made._fn is not None:
        return
    while data.__class__ in (list, tuple) and data:
        data = data[0]
    value, cut = _taken.get(id(data), (None, None))
    if value is not None and data is (value() if value.__class__ is ref else value):
        made._fn = cut
