"""The harness: cases register here, are measured with both libraries, and become rows of a table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

SAMPLE_SECONDS = 0.002  # one sample repeats a short step for about this long, far above the clock's resolution
LONG_SECONDS = 20e-6  # a step that takes longer than this is timed by itself,
TURN_SECONDS = 0.02  # in turns of about this length: the threads of the other library look for work for some milliseconds after its turn

Step = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One measured quantity, smaller is better."""

    name: str
    unit: str
    adjoint: float
    torch: float

    @property
    def ratio(self) -> float | None:
        """adjoint / torch; None when torch has nothing to divide by."""
        return self.adjoint / self.torch if self.torch > 0 else None


@dataclass(frozen=True)
class TimedCase:
    """A step timed with both libraries in turn, in this process."""

    name: str
    build: Callable[[Any], Step]  # from the library module to the step that is timed

    def measure(self, libraries: Sequence[Any], seconds: float) -> Row:
        ours, theirs = best_times([self.build(lib) for lib in libraries], seconds)
        return Row(self.name, "µs", ours * 1e6, theirs * 1e6)


@dataclass(frozen=True)
class MeasuredCase:
    """A quantity that needs a process of its own, measured from a library's name."""

    name: str
    unit: str
    read: Callable[[str], float]

    def measure(self, libraries: Sequence[Any], seconds: float) -> Row:
        ours, theirs = (self.read(lib.__name__) for lib in libraries)
        return Row(self.name, self.unit, ours, theirs)


class Case(Protocol):
    """What becomes a row."""

    @property
    def name(self) -> str: ...

    def measure(self, libraries: Sequence[Any], seconds: float) -> Row: ...


CASES: list[Case] = []


def timed(name: str) -> Callable[[Callable[[Any], Step]], Callable[[Any], Step]]:
    """Register a function that takes the library module and returns the step to time."""

    def register(build: Callable[[Any], Step]) -> Callable[[Any], Step]:
        CASES.append(TimedCase(name, build))
        return build

    return register


def measured(name: str, unit: str) -> Callable[[Callable[[str], float]], Callable[[str], float]]:
    """Register a function that takes the library's name and returns a number."""

    def register(read: Callable[[str], float]) -> Callable[[str], float]:
        CASES.append(MeasuredCase(name, unit, read))
        return read

    return register


def sample(step: Step, repeats: int) -> float:
    """Return the seconds per call of `step` over `repeats` calls."""
    # The garbage collector stays on: collecting what a library leaves behind is part of its cost.
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return (time.perf_counter() - start) / repeats


def take_turn(step: Step, seconds: float) -> float:
    """Return the best seconds per call in one turn, where a call takes about so long."""
    if seconds < LONG_SECONDS:
        return sample(step, max(1, round(SAMPLE_SECONDS / max(seconds, 1e-9))))
    return min(sample(step, 1) for _ in range(max(1, round(TURN_SECONDS / seconds))))


def best_times(steps: Sequence[Step], seconds: float) -> list[float]:
    """Return the best seconds per call of each step; they take turns, so that a busy moment hits all alike."""
    best = []
    for step in steps:
        sample(step, 1)  # caches fill and kernels compile here
        best.append(sample(step, 3))
    begin, turns = time.perf_counter(), 0
    while time.perf_counter() < begin + seconds or turns < 2:
        for i, step in enumerate(steps):
            best[i] = min(best[i], take_turn(step, best[i]))
        turns += 1
    return best


def geometric_mean(rows: Sequence[Row]) -> float | None:
    """Return the geometric mean of the ratios of the timed rows, None when there are none."""
    ratios = [row.ratio for row in rows if row.unit == "µs" and row.ratio]
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None
