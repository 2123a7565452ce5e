"""Those who see each op as it runs: the profiler, the doctor, and `__torch_dispatch__` modes. A bit of the thread's mode sends ops here."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from ._events import OP
from ._state import DISPATCH_MODE, OBSERVE, PROFILE, get_mode, swap_bits
from ._tensor import Tensor
from .autograd.anomaly import Watch, is_anomaly_enabled
from .autograd.node import Node

# An op for one of the meanings of a function is shown under the name of the function.
_MEANING = re.compile(r"_(all|batched|decimals|dim|dims|number|part|rounded|scaled|square|tensor|value|values)$")


def op_name(op: Any) -> str:
    """PyTorch's name for an op."""
    return _MEANING.sub("", op.name)


def run_watched(op: Any, func: Callable[..., Any], args: tuple[Any, ...], out: Any) -> Any:
    """Run an op for the innermost dispatch mode, for those who are told of it, or timed."""
    cut = len(op.args) - len(op.keywords)
    keywords = dict(zip(op.args[cut:], args[cut:], strict=True)) | ({} if out is None else {"out": out})
    name = op_name(op) + ("_" if func is not op.function else "")
    if get_mode() & DISPATCH_MODE:
        from ._ops import own_op

        return seen_by_mode(own_op(name, func, op), args[:cut], keywords, lambda: func(*args[:cut], **keywords))
    if get_mode() & OBSERVE:
        bit = swap_bits(OBSERVE, 0)
        try:
            result = func(*args[:cut], **keywords)
            OP.tell(op, args[:cut], keywords, result)
            return result
        finally:
            swap_bits(OBSERVE, bit)
    bit = swap_bits(PROFILE, 0)
    span = begin(f"aten::{name}", shapes_of(args) if Span.with_shapes else [])
    try:
        return func(*args[:cut], **keywords)
    finally:
        end(span)
        swap_bits(PROFILE, bit)


# ---- dispatch modes -----------------------------------------------------------------------------------------------------------------

_modes: ContextVar[tuple[Any, ...]] = ContextVar("adjoint_dispatch_modes", default=())


def push_dispatch_mode(mode: Any) -> None:
    _modes.set((*_modes.get(), mode))
    swap_bits(DISPATCH_MODE, DISPATCH_MODE)


def pop_dispatch_mode() -> None:
    _modes.set(_modes.get()[:-1])
    swap_bits(DISPATCH_MODE, DISPATCH_MODE if _modes.get() else 0)


def dispatch_modes() -> tuple[Any, ...]:
    return _modes.get()


def seen_by_mode(func: Any, args: tuple[Any, ...], keywords: dict[str, Any], run: Callable[[], Any] | None = None) -> Any:
    """What the innermost mode makes of an op. NotImplemented if there is none: a transform inside a mode has brought back its bit."""
    modes = _modes.get()
    if not modes:
        if run is None:
            return NotImplemented
        bit = swap_bits(DISPATCH_MODE, 0)
        try:
            return run()
        finally:
            swap_bits(DISPATCH_MODE, bit)
    types = tuple({type(x): None for x in args if isinstance(x, Tensor) and type(x) is not Tensor})
    *rest, mode = modes
    token = _modes.set(tuple(rest))
    bit = swap_bits(DISPATCH_MODE, DISPATCH_MODE if rest else 0)
    try:
        own = getattr(func, "dispatches", {}).get(type(mode))
        return mode.__torch_dispatch__(func, types, args, keywords) if own is None else own(mode, func, types, args, keywords)
    finally:
        swap_bits(DISPATCH_MODE, bit)
        _modes.reset(token)


# ---- times --------------------------------------------------------------------------------------------------------------------------


class Span:
    """Something that ran: when, where, and inside what."""

    __slots__ = ("end", "kind", "name", "outer", "seq", "shapes", "start", "thread")
    with_shapes = False  # whether anybody wants the shapes of operands

    def __init__(self, name: str, shapes: list[list[int]], kind: str, outer: Span | None, seq: int) -> None:
        self.name = name
        self.shapes = shapes
        self.kind = kind
        self.outer = outer
        self.seq = seq
        self.thread = threading.get_native_id()
        self.end = -1
        self.start = time.perf_counter_ns()


recorders: list[list[Span]] = []  # where spans go, of every profile that is running
_inside = threading.local()


def begin(name: str, shapes: list[list[int]], kind: str = "cpu_op", seq: int = -1) -> Span:
    span = Span(name, shapes, kind, getattr(_inside, "span", None), seq)
    _inside.span = span
    for recorder in recorders:
        recorder.append(span)
    return span


def end(span: Span) -> None:
    span.end = time.perf_counter_ns()
    _inside.span = span.outer


def shapes_of(args: Sequence[Any]) -> list[list[int]]:
    """The shapes of tensors among arguments, and nothing for others, as PyTorch lists them."""
    return [list(x._data.shape) if isinstance(x, Tensor) else [] for x in args]


class TimedWatch(Watch):
    """Follows a backward pass and times its nodes."""

    spans: tuple[Span, ...] = ()

    def enter(self, node: Node, g: Any) -> None:
        super().enter(node, g)
        name = node.name()
        outer = begin(f"autograd::engine::evaluate_function: {name}", [], seq=node.seq)
        self.spans = outer, begin(name, [], seq=node.seq)

    def leave(self, node: Node, gradients: tuple[Any, ...], g: Any) -> None:
        self.close()
        if is_anomaly_enabled():
            super().leave(node, gradients, g)

    def fail(self, node: Any) -> None:
        self.close()
        if is_anomaly_enabled():
            super().fail(node)

    def close(self) -> None:
        for span in reversed(self.spans):
            end(span)
        self.spans = ()
