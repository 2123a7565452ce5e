"""PyTorch's `torch.utils.benchmark`: how long a statement takes."""

from __future__ import annotations

import statistics
import timeit
from typing import Any


class Measurement:
    """Times of a statement, in seconds for one run."""

    def __init__(self, times: list[float], runs: int, statement: str) -> None:
        self.times = times
        self.number_per_run = runs
        self.statement = statement

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
        self._timer = timeit.Timer(stmt, setup, timer, globals)
        self._statement = label or stmt

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The mean of `number` runs."""
        self._timer.timeit(1)
        return Measurement([self._timer.timeit(number) / number], number, self._statement)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Runs until `min_run_time` seconds have passed, in blocks long enough to measure."""
        self._timer.timeit(1)
        runs, elapsed = 1, self._timer.timeit(1)
        while elapsed < min_run_time / 1000 and runs < 1_000_000:
            runs *= 10
            elapsed = self._timer.timeit(runs)
        times, total = [elapsed / runs], elapsed
        while total < min_run_time:
            elapsed = self._timer.timeit(runs)
            times.append(elapsed / runs)
            total += elapsed
        return Measurement(times, runs, self._statement)
