"""What rules ask of tensors, graphs and source lines."""

from __future__ import annotations

import inspect
import linecache
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from .._random._generator import get_rng_state, set_rng_state
from .._site import Site, StepSite
from .._tensor import Parameter, Tensor
from ..autograd.engine import reachable
from ..autograd.node import Node, Output
from .events import array_of

# Nodes of views and copies, by how their names begin.
VIEWS = (
    "View", "Unsafe", "Squeeze", "Unsqueeze", "Transpose", "Permute", "T", "Slice", "Select", "Expand", "Alias", "Clone", "ToCopy",
    "Reshape",
)  # fmt: skip


def rms(array: np.ndarray[Any, Any]) -> float:
    """The root of the mean square.

    >>> rms(np.array([3.0, -3.0]))
    3.0
    """
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.size else 0.0


def last_write(tensor: Tensor) -> Site | None:
    """The line that wrote to a tensor last, other than by a step of an optimizer: its initialisation."""
    writes = [] if tensor._vc is None else [site for _, site in tensor._vc.writes if not isinstance(site, StepSite)]
    return Site(*writes[-1]) if writes else None


def node_of(tensor: Any) -> Node | None:
    """The node that made a tensor; None for a view whose history may not be asked for."""
    try:
        made = getattr(tensor, "grad_fn", None)
    except RuntimeError:
        return None
    return made if isinstance(made, Node) else None


def before_views(node: Node | None) -> Node | None:
    """The node whose result is looked at, behind views and copies."""
    while node is not None and node.name().removesuffix("Backward0").startswith(VIEWS) and node.next:
        edge = node.next[0]
        node = edge.node if isinstance(edge, Output) else edge if isinstance(edge, Node) else None
    return node


def uses_of(leaf: Tensor, nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes of a graph that read a leaf."""
    return (node for node in nodes if any(edge is leaf for edge in node.next))


def graph_of(tensors: Iterable[Any]) -> list[Node]:
    """All nodes behind tensors."""
    return reachable([node for tensor in tensors if (node := node_of(tensor)) is not None])


def site_of_line(code: CodeType, line: int) -> Site | None:
    """The first instruction of a line of a function."""
    for place, (found, *_) in enumerate(code.co_positions()):
        if found == line:
            return Site(code, 2 * place)
    return None


def line_with(function: Any, *words: str) -> Site | None:
    """The first line of a function in which all words stand."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    for line in sorted({line for _, _, line in code.co_lines() if line is not None}):
        text = linecache.getline(code.co_filename, line)
        if all(word in text for word in words):
            return site_of_line(code, line)
    return None


def lines_like(code: CodeType, pattern: str, most: int = 3) -> dict[str, Site | None]:
    """The lines of a file that look like something, as roles and sites: a file with many of them tells nothing."""
    text = "".join(linecache.getlines(code.co_filename))
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if re.search(pattern, line.split("#")[0])]
    if not text or len(numbers) > most:
        return {}
    module = compile(text, code.co_filename, "exec")
    return {f"perhaps {place}" if place > 1 else "perhaps": site_in(module, number) for place, number in enumerate(numbers, 1)}


def site_in(code: CodeType, line: int) -> Site | None:
    """The first instruction of a line, in a code object or in those inside it."""
    inner = (site_in(constant, line) for constant in code.co_consts if isinstance(constant, CodeType))
    return next((site for site in inner if site is not None), None) or site_of_line(code, line)


def is_random(module: Any) -> bool:
    """Whether a module computes otherwise in training: dropout that drops, or batch normalization that learns."""
    kind = type(module).__name__
    inside = getattr(module, "dropout", 0.0)  # of recurrent layers and attention
    return (
        (isinstance(inside, float) and inside > 0)
        or ("Dropout" in kind and getattr(module, "p", 0) > 0)
        or ("BatchNorm" in kind and getattr(module, "track_running_stats", True))
    )


def random_parts(module: Any) -> list[Any]:
    return [part for part in module.modules() if is_random(part)]


def class_targets(target: Any) -> np.ndarray[Any, Any] | None:
    """Class numbers that a loss was given; None for probabilities and others."""
    data = array_of(target)
    return data if data is not None and data.dtype.kind in "iu" and data.ndim == 1 else None


@contextmanager
def undisturbed() -> Iterator[None]:
    """A block that may call the program's own code, and leaves every source of random numbers as it was."""
    own, python, numpy = get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        set_rng_state(own)
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


def is_parameter(tensor: Any) -> bool:
    return isinstance(tensor, Parameter)
