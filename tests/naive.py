"""A naive engine to compare with: right because it is simple, and slow.

A `Value` is an array with the values it came from and a rule for each: our gradient in, theirs out. Rules are written with Values, so
derivatives of every order come by themselves. A `Tensor` looks at a piece of `Memory` through an array of positions: a view has other
positions, a broadcast repeats them, and an in-place write gives the memory a new Value that differs from the old one at the positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

Rule = Callable[["Value"], "Value"]


class Value:
    """`saved` holds the (memory, version) of what the rules read. OWN is this value's own place, None a private copy."""

    def __init__(self, data: Any, parents: Sequence[tuple[Value, Rule]] = (), saved: Sequence[Any] = (), leaf: bool = False) -> None:
        self.data = np.asarray(data, np.float64)
        self.parents = [(value, rule) for value, rule in parents if value.needs_grad and Memory.recording]
        self.leaf, self.needs_grad = leaf, leaf or bool(self.parents)
        self.saved, self.freed = list(saved), False
        self.place: tuple[Memory, int] | None = None
        self.hooks: list[Callable[[Any], Any]] = []
        self.owner: Tensor | None = None  # whose .grad our gradient is added to

    def check(self) -> None:
        if self.saved and self.freed:
            raise RuntimeError("freed")
        for place in (self.place if place is OWN else place for place in self.saved):
            if place is not None and place[0].version != place[1]:
                raise RuntimeError("overwritten")


OWN: Any = object()


class Memory:
    """What a tensor and its views share."""

    recording = True

    def __init__(self, value: Value) -> None:
        self.value, self.version = value, 0


# ----- Operations -----


def positions(shape: tuple[int, ...]) -> Any:
    return np.arange(int(np.prod(shape))).reshape(shape)


def gather(v: Value, index: Any) -> Value:
    return Value(v.data.reshape(-1)[index], [(v, lambda g: scatter(g, index, v.data.shape))])


def scatter(v: Value, index: Any, shape: tuple[int, ...]) -> Value:
    out = np.zeros(shape)
    np.add.at(out.reshape(-1), index, v.data)
    return Value(out, [(v, lambda g: gather(g, index))])


def update(old: Value, index: Any, new: Value) -> Value:
    """`old` with `new` at some positions; the one rule that must not run twice without retain_graph although it saves nothing."""
    data, outside = old.data.copy(), np.ones(old.data.shape)
    data.reshape(-1)[index], outside.reshape(-1)[index] = new.data, 0
    return Value(data, [(old, lambda g: mul(g, Value(outside))), (new, lambda g: gather(g, index))], [None])


def spread(v: Value, shape: tuple[int, ...]) -> Value:
    if v.data.shape == shape:
        return v
    wide = gather(v, np.broadcast_to(positions(v.data.shape), shape))
    wide.place = v.place
    return wide


def together(a: Value, b: Value) -> tuple[Value, Value]:
    shape = np.broadcast_shapes(a.data.shape, b.data.shape)
    return spread(a, shape), spread(b, shape)


def add(a: Value, b: Value) -> Value:
    a, b = together(a, b)
    return Value(a.data + b.data, [(a, lambda g: g), (b, lambda g: g)])


def mul(a: Value, b: Value, copied: bool = False) -> Value:
    a, b = together(a, b)
    saved = [b.place] * a.needs_grad + [None if copied else a.place] * b.needs_grad
    return Value(a.data * b.data, [(a, lambda g: mul(g, b)), (b, lambda g: mul(g, a))], saved)


def neg(v: Value, copied: bool = False) -> Value:
    return Value(-v.data, [(v, neg)])


def exp(v: Value, copied: bool = False) -> Value:
    out = Value(np.exp(v.data), [(v, lambda g: mul(g, out))], [OWN])
    return out


def sin(v: Value, copied: bool = False) -> Value:
    return Value(np.sin(v.data), [(v, lambda g: mul(g, cos(v)))], [None if copied else v.place])


def cos(v: Value) -> Value:
    return Value(np.cos(v.data), [(v, lambda g: mul(g, neg(sin(v))))], [v.place])


def power(v: Value, n: float) -> Value:
    return Value(v.data**n, [(v, lambda g: mul(g, mul(power(v, n - 1), Value(n))))], [v.place])


# ----- The engine -----


def differentiate(roots: Sequence[tuple[Value, Value]], wanted: Sequence[Value] | None, keep: bool) -> dict[Value, Value]:
    order: dict[Value, bool] = {}  # inputs before outputs; whether a value leads to a wanted one

    def visit(value: Value) -> None:
        if value not in order:
            for parent, _ in value.parents:
                visit(parent)
            order[value] = wanted is None or any(order[parent] or parent in wanted for parent, _ in value.parents)

    found: dict[Value, Value] = {}
    for root, seed in roots:
        visit(root)
        found[root] = add(found[root], seed) if root in found else seed
    for value in reversed(order):
        if value not in found:
            continue
        for hook in value.hooks:
            found[value] = hook(Tensor.of(found[value])).read()
        if value.owner is not None and (wanted is None or not value.leaf):
            value.owner.receive(found[value])
        if not order[value]:
            continue
        value.check()
        for parent, rule in value.parents:
            if wanted is None or order[parent] or parent in wanted:
                passed = rule(found[value])
                found[parent] = add(found[parent], passed) if parent in found else passed
        value.freed = not keep
    return found


@contextmanager
def no_grad(mode: bool = False) -> Iterator[None]:
    before, Memory.recording = Memory.recording, mode
    try:
        yield
    finally:
        Memory.recording = before


# ----- What the user holds -----


