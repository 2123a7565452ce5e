"""The exponentials of small matrices, and their derivatives, in double precision.

Numbers of the kernel are pairs of matrices: a value, and its derivative in a direction. Without a direction only values are computed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .loops import Doubles, Floats, Mark, Out, loop, narrow, part_apart, wide, wide_room

Array = Any
MOST = 16  # rows of a matrix
PAIR = 2 * MOST * MOST
DEGREE = 16  # of the polynomial, which is one of degree three in A with coefficients that are polynomials of A⁴
REACH = {"f": 2.3, "d": 0.78}  # the 1-norm up to which the terms that are left out do not matter in single and double precision
COEFFICIENTS = tuple(1 / math.factorial(k) for k in range(DEGREE + 1))
DOUBLE_REACH = (REACH["d"],)


@part_apart
def multiply(out: Doubles, x: Doubles, y: Doubles, n: int, pairs: int) -> None:
    square = n * n
    for row in range(n):
        for column in range(n):
            out[row * n + column] = 0.0
        for k in range(n):
            value = x[row * n + k]
            for column in range(n):
                out[row * n + column] += value * y[k * n + column]
        if pairs:
            for column in range(n):
                out[square + row * n + column] = 0.0
            for k in range(n):
                value, change = x[row * n + k], x[square + row * n + k]
                for column in range(n):
                    out[square + row * n + column] += value * y[square + k * n + column] + change * y[k * n + column]


@loop(unroll=False)
def exponentials(
    out: Out, changes: Out | None, a: Floats, directions: Floats | None, n: int, pairs: int, extreme: Mark, matrices: range
) -> None:
    """Halve a matrix until it is small, take the first terms of its series, and square."""
    x = wide_room(PAIR)
    square = wide_room(PAIR)
    cube = wide_room(PAIR)
    fourth = wide_room(PAIR)
    total = wide_room(PAIR)
    product = wide_room(PAIR)
    size, whole = n * n, n * n * (1 + pairs)
    for i in matrices:
        norm = wide(0.0)
        for column in range(n):
            length = wide(0.0)
            for row in range(n):
                length += abs(wide(a[i * size + row * n + column]))
            norm = norm if length <= norm else length  # NaN stays
        halvings, factor = 0, wide(1.0)
        if norm < 1e200:
            while norm > DOUBLE_REACH[0]:
                norm, factor, halvings = norm * 0.5, factor * 0.5, halvings + 1
        else:
            extreme[0] = 1
        for k in range(size):
            x[k] = wide(a[i * size + k]) * factor
            if directions is not None:
                x[size + k] = wide(directions[i * size + k]) * factor
        multiply(square, x, x, n, pairs)
        multiply(cube, square, x, n, pairs)
        multiply(fourth, square, square, n, pairs)
        for k in range(whole):
            total[k] = COEFFICIENTS[DEGREE] * fourth[k]
        for step in range(4):
            first = DEGREE - 4 - step * 4
            if step:
                multiply(product, total, fourth, n, pairs)
                for k in range(whole):
                    total[k] = product[k]
            for k in range(whole):
                total[k] += COEFFICIENTS[first + 1] * x[k] + COEFFICIENTS[first + 2] * square[k] + COEFFICIENTS[first + 3] * cube[k]
            for k in range(n):
                total[k * n + k] += COEFFICIENTS[first]
        for _ in range(halvings):
            multiply(product, total, total, n, pairs)
            for k in range(whole):
                total[k] = product[k]
        for k in range(size):
            out[i * size + k] = narrow(total[k])
            if changes is not None:
                changes[i * size + k] = narrow(total[size + k])


def exponential(a: Array, direction: Array | None = None) -> tuple[Array, Array | None] | None:
    """The exponentials of matrices, and their derivatives in a direction, if there is one."""
    n, count = a.shape[-1], math.prod(a.shape[:-2])
    if n > MOST or not a.size or (direction is not None and (direction.shape != a.shape or direction.dtype is not a.dtype)):
        return None
    out, changes = np.empty(a.shape, a.dtype), None if direction is None else np.empty(a.shape, a.dtype)
    a, direction = np.ascontiguousarray(a), None if direction is None else np.ascontiguousarray(direction)
    pairs = int(direction is not None)
    return (out, changes) if exponentials.run(out, changes, a, direction, n, pairs, count, (8 + 16 * pairs) * n * n * n) else None
