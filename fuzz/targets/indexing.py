"""Reading and writing by every kind of index, those of other functions too, with gradients."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, EndError
from ..program import Index, Leaf, Ref, literal


def integers(b: Builder, shape: tuple[int, ...], size: int, wild: float = 0.03) -> Leaf:
    """Indices in the range of a dimension, or, now and then, beyond it."""
    low, high = (-size, size) if size else (0, 1)
    if b.chance(wild):
        low, high = b.pick([(size, size + 1), (-size - 1, -size), (2**62, 2**62 + 1), (-(2**63), -(2**63) + 1)])
    dtype = b.pick(["int64"] * 6 + ["int32", "uint8", "int8", "int16"])
    low = max(low, 0) if dtype == "uint8" else low
    if abs(low) >= 2**62:
        return Leaf(shape, "int64", values=(low,))
    return Leaf(shape, dtype, b.random.randrange(999), low, max(high, low + 1))


def item(b: Builder, size: int, common: tuple[int, ...]) -> Any:
    """An index for one dimension."""
    start, stop = b.random.randint(-size - 1, size + 1), b.random.randint(-size - 1, size + 1)
    kind = b.random.randrange(10)
    if kind < 2:
        return b.random.randint(-size, max(size - 1, 0)) if not b.chance(0.03) else b.pick([size, -size - 1, 2**63, -(2**64)])
    if kind < 4:
        return slice(b.pick([None, start]), b.pick([None, stop]), b.pick([None, None, 1, 2, 3]))
    if kind == 4:
        return slice(None)
    if kind == 5:
        return b.leaf(Leaf((size,), "bool", b.random.randrange(999)))
    if kind == 6:
        return [b.random.randrange(size) for _ in range(common[-1] if common else 2)] if size else []
    if kind == 7:
        return b.pick([True, False]) if b.chance(0.1) else None
    shape = b.pick([common, common[-1:], (1,), ()])
    return b.leaf(integers(b, shape, size))


def index(b: Builder, t: Any) -> Index:
    """A whole index."""
    if b.chance(0.08):
        return Index((b.leaf(Leaf(tuple(t.shape), "bool", b.random.randrange(999))),))
    common = b.shape(0, 2)
    items: list[Any] = [item(b, size, common) for size in t.shape]
    while b.chance(0.15):
        items.insert(b.random.randint(0, len(items)), None)
    if items and b.chance(0.3):
        place = b.random.randrange(len(items))
        items[place : place + b.pick([0, 1, 2])] = [Ellipsis]
    elif b.chance(0.3):
        items = items[: b.random.randint(0, len(items))]
    return Index(tuple(items) or (Ellipsis,))


def by_dim(b: Builder, x: Ref, t: Any) -> None:
    """Functions that take an index for one dimension."""
    if not t.dim():
        return
    dim = b.random.randint(-t.dim(), t.dim() - 1)
    size, count = t.shape[dim], b.pick([1, 2, 3])
    line = b.leaf(integers(b, (count,), size))
    some = tuple(b.pick([1, n]) if n else 0 for n in t.shape)
    like = b.leaf(integers(b, some, size))
    part = list(t.shape)
    part[dim] = count
    name = str(t.dtype).removeprefix("torch.")
    source = b.leaf(b.new(tuple(part), name))
    spread = b.leaf(b.new(some, name))
    reduced = b.pick(["sum", "prod", "mean", "amax", "amin"])
    flat = b.leaf(integers(b, (count,), t.numel()))
    whole = {"include_self": b.pick([True, False])} if b.chance(0.5) else {}
    b.pick([
        lambda: b.add(".index_select", x, dim, line),
        lambda: b.add(".gather", x, dim, like),
        lambda: b.add(".take_along_dim", x, like, dim),
        lambda: b.add(".index_add", x, dim, line, source, alpha=b.pick([1, 2])),
        lambda: b.add(".index_copy", x, dim, line, source),
        lambda: b.add(".index_fill", x, dim, line, b.pick([0.5, 3])),
        lambda: b.add(".scatter", x, dim, like, spread),
        lambda: b.add(".scatter", x, dim, like, 1.5),
        lambda: b.add(".scatter_add", x, dim, like, spread),
        lambda: b.add(".scatter_reduce", x, dim, like, spread, reduced, **whole),
        lambda: b.add(".index_reduce", x, dim, line, source, b.pick(["prod", "mean", "amax", "amin"]), **whole),
        lambda: b.add(".take", x, flat),
        lambda: b.add(".put", x, flat, b.leaf(b.new((count,), name)), b.pick([True, False])),
        lambda: b.add(".index_put", x, (line,), b.leaf(b.new((), name)), b.pick([True, False])),
        lambda: b.add(".masked_select", x, b.leaf(Leaf(tuple(t.shape), "bool", 3))),
        lambda: b.add(".masked_scatter", x, b.leaf(Leaf(tuple(t.shape), "bool", 3)), b.leaf(b.new((t.numel(),), name))),
        lambda: b.add(".repeat_interleave", x, b.pick([0, 1, 2]), dim),
        lambda: b.add("torch.nn.functional.embedding", line, x),
        lambda: b.add(".narrow", x, dim, b.random.randint(-size - 1, size + 1), b.pick([0, 1, 2])),
        lambda: b.add(".select", x, dim, b.random.randint(-size - 1, size)),
        lambda: b.add(".select_scatter", x, b.leaf(b.new([n for k, n in enumerate(t.shape) if k != dim % t.dim()], name)), dim, 0),
        lambda: b.add(".unfold", x, dim, b.random.randint(0, size + 1), b.pick([1, 2])),
        lambda: b.add(".diagonal_scatter", x, b.leaf(b.new((min(t.shape[:2]),), name))),
    ])()  # fmt: skip


def distinct(b: Builder, t: Any, where: Index) -> bool:
    """Whether no element is written twice."""
    number = b.number()
    b.space[f"v{number}"] = b.torch.arange(t.numel()).view(t.shape)
    places = eval(f"v{number}[{literal(where)}]", b.space)
    return bool(len(places.unique()) == places.numel())


def program(b: Builder) -> None:
    dtype = b.pick(["float64", "float64", "float32", "float32", "int64", "complex128", "float16", "bool"])
    x = b.leaf(b.new(b.shape(0, 4), dtype))
    if b.value(x).requires_grad:
        x = b.add(".clone", x) or x
    try:
        for _ in range(b.random.randint(1, 4)):
            t = b.value(x)
            kind = b.random.randrange(4)
            if kind == 0:
                b.add("{}[{}]", x, index(b, t), keep=0.3)
            elif kind == 1:
                b.add("{}[{}] = {}", x, index(b, t), b.pick([2, 1.5, b.leaf(b.new((), dtype))]), keep=0.3)  # in whatever order
            elif kind == 2:
                where = index(b, t)
                read = b.add("{}[{}]", x, where, keep=0.0)
                if read is not None and distinct(b, t, where):
                    shape = tuple(b.value(read).shape)
                    b.add("{}[{}] = {}", x, where, b.leaf(b.new(shape[b.random.randint(0, len(shape)) :], dtype)))
            else:
                by_dim(b, x, t)
        b.backward()
    except EndError:
        pass
