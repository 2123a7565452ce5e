"""A program is data: a list of steps that name what they use. So it can be made from a seed, run with either library, made smaller, and
printed as Python that stands alone.

    Step(0, "{}", (Leaf((3, 2), "float64", grad=True),))
    Step(1, "torch.sum", (Ref(0), -1), {"keepdim": True})     # v1 = torch.sum(v0, -1, keepdim=True)
    Step(2, ".mul_", (Ref(1), 2.0))                           # v2 = v1.mul_(2.0)
    Step(3, "{}[{}] = {}", (Ref(1), Index((0,)), 1.0))        # a statement: anything with braces is filled in
    Step(4, "def", (Ref(6),), body=(...), params=(5,))        # a function of v5 that returns v6

Steps keep their numbers when others are dropped. The text of a step is what runs; nothing is executed that cannot be printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

PRELUDE = """\
import numpy as np
import torch  # or: import adjoint as torch
"""


@dataclass(frozen=True)
class Ref:
    """The result of an earlier step."""

    number: int


@dataclass(frozen=True)
class Text:
    """Python as it stands, such as a dtype."""

    text: str


@dataclass(frozen=True)
class Index:
    """What stands between square brackets."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Leaf:
    """A tensor made of numbers: drawn from a seed, or given. The layout says how it lies in memory."""

    shape: tuple[int, ...]
    dtype: str = "float64"
    seed: int = 0
    low: float = -2.0
    high: float = 2.0
    values: tuple[Any, ...] | None = None  # in place of random numbers
    layout: str = ""  # "", "transposed", "strided", "offset", "channels_last", "expanded"
    grad: bool = False

    def text(self) -> str:
        """An expression that makes it."""
        shape, ending = self.shape, ""
        if not shape:
            pass
        elif self.layout == "transposed":
            shape, ending = shape[::-1], f".permute({tuple(range(len(shape)))[::-1]})"
        elif self.layout == "strided":
            shape, ending = (*shape[:-1], shape[-1] * 2), "[..., ::2]"
        elif self.layout == "offset":
            shape, ending = (shape[0] + 1, *shape[1:]), "[1:]"
        elif self.layout == "channels_last" and len(shape) in (4, 5):
            ending = f".contiguous(memory_format=torch.channels_last{'_3d' if len(shape) == 5 else ''})"
        elif self.layout == "expanded":
            shape, ending = (1, *shape[1:]), f".expand({tuple(self.shape)})"
        ending += ".requires_grad_()" if self.grad else ""
        dtype = "" if self.dtype == "float64" else f".to(torch.{self.dtype})"
        if self.values is not None:
            if len(self.values) == 1:
                return f"torch.full({shape}, {literal(self.values[0])}, dtype=torch.{self.dtype}){ending}"
            size = math.prod(shape)
            values = self.values or (0,)
            given = (values * (size // len(values) + 1))[:size]
            nested = literal(np.array(given, dtype=object).reshape(shape).tolist())
            return f"torch.tensor({nested}, dtype=torch.{self.dtype}){ending}"
        drawn = f"np.random.default_rng({self.seed})"
        if self.dtype == "bool":
            return f"torch.from_numpy(np.asarray({drawn}.random({shape}) < 0.5)){ending}"
        if "int" in self.dtype:
            low = max(int(self.low), 0) if self.dtype[0] == "u" else int(self.low)
            numbers = f"{drawn}.integers({low}, {max(int(self.high), low + 1)}, {shape})"
            return f"torch.from_numpy(np.asarray({numbers})){'' if self.dtype == 'int64' else dtype}{ending}"
        numbers = f"{drawn}.uniform({self.low}, {self.high}, {shape})"
        if self.dtype.startswith("complex"):
            numbers += f" + 1j * np.random.default_rng({self.seed + 1}).uniform({self.low}, {self.high}, {shape})"
            dtype = "" if self.dtype == "complex128" else dtype
        return f"torch.from_numpy(np.asarray({numbers})){dtype}{ending}"


@dataclass(frozen=True)
class Step:
    """One line, or the definition of a function."""

    number: int
    call: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    body: tuple[Step, ...] = ()
    params: tuple[int, ...] = ()

    def text(self) -> str:
        """The step in Python."""
        if self.call == "def":
            lines = [line for step in self.body for line in step.text().split("\n")]
            lines.append(f"return {', '.join(map(literal, self.args))}")
            head = f"def v{self.number}({', '.join(f'v{p}' for p in self.params)}):"
            return "\n".join([head, *("    " + line for line in lines)])
        shown = [literal(value) for value in self.args]
        if "{" in self.call:
            filled = self.call.format(*shown)
            return filled if is_statement(self.call) else f"v{self.number} = {filled}"
        receiver = ""
        if self.call.startswith("."):
            receiver, shown = shown[0], shown[1:]
            receiver = f"({receiver})" if isinstance(self.args[0], Leaf) else receiver
        shown += [f"{name}={literal(value)}" for name, value in self.kwargs.items()]
        return f"v{self.number} = {receiver}{self.call}({', '.join(shown)})"

    def refs(self) -> set[int]:
        """The numbers of the steps that it uses, not counting those of its own body."""
        found = {ref.number for ref in walk((self.args, tuple(self.kwargs.values()))) if isinstance(ref, Ref)}
        for step in self.body:
            found |= step.refs()
        return found - {step.number for step in self.body} - set(self.params)


Program = tuple[Step, ...]


def is_statement(call: str) -> bool:
    """Whether a text with braces gives no result."""
    return bool(re.match(r"del |with |\{\}(\[\{\}\]|\.\w+)? [-+*/@|&^%]*= ", call)) or call.startswith("class ")


def walk(value: Any) -> Iterator[Any]:
    """A value and all that is inside of it."""
    yield value
    if isinstance(value, Index):
        yield from walk(value.items)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from walk(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from walk(item)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with `change` applied to the innermost parts."""
    if isinstance(value, Index):
        return Index(tuple(changed(item, change) for item in value.items))
    if isinstance(value, list | tuple):
        return type(value)(changed(item, change) for item in value)
    if isinstance(value, dict):
        return {name: changed(item, change) for name, item in value.items()}
    return change(value)


def changed_step(step: Step, change: Callable[[Any], Any]) -> Step:
    body = tuple(changed_step(inner, change) for inner in step.body)
    return replace(step, args=changed(step.args, change), kwargs=changed(step.kwargs, change), body=body)


def literal(value: Any) -> str:
    """A value in Python."""
    if isinstance(value, Ref):
        return f"v{value.number}"
    if isinstance(value, Text):
        return value.text
    if isinstance(value, Leaf):
        return value.text()
    if isinstance(value, Index):
        return ", ".join(map(index_text, value.items)) or "()"
    if isinstance(value, tuple):
        inner = ", ".join(map(literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return repr(value)


def index_text(item: Any) -> str:
    if isinstance(item, slice):
        ends = ["" if end is None else literal(end) for end in (item.start, item.stop, item.step)]
        return ":".join(ends if item.step is not None else ends[:2])
    return "..." if item is Ellipsis else literal(item)


def printed(program: Program, *notes: str) -> str:
    """The program as a file that stands alone, with notes on top and the results printed at the end."""
    lines = [f"# {line}" for note in notes for line in note.splitlines()]
    shown = [f"v{step.number}" for step in program if step.call != "def" and not is_statement(step.call)]
    ending = [f"print({', '.join(shown[-4:])})"] if shown else []
    return "\n".join([*lines, PRELUDE, *(step.text() for step in program), *ending]) + "\n"
