"""Settings of `save` and `load`."""

from __future__ import annotations

import mmap as _mmap
from contextlib import ContextDecorator as _ContextDecorator
from typing import Any as _Any


class load:
    mmap: bool = False
    endianness: _Any = None  # a serialization.LoadEndianness, for files that do not say it
    mmap_flags: int | None = getattr(_mmap, "MAP_PRIVATE", None)
    calculate_storage_offsets: bool = False


class save:
    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64


class patch(_ContextDecorator):
    """Other settings for the length of a `with` block or of a decorated function: `patch("load.mmap", True)`, or a dictionary of them."""

    def __init__(self, arg1: _Any = None, arg2: _Any = None, **kwargs: _Any) -> None:
        given = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or kwargs)
        self._changes = {}
        for name, value in given.items():
            group, _, setting = name.partition(".")
            home = {"load": load, "save": save}.get(group)
            if home is None or not hasattr(home, setting):
                raise AttributeError(f"{__name__}.{name} does not exist")
            self._changes[home, setting] = value

    def __enter__(self) -> None:
        self._before = {place: getattr(*place) for place in self._changes}
        for (home, setting), value in self._changes.items():
            setattr(home, setting, value)

    def __exit__(self, *_: object) -> None:
        for (home, setting), value in self._before.items():
            setattr(home, setting, value)
