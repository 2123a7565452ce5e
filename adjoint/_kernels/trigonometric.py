"""Sine, cosine and tangent, and their inverses."""

from __future__ import annotations

import math
from fractions import Fraction

from .code import PI, Code, Pair, Value, in_double, nearest, ordered_sum, product
from .polynomials import ASIN, ATAN, COS, SIN

WHOLE, HALF, QUARTER = Fraction(1), Fraction(1, 2), Fraction(1, 4)
LARGEST = 2.0**36  # beyond, the remainder of a division by pi / 2 needs more digits of pi than there are here


def too_large(c: Code, x: Value) -> str:
    """Whether an angle is beyond what can be computed here."""
    return c.compare("ogt", abs(x), LARGEST)


def quarter_turns(c: Code, x: Value) -> tuple[str, Value, Value | None]:
    """x = n pi/2 + r + lost: an integer with n in its low bits, r with |r| < 0.79, and, where all bits count, what rounding r lost. A
    float32 is reduced in double precision."""
    if c.kind == "f32":
        bits, rest, _ = quarter_turns(*c.widened(x))
        return c.let(f"trunc i64 {bits} to i32"), c.narrowed(rest), None
    shifted = c.fma(x, 2 / math.pi, c.facts.magic)
    n = shifted - c.facts.magic
    high, middle, low = nearest(PI / 2, c.kind, 3)
    most = c.fma(n, -high, x)  # exactly
    if not c.exact:
        return c.bits(shifted), c.fma(n, -middle, most), None
    more, more_lost = product(c, n, middle)
    r = most - more
    return c.bits(shifted), r, (most - r - more) - c.fma(n, low, more_lost)


def sine_near_zero(c: Code, r: Value, z: Value, lost: Value | None) -> tuple[Value, Value]:
    """sin(r + lost) as r and a small rest."""
    rest = r * z * c.polynomial(z, SIN)
    return r, rest if lost is None else rest + lost


def cosine_near_zero(c: Code, r: Value, z: Value, lost: Value | None) -> tuple[Value, Value]:
    """cos(r + lost) as 1 - r²/2 and a small rest."""
    most = c.fma(z, -0.5, 1.0)
    rest = z * z * c.polynomial(z, COS)
    if lost is not None:
        # What rounding lost in r², in 1 - r²/2 and in r.
        square_lost = c.fma(r, r, -z)
        rest = rest + (c.fma(z, -0.5, 1.0 - most) - c.fma(square_lost, 0.5, r * lost))
    return most, rest


def sine_or_cosine(c: Code, x: Value, phase: int) -> Value:
    n, r, lost = quarter_turns(c, x)
    if phase:
        n = c.integer("add", n, phase)
    z = r * r
    odd = c.test_bit(n, 0)
    sine, sine_rest = sine_near_zero(c, r, z, lost)
    cosine, cosine_rest = cosine_near_zero(c, r, z, lost)
    result = c.select(odd, cosine, sine) + c.select(odd, cosine_rest, sine_rest)
    sign = c.integer("shl", c.integer("and", n, 2), c.facts.bits - 2)
    return c.from_bits(c.integer("xor", c.bits(result), sign))


def sin(c: Code, x: Value) -> Value:
    # Of the absolute value, for the sign of zero.
    sign = c.integer("and", c.bits(x), -1 << c.facts.bits - 1)
    return c.from_bits(c.integer("xor", c.bits(sine_or_cosine(c, abs(x), 0)), sign))


def cos(c: Code, x: Value) -> Value:
    return sine_or_cosine(c, x, 1)


@in_double
def tan(c: Code, x: Value) -> Value:
    """The quotient of sine and cosine, or of -cosine and sine, corrected for what rounding lost."""
    n, r, lost = quarter_turns(c, abs(x))
    z = r * r
    odd = c.test_bit(n, 0)
    sine, sine_rest = sine_near_zero(c, r, z, lost)
    cosine, cosine_rest = cosine_near_zero(c, r, z, lost)
    sine, sine_rest = ordered_sum(sine, sine_rest)
    cosine, cosine_rest = ordered_sum(cosine, cosine_rest)
    above, below = c.select(odd, -cosine, sine), c.select(odd, sine, cosine)
    quotient = above / below
    if c.exact:
        above_rest, below_rest = c.select(odd, -cosine_rest, sine_rest), c.select(odd, sine_rest, cosine_rest)
        quotient = quotient + (c.fma(-quotient, below, above) + (above_rest - quotient * below_rest)) / below
    sign = c.integer("and", c.bits(x), -1 << c.facts.bits - 1)
    return c.from_bits(c.integer("xor", c.bits(quotient), sign))


