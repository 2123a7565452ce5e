"""Functions of two numbers that plain arithmetic does not give: remainders, the hypotenuse, the next number."""

from __future__ import annotations

import math

from . import target
from .code import Code, Value


def too_many_times(c: Code, x: Value, y: Value) -> str:
    """Whether y goes into x so often that the quotient is not exact any more."""
    return c.compare("ogt", abs(x / y), 2.0**c.facts.mantissa)


def fmod(c: Code, x: Value, y: Value) -> Value:
    """x - q y with the quotient rounded towards 0, which is exact; q may be one too large, for the quotient was rounded."""
    size, step = abs(x), abs(y)
    q = c.intrinsic("trunc", size / step)
    rest = exact_rest(c, q, step, size)
    rest = c.select(c.compare("olt", rest, 0.0), rest + step, rest)
    rest = c.select(c.compare("oge", rest, step), rest - step, rest)
    rest = c.select(c.compare("olt", size, step), size, rest)  # an infinite y too
    return c.copysign(rest, x)


def exact_rest(c: Code, q: Value, step: Value, size: Value) -> Value:
    """size - q step, of numbers of any size: the product of doubles is not exact at their ends where there are no fused operations."""
    if target.current().fma or c.kind == "f32":
        return c.fma(-q, step, size)
    large, small = c.compare("ogt", size, 2.0**900), c.compare("olt", step, 2.0**-700)
    down = c.select(large, 2.0**-200, c.select(small, 2.0**200, 1.0))
    return c.fma(-q, step * down, size * down) * (1.0 / down)


def hypot(c: Code, x: Value, y: Value) -> Value:
    """sqrt(x² + y²), of float32 in double precision, of float64 from the quotient of the smaller and the larger one."""
    if c.kind == "f32":
        wide, a, b = c.widened(x, y)
        result = c.narrowed(wide.sqrt(wide.fma(a, a, b * b)))
    else:
        a, b = abs(x), abs(y)
        swap = c.compare("ogt", b, a)
        larger, smaller = c.select(swap, b, a), c.select(swap, a, b)
        t = smaller / larger
        square = t * t
        result = c.fma(larger, square / (c.sqrt(square + 1.0) + 1.0), larger)
        result = c.select(c.compare("oeq", larger, 0.0), smaller, result)
    infinite = c.either(c.compare("oeq", abs(x), math.inf), c.compare("oeq", abs(y), math.inf))
    return c.select(infinite, math.inf, result)


def nextafter(c: Code, x: Value, y: Value) -> Value:
    """The next number after x on the way to y: its bits, as an integer, grow with its size."""
    larger = c.let(f"xor i1 {c.compare('olt', x, y)}, {c.compare('olt', x, 0.0)}")
    bits = c.integer("add", c.bits(x), c.let(f"select i1 {larger}, {c.facts.int} 1, {c.facts.int} -1"))
    result = c.select(c.compare("oeq", x, 0.0), c.copysign(c.from_bits(c.let(f"add {c.facts.int} 0, 1")), y), c.from_bits(bits))
    result = c.select(c.compare("oeq", x, y), y, result)
    return c.select(c.compare("uno", x, y), x + y, result)
