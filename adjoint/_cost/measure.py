"""Measuring: every nanosecond belongs to one line.

Python tells a trace function of each line of the user's files before it runs, and of each call. The time from one such event to the next
belongs to the line that runs in the innermost frame of the user's, whatever library it has called. In a backward pass the engine tells
which node runs (a Watch); that time belongs to the line that recorded the node, also where the node is a custom function of the user's.
So the lines add up to the time of the whole.

To be told takes time itself. What passes in here is measured and left out. What Python needs to come here is calibrated with lines and ops
that do next to nothing, and taken off each line as often as it happened there.

Ops take their usual path, since no bit of the mode is set. Nothing in this module is imported before somebody measures.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import tracemalloc
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from functools import cache
from importlib.util import find_spec
from threading import get_ident
from time import perf_counter_ns as clock
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._creation import ones
from .._dtype import float32
from .._site import Site, is_user
from .._state import tick
from .._tensor import Tensor
from .._watching import TimedWatch, recorders
from ..autograd import anomaly
from ..autograd.engine import reachable, target_of
from ..autograd.node import Edge, Node
from ..autograd.packed import Packed
from ..autograd.saved import SavedOutput
from ..nn.module import Module
from ..optim.optimizer import Optimizer, _with_hooks

FORWARD, BACKWARD, OPTIMIZER = range(3)

USERS, LIBRARY, MARKED = range(3)  # kinds of files; in a marked one there is a function that has a place in the tree
MODULE_CALL = Module.__call__.__code__
STEP = _with_hooks(Optimizer.step).__code__  # around the step of every optimizer

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
NOTHING = "<lines that do nothing>"  # a file for calibration
TRIES = 20

INTERVALS = 400_000  # of the timeline, which ends there; sums go on
JOURNAL = 200_000  # stretches of the clock of nodes that are remembered


class Spot:
    """A place in the tree of what called what: a line of the user's in one frame, or a module or an optimizer's step below one."""

    __slots__ = (
        "calls", "children", "code", "in_backward", "index", "label", "line", "module", "offset", "owed",
        "owner", "parent", "peak", "times",
    )  # fmt: skip

    def __init__(self, index: int, parent: Spot | None, code: CodeType | None, offset: int, line: int, label: str = "") -> None:
        self.index = index
        self.parent = parent
        self.code, self.offset, self.line, self.label = code, offset, line, label
        self.owner = self  # whose line pays
        self.in_backward = False  # whether it runs in the backward pass of what is above it
        self.module: Callable[[], Any] | None = None
        self.children: dict[tuple[int, int, bool], Spot] = {}
        self.calls = self.peak = 0
        self.times = [0, 0, 0]  # in nanoseconds, by phase
        self.owed = [0.0, 0.0, 0.0]  # what of that Python needed to tell of it

    @property
    def filename(self) -> str:
        return "" if self.code is None else self.code.co_filename

    @property
    def key(self) -> tuple[str, int]:
        return self.filename, self.line

    def net(self) -> list[float]:
        """Seconds by phase, without those for telling of them."""
        return [max(0.0, time - owed) / 1e9 for time, owed in zip(self.times, self.owed, strict=True)]


class Telling(NamedTuple):
    """What Python needs, in nanoseconds, to tell of a line, of a call in a library, and of an element of a comprehension."""

    line: float = 0.0
    call: float = 0.0
    element: float = 0.0


class Running:
    """A frame that has a place in the tree: what Python tells of it comes here."""

    __slots__ = ("above", "parent", "phase", "recorder")

    def __init__(self, recorder: Recorder, phase: int) -> None:
        self.recorder = recorder
        self.parent = recorder.spot
        self.phase = phase
        self.above = recorder.spot, recorder.phase  # where to go on when it returns

    def event(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        recorder = self.recorder
        if event == "line":
            now = recorder.charge()
            spot = recorder.line_below(self.parent, frame.f_code, frame.f_lasti, self.phase)
            spot.calls += 1
            recorder.go_on(spot, self.phase, now)
        elif event == "return":
            recorder.go_on(*self.above, recorder.charge())
        return self.event


class Recorder:
    """Charges the time of one thread to spots."""

    def __init__(self, telling: Telling, memory: bool = False, packages: Sequence[str] = ()) -> None:
        self.telling = telling
        self.memory = memory
        self.folders = tuple(folder for package in packages for folder in folders_of(package))
        self.thread = get_ident()
        self.kinds: dict[str, int] = {MODULE_CALL.co_filename: MARKED, STEP.co_filename: MARKED}
        self.numbers: dict[tuple[int, int], tuple[CodeType, int]] = {}  # of lines, by code and instruction; -1: how many there are
        self.spots: list[Spot] = []
        self.root = self.spot = self.add(None, None, -1, 0, "outside of all lines")
        self.phase = FORWARD
        self.owed = 0.0  # since the clock was started
        self.lost = 0  # spent in here
        self.timeline = array("q", bytes(24 * INTERVALS))  # three numbers each: 3 * spot + phase, beginning, end
        self.intervals = 0
        self.begins: list[int] = []  # the journal: from which number on nodes were recorded
        self.ends: list[int] = []
        self.makers: list[Spot] = []
        self.kept: dict[tuple[str, int], int] = {}  # bytes that lines kept for backward
        self.started = self.ended = self.since = 0
        self.number = 0

    # ---- from where to where ----------------------------------------------------------------------------------------------------

    def start(self, frame: FrameType) -> None:
        """Measure from now on, in all frames of the user's that are running already."""
        if anomaly.timed is not None and isinstance(getattr(anomaly.timed, "__self__", None), Recorder):
            raise RuntimeError("profiler.lines() is running already\n  fix: measure one block at a time")
        frames: list[FrameType] = []
        above: FrameType | None = frame
        while above is not None:
            frames.append(above)
            above = above.f_back
        self.frames = [one for one in reversed(frames) if self.kind(one.f_code.co_filename) == USERS]
        self.traced_before = [one.f_trace for one in self.frames]
        for one in self.frames:
            one.f_trace = Running(self, FORWARD).event
            self.spot = self.line_below(self.spot, one.f_code, one.f_lasti, FORWARD, one.f_lineno)
        self.spot.calls += bool(self.frames)
        self.tracer_before = sys.gettrace()
        self.allocations_before = tracemalloc.is_tracing()
        if self.memory and not self.allocations_before:
            tracemalloc.start()
        anomaly.timed = self.watch
        self.number = tick()
        self.started = self.since = clock()
        sys.settrace(self.call)

    def stop(self) -> None:
        sys.settrace(self.tracer_before)
        self.charge()
        self.ended = clock()
        for frame, trace in zip(self.frames, self.traced_before, strict=True):
            frame.f_trace = trace
        anomaly.timed = TimedWatch if recorders else None
        if self.memory and not self.allocations_before:
            tracemalloc.stop()

    # ---- what Python tells ------------------------------------------------------------------------------------------------------

    def call(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        kind = self.kinds.get(code.co_filename)
        if kind is None:
            kind = self.kind(code.co_filename)
        if kind == USERS:
            if code.co_name in COMPREHENSIONS and self.is_one_line(code):
                self.owed += self.telling.element
                return None
            return Running(self, self.phase_below(frame.f_back)).event
        if kind == MARKED and (code is MODULE_CALL or code is STEP):
            now = self.charge()
            running = Running(self, self.phase if code is MODULE_CALL else OPTIMIZER)
            spot = self.object_below(self.spot, frame.f_locals["self"], running.phase)
            spot.calls += 1
            frame.f_trace_lines = False
            self.go_on(spot, running.phase, now)
            return running.event
        self.owed += self.telling.call
        return None

    def is_one_line(self, code: CodeType) -> bool:
        """Whether a comprehension stands on one line: then it is a part of that line, and not told of element by element."""
        known = self.numbers.get((id(code), -1))
        if known is None:
            known = self.numbers[id(code), -1] = code, len({line for _, _, line in code.co_lines() if line is not None})
        return known[1] == 1

    def phase_below(self, caller: FrameType | None) -> int:
        """The phase of a function of the user's. An optimizer of their own is one; what an optimizer calls, such as a closure, is not."""
        if self.phase == OPTIMIZER and caller is not None and caller.f_code is not STEP and self.kind(caller.f_code.co_filename) != USERS:
            return FORWARD
        return self.phase

    def kind(self, filename: str) -> int:
        if filename not in self.kinds:
            self.kinds[filename] = LIBRARY if self.is_library(filename) else USERS
        return self.kinds[filename]

    def is_library(self, filename: str) -> bool:
        if filename.startswith(self.folders):
            return False
        if filename.startswith("<"):  # made by exec: a notebook and a doctest have a source to show, a dataclass has none
            return filename.startswith("<frozen ") or not linecache.getlines(filename)
        installed = filename.startswith(libraries()) or "site-packages" in filename or "dist-packages" in filename
        return installed or not is_user(filename)

    # ---- the clock --------------------------------------------------------------------------------------------------------------

    def charge(self) -> int:
        """Stop the clock, and charge what it shows to where the program is."""
        now = clock()
        spot, phase = self.spot, self.phase
        spot.times[phase] += now - self.since
        spot.owed[phase] += self.owed + self.telling.line
        self.owed = 0.0
        if self.intervals < INTERVALS:
            place = 3 * self.intervals
            self.timeline[place], self.timeline[place + 1], self.timeline[place + 2] = 3 * spot.index + phase, self.since, now
            self.intervals += 1
        number = tick()
        if number > self.number + 1:  # something was recorded
            self.begins.append(self.number)
            self.ends.append(number)
            self.makers.append(spot)
            if len(self.begins) > 2 * JOURNAL:
                del self.begins[:JOURNAL], self.ends[:JOURNAL], self.makers[:JOURNAL]
        self.number = number
        if self.memory:
            spot.peak = max(spot.peak, tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
        return now

    def go_on(self, spot: Spot, phase: int, stopped: int) -> None:
        self.spot, self.phase = spot, phase
        self.owed = 0.0  # what was told of since was done in here
        self.since = now = clock()
        self.lost += now - stopped

    # ---- the tree ---------------------------------------------------------------------------------------------------------------

    def add(self, parent: Spot | None, code: CodeType | None, offset: int, line: int, label: str = "") -> Spot:
        spot = Spot(len(self.spots), parent, code, offset, line, label)
        self.spots.append(spot)
        return spot

    def line_below(self, parent: Spot, code: CodeType, offset: int, phase: int, line: int | None = None) -> Spot:
        """A line in a frame that was called from `parent`. In a backward pass the line pays that recorded what is running."""
        key = id(code), offset, phase == BACKWARD
        spot = parent.children.get(key)
        if spot is None:
            spot = parent.children[key] = self.add(parent, code, offset, line or self.line_at(code, offset))
            if phase == BACKWARD:
                spot.owner, spot.in_backward = parent.owner, True
        return spot

    def object_below(self, parent: Spot, thing: Any, phase: int) -> Spot:
        """The call of a module, or the step of an optimizer."""
        key = id(thing), -1, phase == BACKWARD
        spot = parent.children.get(key)
        if spot is None or spot.module is None or spot.module() is not thing:
            kind = type(thing).__name__
            label = f"{name_in(parent, thing)} {kind}".strip() if isinstance(thing, Module) else f"{kind}.step"
            spot = parent.children[key] = self.add(parent, parent.code, parent.offset, parent.line, label)
            spot.owner, spot.in_backward = parent.owner, phase == BACKWARD
            spot.module = ref(thing)
        return spot

    def line_at(self, code: CodeType, offset: int) -> int:
        known = self.numbers.get((id(code), offset))
        if known is None:
            known = self.numbers[id(code), offset] = code, Site(code, offset).line  # with the code, so that no other gets its id
        return known[1]

    def maker_of(self, node: Node) -> Spot:
        """Where a node was recorded. The journal knows it; nodes from before it began, or from other threads, only know their line."""
        place = bisect_right(self.begins, node.seq) - 1
        spot = self.makers[place] if place >= 0 and node.seq <= self.ends[place] else None
        code = node.code
        if code is None or self.kind(code.co_filename) != USERS:
            return spot or self.spot
        if spot is not None and spot.owner.key == (code.co_filename, self.line_at(code, node.offset)):
            return spot
        in_this_frame = spot is not None and spot.code is code and not spot.label  # in an expression over several lines
        parent = spot.parent if in_this_frame and spot is not None else None
        return self.line_below(parent or self.root, code, node.offset, FORWARD)

    # ---- backward ---------------------------------------------------------------------------------------------------------------

    def watch(self, roots: Sequence[Edge]) -> anomaly.Watch | None:
        if get_ident() == self.thread:
            return LineWatch(self, roots)
        return TimedWatch(roots) if recorders else None

    def note_kept(self, roots: Sequence[Edge]) -> None:
        """Add up what the nodes of a graph keep, each piece of memory where it was kept first. That of leaves is there anyway."""
        nodes = sorted(reachable(roots), key=lambda node: node.seq)
        leaves = (target_of(edge) for node in nodes for edge in node.next)
        seen = {memory_of(leaf._data) for leaf in leaves if isinstance(leaf, Tensor) and isinstance(leaf._data, np.ndarray)}
        found: dict[tuple[str, int], int] = {}
        for node in nodes:
            for kept in arrays_in(node.saved):
                if (memory := memory_of(kept)) not in seen:
                    seen.add(memory)
                    key = self.maker_of(node).owner.key
                    found[key] = found.get(key, 0) + kept.nbytes
        for key, size in found.items():
            self.kept[key] = max(size, self.kept.get(key, 0))


class LineWatch(TimedWatch):
    """Follows a backward pass for a Recorder, and for the profiles that run besides."""

    def __init__(self, recorder: Recorder, roots: Sequence[Edge]) -> None:
        super().__init__(roots)
        self.recorder = recorder
        self.outer = recorder.spot, recorder.phase

    def begin(self, roots: Sequence[Edge], gradients: Sequence[Any], keeps_graph: bool) -> None:
        recorder = self.recorder
        now = recorder.charge()
        self.outer = recorder.spot, recorder.phase
        recorder.note_kept(roots)
        recorder.go_on(recorder.spot, BACKWARD, now)

    def arrive(self, target: Any, g: Any) -> None:
        if isinstance(target, Node):
            self.go_to(target)  # whose hooks are about to run

    def enter(self, node: Node, g: Any) -> None:
        if recorders:
            super().enter(node, g)
        else:
            self.node = node
        self.go_to(node)

    def go_to(self, node: Node) -> None:
        now = self.recorder.charge()
        self.recorder.go_on(self.recorder.maker_of(node), BACKWARD, now)

    def end(self) -> None:
        self.recorder.go_on(*self.outer, self.recorder.charge())

    def fail(self, node: Any) -> None:
        self.end()
        super().fail(node)


# ---- helpers ------------------------------------------------------------------------------------------------------------------------


@cache
def libraries() -> tuple[str, ...]:
    """Where Python's own files and installed packages are."""
    paths = sysconfig.get_paths()
    return tuple({f"{paths[name]}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def folders_of(package: str) -> Iterator[str]:
    """Where the files of a package are, or the file of a module."""
    found = find_spec(package)
    if found is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    if found.submodule_search_locations is None:
        yield str(found.origin)
    else:
        yield from (f"{folder}{os.sep}" for folder in found.submodule_search_locations)


def name_in(spot: Spot | None, module: Module) -> str:
    """What the module that is running around it calls a module; empty if it is the outermost one."""
    while spot is not None:
        outer = None if spot.module is None else spot.module()
        if isinstance(outer, Module):
            return next((name for name, one in outer.named_modules() if one is module), "")
        spot = spot.parent
    return ""


def memory_of(data: np.ndarray) -> tuple[int, int, int]:
    """The same for arrays that hold the same memory. Most have it to themselves, and to ask for an address takes a microsecond."""
    owner = data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    size = data.nbytes
    return id(owner), size, 0 if owner.nbytes == size else data.__array_interface__["data"][0]


def arrays_in(saved: Any) -> Iterator[np.ndarray]:
    """The arrays among what a node keeps."""
    waiting = [saved]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple | list):
            waiting += value
        elif isinstance(value, SavedOutput):
            waiting.append(value.array)
        elif isinstance(value, Packed):
            waiting.append(value.value)
        elif isinstance(value, Tensor):
            waiting.append(value._data)
        elif isinstance(value, np.ndarray):
            yield value


@cache
def calibrated() -> Telling:
    """Let Python tell of much that does next to nothing, and see what that takes."""
    scope: dict[str, Any] = {}
    source = "def lines():\n" + "    x = 1\n" * 400 + "def elements():\n    sum(1 for _ in range(400))\n"
    exec(compile(source, NOTHING, "exec"), scope)
    one = ones((), dtype=float32, device="cpu")
    weight = ones((), dtype=float32, device="cpu", requires_grad=True)

    def calls() -> None:
        for _ in range(40):
            (one[None].reshape(-1) * weight).sum()

    runs = {"line": scope["lines"], "call": calls, "element": scope["elements"]}
    return Context().run(lambda: Telling(**{kind: price(kind, run) for kind, run in runs.items()}))  # whatever mode is on here


def price(kind: str, run: Callable[[], Any]) -> float:
    """What it takes to be told of something, by a function in which there is much of it."""
    recorder = Recorder(Telling(**{kind: 1.0}))  # which counts
    recorder.kinds[NOTHING] = USERS
    plain = least(run, recorder)
    tracer = sys.gettrace()
    recorder.since = clock()
    sys.settrace(recorder.call)
    try:
        told = least(run, recorder)
    finally:
        sys.settrace(tracer)
    count = (recorder.owed + sum(spot.owed[FORWARD] for spot in recorder.spots)) / TRIES
    return max(0.0, (told - plain) / count)


def least(run: Callable[[], Any], recorder: Recorder) -> int:
    """The nanoseconds that something takes when nothing else interferes, without those spent in a recorder."""
    found = []
    for _ in range(TRIES):
        lost, begin = recorder.lost, clock()
        run()
        found.append(clock() - begin - (recorder.lost - lost))
    return min(found)
