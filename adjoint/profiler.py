"""PyTorch's `torch.profiler`: which ops ran, and how long, in the steps of a training loop that a schedule chooses.

    with profile(schedule=schedule(wait=1, warmup=1, active=3), on_trace_ready=tensorboard_trace_handler("log")) as prof:
        for batch in loader:
            train(batch)
            prof.step()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from ._homes import settle
from ._watching import Span, begin, end
from .autograd import profiler as _autograd_profiler
from .autograd.profiler import record_function
from .autograd.profiler_util import EventList

if TYPE_CHECKING:
    from ._cost import Cost, Measuring

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "lines", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(Enum):
    """What to record. There is only the CPU."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a schedule can ask for at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Steps to skip, to warm up in, and to record, again and again or `repeat` times."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments: active must be positive, and nothing negative")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if skip_first_wait:
            step += wait
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


def kineto_available() -> bool:
    return False


def _default_schedule_fn(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:
    """Records the ops that run inside a `with` block, and the nodes of backward passes, in the steps that `schedule` chooses.

    `on_trace_ready(profile)` is called when the last step of a cycle has been recorded, or at the end. Options of PyTorch for memory,
    stacks and other devices are accepted, and change nothing.
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, acc_events: bool = False,
        use_cuda: bool | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or _default_schedule_fn
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.metadata: dict[str, Any] = {}
        self._with_steps = schedule is not None
        self._step: Span | None = None
        self._spans: list[Span] = []
        self._kept: list[Span] = []

    # ---- running ----------------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._go_on()

    def stop(self) -> None:
        recorded = self.current_action in RECORDING
        self._pause()
        if recorded and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """A step of training has ended."""
        ended = self.current_action
        self._pause()
        self.step_num += 1
        if ended is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        self.current_action = self.schedule(self.step_num)
        if self.current_action in RECORDING and ended not in (ProfilerAction.RECORD,):
            self._kept = self._kept + self._spans if self.acc_events else []
            self._spans = []
        self._go_on()

    def _go_on(self) -> None:
        if self.current_action in RECORDING:
            _autograd_profiler.start_recording(self._spans, self.record_shapes)
            if self._with_steps:
                self._step = begin(f"ProfilerStep#{self.step_num}", [], "user_annotation")

    def _pause(self) -> None:
        if self._step is not None:
            end(self._step)
            self._step = None
        if self.current_action in RECORDING:
            _autograd_profiler.stop_recording(self._spans)

    # ---- what was found ---------------------------------------------------------------------------------------------------------

    def events(self) -> EventList:
        """What ran, in the order of its beginning."""
        return EventList.of([span for span in self._kept + self._spans if span.end >= 0])

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write what was recorded for a trace viewer, such as Perfetto or that of a browser."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        raise RuntimeError("export_stacks needs the stacks of ops, which are not recorded: use Python's own cProfile for those")

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text with the profile, in `metadata`."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        self.metadata[key] = json.loads(value)


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[profile], None]:
    """Write each trace into a file of a directory."""

    def handler(profiler: profile) -> None:
        directory = Path(dir_name)
        directory.mkdir(parents=True, exist_ok=True)
        name = worker_name or f"adjoint_{os.getpid()}"
        profiler.export_chrome_trace(str(directory / f"{name}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"))

    return handler


@overload
def lines(function: None = None, *, memory: bool = False, packages: Sequence[str] = ()) -> Measuring: ...
@overload
def lines(function: Callable[[], Any], *, memory: bool = False, packages: Sequence[str] = ()) -> Cost: ...
def lines(function: Callable[[], Any] | None = None, *, memory: bool = False, packages: Sequence[str] = ()) -> Any:
    """What each line of the program costs: its time, that of backward and of optimizers which belongs to it, and what it keeps.

    `with lines() as cost:` measures a block, `cost = lines(function)` a call, whose result is `cost.result`. `print(cost)` shows a table;
    `cost.lines` has its rows, and `cost.export_html(path)` writes a page with the source.
    """
    from ._cost import Measuring

    measuring = Measuring(memory, packages)
    if function is None:
        return measuring
    with measuring as cost:
        cost.result = function()
    return cost


__path__: list[str] = []
settle(__name__, {"profiler": ("",)})
