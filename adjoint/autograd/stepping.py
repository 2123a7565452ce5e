"""The backward pass, one event after the other: `steps(loss)` is the engine itself, which stops at each of them.

    delivered    a gradient has come along an edge: from a node to one of its inputs, or from outside to where the pass starts
    ready        a node or a leaf has received all gradients that will come; they are summed
    incoming     the gradient that the node's rule is given, after the hooks of the tensor
    applied      the rule has turned it into gradients of the inputs
    accumulated  a leaf has received all that will come, and has added it to its `.grad`
    captured     the same, where the gradient was asked for by `inputs` and is not kept in a leaf

`back()` undoes events as far as they can be seen from outside (`.grad` of leaves and of tensors that retain theirs, saved tensors), and
going on does them again from memory: rules and hooks run once.

There is one engine. Those of its functions that tell the pass's Watch something are compiled once more, as generators that yield what the
Watch returns, and then take the gradient that shall go on from there, which `replace` may have exchanged; `backward` runs the functions
as they stand, and pays nothing for this.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from .._errors import GradientError
from .._tensor import Tensor, wrap_result
from . import engine
from .anomaly import Watch, is_anomaly_enabled
from .differentiate import Differentiable, Many, begin_backward
from .hooks import checked
from .node import Edge, Node, Output


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a backward pass. Gradients are copies, which stay as they are."""

    kind: str
    node: Node | None  # whose rule it is about, or who gave the gradient; None where a pass starts, and for leaves
    target: Any = None  # the node or leaf that received a gradient
    slot: int | None = None  # which input of the node the gradient is for
    output: int = 0  # which output of the target
    gradient: Any = None  # a Tensor; for a node with several outputs, a tuple with one for each that got a gradient
    gradients: tuple[Any, ...] = ()  # what a rule gave, one for each edge
    before: Tensor | None = None  # `.grad` of the leaf before and after
    after: Tensor | None = None
    changes: list[Change] = field(default_factory=list, repr=False, compare=False)

    def __str__(self) -> str:
        name = "" if self.node is None else self.node.name()
        to = self.target.name() if isinstance(self.target, Node) else f"leaf of shape {list(getattr(self.target, 'shape', ()))}"
        values = _text(self.gradient)
        match self.kind:
            case "ready":
                return f"{name or to} is ready: {values} has arrived"
            case "incoming":
                return f"{name} is given {values}"
            case "applied":
                return f"{name} gives {', '.join(map(_text, self.gradients))}"
            case "delivered":
                return f"{name or 'backward()'} delivers {values} to {to}" + (f" (input {self.slot})" if name else "")
            case "accumulated":
                return f"{to}: .grad becomes {_text(self.after)}" if self.before is None else (
                    f"{to}: .grad {_text(self.before)} + {values} = {_text(self.after)}"
                )
        return f"{to} has received {values}"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return "None" if value is None else str(value.tolist()) if value.numel() <= 6 else f"{value.dtype} {list(value.shape)}"


class Change:
    """What an event changed, and how to have it otherwise: `swap` goes there and back."""

    def swap(self) -> None:
        raise NotImplementedError


