"""PyTorch's `torch.quasirandom`: points of Sobol' sequences, which fill a cube more evenly than random ones.

A coordinate of point `n` is the sum modulo 2 of the direction numbers at the bits of `n`'s Gray code, so that each point is made of the one
before by adding a single one. The direction numbers of a dimension follow from a recurrence, whose coefficients are those of a primitive
polynomial over the integers modulo 2 (one of its own for each dimension, in their order), and from as many odd numbers to begin with as its
degree, which Joe and Kuo have searched for (*Constructing Sobol sequences with better two-dimensional projections*, 2008). The polynomials
are found here; the numbers are facts, and are read from a file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ._creation import zeros
from ._dtype import dtype, get_default_dtype, int64
from ._sampling import Generator, randint
from ._tensor import Tensor, wrap
from .ops.join import cat

__all__ = ["SobolEngine"]

MAXBIT = 30
MAXDIM = 21201
BLOCK = 1 << 20  # coordinates that are made at once

Array = Any

# ---- direction numbers --------------------------------------------------------------------------------------------------------------


def times(a: Array, b: Array, modulus: Array, degree: int) -> Array:
    """Products of polynomials over the integers modulo 2 (their coefficients are bits) modulo others of a degree."""
    result = np.zeros_like(modulus)
    for bit in range(degree):
        result ^= a * ((b >> bit) & 1)
        a = a << 1
        a = a ^ modulus * ((a >> degree) & 1)
    return result


def power_of_x(exponent: int, modulus: Array, degree: int) -> Array:
    result, square = np.ones_like(modulus), np.full_like(modulus, 2)
    while exponent:
        if exponent & 1:
            result = times(result, square, modulus, degree)
        square, exponent = times(square, square, modulus, degree), exponent >> 1
    return result


@cache
def primitive_polynomials(degree: int) -> Array:
    """Those of a degree in the order of their coefficients: the powers of x take all values but 0 before they repeat."""
    if degree == 1:
        return np.array([3])
    period = 2**degree - 1
    candidates = np.arange(2**degree + 1, 2 ** (degree + 1), 2)
    candidates = candidates[power_of_x(period, candidates, degree) == 1]
    for factor in range(3, period):
        if period % factor == 0 and all(factor % smaller for smaller in range(2, int(factor**0.5) + 1)):
            candidates = candidates[power_of_x(period // factor, candidates, degree) != 1]
    return candidates


def direction_numbers(dimension: int) -> Array:
    """The direction numbers of so many dimensions, a row for each."""
    numbers = np.empty((dimension, MAXBIT), np.int64)
    numbers[0] = 1
    known, degree, place = 1, 0, 0  # dimensions, and bits of the file that have been read
    packed = np.fromfile(Path(__file__).with_name("_sobol.bin"), np.uint8)
    while known < dimension:
        degree += 1
        polynomials = primitive_polynomials(degree)[: dimension - known]
        rows = numbers[known : known + len(polynomials)]
        rows[:, 0] = 1
        width = degree * (degree - 1) // 2  # the number at place i is odd and less than 2 ** (i + 1): i bits of it are in the file
        first, end = place // 8, -(-(place + len(rows) * width) // 8)
        bits = np.unpackbits(packed[first:end], bitorder="little")[place % 8 :][: len(rows) * width].reshape(len(rows), width)
        for i in range(1, degree):
            own = bits[:, i * (i - 1) // 2 : i * (i + 1) // 2]
            rows[:, i] = 2 * (own @ (1 << np.arange(i))) + 1
        for i in range(degree, MAXBIT):
            rows[:, i] = rows[:, i - degree]
            for k in range(degree):
                rows[:, i] ^= (rows[:, i - k - 1] << (k + 1)) * ((polynomials >> (degree - 1 - k)) & 1)
        known, place = known + len(rows), place + len(rows) * width
    return numbers << np.arange(MAXBIT)[::-1]


# ---- what the engine is made of, under PyTorch's names ------------------------------------------------------------------------------


def _sobol_engine_initialize_state_(sobolstate: Tensor, dimension: int) -> Tensor:
    """Write the direction numbers of so many dimensions."""
    return sobolstate.copy_(wrap(direction_numbers(dimension)))


def _sobol_engine_scramble_(sobolstate: Tensor, ltm: Tensor, dimension: int) -> Tensor:
    """Multiply each direction number, as a vector of bits, by a lower triangular matrix of them for its dimension."""
    shifts = np.arange(MAXBIT)[::-1]
    matrices = np.tril(ltm._data, -1) + np.eye(MAXBIT, dtype=np.int64)
    bits = (sobolstate._data[:, :, None] >> shifts) & 1  # (dimension, number, bit), the highest bit first
    mixed = (bits @ matrices.transpose(0, 2, 1)) & 1
    return sobolstate.copy_(wrap(mixed @ (1 << shifts)))


def changes(num_generated: int, n: int) -> Array:
    """Which direction number each of the next points adds: the place of the lowest zero in its number."""
    following = np.arange(num_generated, num_generated + n, dtype=np.int64)
    lowest_zero = ~following & (following + 1)
    return np.frexp(lowest_zero.astype(np.float64))[1] - 1


def _sobol_engine_draw(
    quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int, dtype: dtype | None = None
) -> tuple[Tensor, Tensor]:
    """The next points, and the state after them. The state is written over, too."""
    kind = get_default_dtype() if dtype is None else dtype
    if kind.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{kind.scalar_name}'; draw in float32 and convert")
    state, numbers = quasi._data, sobolstate._data
    result = np.empty((n, dimension), kind.numpy)
    step = max(BLOCK // dimension, 1)
    for start in range(0, n, step):
        steps = numbers[:, changes(num_generated + start, min(step, n - start))].T.copy()
        steps[0] ^= state
        points = np.bitwise_xor.accumulate(steps, axis=0)
        result[start : start + len(points)] = points.astype(result.dtype) * result.dtype.type(2.0**-MAXBIT)
        state[...] = points[-1]
    quasi._written()
    return wrap(result), quasi


def _sobol_engine_ff_(quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int) -> Tensor:
    """Go on by `n` points."""
    state, numbers = quasi._data, sobolstate._data
    gray = [count ^ (count >> 1) for count in (num_generated, num_generated + n)]
    changed = gray[0] ^ gray[1]
    for bit in range(changed.bit_length()):
        if changed >> bit & 1:
            state ^= numbers[:, bit]
    return quasi._written()


# ---- the engine ---------------------------------------------------------------------------------------------------------------------


class SobolEngine:
    """Points of a Sobol' sequence in the unit cube, the same as PyTorch's. `scramble` mixes the bits by a random matrix for each dimension
    and shifts them, by PyTorch's random numbers for the seed.

    >>> import adjoint as ad
    >>> engine = ad.quasirandom.SobolEngine(2)
    >>> engine.draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = MAXBIT
    MAXDIM = MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = _sobol_engine_initialize_state_(zeros(dimension, MAXBIT, dtype=int64), dimension)
        self.shift = zeros(dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator: Generator | None = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        shift = randint(2, (self.dimension, MAXBIT), generator=generator)
        self.shift = wrap(shift._data @ (1 << np.arange(MAXBIT)))
        triangles = randint(2, (self.dimension, MAXBIT, MAXBIT), generator=generator)
        _sobol_engine_scramble_(self.sobolstate, triangles, self.dimension)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next `n` points, a row each. The first one of all is 0, or the shift."""
        kind = get_default_dtype() if dtype is None else dtype
        if self.num_generated:
            result, self.quasi = _sobol_engine_draw(self.quasi, n, self.sobolstate, self.dimension, self.num_generated - 1, kind)
        else:
            result = self._first_point.to(kind)
            if n != 1:
                more, self.quasi = _sobol_engine_draw(self.quasi, n - 1, self.sobolstate, self.dimension, 0, kind)
                result = cat([result, more], -2)
        self.num_generated += n
        if out is None:
            return result
        return out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype | None = None) -> Tensor:
        """The next `2 ** m` points. There must be a power of 2 of points in all, since such sets are balanced."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously "
                f"generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' "
                "instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out `n` points."""
        if self.num_generated == 0:
            _sobol_engine_ff_(self.quasi, n - 1, self.sobolstate, self.dimension, self.num_generated)
        else:
            _sobol_engine_ff_(self.quasi, n, self.sobolstate, self.dimension, self.num_generated - 1)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        facts = [f"dimension={self.dimension}"]
        if self.scramble:
            facts.append("scramble=True")
        if self.seed is not None:
            facts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(facts)})"
