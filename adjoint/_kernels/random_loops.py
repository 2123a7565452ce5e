"""Random numbers drawn, and for dropout compared and multiplied with, in one pass. They are those of `_random`, from the same engine.

The engine, MT19937, keeps 624 words and makes 624 new ones of them at once. A random number takes one, or in double precision two.
"""

from __future__ import annotations

from typing import Any

from .loops import Bools, Floats, Out, Words, loop, narrow, part

WORDS, MIDDLE = 624, 397


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


@loop
def dropout(out: Out, mask: Bools, x: Floats, words: Words, limit: int, scale: float, count: int, one: range) -> None:
    """Keep what draws a number below `limit`, of 2**53, scaled; make the rest zero. After the words comes the place of the next."""
    factor = narrow(scale)
    for _ in one:
        place, i = words[WORDS], 0
        while i < count:
            if place >= WORDS:
                place = renewed(words)
            if place == WORDS - 1:  # one number of an old and a new word
                first = tempered(words[place])
                place = renewed(words) + 1
                mask[i] = (((first & 0x1FFFFF) << 32) | tempered(words[0])) < limit
                i += 1
            else:
                some = min((WORDS - place) // 2, count - i)
                for k in range(some):
                    first = tempered(words[place + 2 * k])
                    second = tempered(words[place + 2 * k + 1])
                    mask[i + k] = (((first & 0x1FFFFF) << 32) | second) < limit
                place += 2 * some
                i += some
        words[WORDS] = place
        for j in range(count):
            out[j] = x[j] * (factor if mask[j] else 0.0)


@loop
def masked(out: Out, x: Floats, mask: Bools, scale: float, places: range) -> None:
    factor = narrow(scale)
    for i in places:
        out[i] = x[i] * (factor if mask[i] else 0.0)
