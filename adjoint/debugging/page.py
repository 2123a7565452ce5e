"""A backward pass in the lab's page: what has happened so far, as a trace of the form that `viz.trace` records of whole programs."""

from __future__ import annotations

import json
import linecache
import sys
import threading
import webbrowser
from typing import Any

from .._tensor import Tensor, wrap
from .._version import __version__
from ..autograd.engine import target_of
from ..autograd.node import Node, Output
from ..autograd.packed import Packed
from ..autograd.stepping import slots_of
from ..viz.passes import Pass
from ..viz.recording import LIMIT, Made, Recorder, StopRecording
from ..viz.telling import DEBUGGER, plain
from .session import Session
from .values import UNKNOWN


class PassPage:
    """The lab's page of graphs, with one backward pass in it. The address stays; the page shows what has happened when it is loaded."""

    def __init__(self) -> None:
        from ..lab.server import Lab

        self.lab = Lab()
        threading.Thread(target=self.lab.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"{self.lab.address}graph.html"

    def show(self, session: Session) -> None:
        """Put what has happened so far into the page."""
        trace = trace_of(session)
        last = len(trace["events"])
        first = next((place for place, event in enumerate(trace["events"]) if "pass" in event), last)
        shown = {"id": "pass", "title": "This backward pass", "about": "", "begins": first if session.ended else last, **trace}
        known = {"version": __version__, "asides": [], "pass": True, "examples": [shown]}
        packed = json.dumps(known, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self.lab.own["graph.data.js"] = f"lab.data = {packed};\n".encode()

    def open(self) -> None:
        print(f"This pass is at {self.address}", flush=True)
        webbrowser.open(self.address)

    def wait(self) -> None:
        """Serve the page until somebody has looked at it. In a notebook it is there as long as the kernel."""
        if "ipykernel" in sys.modules:
            return
        try:
            input("Enter goes on. ")
        except EOFError:
            print()
        self.close()

    def close(self) -> None:
        self.lab.shutdown()
        self.lab.server_close()


def trace_of(session: Session) -> dict[str, Any]:
    """The graph of a pass, and the events that have happened in it."""
    recorder = GraphRecorder(session)
    try:
        with session.undone():
            recorder.forward()
        recorder.backward()
    except StopRecording:
        recorder.truncated = True
    recorder.passes.clear()
    return recorder.finished()


class GraphRecorder(Recorder):
    """Takes down a graph that is there already, and the events of a pass through it."""

    def __init__(self, session: Session) -> None:
        filename = session.plan.filename
        source = "".join(linecache.getlines(filename)).rstrip("\n")
        super().__init__(source, filename, 1, LIMIT)
        self.session = session

    def forward(self) -> None:
        """The nodes in the order of their making, so that the inputs of each are there before it."""
        for node in sorted(self.session.plan.nodes, key=lambda node: node.seq):
            self.line = node.site.line if node.site.filename == self.filename else self.line
            for edge in map(target_of, node.next):
                if isinstance(edge, Tensor):
                    self.named(edge, self.node_of(edge))
            index = self.of_function(node, None)
            self.named(node, index)
            self.describe(node, index)
        for leaf in self.session.plan.leaves:  # where the pass starts at a leaf
            self.named(leaf, self.node_of(leaf))

    def named(self, thing: Any, index: int) -> None:
        if name := self.session.plan.name_of(thing):
            self.bind(name, index, True)

    def describe(self, node: Node, index: int) -> None:
        """What is known of a node: its result, what it has saved, and for formulas its op with all arguments."""
        values, op = self.session.values, node.op
        result = values.known.get((node, 0), UNKNOWN)
        shown = self.nodes[index]
        shown["requires_grad"] = True
        if result is not UNKNOWN:
            shown |= {"value": plain(wrap(result)), "shape": list(result.shape)}
        if op is None or op.sequence:
            return
        shown["op"] = op.name
        sources = {op.inputs[slot]: self.target(edge) for slot, edge in zip(slots_of(node), node.next, strict=True) if is_edge(edge)}
        arguments = values.arguments(node)
        for slot, name in enumerate(op.inputs):
            value = arguments[name]
            if name in sources or value is UNKNOWN or value is None:
                continue
            number = isinstance(value, int | float)
            sources[name] = self.node("number" if number else "data", value if number else wrap(value))
            self.events[-1]["edges"].append(self.edge(sources[name], index, slot, False))
        kept = dict(zip(node.layout, node.saved, strict=False)) if isinstance(node.saved, tuple) else {}
        kept = {name: index if name == "out" else sources.get(name) for name, value in kept.items() if not isinstance(value, Packed)}
        shown["saved"] = [{"of": of, "value": self.nodes[of]["value"]} for of in kept.values() if of is not None]
        if result is not UNKNOWN and not any(value is UNKNOWN for value in arguments.values()):
            self.made[index] = Made(op, {**arguments, "out": result}, sources)

    def backward(self) -> None:
        session = self.session
        steps = session.steps
        follower: Any = steps.task.watch
        told = Pass(session.roots, self)
        told.keeps_graph = follower.keeps_graph
        self.passes.append(told)
        self.begun = 1
        self.line = session.site.line if session.site.filename == self.filename else self.line
        for place, event in enumerate(steps.events[: steps.position]):
            getattr(told, event.kind)(event)
            before = session.edited.get(place)
            if before is not None and event.kind != "applied" and not isinstance(event.gradient, tuple):
                node = self.target(event.node or event.target)
                gradients = {"before": plain(before.gradient), "after": plain(event.gradient)}
                self.event("hook", node, names=[DEBUGGER], root=told.root, **gradients)


def is_edge(edge: Any) -> bool:
    return isinstance(edge, Node | Output | Tensor)
