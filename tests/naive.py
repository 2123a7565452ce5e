"""A naive engine to compare with: right because it is simple, and slow. A hundred lines differentiate, as many again hold views and writes.

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
OWN: Any = object()


class Value:
    """`saved` holds the (memory, version) of what the rules read; OWN is this value's own place, None a private copy."""

    def __init__(self, data: Any, parents: Sequence[tuple[Value, Rule]] = (), saved: Sequence[Any] = (), leaf: bool = False) -> None:
        self.data = np.asarray(data, np.float64)
        self.leaf = leaf
        self.parents = [(value, rule) for value, rule in parents if value.needs_grad and Memory.recording]
        self.saved, self.freed = list(saved), False
        self.place: tuple[Memory, int] | None = None
        self.hooks: list[Callable[[Any], Any]] = []
        self.owner: Tensor | None = None  # whose .grad our gradient is added to

    @property
    def needs_grad(self) -> bool:
        return self.leaf or bool(self.parents)

    def check(self) -> None:
        if self.saved and self.freed:
            raise RuntimeError("freed")
        for place in (self.place if place is OWN else place for place in self.saved):
            if place is not None and place[0].version != place[1]:
                raise RuntimeError("overwritten")


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
    """`old` with `new` at some positions. It saves nothing, but like PyTorch's node for this it does not run again once freed."""
    data, outside = old.data.copy(), np.ones(old.data.shape)
    data.reshape(-1)[index], outside.reshape(-1)[index] = new.data, 0
    return Value(data, [(old, lambda g: mul(g, Value(outside))), (new, lambda g: gather(g, index))], [None])


def replaced(old: Value, new: Value, copied: bool = False) -> Value:
    """The value of `new`, which has history if `old` had: a write does not cut the graph."""
    new = spread(new, np.broadcast_shapes(old.data.shape, new.data.shape))
    return Value(new.data, [(old, lambda g: Value(np.zeros(old.data.shape))), (new, lambda g: g)])


def spread(v: Value, shape: tuple[int, ...]) -> Value:
    if v.data.shape == shape:
        return v
    wide = gather(v, np.broadcast_to(positions(v.data.shape), shape))
    wide.place = v.place
    return wide


def add(a: Value, b: Value, copied: bool = False) -> Value:
    shape = np.broadcast_shapes(a.data.shape, b.data.shape)
    a, b = spread(a, shape), spread(b, shape)
    return Value(a.data + b.data, [(a, lambda g: g), (b, lambda g: g)])


def mul(a: Value, b: Value, copied: bool = False) -> Value:
    shape = np.broadcast_shapes(a.data.shape, b.data.shape)
    a, b = spread(a, shape), spread(b, shape)
    saved = [b.place] * a.needs_grad + [None if copied else a.place] * b.needs_grad
    return Value(a.data * b.data, [(a, lambda g: mul(g, b)), (b, lambda g: mul(g, a))], saved)


def power(v: Value, n: Value, copied: bool = False) -> Value:
    return Value(v.data**n.data, [(v, lambda g: mul(g, mul(power(v, Value(n.data - 1)), n)))], [None if copied else v.place])


def neg(v: Value, copied: bool = False) -> Value:
    return Value(-v.data, [(v, neg)])


def exp(v: Value, copied: bool = False) -> Value:
    out = Value(np.exp(v.data), [(v, lambda g: mul(g, out))], [OWN])
    return out


def sin(v: Value, copied: bool = False) -> Value:
    return Value(np.sin(v.data), [(v, lambda g: mul(g, cos(v)))], [None if copied else v.place])


def cos(v: Value) -> Value:
    return Value(np.cos(v.data), [(v, lambda g: mul(g, neg(sin(v))))], [v.place])


# ----- The engine -----


