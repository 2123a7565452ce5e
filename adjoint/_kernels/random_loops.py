"""Random numbers drawn in one pass. They are those of `_random`, from the same engine.

The engine, MT19937, keeps 624 words and makes 624 new ones of them at once; after the words comes the place of the next. A random number
takes one word, or in double precision two.
"""

from __future__ import annotations

import math
from typing import Any

from .loops import (
    FLOATS,
    HALVES,
    WHOLE,
    Bools,
    Doubles,
    Floats,
    Ints,
    Out,
    Words,
    bits,
    c_cos,
    c_exp,
    c_log,
    c_log1p,
    c_sin,
    c_tan,
    ceil,
    floor,
    fma,
    given,
    log1p,
    loop,
    narrow,
    of_bits,
    part,
    part_apart,
    sqrt,
    template,
    trunc,
    wide,
)  # fmt: skip

WORDS, MIDDLE = 624, 397
UNIT24, UNIT53 = 2.0**-24, 2.0**-53
PI, TURN, TURN24, EIGHTHS = math.pi, 2 * math.pi, 2 * math.pi * 2.0**-24, 4 / math.pi
KINDS = (*FLOATS, *WHOLE)
element = given

# ---- words --------------------------------------------------------------------------------------------------------------------------


@part
def twisted(words: Words, at: int, after: int, other: int) -> Any:
    joined = (words[at] & 0x80000000) | (words[after] & 0x7FFFFFFF)
    return words[other] ^ (joined >> 1) ^ ((joined & 1) * 0x9908B0DF)


@part_apart
def renewed(words: Words) -> Any:
    """Make new words of all; the place of the first."""
    for k in range(WORDS - MIDDLE):
        words[k] = twisted(words, k, k + 1, k + MIDDLE)
    for k in range(WORDS - MIDDLE, WORDS - 1):
        words[k] = twisted(words, k, k + 1, k + MIDDLE - WORDS)
    words[WORDS - 1] = twisted(words, WORDS - 1, 0, MIDDLE - 1)
    return 0


@part
def tempered(word: Any) -> Any:
    word = word ^ (word >> 11)
    word = word ^ ((word << 7) & 0x9D2C5680)
    word = word ^ ((word << 15) & 0xEFC60000)
    return word ^ (word >> 18)


@part
def next_word(words: Words) -> Any:
    place = words[WORDS]
    if place >= WORDS:
        place = renewed(words)
    words[WORDS] = place + 1
    return tempered(words[place])


@part
def fraction(words: Words) -> Any:
    """A number from [0, 1) of 53 bits."""
    first = next_word(words)
    second = next_word(words)
    return (((first & 0x1FFFFF) << 32) | second) * wide(UNIT53)


@loop
def seeded(model: Floats, words: Words, seed: int, one: range) -> None:
    """The words that a seed stands for, none of which has been drawn."""
    for _ in one:
        word = seed
        words[0] = word
        for k in range(1, WORDS):
            word = (1812433253 * (word ^ (word >> 30)) + k) & 0xFFFFFFFF
            words[k] = word
        words[WORDS] = WORDS


@loop(kinds=("f64",))
def state_of(waiting: Floats, words: Words, state: Ints, seed: int, one: range) -> None:
    """The state of a generator as PyTorch keeps it: see `_random/_generator.py`."""
    for _ in one:
        place = words[WORDS]
        made = place < WORDS or words[0] != seed & 0xFFFFFFFF
        valid = waiting[1] > 0.0
        state[0], state[1], state[2] = seed, 0x100000000 | (WORDS + 1 - place), place if made else 0
        for k in range(WORDS):
            state[3 + k] = words[k]
        state[627], state[628], state[629], state[630], state[631] = 0, bits(waiting[0]) if valid else 0, 0, 1 if valid else 0, 0


@loop(kinds=("f64",))
def restored(waiting: Floats, words: Words, state: Ints, valid: Ints, one: range) -> None:
    """The words of such a state, if it is valid."""
    for _ in one:
        left, following = state[1] & 0xFFFFFFFF, state[2]
        valid[0] = 0
        if state[1] >> 32 == 1 and left > 0 and left <= WORDS and following >= 0 and following <= WORDS:
            valid[0] = 1
            for k in range(WORDS):
                words[k] = state[3 + k]
            words[WORDS] = WORDS if left == 1 else following
            waiting[0] = of_bits(state[628])
            waiting[1] = 1.0 if state[630] & 0xFFFFFFFF != 0 else 0.0


# ---- of one word --------------------------------------------------------------------------------------------------------------------


