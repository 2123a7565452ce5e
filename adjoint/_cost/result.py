"""What was measured: a `Cost` is a list of lines, a tree of what called what, and a timeline."""

from __future__ import annotations

import json
import linecache
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import Any

from .._site import notebook_cell, relative
from .measure import BACKWARD, Recorder, Spot


@dataclass
class Line:
    """A line of the program. Times are in seconds."""

    filename: str
    number: int  # 0: time outside of all lines, such as the start of the program
    calls: int = 0  # how often the line began; loops begin once
    forward: float = 0.0  # all that is not one of the next two
    backward: float = 0.0  # of the nodes that were recorded here, and of the passes that were started here
    optimizer: float = 0.0
    kept: int = 0  # bytes for backward, in the pass that needed most
    peak: int = 0  # bytes that were allocated at most, of what was allocated since measuring began
    elsewhere: float = 0.0  # spent here inside a backward pass, and counted where the node was recorded
    share: float = 0.0

    @property
    def total(self) -> float:
        return self.forward + self.backward + self.optimizer

    @property
    def file(self) -> str:
        """The file as messages name it: as seen from the working directory, or the number of a notebook's cell."""
        return f"cell {cell}" if (cell := notebook_cell(self.filename)) else relative(self.filename)

    @property
    def where(self) -> str:
        return f"{self.file}:{self.number}"

    @property
    def text(self) -> str:
        return linecache.getline(self.filename, self.number).strip() if self.number else "(outside of all lines)"


@dataclass(eq=False)
class Frame:
    """A place in the tree: a line, a module or a step of an optimizer that was called there, or the backward pass of what is above it."""

    name: str
    above: Frame | None = field(default=None, repr=False)
    own: float = 0.0  # seconds, without what is below
    below: dict[str, Frame] = field(default_factory=dict, repr=False)

    @property
    def stack(self) -> list[Frame]:
        """The frames from the root to this one."""
        found = [self]
        while (above := found[-1].above) is not None:
            found.append(above)
        return found[::-1]

    @property
    def total(self) -> float:
        return sum(frame.own for frame in self.walk())

    def walk(self) -> Iterator[Frame]:
        """This frame and all below it, each before what it called."""
        waiting = [self]
        while waiting:
            frame = waiting.pop()
            yield frame
            waiting += reversed(frame.below.values())


class Cost:
    """What each line of a program costs. `print(cost)` shows the table; `profiler.lines` makes one."""

    def __init__(self) -> None:
        self.wall = 0.0  # seconds from beginning to end
        self.overhead = 0.0  # those of them that measuring took, which belong to no line
        self.lines: list[Line] = []  # by file and number
        self.tree = Frame("all")
        self.result: Any = None  # of the function that was measured
        self.with_peaks = False
        self._timeline: list[tuple[Frame, int, int]] = []  # what ran, from when to when in nanoseconds

    def measured(self, recorder: Recorder) -> None:
        """Take over what a recorder has found."""
        times = [spot.net() for spot in recorder.spots]
        self.wall = (recorder.ended - recorder.started) / 1e9
        self.with_peaks = recorder.memory
        self.lines = lines_of(recorder, times)
        total = sum(line.total for line in self.lines)
        self.overhead = self.wall - total
        for line in self.lines:
            line.share = line.total / total if total else 0.0
        frames = grow(self.tree, recorder.spots, times)
        rows = iter(recorder.timeline[: 3 * recorder.intervals])
        for what, begin, end in zip(rows, rows, rows, strict=True):
            place, phase = divmod(what, 3)
            self._timeline.append((frames[place][phase == BACKWARD], begin - recorder.started, end - recorder.started))

    # ---- as text ----------------------------------------------------------------------------------------------------------------

    def table(self, top: int | None = None, sort: str = "source") -> str:
        """The lines as text: in the order of the source, or by `total`, `forward`, `backward`, `optimizer`, `calls`, `kept` or `peak`;
        the `top` most expensive ones, or those that matter."""
        from .table import table

        return table(self, top, sort)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Cost of {len(self.lines)} lines, {self.wall:.3g} s>"

    def _repr_html_(self) -> str:
        from .page import framed

        return framed(self)

    # ---- as files ---------------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """All that is in the table, for programs to read. Times are in seconds, sizes in bytes."""
        names = ("calls", "forward", "backward", "optimizer", "total", "share", "kept", *(["peak"] if self.with_peaks else []), "text")
        rows = [{"file": one.filename, "line": one.number} | {name: getattr(one, name) for name in names} for one in self.lines]
        return {"wall": self.wall, "overhead": self.overhead, "lines": rows}

    def export_json(self, path: str | os.PathLike[str]) -> None:
        write(path, self.as_dict())

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """A page that needs nothing else: each file with the heat of its lines, and what called what."""
        from .page import page

        Path(path).write_text(page(self), encoding="utf-8")

    def export_speedscope(self, path: str | os.PathLike[str]) -> None:
        """For speedscope.app, in the order of time."""
        names: dict[str, int] = {}
        profile = {
            "type": "sampled", "name": "cost by line", "unit": "nanoseconds", "startValue": 0,
            "endValue": self._timeline[-1][2] if self._timeline else 0,
            "samples": [[names.setdefault(one.name, len(names)) for one in frame.stack] for frame, _, _ in self._timeline],
            "weights": [end - start for _, start, end in self._timeline],
        }  # fmt: skip
        schema = "https://www.speedscope.app/file-format-schema.json"
        write(path, {"$schema": schema, "shared": {"frames": [{"name": name} for name in names]}, "profiles": [profile]})

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """For a trace viewer, such as Perfetto or that of a browser."""
        write(path, {"displayTimeUnit": "ms", "traceEvents": list(self.traced())})

    def traced(self) -> Iterator[dict[str, Any]]:
        """The timeline as events: frames that two neighbouring stacks share go on."""
        running: list[tuple[Frame, int]] = []  # and since when

        def leave(depth: int, now: int) -> Iterator[dict[str, Any]]:
            while len(running) > depth:
                frame, start = running.pop()
                times = {"ts": start / 1e3, "dur": (now - start) / 1e3}  # in microseconds
                yield {"ph": "X", "name": frame.name, "cat": "line", "pid": os.getpid(), "tid": 0, **times}

        last = 0
        for frame, start, end in self._timeline:
            stack = frame.stack
            shared = takewhile(lambda pair: pair[0][0] is pair[1], zip(running, stack, strict=False))
            yield from leave(len(list(shared)), last)
            running += [(one, start) for one in stack[len(running) :]]
            last = end
        yield from leave(0, last)


