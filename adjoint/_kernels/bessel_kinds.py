"""Bessel functions of the first and second kind, the modified ones of the second kind, and Airy's function.

Near zero they are polynomials, with a logarithm where they have a pole; far from it they swing or fall off like a root of x times a
polynomial in 1 / x. A float32 is computed in double precision.
"""

from __future__ import annotations

import math

from .code import Code, Pair, Value, in_double
from .exponential import exp, log
from .polynomials import BESSEL_0_NEAR, BESSEL_1_NEAR
from .special_tables import (
    AI_FAR,
    AI_LEFT,
    AI_P,
    AI_Q,
    AI_RIGHT,
    J0_NEAR,
    J1_NEAR,
    K0_FAR,
    K0_NEAR,
    K1_FAR,
    K1_NEAR,
    P0,
    P1,
    Q0,
    Q1,
    Y0_NEAR,
    Y1_NEAR,
    both,
)
from .trigonometric import LARGEST, cosine_near_zero, quarter_turns, sine_near_zero

# ---- first and second kind ----------------------------------------------------------------------------------------------------------


def sine_and_cosine(c: Code, x: Value) -> Pair:
    n, r, lost = quarter_turns(c, x)
    z = r * r
    sine, sine_rest = sine_near_zero(c, r, z, lost)
    cosine, cosine_rest = cosine_near_zero(c, r, z, lost)
    sine, cosine = sine + sine_rest, cosine + cosine_rest
    odd = c.test_bit(n, 0)
    values = c.select(odd, cosine, sine), c.select(odd, sine, cosine)
    signs = (c.integer("shl", c.integer("and", turns, 2), c.facts.bits - 2) for turns in (n, c.integer("add", n, 1)))
    sine, cosine = (c.from_bits(c.integer("xor", c.bits(value), sign)) for value, sign in zip(values, signs, strict=True))
    return sine, cosine


def first_near(c: Code, x: Value, order: int) -> Value:
    """J(x) for |x| <= 8."""
    t = c.fma(x * x, 1 / 32, -1.0)
    return c.polynomial(t, both(J1_NEAR)) * x if order else c.polynomial(t, both(J0_NEAR))


def second_near(c: Code, x: Value, order: int) -> Value:
    """Y(x) for x <= 8."""
    t = c.fma(x * x, 1 / 32, -1.0)
    grown = log(c, x) * first_near(c, x, order)
    if not order:
        return c.fma(grown, 2 / math.pi, c.polynomial(t, both(Y0_NEAR)))
    value = c.fma(grown - 1.0 / x, 2 / math.pi, c.polynomial(t, both(Y1_NEAR)) * x)
    return c.select(c.compare("oeq", x, 0.0), -math.inf, value)


def waves(c: Code, x: Value, order: int, second: bool) -> Value:
    """J(x) or Y(x) for x > 8: a sum of the parts in phase and out of phase."""
    inverse = 1.0 / x
    t = c.fma(inverse * inverse, 128.0, -1.0)
    even, odd = c.polynomial(t, both(P1 if order else P0)), c.polynomial(t, both(Q1 if order else Q0)) * inverse
    sine, cosine = sine_and_cosine(c, x)
    # The phase x - pi/4 - order pi/2, whose sine and cosine follow from those of x without rounding x again.
    cosine, sine = (sine - cosine, -(sine + cosine)) if order else (cosine + sine, sine - cosine)
    swing = c.fma(even, sine, odd * cosine) if second else c.fma(even, cosine, -(odd * sine))
    return c.sqrt(inverse * (1 / math.pi)) * swing


def first_kind(c: Code, x: Value, order: int) -> Value:
    size = abs(x)
    far = waves(c, size, order, second=False)
    if order:
        far = far * c.copysign(1.0, x)
    return c.select(c.compare("ogt", size, 8.0), far, first_near(c, x, order))


def second_kind(c: Code, x: Value, order: int) -> Value:
    return c.select(c.compare("ogt", x, 8.0), waves(c, x, order, second=True), second_near(c, x, order))


@in_double
def bessel_j0(c: Code, x: Value) -> Value:
    return first_kind(c, x, 0)


@in_double
def bessel_j1(c: Code, x: Value) -> Value:
    return first_kind(c, x, 1)


@in_double
def bessel_y0(c: Code, x: Value) -> Value:
    return second_kind(c, x, 0)


