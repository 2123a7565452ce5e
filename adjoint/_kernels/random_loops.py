"""Random numbers drawn in one pass. They are those of `_random`, from the same engine.

The engine, MT19937, keeps 624 words and makes 624 new ones of them at once. A random number takes one, or in double precision two.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, WHOLE, Bools, Floats, Ints, Out, Words, fma, given, loop, narrow, part, template, wide

WORDS, MIDDLE = 624, 397
UNIT24, UNIT53 = 2.0**-24, 2.0**-53
KINDS = (*FLOATS, *WHOLE)
element = given


@part
def twisted(words: Words, at: int, after: int, other: int) -> Any:
    joined = (words[at] & 0x80000000) | (words[after] & 0x7FFFFFFF)
    return words[other] ^ (joined >> 1) ^ ((joined & 1) * 0x9908B0DF)


@part
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


@loop
def uniform(out: Out, words: Words, scale: float, low: float, high: float, count: int, one: range) -> None:
    """Numbers of 24 bits, times `scale` and plus `low`. Where rounding reaches `high`, there is `low`."""
    least, limit = narrow(low), narrow(high)
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            some = min(WORDS - place, count - i)
            for k in range(some):
                value = narrow((tempered(words[place + k]) & 0xFFFFFF) * scale + low)
                out[i + k] = least if value == limit else value
            place += some
            i += some
        words[WORDS] = place


@template(kinds=KINDS)
def of_pairs(out: Out, words: Words, limit: int, scale: float, count: int, one: range) -> None:
    """What `element` makes of numbers of 53 bits. After the words comes the place of the next."""
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            if place == WORDS - 1:  # one number of an old and a new word
                first = tempered(words[place])
                place = renewed(words) + 1
                out[i] = element(((first & 0x1FFFFF) << 32) | tempered(words[0]), limit, scale)
                i += 1
            else:
                some = min((WORDS - place) // 2, count - i)
                for k in range(some):
                    first = tempered(words[place + 2 * k])
                    second = tempered(words[place + 2 * k + 1])
                    out[i + k] = element(((first & 0x1FFFFF) << 32) | second, limit, scale)
                place += 2 * some
                i += some
        words[WORDS] = place


@part
def below(number: Any, limit: int, scale: float) -> Any:
    return number < limit


@part
def times(number: Any, limit: int, scale: float) -> Any:
    return narrow(number * scale)


flips = of_pairs("flips", element=below)  # ones, with a probability of limit / 2**53, and zeros
fractions = of_pairs("fractions", element=times)


@loop(kinds=KINDS)
def integers(out: Out, words: Words, start: int, width: int, count: int, one: range) -> None:
    """Remainders of words, from [start, start + width)."""
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            some = min(WORDS - place, count - i)
            for k in range(some):
                out[i + k] = narrow(start + tempered(words[place + k]) % width)
            place += some
            i += some
        words[WORDS] = place


@loop
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
        place = words[WORDS]
        for i in range(count - 1):
            if place >= WORDS:
                place = renewed(words)
            other = i + tempered(words[place]) % (count - i)
            place += 1
            out[i], out[other] = out[other], out[i]
        words[WORDS] = place


@loop
def slopes(out: Out, words: Words, x: Floats, low: float, width: float, high: float, count: int, one: range) -> None:
    """For what is not positive, numbers of 53 bits times `width` and plus `low`, or `low` where that reaches `high`; for the rest 1."""
    for _ in one:
        place = words[WORDS]
        for i in range(count):
            slope = 1.0
            if x[i] <= 0.0:
                if place >= WORDS:
                    place = renewed(words)
                first = tempered(words[place])
                place += 1
                if place >= WORDS:
                    place = renewed(words)
                number = ((first & 0x1FFFFF) << 32) | tempered(words[place])
                place += 1
                drawn = fma(number * wide(UNIT53), width, low)
                slope = narrow(low if drawn == high else drawn)
            out[i] = slope
        words[WORDS] = place


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