@loop(kinds=("f32",))
def uniform(out: Out, words: Words, low: float, high: float, count: int, one: range) -> None:
    """Numbers of 24 bits from [low, high). Where rounding reaches `high`, there is `low`."""
    least, limit = narrow(low), narrow(high)
    scale, shift = wide(limit - least) * UNIT24, wide(least)
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            some = min(WORDS - place, count - i)
            for k in range(some):
                value = narrow((tempered(words[place + k]) & 0xFFFFFF) * scale + shift)
                out[i + k] = least if value == limit else value
            place += some
            i += some
        words[WORDS] = place


@loop(kinds=KINDS)
def integers(out: Out, words: Words, start: int, width: float, count: int, one: range) -> None:
    """Remainders of words, from [start, start + width). A product with the inverse is sooner there than a division, if off by one."""
    inverse = 1.0 / width
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            some = min(WORDS - place, count - i)
            for k in range(some):
                word = tempered(words[place + k])
                rest = fma(-trunc(word * inverse), width, word)
                rest = rest + width if rest < 0.0 else rest
                rest = rest - width if rest >= width else rest
                out[i + k] = narrow(start + int(rest))
            place += some
            i += some
        words[WORDS] = place


@loop(kinds=("f32",))
def chances(out: Out, words: Words, p: Floats, strange: Ints, count: int, one: range) -> None:
    """Ones, each with its own probability, and zeros, from numbers of 24 bits; unless a probability is none."""
    for _ in one:
        found = 0
        for j in range(count):
            found |= 0 if p[j] >= 0.0 and p[j] <= 1.0 else 1
        strange[0] = found
        place, i = words[WORDS], 0
        while i < count and found == 0:
            if place >= WORDS:
                place = renewed(words)
            some = min(WORDS - place, count - i)
            for k in range(some):
                out[i + k] = narrow((tempered(words[place + k]) & 0xFFFFFF) * wide(UNIT24)) < p[i + k]
            place += some
            i += some
        words[WORDS] = place


@loop(kinds=KINDS)
def permutation(out: Out, words: Words, count: int, one: range) -> None:
    """The numbers below `count`, each swapped with itself or one of those that follow it."""
    for _ in one:
        for k in range(count):
            out[k] = narrow(k)
        for i in range(count - 1):
            other = i + next_word(words) % (count - i)
            out[i], out[other] = out[other], out[i]


@loop(kinds=("i64",))
def naturals(out: Out, words: Words, count: int, one: range) -> None:
    """Integers of 63 bits."""
    for _ in one:
        for i in range(count):
            first = next_word(words)
            out[i] = ((first & 0x7FFFFFFF) << 32) | next_word(words)


# ---- of two words -------------------------------------------------------------------------------------------------------------------


