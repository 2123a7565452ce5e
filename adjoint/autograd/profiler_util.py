"""What a profile found: events, their averages, and the table of them, in PyTorch's form."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._watching import Span

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}  # in microseconds


def in_units(microseconds: float, unit: str | None = None) -> str:
    """
    >>> in_units(1234.5), in_units(1234.5, "us")
    ('1.234ms', '1234.500us')
    """
    unit = unit or next((name for name, size in UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


class Interval(NamedTuple):
    """From when to when, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Times:
    """What events and their averages have in common; times are in microseconds. There is only the CPU."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = 0
    device_time = device_time_total = self_device_time_total = cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    flops = 0
    node_id = -1
    use_device = overload_name = None
    is_async = is_remote = is_legacy = is_user_annotation = False

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return in_units(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return in_units(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return in_units(self.self_cpu_time_total)


class FunctionEvent(Times):
    """One run of an op, of a node in a backward pass, or of a block that `record_function` names."""

    count = 1
    fwd_thread = None

    def __init__(self, nr: int, span: Span, origin: int) -> None:
        self.id = nr
        self.name = self.trace_name = span.name
        self.time_range = Interval((span.start - origin) / 1e3, (max(span.end, span.start) - origin) / 1e3)
        self.thread = span.thread
        self.kind = span.kind
        self.is_user_annotation = span.kind == "user_annotation"
        self.scope = 7 if self.is_user_annotation else 0
        self.sequence_nr = span.seq
        self.input_shapes = span.shapes
        self.stack: list[str] = []
        self.kernels: list[Any] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type=DeviceType.CPU node_id=-1 cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
            f"thread={self.thread} input_shapes={self.input_shapes} is_async=False is_remote=False seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(Times):
    """All events of a name, added up."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.input_shapes: Any = ""
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def name(self) -> str:
        return self.key

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        if isinstance(other, FunctionEvent):
            self.is_user_annotation = other.is_user_annotation
            self.cpu_parent = other.cpu_parent
            self.cpu_children = self.cpu_children + other.cpu_children
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f"input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events, or averages of them."""

    @classmethod
    def of(cls, spans: Sequence[Span]) -> EventList:
        """The events of what was recorded, each with those it ran inside of."""
        origin = spans[0].start if spans else 0
        events = {span: FunctionEvent(nr, span, origin) for nr, span in enumerate(spans, 1)}
        for span, event in events.items():
            if span.outer in events:
                event.cpu_parent = events[span.outer]
                event.cpu_parent.cpu_children.append(event)
        return cls(events.values())

    @property
    def self_cpu_time_total(self) -> float:
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """An average for each name, or for each name and shapes of operands. There are no stacks and no overloads to group by."""
        found: dict[tuple[str, str], FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            average = found.setdefault((event.key, shapes), FunctionEventAvg(event.key)).add(event)
            if group_by_input_shapes:
                average.input_shapes = event.input_shapes
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def supported_export_stacks_metrics(self) -> list[str]:
        return ["self_cpu_time_total"]

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events for a trace viewer, such as Perfetto or that of a browser; compressed if the name ends in `.gz`."""
        text = json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", "traceName": str(path), "traceEvents": list(self.traced())})
        data = text.encode()
        Path(path).write_bytes(gzip.compress(data) if str(path).endswith(".gz") else data)

    def traced(self) -> Iterator[dict[str, Any]]:
        for event in self:
            yield {
                "ph": "X", "cat": event.kind, "name": event.name, "pid": os.getpid(), "tid": event.thread, "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(), "args": {"External id": event.id, "Input Dims": event.input_shapes},
            }  # fmt: skip

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, sorted by `cpu_time_total`, `self_cpu_time_total`, `count`, ... . `time_unit`: "s", "ms" or "us" for all
        times; otherwise each has one that suits it. There is no column of sources, whose width would matter."""
        if time_unit not in (None, *UNITS):
            raise ValueError(f"time_unit is {time_unit!r}; use one of {', '.join(UNITS)}, or None")
        rows: Iterable[Any] = self
        if sort_by is not None:
            key = sort_by.replace("cuda", "device")
            rows = sorted(self, key=lambda event: getattr(event, key), reverse=True)
        if top_level_events_only:
            rows = [event for event in rows if event.cpu_parent is None]
        whole = self.self_cpu_time_total
        return table_of(list(rows), whole, row_limit, max_name_column_width, max_shapes_column_width, header, time_unit)

    def __str__(self) -> str:
        return self.table()


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def table_of(
    rows: list[Any], whole: float, row_limit: int, name_width: int, shapes_width: int, header: str | None, unit: str | None
) -> str:
    if not rows:
        return ""

    def share(part: float) -> str:
        return f"{part / whole:.2%}" if whole else "NaN"

    columns: dict[str, Callable[[Any], str]] = {
        "Name": lambda event: shortened(event.key, name_width),
        "Self CPU %": lambda event: share(event.self_cpu_time_total),
        "Self CPU": lambda event: in_units(event.self_cpu_time_total, unit),
        "CPU total %": lambda event: share(event.cpu_time_total),
        "CPU total": lambda event: in_units(event.cpu_time_total, unit),
        "CPU time avg": lambda event: in_units(event.cpu_time, unit),
        "# of Calls": lambda event: str(event.count),
    }
    if any(event.input_shapes for event in rows):
        columns["Input Shapes"] = lambda event: shortened(str(event.input_shapes), shapes_width)
    shown = rows[:row_limit] if row_limit >= 0 else rows
    cells = {title: [text(event) for event in shown] for title, text in columns.items()}
    widths = [max(len(title), 12 if title != "Name" else 0, *map(len, texts)) for title, texts in cells.items()]
    rule = "  ".join("-" * width for width in widths) + "  "

    def line(texts: Iterable[str]) -> str:
        return "  ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True)) + "  "

    titled = [] if header is None else ["=" * len(rule), header]
    body = [line(row) for row in zip(*cells.values(), strict=True)]
    return "\n".join([*titled, rule, line(cells), rule, *body, rule, f"Self CPU time total: {in_units(whole, unit)}", ""])
