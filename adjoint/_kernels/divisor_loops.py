"""Greatest common divisors and least common multiples of integers."""

from __future__ import annotations

from typing import Any

from .loops import Floats, Out, loop, part, select


@part
def size(x: Any) -> Any:
    return select(x < 0, 0 - x, x)


@part
def common_divisor(a: Any, b: Any) -> Any:
    """By Euclid's algorithm, of sizes. That of the least number is negative, and so may be the rests."""
    while b != 0:
        a, b = b, a % b
    return size(a)


@loop(kinds=("i64", "i32"))
def divisors(out: Out, x: Floats, y: Floats, elements: range) -> None:
    for i in elements:
        out[i] = common_divisor(size(x[i]), size(y[i]))


@loop(kinds=("i64", "i32"))
def multiples(out: Out, x: Floats, y: Floats, elements: range) -> None:
    for i in elements:
        a = size(x[i])
        b = size(y[i])
        divisor = common_divisor(a, b)
        out[i] = a // select(divisor == 0, 1, divisor) * b
