"""The debugger without a front end: a backward pass, where it stands, and what can be done there.

A pass stands at an event of `autograd.steps`, of those that are worth a stop:

    incoming     a node, before its rule runs
    applied      the same node, after its rule has run: `step` stops there, and breakpoints that look at gradients
    ready        a leaf that has received all, before its `.grad` is written
    captured     a result whose gradient was asked for by `inputs`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import FrameType
from typing import Any

import numpy as np

from .._errors import AdjointError
from .._site import Site
from .._tensor import Tensor
from ..autograd.engine import as_tensor, reachable
from ..autograd.grad_mode import no_grad
from ..autograd.hooks import checked
from ..autograd.node import Freed, Node
from ..autograd.saved import public_names, saved_by_name
from ..autograd.stepping import Event, Steps, array_of_copy, slots_of
from .breakpoints import Breakpoint, parse
from .differences import Comparison, compare
from .plan import Plan
from .values import Values


class DebuggerError(AdjointError, RuntimeError):
    """Something that cannot be done where the pass stands."""


class Session:
    """A backward pass in the debugger. `frame` is where it was asked for: its variables give names.

    >>> import sys
    >>> import adjoint as ad
    >>> x = ad.tensor(2.0, requires_grad=True)
    >>> session = Session(ad.autograd.steps(x**2 + 3 * x), sys._getframe(), ["param:x"])
    >>> print(session.next())
    AddBackward0 is given 1.0
    >>> print(session.go_on())
    leaf of shape [] is ready: 7.0 has arrived
    >>> session.replace(1.0).gradient, session.back().node.name()
    (tensor(1.), 'PowBackward0')
    >>> session.finish()
    >>> x.grad
    tensor(1.)
    """

    def __init__(self, steps: Steps, frame: FrameType, breakpoints: Sequence[str | Breakpoint] = ()) -> None:
        self.breakpoints: dict[int, Breakpoint] = {}
        for one in breakpoints:
            self.add(one)
        self.steps = steps
        self.variables = {**frame.f_globals, **frame.f_locals}  # not the frame, which may hold this session and would be held by it
        self.site = Site(frame.f_code, frame.f_lasti)
        self.plan = Plan(steps, frame)
        self.event: Event | None = None  # where it stands; None before the first stop and after the last event
        self.ended = False
        self.begun = 1  # how often the pass was begun
        self.edited: dict[int, Event] = {}  # the events whose gradients were replaced, as they were before, by their places
        self._edits: dict[int, list[tuple[Tensor, int]]] = {}  # and what was put in their place
        self._led: dict[Any, list[Any]] = {}  # by node or leaf: the gradients that were delivered there
        self._given: Any = None  # what the last rule was given

    # ---- breakpoints -----------------------------------------------------------------------------------------------------------------

    def add(self, breakpoint: str | Breakpoint) -> int:
        """Add a breakpoint, and return its number."""
        made = parse(breakpoint) if isinstance(breakpoint, str) else breakpoint
        number = max(self.breakpoints, default=0) + 1
        self.breakpoints[number] = made
        return number

    def delete(self, number: int) -> Breakpoint:
        if number not in self.breakpoints:
            raise DebuggerError(f"there is no breakpoint {number}", fix=f"one of {sorted(self.breakpoints)}" if self.breakpoints else None)
        return self.breakpoints.pop(number)

    def matching(self, event: Event) -> int | None:
        """The number of the first breakpoint that stops here."""
        before = [self._given] if event.kind == "applied" else self._led.get(event.node or event.target, [])
        return next((number for number, one in self.breakpoints.items() if one.stops(event, before, self.plan)), None)

    # ---- going -----------------------------------------------------------------------------------------------------------------------

    def next(self) -> Event | None:
        """Go on to the next node or leaf; None at the end."""
        return self._until(is_place)

    def step(self) -> Event | None:
        """Go on to the next event that is worth a stop: after a node's rule has run, too."""
        return self._until(lambda event: is_place(event) or event.kind == "applied")

    def go_on(self) -> Event | None:
        """Go on to the next breakpoint; None at the end."""
        return self._until(lambda event: self.matching(event) is not None)

    def finish(self) -> None:
        """Go on to the end."""
        self._until(lambda event: False)

    def _until(self, stops: Callable[[Event], bool]) -> Event | None:
        for event in self.steps:
            found = stops(event)
            self._follow(event)
            if found:
                self.event = event
                return event
        self.event, self.ended = None, True
        return None

    def _follow(self, event: Event) -> None:
        """Remember what the next gradients are made from."""
        if event.kind == "delivered" and event.node is not None:
            self._led.setdefault(event.target, []).append(event.gradient)
        elif event.kind == "incoming":
            self._given = event.gradient
        elif event.kind in ("applied", "accumulated") and not self.steps.keep:
            self._led.pop(event.node or event.target, None)

    def back(self) -> Event | None:
        """Go back to the node or leaf before; None at the beginning."""
        if not self.steps.keep:
            raise DebuggerError("this pass keeps no gradients that it could go back to")
        self.ended = False
        if self.event is not None:
            self.steps.back()
        while self.steps.position:
            event = self.steps.events[self.steps.position - 1]
            if is_place(event):
                self.event = event
                self._given = event.gradient if event.kind == "incoming" else None
                return event
            self.steps.back()
        self.event = None
        return None

    def undo(self) -> None:
        """Go back to the beginning, and end the pass there: nothing of it remains."""
        while self.steps.keep and self.steps.position:
            self.steps.back()
        self.event, self.ended = None, True
        self.steps.close()

    # ---- looking ---------------------------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """The node at which the pass stands."""
        if self.event is None or not isinstance(self.event.node, Node):
            raise DebuggerError("the pass stands at no node" if self.event is None else "the pass stands at a leaf, which has no rule")
        return self.event.node

    @property
    def given(self) -> tuple[Any, ...]:
        """The gradients that came to where the pass stands: one, or one for each output of a node."""
        if self.event is None:
            return ()
        gradient = self._given if self.event.kind == "applied" else self.event.gradient
        return gradient if isinstance(gradient, tuple) else (gradient,)

    @property
    def gives(self) -> dict[str, Any]:
        """What the rule gave, by the names of the inputs; empty if it has not run yet."""
        return {} if self.event is None or self.event.kind != "applied" else dict(zip(self.inputs, self.event.gradients, strict=True))

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs to which gradients go."""
        return input_names(self.node)

    @property
    def saved(self) -> dict[str, Any]:
        """What the node keeps for its rule, by PyTorch's names."""
        node = self.node
        if isinstance(node.saved, Freed) or node.saved is None:
            return {}
        if node.op is None:
            return {f"saved_tensors[{place}]": one for place, one in enumerate(getattr(node, "saved_tensors", ()))}
        return {public_names(node.op, name)[0]: saved_by_name(name, node) for name in node.layout}

    def around(self, count: int = 4) -> list[tuple[int, Any]]:
        """The places around where the pass stands, with their numbers."""
        here = self.number or (len(self.plan.places) if self.ended else 1)
        first = max(1, here - count)
        return [(number, self.plan.places[number - 1]) for number in range(first, min(len(self.plan.places), here + count) + 1)]

    @property
    def number(self) -> int | None:
        """The number of the place at which the pass stands."""
        return None if self.event is None else self.plan.number.get(self.event.node or self.event.target)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Inside the block nothing has happened yet, so that nothing is freed. (A pass that is not kept stays as it is.)"""
        done = self.steps.position if self.steps.keep else 0
        for _ in range(done):
            self.steps.back()
        try:
            yield
        finally:
            for _ in range(done):
                next(self.steps)

    @cached_property
    def values(self) -> Values:
        """The values of the graph."""
        with self.undone():
            return Values(reachable(self.roots))

    @property
    def roots(self) -> Sequence[Any]:
        """The edges at which the pass starts."""
        watch = self.steps.task.watch
        assert watch is not None
        return watch.roots

    # ---- changing and checking -------------------------------------------------------------------------------------------------------

    def replace(self, value: Any, input: str | int | None = None) -> Event:
        """Let another gradient go on from here: a tensor, or a number for all elements. After a rule has run, `input` says of which input
        (its name, or its place among `inputs`), where there are several; before, which output. Where the pass has gone on from here and
        came back, it is made again up to here, so hooks and custom functions run once more."""
        event = self.event
        if event is None:
            raise DebuggerError("the pass stands nowhere, so there is no gradient to replace", fix="go to a node or leaf: next")
        told = event.gradients if event.kind == "applied" else event.gradient if isinstance(event.gradient, tuple) else (event.gradient,)
        place = self.place_of(input)
        if not isinstance(value, Tensor) and told[place] is not None:
            value = told[place].new_full(told[place].shape, value)
        checked(value, told[place], self.replace)
        if self.steps.keep and self.steps.position < len(self.steps.events):
            self._begin_anew()
        self.event = self.steps.replace(value, place)
        self.edited.setdefault(self.steps.position - 1, event)
        self._edits.setdefault(self.steps.position - 1, []).append((value, place))
        self._follow(self.event)
        return self.event

    def _begin_anew(self) -> None:
        """Make the pass again up to here, since it has gone on: with the gradients that were replaced before, and none of those after."""
        here = self.steps.position
        self.steps = self.steps.again()
        self.edited = {place: event for place, event in self.edited.items() if place < here}
        self._edits = {place: made for place, made in self._edits.items() if place < here}
        for place in range(here):
            self._follow(next(self.steps))
            for value, which in self._edits.get(place, []):
                self._follow(self.steps.replace(value, which))
        self.begun += 1

    def is_edited(self, place: int) -> bool:
        """Whether a gradient here, by its place among those that can be replaced, was replaced."""
        return any(place == which for _, which in self._edits.get(self.steps.position - 1, []))

    def place_of(self, input: str | int | None) -> int:
        """The place of a gradient among those that can be replaced here."""
        names = list(self.gives) or [str(place) for place in range(len(self.given))]
        count = len(names)
        if input is None and count == 1:
            return 0
        if str(input) in names:
            return names.index(str(input))
        if str(input).isdecimal() and int(str(input)) < count:
            return int(str(input))
        raise DebuggerError(f"which of {count} gradients shall be replaced?", fix=f"name one of {', '.join(names)}")

    def check(self) -> Comparison:
        """Compare the rule of the node at which the pass stands with finite differences."""
        node = self.node
        given = tuple(array_of_copy(one) for one in self.given)
        assert self.event is not None
        finite = all(one is None or one.dtype.kind not in "fc" or np.isfinite(one).all() for one in given)
        if self.event.kind == "applied" and (finite or node.op is None):
            gave = tuple(array_of_copy(one) for one in self.event.gradients)
        elif node.op is None or all(one is None for one in given):
            gave = ()
        else:  # an op's rule changes nothing, so it can as well run now
            if not finite:  # of an infinity nothing can be measured
                given = tuple(None if one is None else np.ones_like(one) for one in given)
            with no_grad(), np.errstate(all="ignore"):
                made = node.apply(given[0] if node.outputs is None else list(given))
            gave = tuple(array_of_copy(as_tensor(one)) for one in made)
        return compare(node, given, gave, self.values)


def is_place(event: Event) -> bool:
    """Whether an event is the arrival at a node or a leaf."""
    match event.kind:
        case "incoming":
            return True
        case "ready":
            return event.node is None
    return event.kind == "captured" and isinstance(event.target, Node)


def input_names(node: Node) -> list[str]:
    """The names of the inputs that a node's edges lead to."""
    op = node.op
    slots = slots_of(node)
    if op is None or op.sequence:
        return [str(slot) for slot in slots]
    return [public_names(op, op.inputs[slot])[0] for slot in slots]