class GradChange(Change):
    """The `.grad` of a tensor: which object it is, and what stands in it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.kept = self.now()

    def now(self) -> tuple[Tensor | None, Any]:
        grad = self.tensor._grad
        return grad, None if grad is None else array_of_copy(grad)

    def swap(self) -> None:
        present = self.now()
        grad, values = self.kept
        if grad is not None and isinstance(grad._data, np.ndarray):
            np.copyto(grad._data, values)
        self.tensor._grad = grad
        self.kept = present


class SavedChange(Change):
    """What a node keeps for backward, or that it was freed."""

    def __init__(self, node: Node) -> None:
        self.node, self.kept = node, node.saved

    def swap(self) -> None:
        self.node.saved, self.kept = self.kept, self.node.saved


def array_of_copy(value: Any) -> Any:
    data = value._data if isinstance(value, Tensor) else value
    return np.array(data) if isinstance(data, np.ndarray | np.generic) else data


def copied(g: Any) -> Any:
    """A gradient as it is now; of several outputs, those of each."""
    if g is None:
        return None
    if isinstance(g, list | tuple):
        return tuple(map(copied, g))
    return wrap_result(array_of_copy(g))


NOTHING: Any = object()  # put in the place of no gradient


class Follower(Watch):
    """Turns what the engine tells into events. Nothing that happens to a node can be seen from outside between two of the places where
    the engine tells something, so the deliveries of a node are told together, up to the one that completes a leaf.

    A gradient that several events tell of without a change is copied once."""

    def __init__(self, roots: Sequence[Edge]) -> None:
        super().__init__(roots)
        self.giver: Node | None = None
        self.undelivered: list[tuple[int, Edge, Any]] = []  # what the giver gave: slot, edge, a copy of the gradient
        self.known: Node | None = None  # a node that was said to be ready
        self.changes: list[Change] = []  # of what is about to happen
        self.keeps_graph = False
        self.flowing: Any = None  # what was told last, as the engine has it,
        self.instead: Any = NOTHING  # and what shall go on in its place

    def taken(self, value: Any) -> Any:
        """What goes on from where the engine stands."""
        if self.instead is NOTHING:
            return value
        value, self.instead = self.instead, NOTHING
        return value

    def told(self, events: list[Event]) -> list[Event]:
        """What the engine is told to wait for. Who only wants to see them overrides this."""
        return events

    def begin(self, roots: Sequence[Edge], gradients: Sequence[Any], keeps_graph: bool) -> Any:
        self.keeps_graph = keeps_graph
        self.undelivered = list(zip(range(len(roots)), roots, map(copied, gradients), strict=True))
        return []

    def arrive(self, target: Any, g: Any) -> list[Event]:
        self.flowing = g
        if isinstance(target, Node):
            events = [*self.deliver(), Event("ready", target, gradient=copied(g))]
            self.known = target
            assert target.hooks is not None
            kept = (reference() for reference in target.hooks.retained.values())
            self.changes = [GradChange(tensor) for tensor in kept if tensor is not None]
            return self.told(events)
        last = max((place for place, (_, edge, _) in enumerate(self.undelivered) if edge is target), default=-1)
        self.changes = [GradChange(target)] if isinstance(target, Tensor) else []
        arrived = [Event("ready", None, target, gradient=copied(g))] if g is not None and isinstance(target, Tensor) else []
        return self.told([*self.deliver(last + 1), *arrived])

    def deliver(self, count: int | None = None) -> list[Event]:
        """The events of the next deliveries, all of them unless a number is given."""
        now, self.undelivered = self.undelivered[:count], self.undelivered[len(self.undelivered) if count is None else count :]
        expected = engine.deliveries_now()
        return [
            Event("delivered", self.giver, target, slot, edge.nr if isinstance(edge, Output) else 0, grad)
            for slot, edge, grad in now
            if grad is not None and (target := engine.target_of(edge)) in expected
        ]

    def finish(self, leaf: Any, g: Any, kept: bool) -> list[Event]:
        changes = self.take_changes()
        if g is None or not isinstance(leaf, Tensor):
            return []
        if not kept:
            return self.told([Event("captured", None, leaf, gradient=copied(g))])
        (change,) = changes
        before = change.kept[1]  # type: ignore[attr-defined]
        return self.told(
            [Event("accumulated", None, leaf, gradient=copied(g), before=copied(before), after=copied(leaf._grad), changes=changes)]
        )

    def capture(self, node: Node, g: Any) -> list[Event]:
        return self.told([*self.deliver(), Event("captured", None, node, gradient=copied(g), changes=self.take_changes())])

    def enter(self, node: Node, g: Any) -> list[Event]:
        super().enter(node, g)
        self.flowing, gradient = g, copied(g)
        events = self.deliver()
        if self.known is not node:
            events.append(Event("ready", node, gradient=gradient))
        self.known = None
        return self.told([*events, Event("incoming", node, gradient=gradient, changes=self.take_changes())])

    def take_changes(self) -> list[Change]:
        changes, self.changes = self.changes, []
        return changes

    def leave(self, node: Node, gradients: tuple[Any, ...], g: Any) -> list[Event]:
        if is_anomaly_enabled():
            super().leave(node, gradients, g)
        self.node = None
        self.giver, self.flowing, gave = node, gradients, copied(gradients)
        self.undelivered = list(zip(slots_of(node), node.next, gave, strict=True))
        return self.told([Event("applied", node, gradients=gave, changes=[SavedChange(node)])])

    def end(self) -> list[Event]:
        return self.told(self.deliver())

    def fail(self, node: Any) -> None:
        if is_anomaly_enabled():
            super().fail(node)


def slots_of(node: Node) -> Sequence[int]:
    """Which input of the op each edge of a node belongs to."""
    return node.input_slots or range(len(node.next))


TELLING = ("follow", "deliver", "_run_beside", "_finish_beside")  # the functions of the engine that tell a Watch something


class Yielding(ast.NodeTransformer):
    """Yields what `watch.enter(...)` and the others return, where the engine drops it, and all that functions yield that it calls. Where
    a gradient is about to go on, it is `watch.taken(...)` that goes on: `enter(node, g)` is followed by `g = watch.taken(g)`."""

    GOES_ON = ("arrive", "enter", "leave")

    def visit_FunctionDef(self, function: ast.FunctionDef) -> ast.AST:
        function.name += "_stepwise"
        return self.generic_visit(function)

    def visit_Expr(self, statement: ast.Expr) -> ast.AST | list[ast.stmt]:
        match statement.value:
            case ast.Call(func=ast.Attribute(value=ast.Name("watch"), attr=told), args=args):
                waits = ast.copy_location(ast.Expr(ast.Yield(statement.value)), statement)
                if told not in self.GOES_ON:
                    return waits
                name = ast.unparse(args[1])
                (taken,) = ast.parse(f"{name} = watch.taken({name})").body
                for node in ast.walk(taken):
                    ast.copy_location(node, statement)
                return [waits, taken]
        return self.generic_visit(statement)

    def visit_Call(self, call: ast.Call) -> ast.AST:
        match call.func:
            case ast.Name(name) if name in TELLING:
                return ast.YieldFrom(ast.Call(ast.Name(f"{name}_stepwise", ast.Load()), call.args, call.keywords))
        return self.generic_visit(call)


@cache
def follow_stepwise() -> Callable[..., Iterator[list[Event]]]:
    """`engine.follow` as a generator. It stands in the engine's namespace, with the others, since it reads what is there now."""
    module = ast.parse(inspect.getsource(engine))
    module.body = [Yielding().visit(part) for part in module.body if isinstance(part, ast.FunctionDef) and part.name in TELLING]
    source = inspect.getsourcefile(engine) or "<adjoint engine>"  # tracebacks show the engine's lines
    namespace = vars(engine)
    exec(compile(ast.fix_missing_locations(module), source, "exec"), namespace)
    return namespace["follow_stepwise"]  # type: ignore[no-any-return]


