"""Running sums and products, from either end.

An array is seen as `outer` matrices of `n` rows and `inner` columns, as in axes.py, and the scan runs down the columns. A scan is
made of two parts: `start()`, and `step(so_far, x)`. Sums and products run in double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Along, dense, matrices
from .loops import FLOATS, HALVES, Doubles, Floats, Part, Results, exp, given, log1p, maximum, narrow, part, select, template, wide
from .reduce_loops import ALL, SUM, add, dtypes_of, lowest, multiply, one, zero

start = step = given

TILE = 256  # columns at a time
LARGEST = 1 << 24  # rows that one piece of work may go through
ABREAST = 4  # rows of contiguous memory at a time: one waits for the result of an addition while the others add


@template(kinds=ALL)
def scan_along_rows(
    out: Results, x: Floats, sums: Doubles | None, p: float, n: int, inner: int, rows: int, tiles: int, units: range
) -> None:
    """One column. Of the last few rows some are computed twice. `p` is 1 for a scan that runs backwards."""
    for unit in units:
        backwards = int(p)
        way = 1 - 2 * backwards
        a = min(unit * ABREAST, rows - 1) * n + backwards * (n - 1)
        b = min(unit * ABREAST + 1, rows - 1) * n + backwards * (n - 1)
        c = min(unit * ABREAST + 2, rows - 1) * n + backwards * (n - 1)
        d = min(unit * ABREAST + 3, rows - 1) * n + backwards * (n - 1)
        sum_a = wide(start())
        sum_b = wide(start())
        sum_c = wide(start())
        sum_d = wide(start())
        for i in range(n):
            at = i * way
            sum_a = step(sum_a, wide(x[a + at]))
            sum_b = step(sum_b, wide(x[b + at]))
            sum_c = step(sum_c, wide(x[c + at]))
            sum_d = step(sum_d, wide(x[d + at]))
            out[a + at] = narrow(sum_a)
            out[b + at] = narrow(sum_b)
            out[c + at] = narrow(sum_c)
            out[d + at] = narrow(sum_d)


@template(kinds=(*FLOATS, *HALVES))
def scan_down_columns(out: Results, x: Floats, sums: Doubles, p: float, n: int, inner: int, rows: int, tiles: int, units: range) -> None:
    for unit in units:
        backwards = int(p)
        matrix = unit // tiles
        left = unit % tiles * TILE
        width = min(TILE, inner - left)
        so_far = matrix * inner + left
        for j in range(width):
            sums[so_far + j] = wide(start())
        for i in range(n):
            row = backwards * (n - 1) + i * (1 - 2 * backwards)
            at = (matrix * n + row) * inner + left
            for j in range(width):
                sum = step(sums[so_far + j], wide(x[at + j]))
                sums[so_far + j] = sum
                out[at + j] = narrow(sum)


class Scan(Along):
    """A scan with its kernels, which runs backwards if the option says so. There is none of whole numbers down columns, where sums
    are doubles."""

    kind, limits = "scan", (LARGEST, LARGEST, TILE)

    def __init__(self, name: str, start: Part, step: Part, kinds: tuple[str, ...] = ALL) -> None:
        self.kinds = kinds
        down = scan_down_columns(f"{name}_down_columns", start=start, step=step)
        super().__init__(name, (down, scan_along_rows(f"{name}_along_rows", start=start, step=step)))

    def by_python(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        if x.__class__ is not np.ndarray or not x.size or (found := matrices(x.shape, axis)) is None:
            return None
        x, (outer, n, inner) = dense(x), found
        dtypes = dtypes_of(x.dtype, self.kinds if inner == 1 else self.kernels[0].kinds, SUM)
        if dtypes is None:
            return None
        out = np.empty(x.shape, dtypes[0])
        tiles = -(-inner // TILE)
        cut = (-(-outer // ABREAST), n * ABREAST) if inner == 1 else (outer * tiles, n * min(inner, TILE))
        sums = None if inner == 1 else np.empty(outer * inner)
        if not self.kernels[inner == 1].run(out, x, sums, float(option), n, inner, outer, tiles, *cut):
            return None
        self.learn(x, out, inner == 1)
        return out


@part
def add_logarithms(a: Any, b: Any) -> Any:
    """`log(exp(a) + exp(b))`; equal infinities give themselves."""
    top = maximum(a, b)
    return select(a == b, top + 0.6931471805599453, top + log1p(exp(-abs(a - b))))


sums = Scan("cumsum", zero, add)
products = Scan("cumprod", one, multiply)
log_sums = Scan("logcumsumexp", lowest, add_logarithms, (*FLOATS, *HALVES))