@template(kinds=(*KINDS, *HALVES))
def of_pairs(out: Out, words: Words, limit: int, a: float, b: float, c: float, count: int, one: range) -> None:
    """What `element` makes of numbers of 53 bits."""
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            if place == WORDS - 1:  # one number of an old and a new word
                first = tempered(words[place])
                place = renewed(words) + 1
                out[i] = element(((first & 0x1FFFFF) << 32) | tempered(words[0]), limit, a, b, c)
                i += 1
            else:
                some = min((WORDS - place) // 2, count - i)
                for k in range(some):
                    first = tempered(words[place + 2 * k])
                    second = tempered(words[place + 2 * k + 1])
                    out[i + k] = element(((first & 0x1FFFFF) << 32) | second, limit, a, b, c)
                place += 2 * some
                i += some
        words[WORDS] = place


@part
def below(number: Any, limit: int, a: float, b: float, c: float) -> Any:
    return number < limit


@part
def between(number: Any, limit: int, low: float, width: float, high: float) -> Any:
    drawn = fma(number * wide(UNIT53), width, low)
    return narrow(low if drawn == high else drawn)


@part
def waited(number: Any, limit: int, factor: float, b: float, c: float) -> Any:
    return narrow(factor * log1p(number * wide(-UNIT53)))


@part
def waited_exactly(number: Any, limit: int, factor: float, b: float, c: float) -> Any:
    return narrow(factor * c_log1p(number * wide(-UNIT53)))


@part
def seen_at_an_angle(number: Any, limit: int, median: float, sigma: float, c: float) -> Any:
    return narrow(fma(c_tan(wide(PI) * (number * wide(UNIT53) - 0.5)), sigma, median))


@part
def trials(number: Any, limit: int, failing: float, b: float, c: float) -> Any:
    return narrow(ceil(c_log(number * wide(UNIT53)) / failing))


flips = of_pairs("flips", element=below)  # ones, with a probability of limit / 2**53, and zeros
fractions = of_pairs("fractions", element=between)  # from [low, low + width), without `high`
# In double precision to the last bit. A shorter number is rounded from one that may be off by such a bit: it hardly ever shows.
exponential = of_pairs("exponential", element=waited)
wide_exponential = of_pairs("wide_exponential", element=waited_exactly)
cauchy = of_pairs("cauchy", element=seen_at_an_angle)
geometric = of_pairs("geometric", element=trials)


@loop
def slopes(out: Out, words: Words, x: Floats, low: float, width: float, high: float, count: int, one: range) -> None:
    """For what is not positive, numbers of 53 bits times `width` and plus `low`, or `low` where that reaches `high`; for the rest 1."""
    for _ in one:
        for i in range(count):
            slope = 1.0
            if x[i] <= 0.0:
                drawn = fma(fraction(words), width, low)
                slope = narrow(low if drawn == high else drawn)
            out[i] = slope


# ---- normal numbers -----------------------------------------------------------------------------------------------------------------

# Polynomials of the Cephes library, and ln 2 and pi / 4 as sums: see `_random/_continuous.py`, whose arithmetic this is.
SQRT_HALF_BITS = 0x3F3504F3


@part
def horner_log(x: Any) -> Any:
    y = fma(7.0376836292e-2, x, -1.1514610310e-1)
    y = fma(y, x, 1.1676998740e-1)
    y = fma(y, x, -1.2420140846e-1)
    y = fma(y, x, 1.4249322787e-1)
    y = fma(y, x, -1.6668057665e-1)
    y = fma(y, x, 2.0000714765e-1)
    y = fma(y, x, -2.4999993993e-1)
    return fma(y, x, 3.3333331174e-1)


@part
def log_of_rest(integer: Any) -> Any:
    """log(1 - integer / 2**24)."""
    pattern = bits(16777216.0 - integer)
    exponent = ((pattern - SQRT_HALF_BITS) & 0x7FFFFFFF) >> 23
    x = of_bits(pattern - (exponent << 23)) - 1.0
    power = of_bits(exponent | 0x4B000000) - 8388632.0  # the exponent less 24: added to 2**23, its bits are those of a number
    square = x * x
    y = fma(horner_log(x) * x, square, power * -2.12194440e-4) - square * 0.5
    return (x + y) + power * 0.693359375


@part_apart
def box_mullers(out: Floats, start: int, blocks: int, mean: float, std: float) -> None:
    """Make normals of blocks of 16 integers of 24 bits: eight for the radius, and eight for the angle."""
    scale, shift = wide(narrow(std)), wide(narrow(mean))
    for b in range(blocks):
        for j in range(8):
            k = start + 16 * b + j
            radius = sqrt(-2.0 * log_of_rest(out[k]))
            angle = out[k + 8] * TURN24
            turns = 2.0 * floor((trunc(angle * EIGHTHS) + 1.0) * 0.5)  # the nearest multiple of pi / 2, in eighths of a turn
            x = fma(turns, -0.78515625, angle)
            x = fma(turns, -2.4187564849853515625e-4, x)
            x = fma(turns, -3.77489497744594108e-8, x)
            square = x * x
            sine = fma(fma(fma(-1.9515295891e-4, square, 8.3321608736e-3), square, -1.6666654611e-1) * square, x, x)
            cosine = fma(fma(2.443315711809948e-5, square, -1.388731625493765e-3), square, 4.166664568298827e-2) * square
            cosine = fma(cosine, square, square * -0.5) + 1.0
            first = cosine if abs(turns - 4.0) != 2.0 else sine
            second = sine if abs(turns - 4.0) != 2.0 else cosine
            first = (-radius if abs(turns - 3.0) == 1.0 else radius) * first  # to the left
            second = (-radius if abs(turns - 5.0) == 1.0 else radius) * second  # below
            out[k] = narrow(wide(first) * scale + shift)
            out[k + 8] = narrow(wide(second) * scale + shift)


@part_apart
def integers24(out: Floats, words: Words, start: int, stop: int) -> None:
    """Fill with integers of 24 bits."""
    place, i = words[WORDS], start
    while i < stop:
        if place >= WORDS:
            place = renewed(words)
        some = min(WORDS - place, stop - i)
        for k in range(some):
            out[i + k] = narrow(tempered(words[place + k]) & 0xFFFFFF)
        place += some
        i += some
    words[WORDS] = place


@loop(kinds=("f32",))
def box_muller(out: Floats, mean: float, std: float, blocks: range) -> None:
    """Normal numbers of integers of 24 bits that have been drawn."""
    box_mullers(out, 16 * blocks.start, blocks.stop - blocks.start, mean, std)


@part_apart
def fractions53(out: Floats, words: Words, start: int, stop: int) -> None:
    """Fill with numbers from [0, 1) of 53 bits."""
    for i in range(start, stop):
        out[i] = narrow(fraction(words))


@part_apart
def wide_box_mullers(out: Floats, start: int, blocks: int, mean: float, std: float) -> None:
    """Make normals of blocks of 16 such numbers."""
    for b in range(blocks):
        for j in range(8):
            k = start + 16 * b + j
            radius = sqrt(-2.0 * c_log(1.0 - out[k]))
            angle = TURN * out[k + 8]
            out[k] = fma(radius * c_cos(angle), std, mean)
            out[k + 8] = fma(radius * c_sin(angle), std, mean)


@part
def normal(words: Words, waiting: Doubles) -> Any:
    """A normal number of two of 53 bits. They are made in pairs: the second waits, as the number after it says."""
    number = waiting[0]
    if waiting[1] > 0.0:
        waiting[1] = 0.0
    else:
        angle = TURN * fraction(words)
        radius = sqrt(-2.0 * c_log1p(-fraction(words)))
        number = radius * c_cos(angle)
        waiting[0] = radius * c_sin(angle)
        waiting[1] = 1.0
    return number


@part
def some_normals(out: Floats, words: Words, waiting: Doubles, mean: float, std: float, count: int) -> None:
    """In blocks of 16, the last of which is made anew if it is not the end, or if there are fewer, singly."""
    if count < 16:
        for i in range(count):
            out[i] = narrow(fma(normal(words, waiting), std, mean))
    else:
        integers24(out, words, 0, count)
        box_mullers(out, 0, count // 16, mean, std)
        if count % 16 > 0:
            integers24(out, words, count - 16, count)
            box_mullers(out, count - 16, 1, mean, std)


@loop(kinds=("f32",))
def normals(out: Floats, words: Words, waiting: Doubles, mean: float, std: float, count: int, one: range) -> None:
    """Normal numbers of float32."""
    for _ in one:
        some_normals(out, words, waiting, mean, std, count)


@loop(kinds=("f32",))
def normals_of(out: Floats, words: Words, waiting: Doubles, mean: Floats, std: Floats, strange: Ints, count: int, one: range) -> None:
    """Normal numbers, each with its own mean and standard deviation; unless one of these is negative."""
    for _ in one:
        found = 0
        for j in range(count):
            found |= 1 if std[j] < 0.0 else 0
        strange[0] = found
        if found == 0:
            some_normals(out, words, waiting, wide(0.0), wide(1.0), count)
            for i in range(count):
                out[i] = out[i] * std[i] + mean[i]


@loop(kinds=("f64",))
def wide_normals(out: Floats, words: Words, waiting: Doubles, mean: float, std: float, count: int, one: range) -> None:
    """The same of float64."""
    for _ in one:
        if count < 16:
            for i in range(count):
                out[i] = fma(normal(words, waiting), std, mean)
        else:
            fractions53(out, words, 0, count)
            wide_box_mullers(out, 0, count // 16, mean, std)
            if count % 16 > 0:
                fractions53(out, words, count - 16, count)
                wide_box_mullers(out, count - 16, 1, mean, std)


@template(kinds=(*FLOATS, *HALVES))
def of_normals(out: Out, words: Words, waiting: Doubles, mean: float, std: float, count: int, one: range) -> None:
    """What `element` makes of normal numbers, one after the other."""
    for _ in one:
        for i in range(count):
            out[i] = element(fma(normal(words, waiting), std, mean))


@part
def as_it_is(number: Any) -> Any:
    return narrow(number)


@part
def exponential_of(number: Any) -> Any:
    return narrow(c_exp(number))


single_normals = of_normals("single_normals", element=as_it_is)
log_normals = of_normals("log_normals", element=exponential_of)

# ---- what random numbers are used for -----------------------------------------------------------------------------------------------


@loop
def masked(out: Out, x: Floats, mask: Bools, scale: float, places: range) -> None:
    factor = narrow(scale)
    for i in places:
        out[i] = x[i] * (factor if mask[i] else 0.0)


@loop(reorder=True)
def scale_channels(out: Out, x: Floats, scale: Floats, shift: Floats | None, plane: int, planes: range) -> None:
    """Each plane of numbers times a number of its own, plus another."""
    for p in planes:
        factor, more = scale[p], 0.0
        if shift is not None:
            more = shift[p]
        for j in range(p * plane, p * plane + plane):
            out[j] = x[j] * factor + more
