"""Resampling along a dimension: weighted sums of a few elements, and the way back.

Elements are rows of `inner` numbers; `index` and `weight` have `taps` entries for each of `count` places. Without weights an element is
taken as it is.
"""

from __future__ import annotations

from .loops import Floats, Ints, Out, loop


@loop(reorder=True)
def resample(
    out: Out, x: Floats, index: Ints, weight: Floats | None, size: int, count: int, inner: int, taps: int, units: range
) -> None:
    """A unit is one row of places."""
    for u in units:
        for place in range(count):
            to = (u * count + place) * inner
            first = u * size + index[place * taps]
            if weight is None:
                for i in range(inner):
                    out[to + i] = x[first * inner + i]
            elif inner == 1:
                total = weight[place * taps] * x[first]
                for tap in range(place * taps + 1, place * taps + taps):
                    total += weight[tap] * x[u * size + index[tap]]
                out[to] = total
            elif taps == 2:
                second = u * size + index[2 * place + 1]
                for i in range(inner):
                    out[to + i] = weight[2 * place] * x[first * inner + i] + weight[2 * place + 1] * x[second * inner + i]
            else:
                for i in range(inner):
                    out[to + i] = weight[place * taps] * x[first * inner + i]
                for tap in range(place * taps + 1, place * taps + taps):
                    source = (u * size + index[tap]) * inner
                    for i in range(inner):
                        out[to + i] += weight[tap] * x[source + i]


@loop(reorder=True)
def resample_back(
    out: Out, g: Floats, index: Ints, weight: Floats | None, size: int, count: int, inner: int, taps: int, units: range
) -> None:
    """A unit is one row of elements of the input, which are cleared first."""
    for u in units:
        for i in range(u * size * inner, (u + 1) * size * inner):
            out[i] = 0.0
        for place in range(count):
            source = (u * count + place) * inner
            for tap in range(place * taps, place * taps + taps):
                to = (u * size + index[tap]) * inner
                factor = 1.0
                if weight is not None:
                    factor = weight[tap]
                for i in range(inner):
                    out[to + i] += factor * g[source + i]
