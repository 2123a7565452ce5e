"""Random programs on tensors, written once and run with adjoint, PyTorch or the naive engine: their methods have the same names.

A program is a list of steps. Each refers to earlier tensors by number (taken modulo how many there are), so that any list of numbers is a
program, and Hypothesis can shrink it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

SHAPE = (2, 3)
LEAVES = 2

number = st.integers(0, 30)
factor = st.sampled_from([-1.5, -1.0, 0.5, 2.0])


@dataclass
class Machine:
    """Runs a program and remembers what can be compared."""

    tensor: Callable[..., Any]  # (data, requires_grad)
    grad: Callable[..., Any]  # (output, inputs, retain_graph, create_graph)
    no_grad: Callable[[], Any]
    array: Callable[[Any], Any]
    tensors: list[Any] = field(default_factory=list)
    derived: set[int] = field(default_factory=set)  # numbers of tensors that came from `grad`, whose memory is not to be written
    of_leaves: set[int] = field(default_factory=lambda: set(range(LEAVES)))  # numbers of leaves and views of them
    expanded: set[int] = field(default_factory=set)  # numbers of expanded tensors and their views
    log: list[Any] = field(default_factory=list)  # values and gradients as arrays, and where errors came
    errors: list[str] = field(default_factory=list)

    def run(self, program: list[tuple[Any, ...]]) -> Machine:
        for i in range(LEAVES):
            self.tensors.append(self.tensor(np.linspace(0.3 + i, 1.1 - i, 6).reshape(SHAPE), True))
        self.tensors.append(self.tensor(np.linspace(-1, 0.7, 6).reshape(SHAPE), False))
        for place, (name, *arguments) in enumerate(program):
            try:
                getattr(self, name)(*arguments)
            except RuntimeError as error:
                self.log.append(f"error in step {place}")
                self.errors.append(f"{place} {name} {arguments}: {error}")
                if name in ("backward", "differentiate"):
                    break  # which gradients came before the error is nobody's business; a refused write changes nothing
        return self

    def pick(self, number: int) -> Any:
        x = self.tensors[number % len(self.tensors)]
        getattr(x, "grad_fn", None)  # PyTorch must be asked: a view whose base was written is taken for a leaf, or crashes, otherwise
        return x

    def add(self, tensor: Any) -> None:
        self.tensors.append(tensor)
        self.log.append(self.array(tensor))

    def binary(self, name: str, a: int, b: int) -> None:
        x, y = self.pick(a), self.pick(b)
        if broadcasts(x.shape, y.shape):
            self.add(getattr(x, name)(y))

    def scalar(self, name: str, a: int, factor: float) -> None:
        self.add(getattr(self.pick(a), name)(factor))

    def unary(self, name: str, a: int) -> None:
        self.add(getattr(self.pick(a), name)())

    def total(self, a: int, dim: int) -> None:
        x = self.pick(a)
        self.add(x.sum(dim) if dim < len(x.shape) else x.sum())

    def constant(self, a: int) -> None:
        self.add(self.pick(a).detach().clone())

    def look(self, kind: int, a: int) -> None:
        """A view."""
        x = self.pick(a)
        if not x.shape:
            return
        last = x.shape[-1]
        views: list[Callable[[], Any]] = [
            lambda: x[0],
            lambda: x[-1],
            lambda: x[..., last // 2 :],
            lambda: x[::2],
            lambda: x[..., 0],
            lambda: x[None],
            lambda: x.transpose(0, -1),
            lambda: x.expand(2, *x.shape),
        ]
        make = views[kind % len(views)]
        if len(x.shape) < 4:
            place = a % len(self.tensors)
            self.tensors.append(make())
            if kind % len(views) == len(views) - 1:
                self.expanded.add(len(self.tensors) - 1)
            for inherited in (self.derived, self.of_leaves, self.expanded):
                if place in inherited:
                    inherited.add(len(self.tensors) - 1)

    def may_write(self, number: int) -> bool:
        """Not to what `grad` returned, whose memory may be shared; to leaves, which refuse it, only now and then."""
        place = number % len(self.tensors)
        return place not in self.derived and (place >= LEAVES or number < 3 * LEAVES)

    def write(self, name: str, a: int, b: int | None = None, factor: float | None = None) -> None:
        if not self.may_write(a) or (name == "zero_" and a % len(self.tensors) in self.expanded):
            return  # (writing one number to an expanded tensor is allowed)
        x = self.pick(a)
        args: list[Any] = []
        if b is not None:
            y = self.pick(b)
            if not broadcasts(x.shape, y.shape) or overlap(x, y):
                return
            args = [y]
        elif factor is not None:
            args = [factor]
        getattr(x, name)(*args)
        self.log.append(self.array(x))

    def put(self, a: int, b: int, column: bool) -> None:
        """Assignment to an index."""
        if not self.may_write(a) or a % len(self.tensors) in self.expanded:
            return
        x, y = self.pick(a), self.pick(b)
        if len(x.shape) == 2 and y.shape == () and not overlap(x, y):
            x[(slice(None), 1) if column else 0] = y
            self.log.append(self.array(x))

    def step(self, leaf: int, factor: float) -> None:
        """What an optimizer does: write to a leaf, unrecorded. PyTorch then makes new nodes for its views, we do not: forget them."""
        for place in self.of_leaves:
            self.tensors[place] = self.tensors[place % LEAVES]
        with self.no_grad():
            self.tensors[leaf % LEAVES].mul_(factor)

    def hook(self, a: int, factor: float) -> None:
        x = self.pick(a)
        if x.requires_grad:
            x.register_hook(lambda g: g * factor)

    def retain(self, a: int) -> None:
        x = self.pick(a)
        if x.requires_grad:
            x.retain_grad()

    def backward(self, a: int, weighted: bool, retain_graph: bool) -> None:
        x = self.pick(a)
        if not x.requires_grad:
            return
        if weighted:
            size = int(np.prod(x.shape, dtype=int))
            x.backward(self.tensor(np.linspace(-1, 2, size).reshape(x.shape), False), retain_graph=retain_graph)
        else:
            x.sum().backward(retain_graph=retain_graph)
        self.log_gradients()

    def differentiate(self, a: int, b: int, create_graph: bool, retain_graph: bool) -> None:
        x, y = self.pick(a), self.pick(b)
        if not (x.requires_grad and y.requires_grad):
            return
        (result,) = self.grad(x.sum(), [y], create_graph or retain_graph, create_graph)
        self.log.append(None if result is None else self.array(result))
        self.log_gradients()
        if result is not None:
            self.tensors.append(result)
            self.derived.add(len(self.tensors) - 1)

    def log_gradients(self) -> None:
        for x in self.tensors:
            g = gradient_of(x)
            self.log.append(None if g is None else self.array(g))


def gradient_of(x: Any) -> Any:
    """`.grad` without a warning for those who keep none."""
    return x.grad if not hasattr(x, "is_leaf") or x.retains_grad or (x.requires_grad and x.is_leaf) else None


def overlap(x: Any, y: Any) -> bool:
    if hasattr(x, "memory"):
        return x.memory is y.memory and np.intersect1d(x.index, y.index).size > 0
    return np.shares_memory(x.detach().numpy(), y.detach().numpy())


def broadcasts(a: Any, b: Any) -> bool:
    try:
        return len(np.broadcast_shapes(tuple(a), tuple(b))) <= 4
    except ValueError:
        return False


BINARY = st.tuples(st.just("binary"), st.sampled_from(["__add__", "__sub__", "__mul__"]), number, number)
SCALAR = st.tuples(st.just("scalar"), st.sampled_from(["__mul__", "__add__"]), number, factor)
UNARY = st.tuples(st.just("unary"), st.sampled_from(["exp", "sin", "__neg__", "clone"]), number)
TOTAL = st.tuples(st.just("total"), number, st.integers(0, 2))
CONSTANT = st.tuples(st.just("constant"), number)
LOOK = st.tuples(st.just("look"), number, number)
WRITE = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(["add_", "mul_", "copy_", "sub_"]), number, number),
    st.tuples(st.just("write"), st.sampled_from(["add_", "mul_"]), number, st.none(), factor),
    st.tuples(st.just("write"), st.sampled_from(["exp_", "sin_", "neg_", "zero_"]), number),
)
PUT = st.tuples(st.just("put"), number, number, st.booleans())
STEP = st.tuples(st.just("step"), number, factor)
HOOK = st.tuples(st.just("hook"), number, factor)
RETAIN = st.tuples(st.just("retain"), number)
BACKWARD = st.tuples(st.just("backward"), number, st.booleans(), st.booleans())
GRAD = st.tuples(st.just("differentiate"), number, number, st.booleans(), st.booleans())

pure = [BINARY, BINARY, SCALAR, UNARY, UNARY, TOTAL, CONSTANT]
views = [LOOK, LOOK]
writes = [WRITE, WRITE, PUT, STEP]
gradients = [HOOK, RETAIN, BACKWARD, GRAD]


def programs(*kinds: list[Any], size: int = 24) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    steps = st.lists(st.one_of(*(step for kind in kinds for step in kind)), min_size=size // 3, max_size=size)
    return st.builds(lambda body, last: [*body, last], steps, BACKWARD)
