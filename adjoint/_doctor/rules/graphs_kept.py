from __future__ import annotations

import linecache
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..._site import Site, is_users
from ..._source import local_variables
from ..._tensor import Tensor
from ...autograd.engine import reachable
from ...autograd.node import Node
from ..events import Pass
from ..reading import node_of, site_of_line
from ..rule import Rule

KEPT, EVERY = 50, 10


class GraphsKept(Rule):
    """The graphs of earlier steps stay alive, since a loss is kept as a tensor: memory grows with every step."""

    name = "graphs-kept"
    always = True

    def start(self) -> None:
        self.roots: list[weakref.ref[Node]] = []
        self.said = False

    def backward(self, event: Pass) -> None:
        if self.said:
            return
        if event.number % EVERY == 0:
            self.roots = [known for known in self.roots if known() is not None]
            if len(self.roots) > KEPT:
                self.said = True
                oldest = self.roots[0]()
                name, site = holder(oldest) if oldest is not None else ("", None)
                what = f"'{name}' keeps" if name else "something keeps"
                self.report(
                    f"{what} the graphs of earlier steps alive: memory grows with every step",
                    "keep the number, not the tensor: total += loss.item(), losses.append(loss.item()) or loss.detach()",
                    {"kept": site, "backward": event.site},
                    "kept",
                    graphs_alive=len(self.roots),
                )
        self.roots += [weakref.ref(node) for root in event.roots if (node := node_of(root)) is not None]


def holder(node: Node) -> tuple[str, Site | None]:
    """The variable that keeps a node alive, and the line that added to it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            for name, value in variables(frame):
                tensors = list(tensors_in(value))
                if tensors and any(made is node or node in reachable([made]) for x in tensors if (made := node_of(x)) is not None):
                    return name, line_that_adds(frame, name) or node_of(tensors[-1]).site  # type: ignore[union-attr]
        frame = frame.f_back
    return "", None


def variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    local = local_variables(frame)
    yield from local.items()
    yield from ((f"self.{name}", value) for name, value in getattr(local.get("self"), "__dict__", {}).items())
    yield from frame.f_globals.items()


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors with a history in a variable: itself, or in a list, tuple, deque or dict."""
    if isinstance(value, Tensor):
        yield from (value,) if node_of(value) is not None else ()
    elif isinstance(value, dict):
        for one in [*value.values()][:200]:
            yield from tensors_in(one)
    elif type(value).__name__ in ("list", "tuple", "deque"):
        for one in [*value][:200]:
            yield from tensors_in(one)


def line_that_adds(frame: FrameType, name: str) -> Site | None:
    """The line of a function with `name +=`, `name.append(` or `name = name +`."""
    code = frame.f_code
    for line in sorted({line for _, _, line in code.co_lines() if line is not None}):
        text = linecache.getline(code.co_filename, line).strip()
        if text.startswith((f"{name} +=", f"{name}.append(", f"{name}[", f"{name} = {name} +")):
            return site_of_line(code, line)
    return None
