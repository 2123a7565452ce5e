"""Work along axes of an array: how it is cut, and how ops come to call it.

An array is seen as `outer` matrices of `n` rows and `inner` columns; something is done to each column.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .copy_loops import copy
from .emit_types import BY_DTYPE
from .loops import Loop

LONG = 16384  # elements of a row that are one piece of work
CUT = 8192  # elements of a piece, where a row is longer
DEPTH = 256  # rows of a piece at most,
NARROW = 128  # where those that have fewer columns are taken together as rows of about so many
PIECE = 65536  # elements of a piece of whole rows at most


def axes_of(axis: Any, ndim: int) -> list[int]:
    """The axes that an int, a tuple of them or None names, in order. No axes are all of them. Nothing if they are not axes."""
    if axis is None or axis == ():
        return list(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = {a % ndim for a in given if -ndim <= a < ndim}
    return sorted(found) if len(found) == len(given) else []


@lru_cache(4096)
def plan(shape: tuple[int, ...], axis: Any, keepdim: bool) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The shape of a result, and the steps to it: (n, inner, take, blocks, units, elements of a unit) each."""
    ndim = len(shape)
    axes = axes_of(axis, ndim)
    result = tuple(1 if d in axes else size for d, size in enumerate(shape) if keepdim or d not in axes)
    # Neighbouring axes are reduced together, those furthest back first.
    sizes = list(shape)
    steps: list[tuple[int, ...]] = []
    end = ndim
    while end:
        begin = end - 1
        while begin and (begin - 1 in axes) == (end - 1 in axes):
            begin -= 1
        if begin in axes:
            n = math.prod(sizes[begin:end])
            steps += cuts(math.prod(sizes[:begin]), n, math.prod(sizes[end:]))
            sizes[begin:end] = [1] * (end - begin)
        end = begin
    return result, tuple(steps)


@lru_cache(4096)
def matrices(shape: tuple[int, ...], axis: Any) -> tuple[int, int, int] | None:
    """(outer, n, inner) of an array whose axes are neighbours; None where they are not, or where there are none."""
    axes = axes_of(axis, len(shape))
    if not axes or axes[-1] - axes[0] != len(axes) - 1:
        return None
    return math.prod(shape[: axes[0]]), math.prod(shape[axes[0] : axes[-1] + 1]), math.prod(shape[axes[-1] + 1 :])


def cuts(outer: int, n: int, inner: int) -> list[tuple[int, ...]]:
    steps: list[tuple[int, ...]] = []
    while True:
        if inner == 1:
            take = CUT if n > LONG else n
        else:
            depth = DEPTH * max(1, NARROW // max(inner, 1))
            take = min(n, depth, max(16, PIECE // max(inner, 1) // 4 * 4)) if outer * n * inner > PIECE or n > depth else n
        blocks = -(-n // take) if take else 1
        steps.append((n, inner, take, blocks, outer * blocks, take * inner))
        if blocks == 1:
            return steps
        n = blocks


def suits(x: Any) -> bool:
    """Whether kernels for float32 and float64 compute with such an array."""
    return x.__class__ is np.ndarray and x.dtype.char in "fd"


def dense(x: np.ndarray) -> np.ndarray:
    """The array itself, or a copy, whose memory is contiguous."""
    return x if x.flags.c_contiguous else copy(x)


class Along:
    """What is computed along an axis: by kernels down columns and along rows. `run` takes an array, an axis and so on, and gives the
    result, or None where NumPy has to. It becomes a built-in, which knows what to do with small arrays and calls `by_python` for others."""

    kind: str
    limits: tuple[int, ...]

    def __init__(self, name: str, kernels: tuple[Loop, Loop]) -> None:
        self.name = name
        self.kernels = kernels  # by whether there is one column
        self.run: Callable[..., np.ndarray | None] = self.by_python
        self.known: dict[tuple[Any, Any, int], int] = {}  # the loops that have been compiled: dtypes, which of them (along.py), address
        self.entries: list[Any] = []
        self.waiting: list[Callable[[Any], Any]] = []  # what ops ask for until there is a built-in

    def by_python(self, x: np.ndarray, axis: Any, option: bool) -> np.ndarray | None:
        raise NotImplementedError

    def serve(self, roles: tuple[str, ...], otherwise: Callable[..., Any], use: Callable[[Any], None]) -> None:
        """Have a built-in made for parameters in other roles (along.py), which calls `otherwise` for what it cannot do. It is handed to
        `use` as soon as there is a kernel."""
        self.waiting.append(lambda small: use(self.entry(small, otherwise, roles)))
        self.announce()

    def announce(self) -> None:
        """Make the built-ins that are asked for, if there are kernels."""
        if self.known:
            from . import along as small

            if not self.entries:
                self.run = self.entry(small, self.by_python)
            while self.waiting:
                self.waiting.pop()(small)

    def entry(self, small: Any, otherwise: Callable[..., Any], roles: tuple[str, ...] = ()) -> Any:
        made = small.Entry(self.name, otherwise, self.kind, small.Limits(*self.limits), roles)
        self.entries.append(made)
        for facts, at in [*self.known.items()]:
            made.tell(*facts, at)
        return made.call

    def learn(self, x: np.ndarray, out: np.ndarray, along: bool) -> None:
        """Tell the built-ins of a kernel that has been compiled."""
        if (x.dtype, out.dtype, along) not in self.known:
            self.tell(x.dtype, out.dtype, int(along), self.kernels[along], x.dtype, out.dtype)

    def tell(self, dtype: Any, result: Any, place: int, loop: Loop, reads: Any, writes: Any) -> None:
        """Tell them of a loop, which reads and writes elements of some dtypes."""
        from . import loop_code

        self.known[dtype, result, place] = at = loop_code.load(loop, BY_DTYPE[reads.name], BY_DTYPE[writes.name])
        for entry in self.entries:
            entry.tell(dtype, result, place, at)
        self.announce()
