"""A backward pass in the lab's page: what has happened so far, as a trace of the form that `viz.trace` records of whole programs."""

from __future__ import annotations

import json
import linecache
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, Queue
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
from .terminal import PROMPT, Quit, Terminal
from .values import UNKNOWN


class PassPage:
    """The lab's page of graphs, with one backward pass in it. The address stays; the page shows what has happened when it is loaded.

    With `prompt`, the page has buttons and a prompt: what is typed there waits in `asked` until somebody answers it."""

    def __init__(self, prompt: bool = False) -> None:
        from ..lab.server import Lab

        self.lab = Lab()
        self.prompt = prompt
        self.shown: dict[str, Any] = {}
        self.asked: Queue[str] = Queue()
        self.answers: Queue[dict[str, Any]] = Queue()
        self.sent = threading.Event()  # that the last answer has left
        self.sent.set()
        self.turn = threading.Lock()  # two windows may show the page
        if prompt:
            self.lab.obeying = self.obeying
        threading.Thread(target=self.lab.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"{self.lab.address}graph.html"

    def show(self, session: Session, said: str = "") -> None:
        """Put what has happened so far into the page; `said` stands at its prompt."""
        trace = trace_of(session)
        self.shown = {"id": "pass", "title": "This backward pass", "about": "", "begins": len(trace["events"]), **trace}
        known = {"version": __version__, "asides": [], "pass": True, "prompt": self.prompt, "said": said, "examples": [self.shown]}
        packed = json.dumps(known, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self.lab.own["graph.data.js"] = f"lab.data = {packed};\n".encode()

    def open(self) -> None:
        print(f"This pass is at {self.address}", flush=True)
        webbrowser.open(self.address)

    @contextmanager
    def obeying(self, command: str) -> Iterator[dict[str, Any]]:
        """What the server does with a command of the page: it waits for the answer, and says when it has passed it on."""
        with self.turn:
            self.sent.clear()
            self.asked.put(command)
            try:
                yield self.answers.get()
            finally:
                self.sent.set()

    def next_command(self) -> str:
        while True:
            with suppress(Empty):
                return self.asked.get(timeout=0.5)  # so that Ctrl-C is heard

    def answer(self, said: str, over: bool) -> None:
        self.answers.put({"output": said, "pass": self.shown, "over": over})

    def close(self) -> None:
        self.sent.wait(1.0)
        self.lab.shutdown()
        self.lab.server_close()


class PageTerminal(Terminal):
    """The debugger's commands, typed into the page."""

    def __init__(self, session: Session, commands: Sequence[str] = ()) -> None:
        super().__init__(session, commands)
        self.window = PassPage(prompt=True)
        self.said = ""  # all that was said so far: a page that is loaded again shows it

    def say(self, text: str) -> None:
        self.said += f"{text}\n"

    def loop(self) -> None:
        self.window.show(self.session, self.said)
        self.window.open()
        goes_on = True
        while goes_on:
            if self.commands:
                goes_on = self.answered(self.commands.pop(0), asked=False)
                continue
            try:
                command = self.window.next_command()
            except KeyboardInterrupt:
                self.leave(interrupted=True)
            goes_on = self.answered(command, asked=True)

    def answered(self, command: str, asked: bool) -> bool:
        """Obey a command, and let the page know what came of it, whatever that is, if it has asked."""
        goes_on = False
        self.say(PROMPT + command)
        before = len(self.said)
        try:
            goes_on = self.obey(command)
            if not goes_on:
                self.say("The program goes on, and the page stays as it is.")
        except BaseException as error:
            self.say("The pass was undone." if isinstance(error, Quit) else f"{type(error).__name__}: {error}")
            raise
        finally:
            self.window.show(self.session, self.said)
            if asked:
                self.window.answer(self.said[before:], over=not goes_on)
        return goes_on

    def run(self) -> None:
        try:
            super().run()
        finally:
            self.window.close()


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
