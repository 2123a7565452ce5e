"""Records a whole program: every operation with its values and the code that ran it, then every step of its backward passes.

The result is a dict of plain numbers, strings and lists (`adjoint-trace/1`), from which a page shows the program step by step. Indices
into `nodes`, `edges` and `events` are positions in those lists. A value is a number, nested lists of numbers, one of the strings "nan",
"inf" and "-inf", or for more than 64 elements `{"shape", "norm", "first"}`.

    trace   format, adjoint (the version), code, nodes, edges, events, groups, layout, output (what was printed);
            error ({type, message, line}) if the program failed, truncated if it had more events than were asked for
    node    a tensor together with the operation that made it, or a number in the place of a tensor
            kind            leaf (asks for a gradient), parameter (a leaf of a module), data (does not ask), number, op
            name            the variable, `module.name` for parameters, else its own source text
            value           (as it was when it was made), shape, dtype (left out: [], float32), requires_grad, leaf
            op, grad_fn     of an op; saved: [{of: node, value}], what its rule keeps (`of` is the node itself if it keeps its result)
            line, span      where it was made; the columns of the expression
            version         for results of in-place operations; replaces: the node whose memory it took
            group           the module that made it; w, h: the size of its card
    edge    from, to, slot (which argument of `to`), grad (whether a gradient can flow back); cut: "detach" or "no_grad", why it cannot
    event   kind, line, says (a sentence), formula (text, or [text, kind] with o: the result, g: a gradient that arrived, v: a value that
            was used, m: a remark), node; pass: the number of the backward pass during which it happened, if there was one
            leaf            a leaf or data exists
            op              an operation ran: edges, span
            print           text
            write           the values of a tensor were overwritten, unrecorded: value, version
            grad            `.grad` was set from outside (`zero_grad()`): before, after
            seed            a backward pass starts: grad, keeps (whether the graph is kept: `retain_graph`)
            sum             a node with several uses has received all gradients: edges, terms, grad
            hook            a hook has seen a gradient: before, after
            deliver         a rule gave a gradient to one input: edge, grad
            accumulate      `.grad` of a leaf was written: before, grad, after
            capture         a gradient that `autograd.grad` asked for has arrived: grad
            error           the program failed, here: type, message
    group   name, kind (the class), nodes, first and last (events of its forward): the call of a module
    overview  the same trace with its modules folded into one card each, if there are more than 40 nodes; its events of the kind `inside`
            say that all parameters of a module have their gradients
    layout  `right` and `down`: nodes ([x, y], their centres), edges (lists of points), width, height
"""

from __future__ import annotations

import inspect
import io
import linecache
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from .._layer import levels
from .._site import Site
from .._tensor import Tensor
from .._version import __version__
from ..autograd import anomaly
from ..autograd.function import Function
from ..autograd.node import Node, Output
from ..autograd.stepping import Follower
from ..nn.module import Module
from ..utils._python_dispatch import TorchDispatchMode
from .overview import CARDS, overview
from .passes import Pass
from .telling import Telling, plain

PROGRAM = "<program>"
LIMIT = 2_000  # events
READ = 4_096  # elements up to which the values of operands are kept for formulas