class Steps(Iterator[Event]):
    """A backward pass that goes on when it is asked for its next event."""

    def __init__(
        self, follow: Iterator[list[Event]], task: engine.Task, as_tensors: bool, keep: bool, begin: Callable[[], Steps]
    ) -> None:
        self._context = copy_context()  # the engine turns recording off and NumPy's warnings too, which must not reach who waits here
        self._pass = follow
        self._begin = begin
        self.task = task
        self.as_tensors = as_tensors  # whether gradients are Tensors with a history
        self.keep = keep  # whether it can go back
        self.events: list[Event] = []  # all that have happened so far, if they are kept
        self.position = 0  # how many have happened and have not been undone
        self.results: list[Any] = []  # at the end: the gradients that were asked for, as the engine has them
        self._last: Event | None = None
        self._waiting: list[Event] = []

    def targets(self) -> dict[Any, engine.Delivery]:
        """The nodes and leaves to which gradients will come. To ask lets nothing happen."""
        if not hasattr(self.task, "deliveries"):
            self._waiting = self._context.run(next, self._pass)[::-1]
        return self.task.deliveries

    def __next__(self) -> Event:
        if self.position < len(self.events):
            event = self.events[self.position]
            for change in event.changes:
                change.swap()
        else:
            while not self._waiting:
                try:
                    self._waiting = self._context.run(next, self._pass)[::-1]
                except StopIteration as end:
                    self.results = self.results if end.value is None else end.value
                    raise
            event = self._waiting.pop()
            if self.keep:
                self.events.append(event)
        self.position += 1
        self._last = event
        return event

    def back(self) -> Event:
        """Undo the last event, and return it."""
        if not self.keep:
            raise RuntimeError("back(): this pass keeps no events that could be undone")
        if not self.position:
            raise IndexError("back(): this is the beginning, no event has happened yet")
        self.position -= 1
        event = self.events[self.position]
        for change in event.changes:
            change.swap()
        return event

    def replace(self, gradient: Tensor, place: int = 0) -> Event:
        """Let another gradient go on from the event that was told last: what a rule is given (`incoming`; `place` counts the outputs of
        its node), what it gave (`applied`; `place` counts the edges), or what a leaf or a node before its hooks has received (`ready`).

        >>> import adjoint as ad
        >>> x = ad.tensor(2.0, requires_grad=True)
        >>> steps = ad.autograd.steps(x**2)
        >>> while next(steps).kind != "incoming":
        ...     pass
        >>> print(steps.replace(ad.tensor(10.0)))
        PowBackward0 is given 10.0
        >>> steps.finish()
        >>> x.grad
        tensor(40.)
        """
        event = self._last
        if event is None or event.kind not in ("ready", "incoming", "applied") or (self._waiting and event.kind == "ready"):
            raise GradientError("replace(): no gradient is about to go on from here", fix="go to where a rule is given one, or gave one")
        if self._waiting or (self.keep and self.position < len(self.events)):
            raise GradientError(
                "replace(): the pass has gone on from here already", fix="go on to where it stands, or begin a new pass and change it there"
            )
        if self.as_tensors:
            raise GradientError(
                "replace(): under create_graph gradients have a history, which another one would lack",
                fix="register a hook, and change the gradient by operations that can be recorded",
            )
        told = event.gradients if event.kind == "applied" else event.gradient if isinstance(event.gradient, tuple) else (event.gradient,)
        new = copied(checked(gradient, told[place], self.replace))
        told = (*told[:place], new, *told[place + 1 :])
        watch: Any = self.task.watch
        watch.instead = array_of_copy(new)
        if event.kind == "applied":
            watch.instead = (*watch.flowing[:place], watch.instead, *watch.flowing[place + 1 :])
            watch.undelivered = [(slot, edge, g) for (slot, edge, _), g in zip(watch.undelivered, told, strict=True)]
            changed = replace(event, gradients=told)
        else:
            if isinstance(event.gradient, tuple):
                watch.instead = [*watch.flowing[:place], watch.instead, *watch.flowing[place + 1 :]]
            changed = replace(event, gradient=told if isinstance(event.gradient, tuple) else new)
        watch.flowing = watch.instead
        self._last = changed
        if self.keep:
            self.events[-1] = changed
        return changed

    def finish(self) -> None:
        """Go on to the end."""
        for _ in self:
            pass

    def again(self) -> Steps:
        """The same pass, from its beginning: this one is undone and closed. Rules and hooks will run again."""
        while self.position:
            self.back()
        self.close()
        return self._begin()

    def close(self) -> None:
        """Stop for good. Gradients that were not delivered are lost."""
        self._context.run(self._pass.close)  # type: ignore[attr-defined]

    def __del__(self) -> None:
        if hasattr(self, "_pass"):
            self.close()


