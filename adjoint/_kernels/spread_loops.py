"""What reductions send back: each element of the input gets a number made of itself and of numbers that its result has.

An array is seen as `outer` matrices of `n` rows and `inner` columns, as in axes.py. A gradient is made by one part:

    slope(x, level, share, p)     `level` and `share` are numbers for each result, `p` is one for all

Gradients that do not need all of these get any array for the others: what nobody uses is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, matrices
from .loops import FLOATS, HALVES, Floats, Out, Part, exp, given, narrow, part, power, select, template

slope = given
PIECE = 8192  # elements of a row that are one piece of work at most


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def spread_along_rows(
    out: Out, x: Floats, levels: Floats, shares: Floats, p: float, n: int, take: int, blocks: int, units: range
) -> None:
    """One column: a result belongs to a row of contiguous memory."""
    for unit in units:
        row = unit // blocks
        first = row * n + unit % blocks * take
        level = levels[row]
        share = shares[row]
        q = narrow(p)
        for j in range(first, min(first + take, row * n + n)):
            out[j] = slope(x[j], level, share, q)


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def spread_over_rows(
    out: Out, x: Floats, levels: Floats, shares: Floats, p: float, n: int, inner: int, rows: range
) -> None:
    """The results are rows themselves, each for `n` rows."""
    for i in rows:
        at = i * inner
        result = i // n * inner
        q = narrow(p)
        for j in range(inner):
            out[at + j] = slope(x[at + j], levels[result + j], shares[result + j], q)


class Spread:
    """A gradient with its kernels. Called with the shape of the input and so on, it gives the gradient, or None where NumPy has to."""

    def __init__(self, name: str, slope: Part) -> None:
        self.along = spread_along_rows(f"{name}_along_rows", slope=slope)
        self.over = spread_over_rows(f"{name}_over_rows", slope=slope)

    def __call__(
        self,
        shape: tuple[int, ...],
        axis: Any,
        shares: Any,
        x: np.ndarray | None = None,
        levels: np.ndarray | None = None,
        p: float = 1.0,
    ) -> np.ndarray | None:
        if isinstance(shares, np.generic):
            shares = np.asarray(shares)
        if shares.__class__ is not np.ndarray:
            return None
        found = matrices(shape, axis)
        if found is None:
            axes = axes_of(axis, len(shape))
            return self.in_turn(shape, axes, shares) if axes and x is None else None
        if found[0] * found[2] != shares.size:
            return None
        outer, n, inner = found
        out = np.empty(shape, shares.dtype)
        x, levels = out if x is None else x, shares if levels is None else levels
        if inner == 1:
            blocks = max(1, -(-n // PIECE))
            done = self.along.run(out, x, levels, shares, p, n, min(n, PIECE), blocks, outer * blocks, min(n, PIECE))
        else:
            done = self.over.run(out, x, levels, shares, p, n, inner, outer * n, inner)
        return out if done else None


    def in_turn(self, shape: tuple[int, ...], axes: list[int], shares: np.ndarray) -> np.ndarray | None:
        """Along axes that are not neighbours: the last ones first, while there is little to write."""
        begin = end = axes[0]
        while end in axes:
            end += 1
        before = (*shape[:begin], *[1] * (end - begin), *shape[end:])
        later = self(before, tuple(a for a in axes if a >= end), shares)
        return None if later is None else self(shape, tuple(range(begin, end)), later)


# ---- parts --------------------------------------------------------------------------------------------------------------------------


@part
def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, x))


@part
def share_itself(x: Any, level: Any, share: Any, p: Any) -> Any:
    return share


@part
def share_unless_nan(x: Any, level: Any, share: Any, p: Any) -> Any:
    return select(x == x, share, 0.0)


@part
def share_of_alike(x: Any, level: Any, share: Any, p: Any) -> Any:
    """To the elements that equal the level, or are NaN as it is."""
    return select((x == level) | ((x != x) & (level != level)), share, 0.0)


@part
def share_of_equal(x: Any, level: Any, share: Any, p: Any) -> Any:
    return select(x == level, share, share * 0.0)


@part
def share_of_equal_size(x: Any, level: Any, share: Any, p: Any) -> Any:
    return sign(x) * select(abs(x) == level, share, share * 0.0)


@part
def signed(x: Any, level: Any, share: Any, p: Any) -> Any:
    return sign(x) * share


@part
def times(x: Any, level: Any, share: Any, p: Any) -> Any:
    return x * share


@part
def divided(x: Any, level: Any, share: Any, p: Any) -> Any:
    return share * (level / x)


@part
def deviating(x: Any, level: Any, share: Any, p: Any) -> Any:
    return (x - level) * share


@part
def to_the_power(x: Any, level: Any, share: Any, p: Any) -> Any:
    """`|x| ** p` with the sign of x; zero at zero, whatever p is."""
    size = abs(x)
    return select(x == 0.0, 0.0, sign(x) * power(select(x == 0.0, 1.0, size), p)) * share


@part
def exponential(x: Any, level: Any, share: Any, p: Any) -> Any:
    return share * exp(x - level)


# ---- gradients ----------------------------------------------------------------------------------------------------------------------

evenly = Spread("sum", share_itself)
unless_nan = Spread("nansum", share_unless_nan)
to_alike = Spread("max_all", share_of_alike)
to_equal = Spread("amax", share_of_equal)
to_equal_size = Spread("norm_inf", share_of_equal_size)
by_sign = Spread("norm_1", signed)
by_size = Spread("norm_2", times)
by_power = Spread("norm_p", to_the_power)
by_quotient = Spread("prod", divided)
by_deviation = Spread("var", deviating)
by_exponential = Spread("logsumexp", exponential)
