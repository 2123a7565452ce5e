"""`Size`, the tuple that a tensor's `shape` is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

_item = tuple.__getitem__


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that knows its number of elements and stays a Size when sliced, added or repeated."""

    __slots__ = ()

    def __new__(cls, iterable: Iterable[SupportsIndex] = (), /) -> Size:
        made = tuple.__new__(cls, iterable)
        for item in made:
            if item.__class__ is not int:
                return tuple.__new__(cls, [_as_int(i, item) for i, item in enumerate(made)])
        return made

    @staticmethod
    def _of(shape: tuple[int, ...]) -> Size:
        """A Size from a tuple known to hold ints, such as `ndarray.shape`: nothing is checked."""
        return KNOWN_SIZES[shape]

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __getitem__(self, index: Any, /) -> Any:
        item = _item(self, index)
        return item if item.__class__ is int else KNOWN_SIZES[item]

    def __add__(self, other: Any, /) -> Size:
        if not isinstance(other, tuple):
            added = other.__radd__(self) if hasattr(other, "__radd__") else NotImplemented
            if added is not NotImplemented:
                return added  # type: ignore[no-any-return]
            raise TypeError(
                f"can only concatenate tuple (not {other.__class__.__name__}) to torch.Size; write size + tuple(...)"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any, /) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any, /) -> Any:
        product = tuple(self) * times  # not a tuple when `times` is an array: then it is the array's product
        return Size._of(product) if product.__class__ is tuple else product

    __rmul__ = __mul__


class _Known(dict[tuple[int, ...], Size]):
    """The sizes that have been met, which are found sooner than made."""

    def __missing__(self, shape: tuple[int, ...]) -> Size:
        if len(self) >= 4096:
            self.clear()
        self[shape] = made = tuple.__new__(Size, shape)
        return made


KNOWN_SIZES = _Known()


def _as_int(position: int, item: Any) -> int:
    if not hasattr(item, "__index__"):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{item.__class__.__name__}'); "
            "convert it with int(...)"
        )
    return int(item.__index__())
