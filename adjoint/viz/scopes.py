"""Boxes that open: which vertices belong to which call of a module, and blocks that repeat.

While `recording` lasts, hooks note at which numbers of the clock that orders all nodes each module was called and came
back; a node belongs to the innermost call that it was made in. Without that, the parameters that nodes read tell the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .._state import tick
from .collect import Edge, Vertex, elements

Path = tuple[str, ...]
MANY = 3  # blocks of the same kind in a row that become one box
LONG = 12  # nodes that are in no box, in sequences that repeat


@dataclass
class Scope:
    """A box: what is inside it, in the order in which it was made."""

    label: str  # the class of the module
    name: str  # where it is in its parent: `layers.0`, `fc1`
    items: list[Scope | int] = field(default_factory=list)
    times: int = 0  # how many equal blocks are inside; 0 for an ordinary box

    def vertices(self) -> Iterator[int]:
        waiting: list[Scope | int] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, int):
                yield item
            else:
                waiting.extend(reversed(item.items))

    def scopes(self) -> Iterator[Scope]:
        """This one and all inside, outer ones first."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting.extend(item for item in reversed(scope.items) if isinstance(item, Scope))


@dataclass
class Call:
    name: str
    path: Path
    label: str
    begin: int
    end: int = 0


@contextmanager
def recording(module: Any) -> Iterator[list[Call]]:
    """Note every call of the submodules of `module` inside the block."""
    calls: list[Call] = []
    running: list[Call] = []
    handles = []
    seen: dict[str, int] = {}
    for name, child in module.named_modules():

        def enter(module: Any, inputs: Any, name: str = name) -> None:
            seen[name] = seen.get(name, 0) + 1
            outer = f"{running[-1].name}." if running and running[-1].name else ""
            local = name.removeprefix(outer) or type(module).__name__  # `layers.0`: a ModuleList is not called itself
            again = f" (call {seen[name]})" if seen[name] > 1 else ""
            path = (*running[-1].path, local + again) if running else (local + again,)
            running.append(Call(name, path, type(module).__name__, tick()))
            calls.append(running[-1])

        def leave(module: Any, inputs: Any, output: Any) -> None:
            running.pop().end = tick()

        handles += [child.register_forward_pre_hook(enter), child.register_forward_hook(leave, always_call=True)]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def by_calls(vertices: Sequence[Vertex], calls: Sequence[Call]) -> tuple[list[Path], dict[Path, str]]:
    """The path of each vertex that a node is; leaves come later."""
    paths: list[Path] = [()] * len(vertices)
    ops = sorted((vertex for vertex in vertices if vertex.kind == "op"), key=lambda vertex: vertex.order)
    events = sorted([(call.begin, 1, call) for call in calls] + [(call.end, 0, call) for call in calls], key=lambda e: e[:2])
    running: list[Call] = []
    place = 0
    for vertex in ops:
        while place < len(events) and events[place][0] < vertex.order:
            _, begins, call = events[place]
            running.append(call) if begins else running.remove(call)
            place += 1
        paths[vertex.index] = running[-1].path if running else ()
    return paths, {call.path: call.label for call in calls}


def by_parameters(
    vertices: Sequence[Vertex], edges: Sequence[Edge], owners: Mapping[int, Path], labels: Mapping[Path, str]
) -> tuple[list[Path], dict[Path, str]]:
    """Tell the module of a node from the parameters that it reads; what lies between two modules belongs to what both are in.

    `owners`: the module of the parameter that a vertex is.
    """
    above: list[list[int]] = [[] for _ in vertices]
    below: list[list[int]] = [[] for _ in vertices]
    for edge in edges:
        above[edge.target].append(edge.source)
        below[edge.source].append(edge.target)
    ops = sorted((v.index for v in vertices if v.kind == "op"), key=lambda index: vertices[index].order)
    own: dict[int, Path] = {}
    turned: dict[int, Path] = dict(owners)  # parameters, and views of nothing but parameters
    for index in ops:
        if above[index] and all(source in turned for source in above[index]):
            turned[index] = turned[above[index][0]]
        paths = [turned[source] for source in above[index] if source in turned]
        if paths:
            own[index] = common(paths)
    before: dict[int, Path] = {}
    for index in ops:
        latest = [before[source] for source in above[index] if source in before]
        before_ = own.get(index) or (max(latest, key=len) if latest else None)
        if before_ is not None:
            before[index] = before_
    after: dict[int, Path] = {}
    result: list[Path] = [()] * len(vertices)
    for index in reversed(ops):
        nexts = [after[target] for target in below[index] if target in after]
        after_ = own.get(index) or (max(nexts, key=len) if nexts else None)
        if after_ is not None:
            after[index] = after_
        if index in own:
            result[index] = own[index]
        elif index in before and index in after:
            result[index] = common([before[index], *nexts])
    return result, dict(labels)


