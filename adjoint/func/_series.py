"""What a tensor holds inside `jet`: the beginning of its Taylor series.

The k-th term is the k-th derivative along the path, divided by k!. A term that is None is zero. A series ends where it is not known any
further, and the result of an op is known as far as all of its operands are. A constant, which is known for ever, has no list of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._layer import Layer, Level, level_of
from .._tensor import Tensor, wrap

Term = Tensor | None
Terms = list[Any]  # of Term


class Series(Layer):
    """A value, and the terms of its series from the first order on."""

    __slots__ = ("terms",)

    def __init__(self, level: Level, value: Tensor, terms: Terms | None = None) -> None:
        super().__init__(level, value)
        self.terms = terms

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Series:
        terms = None if self.terms is None else [None if term is None else function(term) for term in self.terms]
        return Series(self.level, function(self.value), terms)


def unpacked(level: Level, x: Any) -> tuple[Any, Terms | None]:
    """The value of a tensor one level down, and its terms at this level."""
    return (x._data.value, x._data.terms) if level_of(x) is level else (x, None)


def cut(level: Level, x: Any, order: int) -> Any:
    """A tensor whose series is known up to some order only."""
    value, terms = unpacked(level, x)
    return x if terms is None else wrap(Series(level, value, terms[:order]))


def rate(level: Level, x: Any, order: int) -> Any:
    """The derivative of a tensor along the path, up to some order: itself a series. None for a constant."""
    value, terms = unpacked(level, x)
    if terms is None:
        return None
    first, *rest = rates(terms[: order + 1])
    return wrap(Series(level, value.new_zeros(value.shape) if first is None else first, rest))


def from_rate(level: Level, slope: Any, order: int) -> Terms | None:
    """The terms of a tensor from those of its derivative."""
    if slope is None:
        return None
    value, terms = unpacked(level, slope)
    known = [value, *([None] * order if terms is None else terms)]
    return [scaled(term, 1 / (k + 1)) for k, term in enumerate(known[:order])]


# ---- arithmetic in which None is zero -----------------------------------------------------------------------------------------------


def rates(terms: Sequence[Term]) -> Terms:
    """The terms of the derivative, from order zero on."""
    return [scaled(term, k) for k, term in enumerate(terms, 1)]


def scaled(x: Any, factor: float) -> Any:
    return x if x is None or factor == 1 else x * factor


def times(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x * y


def plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def minus(x: Any, y: Any) -> Any:
    return x if y is None else -y if x is None else x - y
