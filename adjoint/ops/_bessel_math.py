"""Bessel functions of the first and second kind, the modified ones of the second kind, and Airy's function, to about 1e-15."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._kernels.special_tables import (
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
)
from ._special_math import Floats, bessel_series, blockwise, on, polynomial

TWO_OVER_PI = 2 / math.pi

# ---- first and second kind ----------------------------------------------------------------------------------------------------------


def first_near(order: int, x: Floats) -> Floats:
    """J(x) for |x| <= 8."""
    t = x * x / 32 - 1
    return polynomial(J1_NEAR, t) * x if order else polynomial(J0_NEAR, t)


def second_near(order: int, x: Floats) -> Floats:
    """Y(x) for 0 <= x <= 8; minus infinity at 0."""
    t = x * x / 32 - 1
    grown = np.log(x) * first_near(order, x)
    if not order:
        return polynomial(Y0_NEAR, t) + TWO_OVER_PI * grown
    return np.where(x == 0, -np.inf, polynomial(Y1_NEAR, t) * x + TWO_OVER_PI * (grown - 1 / x))


def waves(order: int, x: Floats) -> tuple[Floats, Floats]:
    """J(x) and Y(x) for x > 8."""
    t = 128 / (x * x) - 1
    even, odd = (polynomial(P1, t), polynomial(Q1, t)) if order else (polynomial(P0, t), polynomial(Q0, t))
    sine, cosine = np.sin(x), np.cos(x)
    # The phase x - pi/4 - order pi/2, whose sine and cosine follow from those of x without rounding x again.
    cosine, sine = ((sine - cosine), -(sine + cosine)) if order else ((cosine + sine), (sine - cosine))
    scale = np.sqrt(1 / (math.pi * x))
    odd = odd / x
    return scale * (even * cosine - odd * sine), scale * (even * sine + odd * cosine)


def first_kind(order: int) -> Callable[..., Any]:
    def vector(x: Floats) -> Floats:
        out = np.array(x)
        size = np.abs(x)
        on(size <= 8, lambda v: first_near(order, v), x, out)
        on(size > 8, lambda v: waves(order, np.abs(v))[0] * (np.sign(v) if order else 1), x, out)
        return np.where(np.isinf(x), np.nan, out)  # (as in PyTorch; the limit is 0)

    vector.__name__ = f"bessel_j{order}"
    return blockwise(vector)


def second_kind(order: int) -> Callable[..., Any]:
    def vector(x: Floats) -> Floats:
        out = np.full_like(x, np.nan)
        on((x >= 0) & (x <= 8), lambda v: second_near(order, v), x, out)
        on((x > 8) & (x < np.inf), lambda v: waves(order, v)[1], x, out)
        return out

    vector.__name__ = f"bessel_y{order}"
    return blockwise(vector)


j0, j1 = first_kind(0), first_kind(1)
y0, y1 = second_kind(0), second_kind(1)


def spherical_j0(x: Floats) -> Floats:
    """sin(x) / x."""
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, np.sin(safe) / safe))


# ---- modified, second kind ----------------------------------------------------------------------------------------------------------


def modified_near(order: int, x: Floats) -> Floats:
    """K(x) for 0 <= x <= 2; infinity at 0."""
    t = x * x / 2 - 1
    log = np.log(x / 2)
    if not order:
        return polynomial(K0_NEAR, t) - log * bessel_series(0, x)
    return np.where(x == 0, np.inf, polynomial(K1_NEAR, t) * x + log * bessel_series(1, x) + 1 / x)


def modified_second_kind(order: int, scaled: bool) -> Callable[..., Any]:
    def near(x: Floats) -> Floats:
        return modified_near(order, x) * (np.exp(x) if scaled else 1)

    def far(x: Floats) -> Floats:
        value = polynomial(K1_FAR if order else K0_FAR, 4 / x - 1) / np.sqrt(x)
        return value if scaled else value * np.exp(-x)

    def vector(x: Floats) -> Floats:
        out = np.full_like(x, np.nan)
        on((x >= 0) & (x <= 2), near, x, out)
        on(x > 2, far, x, out)
        return out

    vector.__name__ = f"{'scaled_' * scaled}modified_bessel_k{order}"
    return blockwise(vector)


k0, k0e = modified_second_kind(0, scaled=False), modified_second_kind(0, scaled=True)
k1, k1e = modified_second_kind(1, scaled=False), modified_second_kind(1, scaled=True)

# ---- Airy's function ----------------------------------------------------------------------------------------------------------------


def airy_angle(x: Floats) -> Floats:
    return x * np.sqrt(x) * (2 / 3)


def airy_falling(x: Floats) -> Floats:
    """Ai(x) for x > 2, where it falls off."""
    z = airy_angle(x)
    value = polynomial(AI_FAR, 2 * airy_angle(2.0) / z - 1) / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(x)))
    return value * np.exp(-z)


def airy_waves(x: Floats) -> Floats:
    """Ai(x) for x < -6, where it swings."""
    z = airy_angle(-x)
    t = 2 * (airy_angle(6.0) / z) ** 2 - 1
    phase = z - math.pi / 4
    swing = polynomial(AI_P, t) * np.cos(phase) + polynomial(AI_Q, t) / z * np.sin(phase)
    return swing / (math.sqrt(math.pi) * np.sqrt(np.sqrt(-x)))


def airy_ai_vector(x: Floats) -> Floats:
    out = np.array(x)
    on((x >= -6) & (x < -2), lambda v: polynomial(AI_LEFT, v / 2 + 2), x, out)
    on((x >= -2) & (x <= 2), lambda v: polynomial(AI_RIGHT, v / 2), x, out)
    on((x > 2) & (x < np.inf), airy_falling, x, out)
    on((x < -6) & (x > -np.inf), airy_waves, x, out)
    return np.where(np.isinf(x), np.nan, out)


airy_ai = blockwise(airy_ai_vector)