def trace(program: str | Callable[..., Any], *args: Any, limit: int = LIMIT) -> dict[str, Any]:
    """Run a program, given as source or as a function with its arguments, and record it. An error of the program is its last event.

    >>> import adjoint as ad
    >>> found = ad.viz.trace("x = ad.tensor(2.0, requires_grad=True)\\ny = x**2 + 3 * x\\ny.backward()")
    >>> [event["kind"] for event in found["events"]]
    ['leaf', 'op', 'op', 'op', 'seed', 'deliver', 'deliver', 'deliver', 'deliver', 'sum', 'accumulate']
    >>> "".join(part if isinstance(part, str) else part[0] for part in found["events"][-2]["formula"])
    '∂y/∂x = 3 + 4 = 7'
    """
    if isinstance(program, str):
        return Recorder(program, PROGRAM, 1, limit).record(lambda: run_source(program))
    lines, first = inspect.getsourcelines(program)
    source = textwrap.dedent("".join(lines)).rstrip("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return Recorder(source, inspect.getfile(program), first, limit, indent).record(lambda: program(*args))


def run_source(source: str) -> None:
    import adjoint as ad
    from adjoint import nn

    linecache.cache[PROGRAM] = (len(source), None, source.splitlines(keepends=True), PROGRAM)  # messages quote its lines
    names = {"__name__": "__main__", "ad": ad, "torch": ad, "nn": nn, "F": nn.functional}
    exec(compile(source, PROGRAM, "exec", dont_inherit=True), names)


class Known(NamedTuple):
    """What was known of a tensor when it was last looked at. The tensor is kept, so that its id stays its own."""

    tensor: Tensor
    node: int
    fn: Any
    version: int
    grad: Any  # the values of its `.grad`


class Made(NamedTuple):
    """How a node was made: the op, its arguments by name, `out` among them, and the nodes that its inputs are."""

    op: Any
    values: dict[str, Any]
    inputs: dict[Any, int]  # by name, in a sequence by (name, place)


class Number(NamedTuple):
    """A number in the place of a tensor."""

    value: float


class StopRecording(BaseException):
    """There are as many events as were asked for."""


class Recorder(TorchDispatchMode):
    """Follows one program."""

    def __init__(self, source: str, filename: str, first_line: int, limit: int, indent: int = 0) -> None:
        self.source, self.filename, self.first_line, self.limit, self.indent = source, filename, first_line, limit, indent
        self.lines = source.split("\n")
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.tensors: dict[int, Known] = {}
        self.functions: dict[Node, dict[int, int]] = {}  # a grad_fn: the nodes of its outputs
        self.made: dict[int, Made] = {}
        self.bound: dict[int, tuple[str, bool]] = {}  # node: the variable it was bound to, and whether by the program itself
        self.module_names: dict[int, tuple[str, Module]] = {}
        self.modules: list[tuple[Module, int]] = []  # that are running, and the event at which they began
        self.groups: list[dict[str, Any]] = []
        self.seen: dict[FrameType, tuple[int, dict[str, int]]] = {}  # by frame: the line that runs, the ids of variables
        self.line = 1
        self.passes: list[Pass] = []  # backward passes that are running, one started by the other,
        self.begun = 0  # and how many there have been
        self.gradients: dict[int, tuple[int | None, int | None]] = {}  # nodes that are gradients: by what, of what (None: a `.grad`)
        self.failed: Any = None  # the node whose rule raised
        self.truncated = False
        self.program_code: CodeType | None = None

    # ---- running the program -----------------------------------------------------------------------------------------------------------

    def record(self, run: Callable[[], Any]) -> dict[str, Any]:
        printed = Printed(self)
        error: Exception | None = None
        try:
            with self.watching(), redirect_stdout(printed):
                run()
        except MemoryError:
            raise
        except StopRecording:
            self.truncated = True
        except Exception as raised:
            error = raised
        finally:
            self.seen.clear()
        printed.finish()
        return self.finished(printed.text, error)

    def finished(self, output: str = "", error: Exception | None = None) -> dict[str, Any]:
        """The trace of what was recorded."""
        found: dict[str, Any] = {
            "format": "adjoint-trace/1", "adjoint": __version__, "code": self.source, "nodes": self.nodes, "edges": self.edges,
            "events": self.events, "groups": self.groups, "output": output,
        }  # fmt: skip
        if error is not None:
            found["error"] = self.failure(error)
        if self.truncated:
            found["truncated"] = True
        Telling(self, found).tell()
        if len(self.nodes) > CARDS and (folded := overview(found)) is not None:
            found["overview"] = folded
        return found

    @contextmanager
    def watching(self) -> Iterator[None]:
        from ..nn._hooks import register_module_forward_hook, register_module_forward_pre_hook

        before, tracer = anomaly.timed, sys.gettrace()
        handles = [
            register_module_forward_pre_hook(lambda module, args: self.modules.append((module, len(self.events)))),
            register_module_forward_hook(lambda module, args, output: self.leave_module(), always_call=True),
        ]
        anomaly.timed = lambda roots: Follower(roots) if levels() else Pass(roots, self)
        sys.settrace(self.follow)
        try:
            with self:
                yield
        finally:
            sys.settrace(tracer)
            anomaly.timed = before
            for handle in handles:
                handle.remove()

    def failure(self, error: Exception) -> dict[str, Any]:
        lines = [frame.lineno or 1 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.filename]
        message, line = str(error), (self.own_line(lines[-1]) if lines else None)
        if isinstance(error, SyntaxError):
            message, line = error.msg, error.lineno
        node = self.functions.get(self.failed, {}).get(0)
        told = {"type": type(error).__name__, "message": message, "line": line}
        self.passes.clear()
        self.events.append({"kind": "error", "node": node, **told})
        return told

    def follow(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Called by Python for each frame: lines of the program are followed, all else is not."""
        if frame.f_code.co_filename != self.filename:
            return None
        self.program_code = self.program_code or frame.f_code
        return self.follow_line

    def follow_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event in ("line", "return") and not self.passes and not levels():
            before, seen = self.seen.get(frame, (self.own_line(frame.f_lineno), {}))
            self.line = before
            self.settle(frame, seen)
            self.line = self.own_line(frame.f_lineno)
            self.seen[frame] = self.line, seen
        if event == "return":
            self.seen.pop(frame, None)
        return self.follow_line

    def own_line(self, line: int) -> int:
        return line - self.first_line + 1

    def event(self, kind: str, node: int | None, line: int | None = None, **more: Any) -> None:
        if len(self.events) >= self.limit:
            raise StopRecording
        if self.passes:
            more["pass"] = self.begun - 1
        self.events.append({"kind": kind, "node": node, "line": self.line if line is None else line, **more})

    # ---- variables ---------------------------------------------------------------------------------------------------------------------

    def settle(self, frame: FrameType, seen: dict[str, int]) -> None:
        """Look at what the line that just ran has changed: variables, values and gradients."""
        for name, value in list(frame.f_locals.items()):
            if name.startswith((".", "__")) or seen.get(name) == id(value) or not isinstance(value, Tensor | Module):
                continue
            seen[name] = id(value)
            if isinstance(value, Module):
                if name != "self":  # which may be half made, and is somebody else's part
                    self.name_module(name, value)
            else:
                self.bind(name, self.node_of(value), frame.f_code is self.program_code)
        self.look_again()

    def name_module(self, name: str, module: Module) -> None:
        for inner, part in module.named_modules():
            self.module_names.setdefault(id(part), (f"{name}.{inner}" if inner else name, part))
        for inner, parameter in module.named_parameters():
            known = self.tensors.get(id(parameter))
            if known is None:
                self.node_of(parameter, "parameter")
            self.bind(f"{name}.{inner}", self.node_of(parameter), True)

    def bind(self, name: str, node: int, outside: bool) -> None:
        """The program's own variables count more than those of its functions; the first more than others."""
        known = self.bound.get(node)
        if known is None or (outside and not known[1]):
            self.bound[node] = name, outside

    def look_again(self) -> None:
        """Values written in place, and gradients set from outside."""
        for known in list(self.tensors.values()):
            tensor = known.tensor
            if tensor._vc is not None and tensor._version != known.version:
                self.node_of(tensor)
            known = self.tensors[id(tensor)]
            if tensor._grad is None and known.grad is None:
                continue
            grad = None if tensor._grad is None else plain(tensor._grad)
            if grad != known.grad:
                self.event("grad", known.node, before=known.grad, after=grad)
                self.tensors[id(tensor)] = known._replace(grad=grad)

    # ---- nodes -------------------------------------------------------------------------------------------------------------------------

    def node_of(self, tensor: Tensor, kind: str = "") -> int:
        """The node that a tensor is now, which is made if there is none yet."""
        known = self.tensors.get(id(tensor))
        fn = tensor.grad_fn
        if known is not None:
            if known.version == tensor._version and known.fn is fn:
                return known.node
            if known.fn is fn:  # overwritten, and nobody recorded it
                self.tensors[id(tensor)] = known._replace(version=tensor._version)
                if not self.passes:
                    self.event("write", known.node, value=plain(tensor), version=tensor._version)
                return known.node
        if fn is not None:
            node = self.of_function(fn, tensor)
            if known is not None:
                self.nodes[node]["replaces"] = known.node
        else:
            kind = kind or ("parameter" if type(tensor).__name__ == "Parameter" else "leaf" if tensor.requires_grad else "data")
            node = self.node(kind, tensor)
            origin = None if tensor.requires_grad else self.sharing(tensor)
            if origin is not None:
                self.edge(origin, node, 0, False, cut="detach")
            if self.passes:
                running = self.passes[-1].node
                self.gradients[node] = None if running is None else self.target(running), self.passes[-1].root
            self.event("leaf", node)
        owner = next((known.node for known in self.tensors.values() if known.tensor._grad is tensor), None)
        if owner is not None:
            self.gradients[node] = owner, None
        self.know(tensor, node)
        return node

    def know(self, tensor: Tensor, node: int) -> None:
        grad = None if tensor._grad is None else plain(tensor._grad)
        self.tensors[id(tensor)] = Known(tensor, node, tensor.grad_fn, tensor._version, grad)

    def sharing(self, tensor: Tensor) -> int | None:
        """The tensor with a history whose memory this one looks at: the one it was detached from."""
        data = tensor._data
        for known in reversed(self.tensors.values()):
            other = known.tensor
            if other.requires_grad and isinstance(data, np.ndarray) and data.size and np.may_share_memory(data, other._data):
                return known.node
        return None

    def of_function(self, fn: Any, tensor: Tensor | None) -> int:
        """The node of a grad_fn that was not seen when it was made: of a custom function, of a write to a part."""
        nr = 0 if tensor is None else tensor.output_nr
        if nr in self.functions.get(fn, {}):
            return self.functions[fn][nr]
        line, span = self.place(fn.site)
        node = self.node("op", tensor, line=line, span=span, op=type(fn).__name__.removesuffix("Backward"), grad_fn=fn.name())
        self.functions.setdefault(fn, {})[nr] = node
        slots = fn.input_slots or range(len(fn.next))
        made = [
            self.edge(self.target(edge), node, slot, True)
            for slot, edge in zip(slots, fn.next, strict=True)
            if edge is not None and isinstance(edge, Node | Output | Tensor)
        ]
        kept = [entry[0] for entry in fn.saved if isinstance(entry, tuple)] if fn.op is None and isinstance(fn.saved, tuple) else []
        known = [self.tensors[id(one)].node if id(one) in self.tensors else node for one in kept if isinstance(one, Tensor)]
        self.nodes[node]["saved"] = [{"of": of, "value": self.nodes[of]["value"]} for of in known]
        self.event("op", node, line, edges=made, span=span)
        return node

    def target(self, edge: Any) -> int:
        """The node at the end of an edge of the graph."""
        if isinstance(edge, Tensor):
            return self.node_of(edge)
        fn, nr = (edge.node, edge.nr) if isinstance(edge, Output) else (edge, 0)
        known = self.functions.get(fn, {})
        return known.get(nr, next(iter(known.values()))) if known else self.of_function(fn, None)

    def node(self, kind: str, value: Any, **more: Any) -> int:
        tensor = value if isinstance(value, Tensor) else None
        found = {"kind": kind, "name": "", "value": plain(value), "requires_grad": tensor is not None and tensor.requires_grad}
        if tensor is not None:
            found["shape"] = list(tensor.shape)
            if str(tensor.dtype) not in ("torch.float32", "adjoint.float32", "float32"):
                found["dtype"] = str(tensor.dtype).split(".")[-1]
            if tensor.is_leaf and kind != "op":
                found["leaf"] = True
        found["line"] = self.line
        self.nodes.append({**found, **more})
        return len(self.nodes) - 1

    def edge(self, source: int, to: int, slot: int, grad: bool, **more: Any) -> int:
        self.edges.append({"from": source, "to": to, "slot": slot, "grad": grad, **more})
        return len(self.edges) - 1

    def place(self, site: Site | None) -> tuple[int, list[int] | None]:
        """The line and the columns of a place in the program."""
        if site is None or site.code.co_filename != self.filename or site.offset < 0:
            return self.line, None
        line, last, start, end = list(site.code.co_positions())[site.offset // 2]
        if line is None or start is None or end is None:
            return self.line, None
        text = self.lines[self.own_line(line) - 1].encode() if 0 < self.own_line(line) <= len(self.lines) else b""
        first = len(text[: start - self.indent].decode(errors="replace"))
        stop = len(text[: end - self.indent].decode(errors="replace")) if last == line else len(text.decode())
        return self.own_line(line), [first, stop]

    # ---- operations --------------------------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame = self.calling_frame()
        if frame is None or func.declaration is None or levels():  # what a transform computes is its own business
            return func(*args, **(kwargs or {}))
        op = func.declaration
        values = dict(zip(op.args, (*args, *(kwargs or {}).values()), strict=False))
        inputs = None if self.passes else self.inputs_of(op, values)
        arrays = {name: self.kept(value) for name, value in values.items()}
        result = func(*args, **(kwargs or {}))
        for nr, tensor in enumerate(result if isinstance(result, tuple | list) else (result,)):
            # What a backward pass computes is part of the graph under `create_graph` only.
            if isinstance(tensor, Tensor) and isinstance(tensor._data, np.ndarray) and (not self.passes or tensor.requires_grad):
                self.operation(func, tensor, nr, self.inputs_of(op, values) if inputs is None else inputs, arrays, frame)
        return result

    def calling_frame(self) -> FrameType | None:
        """The frame of the program that called an op; None inside a custom function, which is one operation for the graph."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back
        outer = frame
        while outer is not None and outer.f_code is not self.program_code:
            if outer.f_code is Function.apply.__func__.__code__:  # type: ignore[attr-defined]
                return None
            outer = outer.f_back
        return frame

    def inputs_of(self, op: Any, values: dict[str, Any]) -> dict[Any, int | Number]:
        """The nodes of the tensors among the inputs, and the numbers that stand for tensors."""
        found: dict[Any, int | Number] = {}
        for name in op.inputs:
            value = values.get(name)
            many = list(enumerate(value)) if isinstance(value, list | tuple) else [(None, value)]
            for place, one in many:
                if isinstance(one, Tensor):
                    found[name if place is None else (name, place)] = self.node_of(one)
                elif isinstance(one, int | float) and not isinstance(one, bool):
                    found[name] = Number(one)
        return found

    def kept(self, value: Any) -> Any:
        """An argument as formulas need it: the values of a small tensor as they are now."""
        if isinstance(value, list | tuple):
            return type(value)(map(self.kept, value)) if type(value) in (list, tuple) else value
        if not isinstance(value, Tensor):
            return value
        return np.array(value._data) if isinstance(value._data, np.ndarray) and value.numel() <= READ else None

    def operation(
        self, func: Any, result: Tensor, nr: int, inputs: dict[Any, int | Number], arrays: dict[str, Any], frame: FrameType
    ) -> None:
        known = self.tensors.get(id(result))
        fn = result.grad_fn
        if known is not None and known.version == result._version and known.fn is fn:
            return  # it was handed through
        if known is not None and fn is None:
            self.node_of(result)
            return
        op = func.declaration
        line, span = self.place(Site(frame.f_code, frame.f_lasti))
        node = self.node("op", result, line=line, span=span, op=func.overloadpacket.__name__)
        if known is not None:
            self.nodes[node] |= {"version": result._version, "replaces": known.node}
        flowing = dict(zip(fn.input_slots or range(len(fn.next)), fn.next, strict=False)) if fn is not None else {}
        made, sources = [], {}
        for place, (name, source) in enumerate(inputs.items()):
            slot = name[1] if isinstance(name, tuple) else op.inputs.index(name)
            if isinstance(source, Number):
                source = self.node("number", source.value, line=line)
            sources[name] = source
            grad = flowing.get(slot if not op.sequence else place) is not None
            cut = {"cut": "no_grad"} if not grad and self.nodes[source]["requires_grad"] and fn is None else {}
            made.append(self.edge(source, node, slot, grad, **cut))
        if fn is not None:
            self.nodes[node]["grad_fn"] = fn.name()
            self.functions.setdefault(fn, {})[nr] = node
        arrays = {**arrays, "out": self.kept(result)}
        self.made[node] = Made(op, arrays, sources)
        self.know(result, node)
        self.nodes[node]["saved"] = self.saved(fn, node, sources)
        self.event("op", node, line, edges=made, span=span)

    def saved(self, fn: Any, node: int, sources: dict[Any, int]) -> list[dict[str, Any]]:
        """What the node keeps for its rule."""
        found = []
        for name in fn.layout if fn is not None and isinstance(fn.saved, tuple) else ():
            of = node if name == "out" else sources.get(name)
            if of is not None:
                found.append({"of": of, "value": self.nodes[of]["value"]})
        return found

    def leave_module(self) -> None:
        if not self.modules:
            return
        module, first = self.modules.pop()
        nodes = [event["node"] for event in self.events[first:] if event["kind"] == "op"]
        if nodes:
            self.groups.append({"module": module, "nodes": nodes, "first": first, "last": len(self.events) - 1})


class Printed(io.TextIOBase):
    """What the program prints goes where it went, and each line is an event too."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.out, self.text, self.rest = recorder, sys.stdout, "", ""

    def write(self, text: str) -> int:
        self.out.write(text)
        self.text += text
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self.recorder.event("print", None, text=line)
        return len(text)

    def flush(self) -> None:
        self.out.flush()

    def finish(self) -> None:
        if self.rest:
            self.recorder.events.append({"kind": "print", "node": None, "line": self.recorder.line, "text": self.rest})