# ---- inverses -----------------------------------------------------------------------------------------------------------------------


def arc_parts(c: Code, x: Value) -> tuple[str, Value, Value]:
    """asin of |x| or, where |x| > 1/2, of sqrt((1 - |x|) / 2), as y and a small rest; and whether it is the latter."""
    size = abs(x)
    large = c.compare("ogt", size, 0.5)
    z = c.select(large, c.fma(size, -0.5, 0.5), size * size)
    y = c.select(large, c.sqrt(z), size)
    return large, y, y * z * c.polynomial(z, ASIN)


def arcsin(c: Code, x: Value) -> Value:
    large, y, rest = arc_parts(c, x)
    high, low = pi_times(c, HALF)
    # asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))
    most, lost = ordered_sum(high, y * -2.0)
    far = most + (lost + c.fma(rest, -2.0, low))
    return c.copysign(c.select(large, far, y + rest), x)


def arccos(c: Code, x: Value) -> Value:
    large, y, rest = arc_parts(c, x)
    negative = c.compare("olt", x, 0.0)
    (half, half_low), (whole, whole_low) = pi_times(c, HALF), pi_times(c, WHOLE)
    factor = c.select(large, c.select(negative, -2.0, 2.0), c.select(negative, 1.0, -1.0))
    high = c.select(large, c.select(negative, whole, 0.0), half)
    low = c.select(large, c.select(negative, whole_low, 0.0), half_low)
    return c.fma(y, factor, high) + c.fma(rest, factor, low)


def pi_times(c: Code, factor: Fraction) -> tuple[float, ...]:
    """A multiple of pi as a sum of two numbers of the type."""
    return nearest(PI * factor, c.kind)


def eighth_turn(c: Code, x: Value) -> Pair:
    """(x - 1) / (x + 1), the tangent of an angle less pi/4, and what rounding lost; 1 / (x + 1) is (1 - t) / 2."""
    above, below = x - 1.0, x + 1.0
    above_lost, below_lost = x - (above + 1.0), x - (below - 1.0)
    t = above / below
    return t, (c.fma(-t, below, above) + (above_lost - t * below_lost)) * (0.5 - t * 0.5)


def arctan(c: Code, x: Value) -> Value:
    """Of x, of -1 / x or of (x - 1) / (x + 1), whichever is nearest to 0, plus 0, pi/2 or pi/4."""
    size = abs(x)
    large, medium = c.compare("ogt", size, 1 + math.sqrt(2)), c.compare("ogt", size, math.sqrt(2) - 1)
    (half, half_low), (quarter, quarter_low) = pi_times(c, HALF), pi_times(c, QUARTER)
    t, lost = eighth_turn(c, size)
    t = c.select(large, -1.0 / size, c.select(medium, t, size))
    high = c.select(large, half, c.select(medium, quarter, 0.0))
    low = c.select(large, half_low, c.select(medium, lost + quarter_low, 0.0))
    z = t * t
    return c.copysign(high + (t + c.fma(t * z, c.polynomial(z, ATAN), low)), x)


def arctan2(c: Code, y: Value, x: Value) -> Value:
    """The arc tangent of the quotient that is at most 1, likewise, in the octant of the point."""
    wide, high_up = abs(x), abs(y)
    steep = c.compare("ogt", high_up, wide)
    smaller, larger = c.select(steep, wide, high_up), c.select(steep, high_up, wide)
    q = smaller / larger
    q = c.select(c.compare("oeq", smaller, larger), 1.0, q)  # infinities too
    q = c.select(c.compare("oeq", larger, 0.0), smaller, q)
    medium = c.compare("ogt", q, math.sqrt(2) - 1)
    t, lost = eighth_turn(c, q)
    t = c.select(medium, t, q)
    z = t * t
    rest = c.fma(t * z, c.polynomial(z, ATAN), c.select(medium, lost, 0.0))
    left = c.test_bit(c.bits(x), c.facts.bits - 1)
    (half, half_low), (quarter, quarter_low), (whole, whole_low) = pi_times(c, HALF), pi_times(c, QUARTER), pi_times(c, WHOLE)
    three, three_low = pi_times(c, 3 * QUARTER)
    # The angle of the direction from which t is counted, and whether it is counted backwards.
    backwards = c.let(f"xor i1 {steep}, {left}")
    direction = c.select(medium, c.select(left, three, quarter), c.select(steep, half, c.select(left, whole, 0.0)))
    direction_low = c.select(medium, c.select(left, three_low, quarter_low), c.select(steep, half_low, c.select(left, whole_low, 0.0)))
    turn = c.select(backwards, -1.0, 1.0)
    return c.copysign(c.fma(t, turn, direction) + c.fma(rest, turn, direction_low), y)