@in_double
def bessel_y1(c: Code, x: Value) -> Value:
    return second_kind(c, x, 1)


# What is simpler for usual numbers, and where they end.


@in_double
def usual_bessel_j0(c: Code, x: Value) -> Value:
    return first_near(c, x, 0)


@in_double
def usual_bessel_j1(c: Code, x: Value) -> Value:
    return first_near(c, x, 1)


@in_double
def usual_bessel_y0(c: Code, x: Value) -> Value:
    return second_near(c, x, 0)


@in_double
def usual_bessel_y1(c: Code, x: Value) -> Value:
    return second_near(c, x, 1)


def beyond_eight(c: Code, x: Value) -> str:
    return c.compare("ogt", abs(x), 8.0)


# ---- modified, second kind ----------------------------------------------------------------------------------------------------------


def modified_near(c: Code, x: Value, order: int) -> Value:
    """K(x) for x <= 2."""
    square = x * x
    t = c.fma(square, 0.5, -1.0)
    growth = log(c, x * 0.5)
    if not order:
        return c.fma(-growth, c.polynomial(square, BESSEL_0_NEAR), c.polynomial(t, both(K0_NEAR)))
    value = c.fma(x, c.fma(growth, c.polynomial(square, BESSEL_1_NEAR), c.polynomial(t, both(K1_NEAR))), 1.0 / x)
    return c.select(c.compare("oeq", x, 0.0), math.inf, value)


def modified(c: Code, x: Value, order: int, scaled: bool) -> Value:
    near = modified_near(c, x, order)
    far = c.polynomial(4.0 / x - 1.0, both(K1_FAR if order else K0_FAR)) / c.sqrt(x)
    if scaled:
        near = near * exp(c, x)
    else:
        far = far * exp(c, -x)
    return c.select(c.compare("ogt", x, 2.0), far, near)


@in_double
def modified_bessel_k0(c: Code, x: Value) -> Value:
    return modified(c, x, 0, scaled=False)


@in_double
def modified_bessel_k1(c: Code, x: Value) -> Value:
    return modified(c, x, 1, scaled=False)


@in_double
def scaled_modified_bessel_k0(c: Code, x: Value) -> Value:
    return modified(c, x, 0, scaled=True)


@in_double
def scaled_modified_bessel_k1(c: Code, x: Value) -> Value:
    return modified(c, x, 1, scaled=True)


# ---- Airy's function ----------------------------------------------------------------------------------------------------------------


def airy_angle(x: float) -> float:
    return x * math.sqrt(x) * (2 / 3)


@in_double
def airy_ai(c: Code, x: Value) -> Value:
    """A polynomial from -6 to -2 and one from there to 2; it swings below and falls off above."""
    size = abs(x)
    root = c.sqrt(size)
    z = size * root * (2 / 3)
    inverse = 1.0 / z
    falling = c.polynomial(c.fma(inverse, 2 * airy_angle(2.0), -1.0), both(AI_FAR)) * exp(c, -z) * 0.5
    part = inverse * airy_angle(6.0)
    t = c.fma(part * part, 2.0, -1.0)
    sine, cosine = sine_and_cosine(c, z)
    # The phase is z - pi/4.
    swing = c.polynomial(t, both(AI_P)) * (cosine + sine) + c.polynomial(t, both(AI_Q)) * inverse * (sine - cosine)
    far = c.select(c.compare("ogt", x, 0.0), falling, swing * math.sqrt(0.5)) / (c.sqrt(root) * math.sqrt(math.pi))
    far = c.select(c.compare("oeq", x, math.inf), x * 0.0, far)  # NaN, as in PyTorch
    near = c.select(c.compare("olt", x, -2.0), c.polynomial(c.fma(x, 0.5, 2.0), both(AI_LEFT)), usual_airy_ai(c, x))
    return c.select(c.either(c.compare("olt", x, -6.0), c.compare("ogt", x, 2.0)), far, near)


@in_double
def usual_airy_ai(c: Code, x: Value) -> Value:
    return c.polynomial(x * 0.5, both(AI_RIGHT))


def beyond_two(c: Code, x: Value) -> str:
    return c.compare("ogt", abs(x), 2.0)


def swings_too_fast(c: Code, x: Value) -> str:
    """Whether Airy's function swings by an angle that is beyond what can be computed here."""
    return c.compare("olt", x, -((LARGEST * 1.5) ** (2 / 3)) * 0.99)