class Tensor:
    grad: Tensor | None = None

    def __init__(self, memory: Memory, index: Any, value: Value) -> None:
        self.memory, self.index, self.value, self.made_for = memory, np.asarray(index), value, memory.value

    @classmethod
    def of(cls, value: Value) -> Tensor:
        return cls(Memory(value), positions(value.data.shape), value)

    def numpy(self) -> Any:
        return self.memory.value.data.reshape(-1)[self.index]

    def item(self) -> float:
        return float(self.numpy().item())

    @property
    def shape(self) -> tuple[int, ...]:
        return self.index.shape

    @property
    def requires_grad(self) -> bool:
        return self.read().needs_grad

    def read(self) -> Value:
        """The present value. If the memory was written since, it is looked at anew, and retain_grad moves along."""
        if self.memory.value is not self.made_for:
            old, whole = self.value, self.index.size == self.memory.value.data.size and self.value is self.made_for
            self.made_for = self.memory.value
            self.value = self.made_for if whole else gather(self.made_for, self.index)
            if old.owner is self:
                old.owner, self.value.owner = None, self
        self.value.data, self.value.place = self.numpy(), (self.memory, self.memory.version)
        return self.value

    def view(self, pick: Callable[[Any], Any]) -> Tensor:
        return Tensor(self.memory, pick(self.index), gather(self.read(), pick(positions(self.shape))))

    def write(self, new: Value) -> Tensor:
        old = self.read()
        if np.unique(self.index).size != self.index.size:
            raise RuntimeError("expanded")
        if Memory.recording and (old.needs_grad or new.needs_grad) and self.memory.value.leaf:
            raise RuntimeError("leaf")
        if np.broadcast_shapes(new.data.shape, self.shape) != self.shape:
            raise RuntimeError("grows")
        new, memory = spread(new, self.shape), self.memory
        memory.version += 1
        if not Memory.recording:
            memory.value.data = update(memory.value, self.index, new).data
        elif memory.value is old:
            memory.value = new
        else:
            memory.value = update(memory.value, self.index, new)
        new.place = (memory, memory.version)
        self.read()
        return self

    def receive(self, gradient: Value) -> None:
        total = gradient.data if self.grad is None else self.grad.numpy() + gradient.data
        self.grad = Tensor.of(Value(total))

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self.read().hooks.append(hook)

    def retain_grad(self) -> None:
        self.read().owner = self

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        seed = Value(np.ones(self.shape)) if gradient is None else gradient.read()
        with no_grad():
            differentiate([(self.read(), seed)], None, retain_graph)

    def clone(self) -> Tensor:
        v = self.read()
        return Tensor.of(Value(v.data.copy(), [(v, lambda g: g)]))

    def detach(self) -> Tensor:
        return Tensor.of(Value(self.numpy().copy()))

    def sum(self, dim: int | None = None) -> Tensor:
        shape = () if dim is None else np.delete(self.shape, dim)
        kept = positions(tuple(shape))
        index = np.broadcast_to(kept if dim is None else np.expand_dims(kept, dim), self.shape)
        return Tensor.of(scatter(self.read(), index, tuple(shape)))

    def __getitem__(self, key: Any) -> Tensor:
        return self.view(lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(lambda a: a[key]).write(read(value))

    def transpose(self, i: int, j: int) -> Tensor:
        return self.view(lambda a: np.swapaxes(a, i, j))

    def unsqueeze(self, dim: int) -> Tensor:
        return self.view(lambda a: np.expand_dims(a, dim))

    def expand(self, *shape: int) -> Tensor:
        return self.view(lambda a: np.broadcast_to(a, shape))

    def __add__(self, other: Any) -> Tensor:
        return Tensor.of(add(self.read(), read(other)))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor.of(add(self.read(), neg(read(other))))

    def __mul__(self, other: Any) -> Tensor:
        return Tensor.of(mul(self.read(), read(other)))

    def __pow__(self, n: float) -> Tensor:
        return Tensor.of(power(self.read(), n))

    def __neg__(self) -> Tensor:
        return Tensor.of(neg(self.read()))

    def exp(self) -> Tensor:
        return Tensor.of(exp(self.read()))

    def sin(self) -> Tensor:
        return Tensor.of(sin(self.read()))

    def add_(self, other: Any) -> Tensor:
        return self.write(add(self.read(), read(other)))

    def mul_(self, other: Any) -> Tensor:
        return self.write(mul(self.read(), read(other), copied=True))

    def copy_(self, other: Any) -> Tensor:
        return self.write(read(other))

    def zero_(self) -> Tensor:
        return self.write(Value(np.zeros(self.shape)))

    def neg_(self) -> Tensor:
        return self.write(neg(self.read()))

    def exp_(self) -> Tensor:
        return self.write(exp(self.read()))

    def sin_(self) -> Tensor:
        return self.write(sin(self.read(), copied=True))


def read(x: Any) -> Value:
    return x.read() if isinstance(x, Tensor) else Value(x)


def tensor(data: Any, requires_grad: bool = False) -> Tensor:
    made = Tensor.of(Value(np.array(data, np.float64), leaf=requires_grad))
    if requires_grad:
        made.retain_grad()
    return made


def grad(
    output: Tensor, inputs: Sequence[Tensor], retain_graph: bool = False, create_graph: bool = False, allow_unused: bool = True
) -> list[Tensor | None]:
    wanted = [x.read() for x in inputs]
    with no_grad(create_graph):
        found = differentiate([(output.read(), Value(np.ones(output.shape)))], wanted, retain_graph or create_graph)
    return [Tensor.of(found[value]) if value in found else None for value in wanted]