def lines_of(recorder: Recorder, times: list[list[float]]) -> list[Line]:
    """The lines of all spots, by file and number."""
    found: dict[tuple[str, int], Line] = {}
    counts: dict[tuple[str, int], dict[CodeType | None, Counter[int]]] = {}  # of lines: by code object and instruction

    def line(key: tuple[str, int]) -> Line:
        return found.setdefault(key, Line(*key))

    for spot, (forward, backward, optimizer) in zip(recorder.spots, times, strict=True):
        payer = line(spot.owner.key)
        payer.forward += forward
        payer.backward += backward
        payer.optimizer += optimizer
        payer.peak = max(payer.peak, spot.peak)
        if not spot.label:
            if spot.owner is not spot:
                line(spot.key).elsewhere += backward
            counts.setdefault(spot.key, {}).setdefault(spot.code, Counter())[spot.offset] += spot.calls
    for key, by_code in counts.items():
        # Of its code objects the outermost, since a lambda or a comprehension within the line has one of its own. Of its instructions the
        # one that ran first: loops come back to others than they began with, and so do expressions over several lines.
        line(key).calls = next(iter(next(iter(by_code.values())).values()))
    for key, size in recorder.kept.items():
        line(key).kept = size
    return [found[key] for key in sorted(found) if found[key].number or found[key].total]


def grow(root: Frame, spots: list[Spot], times: list[list[float]]) -> list[tuple[Frame, Frame]]:
    """Put spots into a tree in which each line, module and step stands once below what called it. Returns the frames of each spot: for
    itself, and for what ran of it in backward passes."""
    frames: list[tuple[Frame, Frame]] = []
    for spot, (forward, backward, optimizer) in zip(spots, times, strict=True):
        frame = back = root if spot.parent is None else below(frames[spot.parent.index][spot.in_backward], spot_name(spot))
        if not spot.in_backward and spot.times[BACKWARD]:
            back = below(frame, "backward")
        frame.own += forward + optimizer
        back.own += backward
        frames.append((frame, back))
    return frames


def below(frame: Frame, name: str) -> Frame:
    return frame.below.setdefault(name, Frame(name, frame))


def spot_name(spot: Spot) -> str:
    line = Line(*spot.key)
    return spot.label or f"{line.text} ({line.where})"


def write(path: str | os.PathLike[str], value: Any) -> None:
    Path(path).write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")
