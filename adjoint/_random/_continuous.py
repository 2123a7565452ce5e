"""Continuous distributions. The normal ones follow PyTorch's arithmetic operation by operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._filling import (
    CHUNK,
    FLOATS,
    HALVES,
    Array,
    Draw,
    Kind,
    as_real,
    empty,
    fill,
    fill_by_kernel,
    fused,
    kind_of,
    require,
    store,
    to_float32,
)
from ._generator import Generator, Held, by_c, default_generator, draws, kernels

if TYPE_CHECKING:
    import numpy.typing as npt

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
MOST = float(np.finfo(np.float32).max)

# ----- Uniform -----


def uniform(array: Array, low: float = 0.0, high: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with numbers from [low, high)."""
    dtype, source = array.dtype, generator or default_generator
    if dtype is FLOAT32:
        if -MOST <= low <= high <= MOST and high - low <= MOST and draws.uniform.fill(array, source._words, low, high):
            return
    elif dtype is FLOAT64:
        if low <= high and high - low < math.inf and draws.fractions.fill(array, source._words, 0, low, high - low, high):
            return
    elif dtype.kind == "c":
        array = as_real(array)
        dtype = array.dtype
    _check_bounds(low, high, require(FLOATS, dtype, "check_uniform_bounds"))
    if dtype == FLOAT64:
        if not fill_by_kernel(array, "fractions", generator, 0, low, high - low, high):
            fill(array, _double_between(low, high), generator)
    elif not fill_by_kernel(array, "uniform", generator, low, high):
        fill(array, _single_between(np.float32(low), np.float32(high), dtype), generator)


def _check_bounds(low: float, high: float, kind: Kind) -> None:
    limit = kind.largest
    for label, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{label} is out of bounds for {kind.c_type}: {bound:g} exceeds {limit:g} in magnitude")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{kind.scalar_type}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def _double_between(low: float, high: float) -> Draw:
    return lambda g, n: _keep_below(fused(g._uniform53(n), high - low, low), high, low)


def _single_between(low: np.float32, high: np.float32, dtype: np.dtype[Any]) -> Draw:
    wide_low, width = np.float64(low), np.float64(high - low)

    def draw(generator: Generator, count: int) -> Array:
        values = generator._low24(count).astype(np.float64)
        values *= width * 2.0**-24
        values += wide_low
        return _keep_below(to_float32(values).astype(dtype, copy=False), high.astype(dtype), low.astype(dtype))

    return draw


def _keep_below(values: Array, high: Any, low: Any) -> Array:
    """Rounding can reach `high`, which is not in the range: PyTorch puts `low` there."""
    reached = values == high
    if reached.any():
        values[reached] = low
    return values


def rand(shape: Sequence[int], dtype: npt.DTypeLike = np.float32, generator: Generator | None = None) -> Array:
    """Uniform numbers from [0, 1)."""
    array = empty(shape, dtype)
    uniform(array, 0.0, 1.0, generator)
    return array


# ----- Normal -----


def _float32(*coefficients: float) -> tuple[float, ...]:
    return tuple(float(np.float32(coefficient)) for coefficient in coefficients)


