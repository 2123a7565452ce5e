"""Where to stop: breakpoints, which are written as text.

    nan, inf            where a gradient becomes NaN, or infinite: it is not before, and is after
    grad>100            where the largest element of a gradient, by its absolute value, grows beyond a number
    line:41             before the rules of what line 41 of the program computed
    line:model.py:41    the same of another file
    node:MulBackward0   before the rules of nodes of that name
    param:fc.weight     before a gradient is added to that of a leaf: of a parameter, or of a variable; `*` stands for any text

Those of the first two lines look at gradients: those that a rule gives, and sums of what has arrived.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any

import numpy as np

from .._errors import AdjointError
from ..autograd.anomaly import array_of
from ..autograd.node import Node
from ..autograd.stepping import Event
from .plan import Plan

FORMS = ("nan", "inf", "grad>100", "line:41", "line:model.py:41", "node:MulBackward0", "param:fc.weight")


class BreakpointError(AdjointError, ValueError):
    """A text that is no breakpoint."""


@dataclass(frozen=True)
class Breakpoint:
    """A place to stop at. `text` is how it is written."""

    text: str

    def reaches(self, plan: Plan) -> bool:
        """Whether a pass can come there, as far as that is known before."""
        return True

    def stops(self, event: Event, before: Iterable[Any], plan: Plan) -> bool:
        """Whether to stop at an event. `before`: the gradients from which those of the event were made."""
        raise NotImplementedError


@dataclass(frozen=True)
class Becomes(Breakpoint):
    """Stops where gradients begin to have a property."""

    holds: Callable[[Any], bool]

    def stops(self, event: Event, before: Iterable[Any], plan: Plan) -> bool:
        if event.kind not in ("incoming", "applied", "ready") or (event.kind == "ready" and event.node is not None):
            return False
        now = event.gradients if event.kind == "applied" else (event.gradient,)
        return any(map(self.of, now)) and not any(map(self.of, before))

    def of(self, gradient: Any) -> bool:
        if isinstance(gradient, tuple):
            return any(map(self.of, gradient))
        data = array_of(gradient)
        return data is not None and data.size > 0 and bool(self.holds(data))


@dataclass(frozen=True)
class AtLine(Breakpoint):
    """Stops at what a line has computed; of the program's own file where none is named."""

    file: str
    line: int

    def at(self, node: Node, plan: Plan) -> bool:
        site = node.site
        if site.line != self.line:
            return False
        parts = PurePath(self.file).parts
        return site.filename == plan.filename if not parts else PurePath(site.filename).parts[-len(parts) :] == parts

    def reaches(self, plan: Plan) -> bool:
        return any(self.at(place, plan) for place in plan.nodes)

    def stops(self, event: Event, before: Iterable[Any], plan: Plan) -> bool:
        return event.kind == "incoming" and event.node is not None and self.at(event.node, plan)


@dataclass(frozen=True)
class AtNode(Breakpoint):
    """Stops at nodes of a name."""

    name: str

    def reaches(self, plan: Plan) -> bool:
        return any(node.name() == self.name for node in plan.nodes)

    def stops(self, event: Event, before: Iterable[Any], plan: Plan) -> bool:
        return event.kind == "incoming" and event.node is not None and event.node.name() == self.name


@dataclass(frozen=True)
class AtLeaf(Breakpoint):
    """Stops at leaves by their names."""

    name: str

    def at(self, leaf: Any, plan: Plan) -> bool:
        name = plan.name_of(leaf)
        return bool(name) and (fnmatchcase(name, self.name) or fnmatchcase(name, f"*.{self.name}"))

    def reaches(self, plan: Plan) -> bool:
        return any(self.at(leaf, plan) for leaf in plan.leaves)

    def stops(self, event: Event, before: Iterable[Any], plan: Plan) -> bool:
        return event.kind == "ready" and event.node is None and self.at(event.target, plan)


def parse(text: str) -> Breakpoint:
    """
    >>> parse("line:model.py:41").line, parse("param:encoder.*").name
    (41, 'encoder.*')
    """
    written = text.strip()
    kind, _, rest = written.partition(":")
    if written == "nan":
        return Becomes(written, lambda data: bool(np.isnan(data).any()))
    if written == "inf":
        return Becomes(written, lambda data: bool(np.isinf(data).any()))
    if found := re.fullmatch(r"grad\s*>\s*(\S+)", written):
        try:
            limit = float(found[1])
        except ValueError:
            raise refused(text, f"{found[1]} is no number") from None
        return Becomes(written, lambda data: bool((np.abs(data) > limit).any()))
    if kind == "line":
        file, _, line = rest.rpartition(":")
        if not line.isdecimal():
            raise refused(text, f"{line or 'nothing'} is no line")
        return AtLine(written, file, int(line))
    if kind in ("node", "param"):
        if not rest:
            raise refused(text, "the name is missing")
        return (AtNode if kind == "node" else AtLeaf)(written, rest)
    raise refused(text, "it has none of the forms")


def refused(text: str, why: str) -> BreakpointError:
    return BreakpointError(f"this is no breakpoint: {text!r} ({why})", fix=f"write one of {', '.join(FORMS)}")
