"""The backward passes of a program that is recorded: what the engine does, as events of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._tensor import Tensor
from ..autograd.node import Node, Output
from ..autograd.stepping import Event, Follower
from .telling import plain

if TYPE_CHECKING:
    from .recording import Recorder


class Pass(Follower):
    """Follows a backward pass of the program."""

    def __init__(self, roots: Sequence[Any], recorder: Recorder) -> None:
        super().__init__(roots)
        self.recorder = recorder
        self.root: int | None = None
        self.arrived: dict[Any, list[tuple[int | None, Any]]] = {}  # by target and output: edges and what came along them
        self.given: dict[Node, Any] = {}  # what rules were given

    def begin(self, roots: Sequence[Any], gradients: Sequence[Any], keeps_graph: bool) -> Any:
        if not self.recorder.passes:
            self.recorder.begun += 1
            frame = self.recorder.calling_frame()
            self.recorder.line = self.recorder.line if frame is None else self.recorder.own_line(frame.f_lineno)
        self.recorder.passes.append(self)
        return super().begin(roots, gradients, keeps_graph)

    def end(self) -> list[Event]:
        events = super().end()
        self.recorder.passes.pop()
        return events

    def fail(self, node: Any) -> None:
        super().fail(node)
        self.recorder.passes.pop()
        self.recorder.failed = node if isinstance(node, Node) else None

    def told(self, events: list[Event]) -> list[Event]:
        if self.recorder.passes == [self]:  # passes that rules start are part of the rule
            for event in events:
                getattr(self, event.kind)(event)
        return events

    # ---- one method for each kind of event ---------------------------------------------------------------------------------------------

    def delivered(self, event: Event) -> None:
        recorder, grad = self.recorder, plain(event.gradient)
        target = event.target if isinstance(event.target, Tensor) else Output(event.target, event.output)
        node = recorder.target(target)
        if event.node is None:
            self.root = node if self.root is None else self.root
            recorder.event("seed", node, grad=grad, root=self.root, **({"keeps": True} if self.keeps_graph else {}))
            self.arrived.setdefault((event.target, event.output), []).append((None, grad))
            return
        giver = recorder.target(event.node)
        edge = self.edge(event.node, giver, node, event.slot)
        self.arrived.setdefault((event.target, event.output), []).append((edge, grad))
        recorder.event(
            "deliver", giver, edge=edge, grad=grad, root=self.root, slot=event.slot,
            arrived=self.given.get(event.node), gave=event.gradient,
        )  # fmt: skip

    def edge(self, fn: Node, giver: int, node: int, slot: int | None) -> int:
        outputs = set(self.recorder.functions.get(fn, {}).values()) or {giver}
        candidates = [k for k, e in enumerate(self.recorder.edges) if e["to"] in outputs and e["from"] == node]
        exact = [k for k in candidates if self.recorder.edges[k]["slot"] == slot]
        return (exact or candidates or [self.recorder.edge(node, giver, slot or 0, True)])[0]

    def ready(self, event: Event) -> None:
        target = event.target if event.node is None else event.node
        gradients = event.gradient if isinstance(event.gradient, tuple) else (event.gradient,)
        for nr, gradient in enumerate(gradients):
            came = self.arrived.get((target, nr), [])
            if len(came) > 1:
                node = self.recorder.target(target if isinstance(target, Tensor) else Output(target, nr))
                self.recorder.event(
                    "sum", node, edges=[k for k, _ in came], terms=[g for _, g in came], grad=plain(gradient), root=self.root
                )
        self.before = event.gradient

    def hooked(self, hooks: Any, node: int, after: Any) -> None:
        """The event of hooks on a tensor."""
        if hooks is None or not any(hooks.tensor.values()):
            return
        names = [getattr(hook, "__name__", "hook") for table in hooks.tensor.values() for hook in table.values()]
        self.recorder.event("hook", node, before=plain(self.before), after=plain(after), names=names, root=self.root)

    def incoming(self, event: Event) -> None:
        assert event.node is not None
        self.given[event.node] = event.gradient
        if not isinstance(event.gradient, tuple):
            self.hooked(event.node.hooks, self.recorder.target(event.node), event.gradient)

    def applied(self, event: Event) -> None:
        """Its deliveries are told one by one."""

    def accumulated(self, event: Event) -> None:
        node, after = self.recorder.node_of(event.target), plain(event.after)
        self.hooked(event.target._hooks, node, event.gradient)
        self.recorder.event("accumulate", node, before=plain(event.before), grad=plain(event.gradient), after=after, root=self.root)
        known = self.recorder.tensors[id(event.target)]
        self.recorder.tensors[id(event.target)] = known._replace(grad=after)

    def captured(self, event: Event) -> None:
        target = event.target
        node = self.recorder.target(target)
        if isinstance(target, Tensor):
            self.hooked(target._hooks, node, event.gradient)
        gradient = event.gradient if not isinstance(event.gradient, tuple) else next((g for g in event.gradient if g is not None), None)
        self.recorder.event("capture", node, grad=plain(gradient), root=self.root)
