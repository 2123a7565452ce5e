"""Integers, permutations and other discrete distributions."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsFloat, SupportsIndex

import numpy as np

from .._quiet import mute, unmute
from ._continuous import FLOAT32, exponential
from ._filling import (
    FLOATS,
    NUMBERS,
    NUMBERS_AND_BOOL,
    Array,
    Draw,
    Kind,
    empty,
    fill,
    fill_by_kernel,
    kind_of,
    refuse_overlap,
    require,
    store,
)
from ._generator import BUSY, Generator, Held, by_c, default_generator, draws, rejections

if TYPE_CHECKING:
    import numpy.typing as npt

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
INT64 = np.dtype(np.int64)
MOST_CATEGORIES = 1 << 24
AT_ONCE = 1 << 15  # elements that kernels compute while they hold the GIL
EXACT = 2**24  # float32 holds all integers up to here
UNEVEN = 2**28  # from here on, the remainders of single words are too uneven

# ----- Integers -----


def few_integers(low: Any, high: Any, dtype: Any) -> bool:
    """Whether these are bounds that need no more checks, and for which single words do; the dtype is one of the usual ones."""
    most = UNEVEN if dtype is INT64 else EXACT if dtype is FLOAT32 else 0
    return low.__class__ is int and high.__class__ is int and -most <= low < high <= most and high - low < UNEVEN


def random(
    array: Array,
    low: SupportsIndex | None = None,
    high: SupportsIndex | None = None,
    generator: Generator | None = None,
) -> None:
    """Fill with integers from [low, high).

    Without `high` they go up to the largest value of the dtype, and without both they start at 0. The largest value of
    a floating dtype is here the last of the consecutive integers that it holds.
    """
    first: Any = low
    if few_integers(low, high, array.dtype):
        if draws.integers.fill(array, (generator or default_generator)._words, low, high - first):
            return
    if low is None:
        if array.dtype is INT64 and fill_by_kernel(array, "naturals", generator):
            return
        if array.dtype is not FLOAT32 or not fill_by_kernel(array, "integers", generator, 0, EXACT + 1):
            fill(array, _from_zero(require(NUMBERS_AND_BOOL, array.dtype, "random_kernel_cpu")), generator)
        return
    kind, start = kind_of(array.dtype), _int64(low)
    if high is None and start == _INT64_MIN:
        if kind.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError(
                "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16; "
                f"pass bounds that fit {kind.scalar_type}"
            )
        fill(array, lambda g, n: g._words64(n).view(np.int64), generator)
        return
    if high is None:
        start, stop = _checked_range(start, _largest(kind) + 1, kind, open_ended=True)
    else:
        start, stop = _checked_range(start, _int64(high), kind, open_ended=False)
    width = stop - start
    if width >= UNEVEN or not fill_by_kernel(array, "integers", generator, start, width):
        fill(array, lambda g, n: _integers(g, n, start, width), generator)


def randint(
    low: SupportsIndex,
    high: SupportsIndex,
    shape: Sequence[int],
    dtype: npt.DTypeLike = np.int64,
    generator: Generator | None = None,
) -> Array:
    """Integers from [low, high)."""
    array = empty(shape, dtype)
    random(array, low, high, generator)
    return array


def _remainder(words: Array, divisor: int) -> Array:
    """`words % divisor`: NumPy vectorises the division by a constant, not the remainder."""
    quotient: Array = words // words.dtype.type(divisor)
    quotient *= words.dtype.type(divisor)
    np.subtract(words, quotient, out=quotient)
    return quotient


def _from_zero(kind: Kind) -> Draw:
    width = _largest(kind) + 1
    if kind.name in ("int64", "float64"):
        return lambda g, n: _remainder(g._words64(n), width).view(np.int64)
    return lambda g, n: _remainder(g._raw(n).astype(np.uint32), width)


def _integers(generator: Generator, count: int, start: int, width: int) -> npt.NDArray[np.int64]:
    """Integers from [start, start + width)."""
    if width < UNEVEN:
        values = _remainder(generator._raw(count).astype(np.uint32), width).astype(np.int64)
        values += start
        return values
    values = _remainder(generator._words64(count), width)
    values += np.uint64(start % 2**64)  # wraps around, as it should
    return values.view(np.int64)


# ----- Bounds of integers -----


def _int64(value: SupportsIndex) -> int:
    number = operator.index(value)
    if not _INT64_MIN <= number <= _INT64_MAX:
        raise ValueError(f"Overflow when unpacking long long: bounds lie in [-2**63, 2**63), {number} does not")
    return number


def _largest(kind: Kind) -> int:
    return 1 << kind.digits if kind.digits else int(kind.largest)


def _rounded(value: int, kind: Kind) -> int:
    """`value` as a floating dtype holds it, or itself where that is no int64."""
    held = int(float(value)) if kind.name == "float64" else int(np.float32(value))
    unit = 1 << max(abs(held).bit_length() - kind.digits, 0)
    held = round(held / unit) * unit
    return held if abs(held) < min(2**63, kind.largest) else value


def _checked_range(start: int, stop: int, kind: Kind, *, open_ended: bool) -> tuple[int, int]:
    """The range to draw from. It is narrower than [start, stop) where rounding to the dtype could lead out of that."""
    if not open_ended and start >= stop:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={start} >= to={stop}")
    if "complex" in kind.name:
        kernel = "random_from_to_impl" if open_ended else "check_random_bounds"
        raise RuntimeError(f"{kernel} handles only integral, floating-point and boolean types; fill x.real and x.imag")
    if kind.name not in FLOATS:
        _check_bounds(start, stop - 1, kind)
        return start, stop
    if (second := _rounded(start + 1, kind)) < start:
        start = second + (1 << abs(start + 1).bit_length() - kind.digits)
    if not open_ended and (last := _rounded(stop - 1, kind)) >= stop:
        stop = last - (1 << abs(stop - 1).bit_length() - kind.digits)
    _check_bounds(start, stop - 1, kind)
    if open_ended and start >= stop - 1:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
            f"but got from={start} > to_inc={stop - 1}"
        )
    if start >= stop:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
            f"but got from={start} >= to={stop}"
        )
    for label, bound in (("from", start), ("to - 1", stop - 1)):
        if abs(bound) > _largest(kind):
            warnings.warn(
                f"{label} is out of bounds [-(2^{kind.digits}), 2^{kind.digits}]. Due to precision limitations "
                f"{kind.c_type} can support discrete uniform distribution only within this range.",
                stacklevel=3,
            )
    return start, stop


def _check_bounds(first: int, last: int, kind: Kind) -> None:
    for label, bound in (("from", first), ("to - 1", last)):
        if not kind.smallest <= bound <= min(kind.largest, _INT64_MAX):
            span = f"[{kind.smallest}, {kind.largest}]"
            raise RuntimeError(f"{label} is out of bounds for {kind.c_type}: {bound} is not an int64 in {span}")


# ----- Permutations -----


def randperm(n: SupportsIndex, dtype: npt.DTypeLike = np.int64, generator: Generator | None = None) -> Array:
    """The integers from 0 to n - 1 in random order."""
    size = operator.index(n)
    permutation = empty((size,), dtype)
    kind = require(NUMBERS, permutation.dtype, "randperm")
    if size > _largest(kind) + 1 and kind.name != "bfloat16":  # which PyTorch does not check
        if kind.name not in FLOATS:
            raise RuntimeError(f"value cannot be converted to type {kind.name}_t without overflow: {size - 1}")
        limit = "2049" if kind.name == "float16" else f"2^{kind.digits}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {kind.scalar_type} type.")
    even = size < (2**32 - 1) // 20
    if even and fill_by_kernel(permutation, "permutation", generator):
        return permutation
    steps = np.arange(max(size - 1, 0))
    with Held(generator) as source:
        # Where single words would be too uneven, PyTorch takes two.
        words = source._raw(steps.size) if even else source._words64(steps.size)
    offsets = (words % (size - steps).view(np.uint64)).view(np.int64)
    store(permutation, _swapped(steps + offsets)[:size])
    return permutation


def _swapped(partners: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What swapping elements i and partners[i] >= i, for i = 0, 1, ..., makes of 0, 1, ..., len(partners)."""
    if partners.size < 400:  # the definition, and at such sizes the faster way
        elements = list(range(partners.size + 1))
        for i, j in enumerate(partners.tolist()):
            elements[i], elements[j] = elements[j], elements[i]
        return np.array(elements, np.int64)
    # Step i takes what lies at its partner and leaves there what lay at i. So what lies at place p, when its own step
    # comes, is what lay at i when the last step i with partner p came: a chain of places, down to an untouched one.
    steps = np.arange(partners.size)
    moves = np.sort(((partners << 32) | steps)[partners != steps])  # by partner, then by time
    partner, step = moves >> 32, moves & 0xFFFFFFFF
    held = np.arange(partners.size + 1)
    held[partner] = step  # of several steps the last one remains
    open_chains = np.flatnonzero(held != np.arange(held.size))
    while open_chains.size:  # follow all chains at once, each time twice as far
        place = held[open_chains]
        further = held[place]
        held[open_chains] = further
        open_chains = open_chains[further != place]
    taken = held.copy()  # as it should be where an element stays, and at the end
    taken[step] = partner
    again = np.flatnonzero(partner[1:] == partner[:-1])
    taken[step[again + 1]] = held[step[again]]
    return taken