def common(paths: Sequence[Path]) -> Path:
    first, *others = paths
    length = len(first)
    for path in others:
        length = next((i for i in range(min(length, len(path))) if path[i] != first[i]), min(length, len(path)))
    return first[:length]


def tree(vertices: Sequence[Vertex], edges: Sequence[Edge], paths: list[Path], labels: Mapping[Path, str]) -> Scope:
    """Put the vertices into boxes; leaves go where all their readers are."""
    readers: list[list[int]] = [[] for _ in vertices]
    for edge in edges:
        readers[edge.source].append(edge.target)
    for vertex in vertices:
        if vertex.kind != "op" and readers[vertex.index]:
            paths[vertex.index] = common([paths[target] for target in readers[vertex.index]])
            vertex.order = min(vertices[target].order for target in readers[vertex.index])
    root = Scope("", "")
    known: dict[Path, Scope] = {(): root}
    for vertex in sorted(vertices, key=lambda vertex: (vertex.order, vertex.kind == "op", vertex.index)):
        path = paths[vertex.index]
        for depth in range(1, len(path) + 1):
            if path[:depth] not in known:
                known[path[:depth]] = Scope(labels.get(path[:depth], ""), path[depth - 1])
                known[path[: depth - 1]].items.append(known[path[:depth]])
        known[path].items.append(vertex.index)
    _simplify(root)
    _unwrap(root)
    _repeat(root, vertices)
    return root


def _simplify(root: Scope) -> None:
    """A box that holds nothing but another box says nothing: the inner one takes its place."""
    for scope in root.scopes():
        while len(scope.items) == 1 and isinstance(only := scope.items[0], Scope):
            if scope is not root:
                scope.label = only.label or scope.label
                scope.name = f"{scope.name}.{only.name}"
            scope.items = only.items


def _unwrap(root: Scope) -> None:
    """A box around a single node (an activation, say) shows less than the node itself."""
    for scope in reversed(list(root.scopes())):
        scope.items = [
            item.items[0] if isinstance(item, Scope) and len(item.items) == 1 and isinstance(item.items[0], int) else item
            for item in scope.items
        ]


def _repeat(root: Scope, vertices: Sequence[Vertex]) -> None:
    """Join equal neighbours, or sequences of neighbours that repeat, into one box that says how often."""
    signs: dict[int, Any] = {}
    numbers: dict[Any, int] = {}

    def sign(item: Scope | int) -> int:
        if isinstance(item, Scope):
            return signs[id(item)]  # type: ignore[no-any-return]
        vertex = vertices[item]
        leaf = vertex.kind != "op"
        return numbers.setdefault((vertex.kind, vertex.op, vertex.shape, "" if leaf else vertex.where), len(numbers))

    for scope in reversed(list(root.scopes())):  # inner ones first
        tokens = [sign(item) for item in scope.items]
        signs[id(scope)] = numbers.setdefault((scope.label, tuple(tokens)), len(numbers))
        runs = [run for run in _runs(tokens) if isinstance(scope.items[run[0]], Scope) or run[1] - run[0] >= LONG]
        if runs == [(0, len(tokens), len(tokens) // runs[0][2], runs[0][2])] if runs else False:
            continue  # all of it repeats: a box around it would hold nothing else
        items, at = [], 0
        for begin, end, period, times in runs:
            items += scope.items[at:begin]
            blocks: list[Scope | int] = []
            for start in range(begin, end, period):
                part = scope.items[start : start + period]
                blocks.append(part[0] if period == 1 else Scope("", f"step {len(blocks) + 1}", part))
            first, last = blocks[0], blocks[-1]
            label, name = "loop", ""
            if isinstance(first, int):
                label = vertices[first].op
            elif period == 1 and isinstance(last, Scope):
                label, name = first.label or "block", f"{first.name} … {last.name}"
            items.append(Scope(label, name, blocks, times))
            at = end
        scope.items = items + scope.items[at:]


def _runs(tokens: list[int]) -> list[tuple[int, int, int, int]]:
    """Find stretches that consist of one sequence several times: `(begin, end, length of the sequence, times)`."""
    result, at, count = [], 0, len(tokens)
    while at < count:
        best = (0, 0)
        for period in range(1, min(64, (count - at) // MANY) + 1):
            if tokens[at] != tokens[at + period]:
                continue
            end = at + period
            while end < count and tokens[end] == tokens[end - period]:
                end += 1
            times = (end - at) // period
            if times >= MANY and times * period > best[0]:
                best = (times * period, period)
        if best[0]:
            length, period = best
            result.append((at, at + length, period, length // period))
            at += length
        else:
            at += 1
    return result


def parameters_in(scope: Scope, vertices: Sequence[Vertex]) -> int:
    """How many numbers are in the parameters inside a box."""
    return sum(elements(vertices[index].shape) for index in scope.vertices() if vertices[index].kind == "parameter")
