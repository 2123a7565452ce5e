"""Numbers at equal distances, in single precision: the arithmetic of `_ranges.py`."""

from __future__ import annotations

from .loops import Out, loop, narrow, wide

LANES = 8  # numbers in 32 bytes


@loop(kinds=("f32",))
def linear(out: Out, first: float, last: float, step: float, count: int, places: range) -> None:
    """From `first` on in the lower half, down from `last` in the upper."""
    for i in places:
        lower, back = i < count // 2, count - 1 - i
        out[i] = narrow(first + step * i if lower else last - step * back)


@loop(kinds=("f32",))
def stepped(out: Out, first: float, step: float, whole: int, places: range) -> None:
    """From `first` on; of the `whole` vectors in the beginning all numbers but the first are computed from that one, rounded."""
    for i in places:
        lane = i % LANES
        start = wide(narrow(first + step * (i - lane)))
        out[i] = narrow(start + step * lane if i < whole else first + step * i)