# ----- Bernoulli, geometric -----


def bernoulli(array: Array, p: SupportsFloat | Array = 0.5, generator: Generator | None = None) -> None:
    """Fill with ones, of probability `p`, and zeros. `p` may be an array that broadcasts to `array`."""
    if not isinstance(p, np.ndarray):
        chance = float(p)
        if not 0 <= chance <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={chance:g}")
        numbers = (math.ceil(chance * 2**53), 0.0, 0.0, 0.0)
        if draws.flips.fill(array, (generator or default_generator)._words, *numbers):
            return
        require(NUMBERS_AND_BOOL, array.dtype, "bernoulli_scalar_cpu_")
        if not fill_by_kernel(array, "flips", generator, *numbers):
            fill(array, lambda g, n: g._uniform53(n) < chance, generator)
        return
    if p.size == array.size > 0 and p.dtype is array.dtype is FLOAT32 and p.shape == array.shape:
        strange = np.zeros(1, np.int64)
        if fill_by_kernel(array, "chances", generator, p, strange):
            if strange[0]:
                _refuse_probability()
            return
    require(NUMBERS_AND_BOOL, array.dtype, "bernoulli_tensor_cpu_self_")
    double = require(FLOATS, p.dtype, "bernoulli_tensor_cpu_p_").name == "float64"
    try:
        p = np.broadcast_to(p, array.shape)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor must match the existing size: p of shape {list(p.shape)} does not "
            f"broadcast to {list(array.shape)}"
        ) from None
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        _refuse_probability()
    refuse_overlap(array)
    drawn = np.empty_like(array, np.float64 if double else np.float32)  # in the same order in memory
    fill(drawn, Generator._uniform53 if double else Generator._uniform24, generator)
    array[...] = drawn < (p if double else p.astype(np.float32))


