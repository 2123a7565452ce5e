"""PyTorch's `torch.utils.benchmark`: how long a statement takes."""

from __future__ import annotations

import statistics
import timeit
from typing import Any

from .._kernels.pool import get_num_threads, set_num_threads


class Measurement:
    """Times of a statement, in seconds for one run."""

    def __init__(self, times: list[float], runs: int, statement: str, row: str = "", column: str = "") -> None:
        self.times = times
        self.number_per_run = runs
        self.statement = statement
        self.sub_label = row or statement
        self.description = column or "time"

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4)
        return high - low

    def __repr__(self) -> str:
        count = f"{len(self.times)} measurements of {self.number_per_run} runs"
        return f"<{__name__}.Measurement>\n{self.statement}\n  {self.median * 1e6:.2f} us\n  {count}"


class Timer:
    """Measures a statement, after one run to warm up."""

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Any = timeit.default_timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None, description: str | None = None,
        env: str | None = None, num_threads: int = 1, language: Any = "python",
    ) -> None:  # fmt: skip
        if language not in ("python", "py"):
            raise NotImplementedError(f"statements in {language} are not compiled; measure Python, or time the program from outside")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        self._timer = timeit.Timer(stmt, setup, timer, globals)
        self._threads = num_threads
        self._names = label or stmt, sub_label or stmt, description or env or ""

    def _time(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The mean of `number` runs."""
        self._time(1)
        return Measurement([self._time(number) / number], number, *self._names)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Runs until `min_run_time` seconds have passed, in blocks long enough to measure. `callback(runs, seconds)` is told of each."""
        self._time(1)
        runs, elapsed = 1, self._time(1)
        while elapsed < min_run_time / 1000 and runs < 1_000_000:
            runs *= 10
            elapsed = self._time(runs)
        times: list[float] = []
        total = 0.0
        while not times or total < min_run_time:
            elapsed = self._time(runs) if times else elapsed
            times.append(elapsed / runs)
            total += elapsed
            if callback is not None:
                callback(runs, elapsed)
        return Measurement(times, runs, *self._names)


class Compare:
    """A table of measurements: a row for each `sub_label`, a column for each `description`, in microseconds."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results = list(results)

    def extend_results(self, results: list[Measurement]) -> None:
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Nothing happens: times have two decimals."""

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing happens: the table is plain text."""

    def __str__(self) -> str:
        columns = list(dict.fromkeys(one.description for one in self._results))
        rows: dict[str, dict[str, str]] = {}
        for one in self._results:
            rows.setdefault(one.sub_label, {})[one.description] = f"{one.median * 1e6:.2f}"
        lines = [["", *columns], *([name, *(times.get(column, "") for column in columns)] for name, times in rows.items())]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        table = ["  |  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*table, "", "Times are in microseconds (us)."])

    def print(self) -> None:
        print(self)