# Polynomials of the Cephes library, which PyTorch evaluates in float32 with fused operations.
_LOG = _float32(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# ln 2 and pi / 4 as sums. All parts but the last have so few bits that their products with small integers are exact.
_LN2 = _float32(0.693359375, -2.12194440e-4)
_QUARTER_PI = _float32(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
_SQRT_HALF_BITS = np.float32(math.sqrt(0.5)).view(np.int32)


def _horner(coefficients: Sequence[float], x: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    y = to_float32(coefficients[0] * x + coefficients[1])
    for coefficient in coefficients[2:]:
        y = to_float32(y * x + coefficient)
    return y


def _log_of_rest(integers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """log(1 - integers / 2**24), from the argument as 2**exponent * (1 + x) with sqrt(1/2) <= 1 + x < sqrt(2)."""
    bits = (np.float32(0x1000000) - integers).view(np.int32)
    exponent = (bits - _SQRT_HALF_BITS) >> 23
    x = (bits - (exponent << 23)).view(np.float32) - np.float32(1)
    exponent -= 24
    power = exponent.astype(np.float32)
    square = x * x
    y = _horner(_LOG, x.astype(np.float64)) * x
    y = to_float32(np.multiply(y, square, dtype=np.float64) + power * np.float32(_LN2[1]))
    y -= square * np.float32(0.5)
    x += y
    x += power * np.float32(_LN2[0])
    return x


def _box_muller(integers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Normals from 24-bit integers, both of shape (blocks, 2, 8): the first eight give radii, the others angles."""
    radius = np.sqrt(np.float32(-2) * _log_of_rest(integers[:, 0]))
    angle = integers[:, 1] * (np.float32(2 * np.pi) * np.float32(2**-24))
    # Subtract the nearest multiple of pi / 2: `octant` is even.
    octant = ((angle * np.float32(4 / np.pi)).astype(np.int32) + 1) & -2
    turns = octant.astype(np.float32)
    x = angle - turns * np.float32(_QUARTER_PI[0])
    x -= turns * np.float32(_QUARTER_PI[1])
    x = to_float32(x - turns * np.float64(_QUARTER_PI[2]))
    square = x * x
    wide = square.astype(np.float64)
    sine = _horner(_SIN, wide) * square
    sine = to_float32(np.multiply(sine, x, dtype=np.float64) + x)
    cosine = _horner(_COS, wide) * square
    cosine = to_float32(cosine * wide - 0.5 * wide) + np.float32(1)
    swap = (octant & 2).astype(bool)
    normals = np.empty(integers.shape, np.float32)
    np.multiply(np.where((octant + 2) & 4, -radius, radius), np.where(swap, sine, cosine), out=normals[:, 0])
    np.multiply(np.where(octant & 4, -radius, radius), np.where(swap, cosine, sine), out=normals[:, 1])
    return normals


def _by_numpy(integers: npt.NDArray[np.float32], mean: float, std: float) -> None:
    """Overwrite blocks of 16 integers of 24 bits by normals."""
    integers = integers.reshape(-1)
    normals = _box_muller(integers.reshape(-1, 2, 8)).reshape(-1)
    integers[...] = to_float32(normals * np.float64(std) + np.float64(mean))


def _normal_blocks(generator: Generator, count: int, mean: float, std: float, double: bool) -> Array:
    """Normals in blocks of 16: from eight words for the radius and eight for the angle."""
    shape = (count // 16, 2, 8)
    if double:
        blocks = np.empty(shape)
        uniforms = generator._uniform53(count).reshape(shape)
        radius = np.sqrt(-2 * by_c(np.log, 1 - uniforms[:, 0]))
        angle = 2 * np.pi * uniforms[:, 1]
        np.multiply(radius, by_c(np.cos, angle), out=blocks[:, 0])
        np.multiply(radius, by_c(np.sin, angle), out=blocks[:, 1])
        return fused(blocks, std, mean).reshape(-1)
    normals = generator._low24(count)
    _by_numpy(normals, float(np.float32(mean)), float(np.float32(std)))
    return normals


def normal(array: Array, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with normal numbers. The parts of a complex number share its variance."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    dtype, source = array.dtype, generator or default_generator
    kernel = draws.normals if dtype is FLOAT32 else draws.wide_normals
    if kernel.fill(array, source._words, source._waiting, mean, std) or array.size == 0:
        return
    if dtype.kind == "c":
        array, std = as_real(array), std / math.sqrt(2)
    kind = require(FLOATS, array.dtype, "normal_kernel_cpu")
    if array.size < 16 or not array.flags.c_contiguous:
        fill(array, lambda g, n: fused(g._normal(n), std, mean), generator)
        return
    flat = array.reshape(-1)
    whole = flat.size // 16 * 16
    double = kind.name == "float64"
    with Held(generator):
        if kind.name == "float32" and _shared(flat, mean, std, source):
            return
        for start in range(0, whole, CHUNK):
            part = flat[start : min(start + CHUNK, whole)]
            store(part, _normal_blocks(source, part.size, mean, std, double))
        if whole < flat.size:
            # The last 16 numbers are made anew. Before, words are drawn for the incomplete block too, in vain.
            if kind.name not in HALVES:
                source._raw((flat.size - whole) * (2 if double else 1))
            store(flat[-16:], _normal_blocks(source, 16, mean, std, double))


def _shared(flat: npt.NDArray[np.float32], mean: float, std: float, generator: Generator) -> bool:
    """Fill with many normals, of integers that are drawn before, by several threads; False where there are no kernels."""
    size = flat.size
    draw, transform = kernels().uniform.run, kernels().box_muller.run
    if not draw(flat, generator._words, 0.0, 2.0**24, size, 1, size):
        return False
    if not transform(flat, mean, std, size >> 4, 16):
        _by_numpy(flat[: size & -16], float(np.float32(mean)), float(np.float32(std)))
    if size & 15:
        flat[-16:] = _normal_blocks(generator, 16, mean, std, False)
    return True


def randn(shape: Sequence[int], dtype: npt.DTypeLike = np.float32, generator: Generator | None = None) -> Array:
    """Normal numbers with mean 0 and variance 1."""
    array = empty(shape, dtype)
    normal(array, 0.0, 1.0, generator)
    return array


def log_normal(array: Array, mean: float = 1.0, std: float = 2.0, generator: Generator | None = None) -> None:
    """Fill with exponentials of normal numbers."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if array.size == 0:
        return
    require(FLOATS, array.dtype, "log_normal_cpu")
    if fill_by_kernel(array, "log_normals", generator, mean, std, waiting=True):
        return
    with np.errstate(over="ignore"):
        fill(array, lambda g, n: by_c(np.exp, fused(g._normal(n), std, mean)), generator)


# ----- Others -----


def _refuse_integers(distribution: str, dtype: str) -> NoReturn:
    raise RuntimeError(
        f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {dtype}"
    )


def exponential(array: Array, lambd: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if array.size == 0:
        return
    kernel, numbers = "wide_exponential" if array.dtype is FLOAT64 else "exponential", (0, -1.0 / lambd, 0.0, 0.0)
    if array.dtype.kind == "f" and getattr(draws, kernel).fill(array, (generator or default_generator)._words, *numbers):
        return
    if (kind := kind_of(array.dtype)).name not in FLOATS:
        _refuse_integers("Exponential", kind.scalar_type)
    if not fill_by_kernel(array, kernel, generator, *numbers):
        fill(array, lambda g, n: -1.0 / lambd * by_c(np.log1p, -g._uniform53(n)), generator)


def cauchy(array: Array, median: float = 0.0, sigma: float = 1.0, generator: Generator | None = None) -> None:
    """Fill with Cauchy distributed numbers."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if (kind := kind_of(array.dtype)).name not in FLOATS:
        _refuse_integers("Cauchy", kind.c_type)
    if fill_by_kernel(array, "cauchy", generator, 0, median, sigma, 0.0):
        return
    fill(array, lambda g, n: fused(by_c(np.tan, np.pi * (g._uniform53(n) - 0.5)), sigma, median), generator)
