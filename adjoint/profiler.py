"""PyTorch's `torch.profiler`, for blocks that a program names: how often each ran, and how long.

    with profile() as prof:
        with record_function("forward"):
            model(x)
    print(prof.key_averages().table())

Single operations are not recorded: Python's own `cProfile` shows them, with the lines that called them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from enum import Enum
from pathlib import Path
from typing import Any

_running: list[profile] = []


class ProfilerActivity(Enum):
    """What to record. There is only the CPU."""

    CPU = 0
    CUDA = 2
    XPU = 1


class ProfilerAction(Enum):
    """What a schedule can ask for at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Event:
    """A named block: how often it ran, and for how many microseconds in all."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0

    @property
    def name(self) -> str:
        return self.key

    @property
    def self_cpu_time_total(self) -> float:
        return self.cpu_time_total

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0


class EventList(list[Event]):
    """The blocks of a profile."""

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The blocks as text, the longest first where `sort_by` names a time."""
        rows = sorted(self, key=lambda event: -event.cpu_time_total) if sort_by and "time" in sort_by else list(self)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        lines = [f"{event.key:30s}  {event.cpu_time_total:12.3f}us  {event.cpu_time:12.3f}us  {event.count:10d}" for event in rows]
        title = f"{'Name':30s}  {'CPU total':>14s}  {'CPU time avg':>14s}  {'# of Calls':>10s}"
        return "\n".join([*([header] if header else []), "-" * len(title), title, "-" * len(title), *lines, "-" * len(title)])


class record_function(ContextDecorator):
    """Give a block, or each call of a function, a name in the profiles that are running."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._started: list[float] = []

    def __enter__(self) -> record_function:
        self._started.append(time.perf_counter())
        return self

    def __exit__(self, *_: object) -> None:
        start, end = self._started.pop(), time.perf_counter()
        for profiler in _running:
            profiler._record(self.name, start, end)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Steps to skip, to warm up in, and to record, again and again or `repeat` times."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments: active must be positive, and nothing negative")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step // cycle >= repeat):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


class profile:
    """Records the blocks named by `record_function` that run inside a `with` block, in the steps that `schedule` chooses."""

    def __init__(
        self, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, use_cuda: bool | None = None, enabled: bool = True,
        **options: Any,
    ) -> None:  # fmt: skip
        self._schedule = schedule
        self._on_trace_ready = on_trace_ready
        self._enabled = enabled
        self._spans: list[tuple[str, float, float]] = []
        self.step_num = 0

    @property
    def _action(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _record(self, name: str, start: float, end: float) -> None:
        if self._action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._spans.append((name, start, end))

    def start(self) -> None:
        if self._enabled:
            _running.append(self)

    def stop(self) -> None:
        if self in _running:
            _running.remove(self)
            if self._schedule is None and self._on_trace_ready is not None:
                self._on_trace_ready(self)

    def step(self) -> None:
        """A step of training has ended."""
        if self._action is ProfilerAction.RECORD_AND_SAVE and self._on_trace_ready is not None:
            self._on_trace_ready(self)
        self.step_num += 1

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """One entry for each name."""
        events: dict[str, Event] = {}
        for name, start, end in self._spans:
            event = events.setdefault(name, Event(name))
            event.count += 1
            event.cpu_time_total += (end - start) * 1e6
        return EventList(events.values())

    def table(self, **options: Any) -> str:
        return self.key_averages().table(**options)

    def export_chrome_trace(self, path: str) -> None:
        """Write what was recorded for the trace viewer of a browser."""
        traced = [
            {"name": name, "ph": "X", "ts": start * 1e6, "dur": (end - start) * 1e6, "pid": 0, "tid": 0} for name, start, end in self._spans
        ]
        Path(path).write_text(json.dumps({"traceEvents": traced}), encoding="utf-8")


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[profile], None]:
    """Write each trace into a file of a directory."""

    def handler(profiler: profile) -> None:
        directory = Path(dir_name)
        directory.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(directory / f"{worker_name or 'adjoint'}.{time.time_ns()}.pt.trace.json"))

    return handler