def _refuse_probability() -> NoReturn:
    raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: p is a probability")


def geometric(array: Array, p: float, generator: Generator | None = None) -> None:
    """Fill with the number of trials, each of success probability `p`, up to the first success."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if array.size == 0:
        return
    floating = require(NUMBERS, array.dtype, "geometric_cpu").digits
    if floating and fill_by_kernel(array, "geometric", generator, 0, math.log1p(-p), 0.0, 0.0):
        return
    with np.errstate(divide="ignore"):
        fill(array, lambda g, n: np.ceil(by_c(np.log, g._uniform53(n)) / math.log1p(-p)), generator)


# ----- Multinomial -----


def multinomial(
    weights: Array, num_samples: SupportsIndex, replacement: bool = False, generator: Generator | None = None
) -> npt.NDArray[np.int64]:
    """Indices into each row of `weights`, drawn with probabilities in proportion to them."""
    count = num_samples if num_samples.__class__ is int else operator.index(num_samples)
    repeated = replacement and count > 1  # PyTorch draws a single index the other way
    if (repeated or count == 1) and (found := _indices_by_kernel(weights, count, repeated, generator)) is not None:
        return found
    wide = _checked_weights(weights, count, replacement, repeated)
    if repeated:
        return _indices_repeated(wide, count, generator)
    # Let each index wait for a time of that rate: they arrive in the order of a sample without replacement.
    times = np.empty_like(weights, order="C" if 0 in weights.strides else "K")
    exponential(times, 1.0, generator)
    token = mute()
    try:
        speeds = (weights / times).astype(wide.dtype, copy=False)
    finally:
        unmute(token)
    order: npt.NDArray[np.int64]
    if count == 1:
        order = speeds.argmax(axis=-1, keepdims=True)
    else:
        order = (-speeds).argsort(axis=-1, kind="stable")[..., :count].copy()
    return order


def _indices_by_kernel(weights: Array, count: int, repeated: bool, generator: Generator | None) -> npt.NDArray[np.int64] | None:
    """None where there is no kernel for the weights, or something is the matter with them."""
    if weights.ndim not in (1, 2) or not 0 < weights.shape[-1] <= MOST_CATEGORIES or weights.dtype.char not in "fd":
        return None
    source, size, width = generator or default_generator, weights.size, weights.shape[-1]
    found = np.empty((*weights.shape[:-1], count), INT64)
    facts: tuple[Any, ...]
    if repeated:
        sums = np.empty(weights.shape, weights.dtype)
        kernel, facts = rejections().indices, (found, source._words, weights, sums, width, count, size // width, 1, size + found.size)
    else:
        kernel = rejections().winners if weights.dtype.char == "f" else rejections().wide_winners
        facts = (found, source._words, weights, width, size // width, 1, size)
    if facts[-1] <= AT_ONCE and not source._words[BUSY]:  # the GIL is held meanwhile, so that no other thread can draw
        return found if kernel.run(*facts) else None
    with Held(source):
        return found if kernel.run(*facts) else None


def _indices_repeated(weights: Array, count: int, generator: Generator | None) -> npt.NDArray[np.int64]:
    drawn = np.empty((*weights.shape[:-1], count))
    fill(drawn, Generator._uniform53, generator)
    indices = np.empty(drawn.shape, np.int64)
    for row in np.ndindex(weights.shape[:-1]):
        shares = np.cumsum(weights[row])
        shares /= shares[-1]
        shares[-1] = 1
        indices[row] = np.searchsorted(shares.astype(np.float64), drawn[row])
    return indices


def _checked_weights(weights: Array, count: int, replacement: bool, repeated: bool) -> Array:
    """The weights in at least float32."""

    def refuse(words: str, hint: str) -> NoReturn:
        raise RuntimeError(f"{words}; {hint}")

    if weights.ndim not in (1, 2):
        refuse("prob_dist must be 1 or 2 dim", f"reshape the weights, of shape {list(weights.shape)}")
    kind = kind_of(weights.dtype)
    if kind.name not in FLOATS:
        words = f"multinomial only supports floating-point dtypes for input, got: {kind.scalar_type}"
        refuse(words, "write weights.float()")
    if count <= 0:
        refuse("cannot sample n_sample <= 0 samples", f"num_samples is {count}")
    if not replacement and count > weights.shape[-1]:
        refuse(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
            f"{count} of {weights.shape[-1]}; pass replacement=True",
        )
    if weights.shape[-1] > MOST_CATEGORIES:
        refuse("number of categories cannot exceed 2^24", f"there are {weights.shape[-1]}")
    wide = weights if kind.name == "float64" else weights.astype(np.float32, copy=False)
    if wide.size and not (wide.min() >= 0 and wide.max() < math.inf):
        words = "probability tensor contains either `inf`, `nan` or element < 0"
        if repeated:
            which = "= infinity or NaN" if np.all(wide >= 0) else "< 0"
            words = f"invalid multinomial distribution (encountering probability entry {which})"
        refuse(words, "weights are finite and not negative")
    if not (wide.sum() > 0 if wide.ndim == 1 else (wide.sum(axis=-1) > 0).all()):
        refuse("invalid multinomial distribution (sum of probabilities <= 0)", "a row of weights needs a positive one")
    return wide