def differentiate(root: Value, seed: Value, wanted: Sequence[Value] | None, keep: bool) -> dict[Value, Value]:
    order: dict[Value, bool] = {}  # inputs before outputs; whether a value leads to a wanted one

    def visit(value: Value) -> None:
        if value not in order:
            for parent, _ in value.parents:
                visit(parent)
            order[value] = wanted is None or any(order[parent] or parent in wanted for parent, _ in value.parents)

    visit(root)
    found = {root: seed}
    for value in [value for value in reversed(order) if order[value] or value in (wanted or ())]:
        if value not in found:
            continue
        for hook in value.hooks:
            found[value] = hook(Tensor(found[value])).read()
        if value.owner is not None and (wanted is None or not value.leaf):
            value.owner.receive(found[value])
        if order[value]:
            value.check()
            for parent, rule in value.parents:
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

    def __init__(self, value: Value, memory: Memory | None = None, index: Any = None) -> None:
        self.value = value
        self.memory = memory or Memory(value)
        self.index = np.asarray(positions(value.data.shape) if memory is None else index)
        self.made_for = self.memory.value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.index.shape

    @property
    def requires_grad(self) -> bool:
        return self.read().needs_grad

    def numpy(self) -> Any:
        return self.memory.value.data.reshape(-1)[self.index]

    def item(self) -> float:
        return float(self.numpy().item())

    def read(self) -> Value:
        """The present value. If the memory was written since, it is looked at anew, and `retain_grad` moves along."""
        if self.memory.value is not self.made_for:
            old, whole = self.value, self.value is self.made_for
            self.made_for = self.memory.value
            self.value = self.made_for if whole else gather(self.made_for, self.index)
            if old.owner is self:  # a view
                old.owner, self.value.owner = None, self
        self.value.data, self.value.place = self.numpy(), (self.memory, self.memory.version)
        return self.value

    def view(self, pick: Callable[[Any], Any]) -> Tensor:
        return Tensor(gather(self.read(), pick(positions(self.shape))), self.memory, pick(self.index))

    def write(self, new: Value) -> Tensor:
        old, memory = self.read(), self.memory
        if Memory.recording and (old.needs_grad or new.needs_grad) and memory.value.leaf:
            raise RuntimeError("leaf")
        if np.unique(self.index).size != self.index.size or np.broadcast_shapes(new.data.shape, self.shape) != self.shape:
            raise RuntimeError("expanded, or grows")
        new = spread(new, self.shape)
        memory.version += 1
        new.place = (memory, memory.version)
        if not Memory.recording:
            memory.value.data = update(memory.value, self.index, new).data
        else:
            before, memory.value = memory.value, new if memory.value is old else update(memory.value, self.index, new)
            before.owner, memory.value.owner = None, before.owner  # `retain_grad` means the present value
        self.read()
        return self

    def receive(self, gradient: Value) -> None:
        self.grad = Tensor(Value(gradient.data if self.grad is None else self.grad.numpy() + gradient.data))

    def register_hook(self, hook: Callable[[Any], Any]) -> None:
        self.read().hooks.append(hook)

    def retain_grad(self) -> None:
        self.read().owner = self

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        with no_grad():
            differentiate(self.read(), Value(np.ones(self.shape)) if gradient is None else gradient.read(), None, retain_graph)

    def clone(self) -> Tensor:
        return Tensor(add(self.read(), Value(0)))

    def detach(self) -> Tensor:
        return Tensor(Value(self.numpy().copy()))

    def sum(self, dim: int | None = None) -> Tensor:
        shape = () if dim is None else (*self.shape[:dim], *self.shape[dim + 1 :])
        kept = positions(shape) if dim is None else np.expand_dims(positions(shape), dim)
        return Tensor(scatter(self.read(), np.broadcast_to(kept, self.shape), shape))

    def __getitem__(self, key: Any) -> Tensor:
        return self.view(lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].copy_(value)

    def transpose(self, i: int, j: int) -> Tensor:
        return self.view(lambda a: np.swapaxes(a, i, j))

    def expand(self, *shape: int) -> Tensor:
        return self.view(lambda a: np.broadcast_to(a, shape))


def read(x: Any) -> Value:
    return x.read() if isinstance(x, Tensor) else Value(x)


def _attach(name: str, inplace: str, op: Callable[..., Value]) -> None:
    """An operation as a method, and its in-place form."""
    setattr(Tensor, name, lambda self, *args: Tensor(op(self.read(), *map(read, args))))
    setattr(Tensor, inplace, lambda self, *args: self.write(op(self.read(), *map(read, args), copied=True)))


_attach("__add__", "add_", add)
_attach("__sub__", "sub_", lambda a, b, copied=False: add(a, neg(b)))
_attach("__mul__", "mul_", mul)
_attach("__pow__", "pow_", power)
_attach("__neg__", "neg_", neg)
_attach("exp", "exp_", exp)
_attach("sin", "sin_", sin)
_attach("replaced", "copy_", replaced)
_attach("zeroed", "zero_", lambda old, copied=False: replaced(old, Value(0)))


def tensor(data: Any, requires_grad: bool = False) -> Tensor:
    made = Tensor(Value(np.array(data, np.float64), leaf=requires_grad))
    if requires_grad:
        made.retain_grad()
    return made


def grad(output: Tensor, inputs: Sequence[Tensor], retain_graph: bool = False, create_graph: bool = False) -> list[Tensor | None]:
    wanted = [x.read() for x in inputs]
    with no_grad(create_graph):
        found = differentiate(output.read(), Value(np.ones(output.shape)), wanted, retain_graph or create_graph)
    return [Tensor(found[value]) if value in found else None for value in wanted]