def steps(
    tensors: Many,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Many | dict[Any, Differentiable] | None = None,
) -> Steps:
    """`backward`, event by event. At the end the gradients are those of `backward`, to the last bit.

    >>> import adjoint as ad
    >>> x = ad.tensor(2.0, requires_grad=True)
    >>> steps = ad.autograd.steps(x**2 + 3 * x)
    >>> for event in steps:
    ...     if event.kind in ("applied", "accumulated"):
    ...         print(event)
    AddBackward0 gives 1.0, 1.0
    MulBackward0 gives 3.0
    PowBackward0 gives 4.0
    leaf of shape []: .grad becomes 7.0
    >>> _ = steps.back()
    >>> print(x.grad)
    None
    >>> steps.finish()
    >>> x.grad
    tensor(7.)
    """

    made: Steps = begin_backward(run_stepwise, tensors, grad_tensors, retain_graph, create_graph, None, inputs)
    return made


def run_stepwise(
    roots: Sequence[Edge],
    gradients: Sequence[Any],
    *,
    captured: Sequence[Edge] | None = None,
    into_grad: bool = False,
    as_tensors: bool = False,
    anomaly: Any = None,
    keep: bool = True,
    **options: Any,
) -> Steps:
    """`engine.run`, step by step. (Not `anomaly`: a Follower looks for what is not a number itself, if that is asked for.)"""

    def begin() -> Steps:
        asked = None if captured is None else engine.Asked(captured, roots, into_grad)
        task = engine.Task(Follower(roots), asked, engine.task_now())
        follow = follow_stepwise()(task, roots, gradients, as_tensors=as_tensors, **options)
        return Steps(follow, task, as_tensors or options["create_graph"], keep, begin)

    return begin()


@contextmanager
def every_pass(run: Callable[..., Any]) -> Iterator[None]:
    """Let another function be `engine.run` for all backward passes of the block."""
    before, engine.run = engine.run, run
    try:
        yield
    finally:
        engine.run = before
