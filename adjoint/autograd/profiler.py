"""PyTorch's `torch.autograd.profiler`: which ops ran in a block, and how long.

    with profile() as prof:
        loss(model(x)).backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total"))

While no profile runs, an op costs what it always costs: a bit of the thread's mode sends ops to `_watching.py`, which times them.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from typing import Any, Self

from .._state import PROFILE, get_mode, swap_bits
from .._watching import Span, TimedWatch, begin, recorders
from .._watching import end as end_span
from . import anomaly
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]


def kineto_available() -> bool:
    """Whether there is a profiler at all."""
    return True


def start_recording(into: list[Span], shapes: bool) -> None:
    """Put all that runs from now on into a list."""
    if not recorders:
        anomaly.timed = anomaly.timed or TimedWatch  # one of profiler.lines() makes spans too
        _hook_optimizers()
    recorders.append(into)
    Span.with_shapes = Span.with_shapes or shapes
    swap_bits(PROFILE, PROFILE)


def stop_recording(into: list[Span]) -> None:
    recorders[:] = [recorder for recorder in recorders if recorder is not into]
    if not recorders:
        Span.with_shapes = False
        anomaly.timed = None if anomaly.timed is TimedWatch else anomaly.timed
        swap_bits(PROFILE, 0)
        while _handles:
            _handles.pop().remove()


def _profiler_enabled() -> bool:
    """Whether something is being recorded."""
    return bool(recorders)


def _disable_profiler() -> None:
    """Stop recording."""
    for into in list(recorders):
        stop_recording(into)


_handles: list[Any] = []


def _hook_optimizers() -> None:
    """Name the steps of optimizers, which are no ops."""
    from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    running: list[Span] = []

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        name = type(optimizer).__name__
        running.append(begin(f"Optimizer.step#{name}.step", [], "user_annotation"))

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if running:
            end_span(running.pop())

    _handles.extend([register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)])


class record_function(ContextDecorator):
    """Give a block, or each call of a function, a name in the profiles that are running."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._spans: list[Span | None] = []

    def _recreate_cm(self) -> Self:
        return self

    def __enter__(self) -> Self:
        self._spans.append(begin(self.name, [], "user_annotation") if get_mode() & PROFILE else None)
        return self

    def __exit__(self, *_: object) -> None:
        span = self._spans.pop()
        if span is not None:
            end_span(span)


class profile:
    """Records the ops that run inside a `with` block, and the nodes of backward passes. `use_device`, `with_flops` and other options of
    PyTorch are accepted, and change nothing: there is only the CPU, and only times are taken."""

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = True, use_cpu: bool = True, **options: Any,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False
        self._spans: list[Span] = []
        self._events: EventList | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            start_recording(self._spans, self.record_shapes)
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            stop_recording(self._spans)
            self._events = EventList.of(self._spans)

    @property
    def function_events(self) -> EventList:
        """What ran, in the order of its beginning."""
        if self._events is None:
            raise AssertionError("Profiler didn't finish running: leave the `with` block first")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args: Any, **options: Any) -> str:
        return self.function_events.table(*args, **options)

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        raise RuntimeError("export_stacks needs the stacks of ops, which are not recorded: use Python's own cProfile for those")

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)


class _Emit:
    """Marks for a profiler of another device. There is none, so nothing is marked."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class emit_nvtx(_Emit):
    """Accepted, for programs that have it."""


class emit_itt(_Emit):
    """Accepted, for programs that have it."""
