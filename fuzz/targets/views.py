"""Views of views, writes through them, bases that change their geometry, unrecorded writes; and backward passes in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..generate import Builder, EndError
from ..program import Index, Leaf, Ref, Text, is_statement

Maker = Callable[[Builder, Ref, Any], Any]  # adds a step on a tensor, which is also given as PyTorch has it


def dim(b: Builder, t: Any) -> int:
    return b.random.randint(-t.dim(), t.dim() - 1) if t.dim() and not b.chance(0.02) else 0


def sliced(b: Builder, t: Any) -> Index:
    """A basic index: a view."""
    items: list[Any] = []
    for size in t.shape:
        start, stop = sorted((b.random.randint(0, size), b.random.randint(0, size)))
        place = b.random.randrange(size) if size else 0
        items.append(b.pick([place, slice(start, stop), slice(None), slice(None, None, 2), slice(start, None)]))
    if b.chance(0.3):
        items = items[: b.random.randint(0, len(items))]
    if b.chance(0.2):
        items.insert(b.random.randint(0, len(items)), None)
    if b.chance(0.2) and len(items) < t.dim():
        items.append(Ellipsis)
    return Index(tuple(items) or (Ellipsis,))


def permutation(b: Builder, t: Any) -> list[int]:
    return b.random.sample(range(t.dim()), t.dim())


def split_size(b: Builder, t: Any) -> tuple[int, ...]:
    """Another shape of the same size."""
    size = t.numel()
    factors = [n for n in (1, 2, 3, 4, 6) if size and size % n == 0]
    first = b.pick(factors) if factors else 0
    return b.pick([(-1,), (first, -1), (-1, first), (first, size // first if first else 0)]) if first else (0,)


VIEWS: list[Maker] = [
    lambda b, x, t: b.add("{}[{}]", x, sliced(b, t)),
    lambda b, x, t: b.add("{}[{}]", x, sliced(b, t)),
    lambda b, x, t: b.add(".t", x),
    lambda b, x, t: b.add(".transpose", x, dim(b, t), dim(b, t)),
    lambda b, x, t: b.add(".permute", x, permutation(b, t)),
    lambda b, x, t: b.add(".view", x, split_size(b, t)),
    lambda b, x, t: b.add(".reshape", x, split_size(b, t)),
    lambda b, x, t: b.add(".flatten", x, *([] if b.chance(0.5) else [dim(b, t), -1])),
    lambda b, x, t: b.add(".unsqueeze", x, b.random.randint(-t.dim() - 1, t.dim())),
    lambda b, x, t: b.add(".squeeze", x, *([] if b.chance(0.5) else [dim(b, t)])),
    lambda b, x, t: b.add(".expand", x, b.pick([2, 3]), *t.shape),
    lambda b, x, t: b.add(".expand_as", x, x),
    lambda b, x, t: b.add(".narrow", x, dim(b, t), 0, b.pick([1, 2])),
    lambda b, x, t: b.add(".select", x, dim(b, t), b.pick([0, -1])),
    lambda b, x, t: b.add(".diagonal", x, b.pick([0, 1, -1])),
    lambda b, x, t: b.add(".unfold", x, dim(b, t), b.pick([1, 2]), b.pick([1, 2])),
    lambda b, x, t: b.add(".as_strided", x, b.pick([(2,), (2, 2), (1, 2)]), b.pick([(1,), (1, 2), (2, 1)]), *b.pick([(), (0,), (1,)]))
    if t.numel() else None,  # where an empty view begins is not kept
    lambda b, x, t: b.add(".chunk", x, b.pick([2, 3]), dim(b, t)),
    lambda b, x, t: b.add(".split", x, b.pick([1, 2]), dim(b, t)),
    lambda b, x, t: b.add(".unbind", x, dim(b, t)),
    lambda b, x, t: b.add("{}[0]", b.add(".unbind", x, 0) or x),
    lambda b, x, t: b.add("{}[-1]", b.add(".chunk", x, 2) or x),
    lambda b, x, t: b.add(".view_as", x, x),
    lambda b, x, t: b.add(".detach", x),
    lambda b, x, t: b.add("{}.data", x),
    lambda b, x, t: b.add(".movedim", x, dim(b, t), dim(b, t)),
    lambda b, x, t: b.add("{}.T" if t.dim() == 2 else "{}.mT", x),
    lambda b, x, t: b.add(".swapaxes", x, dim(b, t), dim(b, t)),
    lambda b, x, t: b.add(".unflatten", x, dim(b, t), (-1, 1)),
    lambda b, x, t: b.add(".ravel", x),
    lambda b, x, t: b.add(".contiguous", x),
    lambda b, x, t: b.add("{}.real" if t.is_complex() else ".conj", x),
    lambda b, x, t: b.add("torch.view_as_real" if t.is_complex() else ".view_as", x, *([] if t.is_complex() else [x])),
    lambda b, x, t: b.add("{}.imag" if t.is_complex() else "{}.real", x),
    lambda b, x, t: b.add(".hsplit", x, 1),
    lambda b, x, t: b.add("torch.atleast_2d", x),
    lambda b, x, t: b.add("torch.broadcast_to", x, (2, *t.shape)),
]

GEOMETRY: list[Maker] = [
    lambda b, x, t: b.add(".t_", x),
    lambda b, x, t: b.add(".transpose_", x, dim(b, t), dim(b, t)),
    lambda b, x, t: b.add(".unsqueeze_", x, b.random.randint(-t.dim() - 1, t.dim())),
    lambda b, x, t: b.add(".squeeze_", x, *([] if b.chance(0.5) else [dim(b, t)])),
    lambda b, x, t: b.add(".as_strided_", x, b.pick([(2,), (2, 2), (1, 2)]), b.pick([(1,), (1, 2), (2, 1)])),
    lambda b, x, t: b.add(".swapdims_", x, dim(b, t), dim(b, t)),
    lambda b, x, t: b.add(".detach_", x) if b.chance(0.3) else None,
    lambda b, x, t: b.add(".resize_", x, tuple(t.shape)),
    lambda b, x, t: None if t._is_view() else b.add(".set_", x, Leaf((2, 2), str(t.dtype).removeprefix("torch."))),
    lambda b, x, t: None if t._is_view() else b.add("{}.data = {}", x, Leaf(tuple(t.shape), str(t.dtype).removeprefix("torch."), 5)),
]


def partner(b: Builder, t: Any) -> Any:
    """Something to combine with a tensor."""
    if b.chance(0.3):
        return b.pick([2.0, 0.5, -1.0, 3])
    fits = b.tensor(lambda o: o.dtype == t.dtype and o.dim() <= t.dim() and tuple(o.shape) == tuple(t.shape)[t.dim() - o.dim() :])
    return 2.0 if fits is None else fits


def twin(b: Builder, t: Any) -> Ref | None:
    """A tensor of the same shape and dtype."""
    return b.tensor(lambda other: other.shape == t.shape and other.dtype == t.dtype)


WRITES: list[Maker] = [
    lambda b, x, t: b.add(b.pick([".add_", ".mul_", ".sub_"]), x, partner(b, t)),
    lambda b, x, t: b.add(b.pick([".add_", ".mul_", ".copy_", ".sub_"]), x, twin(b, t) or x),
    lambda b, x, t: b.add(b.pick([".exp_", ".sin_", ".neg_", ".zero_", ".tanh_", ".relu_", ".sqrt_", ".sigmoid_", ".abs_"]), x),
    lambda b, x, t: b.add(".fill_", x, b.pick([1.0, 0.5])),
    lambda b, x, t: b.add("{}[{}] = {}", x, sliced(b, t), b.pick([1.5, 0])),
    lambda b, x, t: b.add("{}[{}] = {}", x, sliced(b, t), b.tensor(lambda o: o.dtype == t.dtype and o.dim() < 2) or 1.0),
    lambda b, x, t: b.add("{}[{}] *= {}", x, sliced(b, t), 2.0),
    lambda b, x, t: b.add("{} += {}", x, partner(b, t)),
    lambda b, x, t: b.add(".masked_fill_", x, Leaf(tuple(t.shape), "bool", 3), 0.25),
    lambda b, x, t: b.add(".clamp_", x, -0.5, 0.5),
    lambda b, x, t: b.add(".index_fill_", x, dim(b, t), Leaf((1,), "int64", values=(0,)), 2.0),
    lambda b, x, t: b.add(".fill_diagonal_", x, 3.0),
    lambda b, x, t: b.add(".addcmul_", x, x, partner(b, t) if b.chance(0.5) else x, value=0.5),
    lambda b, x, t: b.add(".lerp_", x, twin(b, t) or x, 0.5),
    lambda b, x, t: b.add(".cumsum_", x, dim(b, t)),
    lambda b, x, t: b.add(".tril_", x),
    lambda b, x, t: b.add("torch.sin({}, out={})", x, twin(b, t) or x),
    lambda b, x, t: b.add("with torch.no_grad(): {}.mul_({})", x, 0.5),
    lambda b, x, t: b.add("with torch.no_grad(): {}[{}] = {}", x, sliced(b, t), 0.5),
]

PURE: list[Maker] = [
    lambda b, x, t: b.add(b.pick(["torch.mul", "torch.add", "torch.sub"]), x, partner(b, t)),
    lambda b, x, t: b.add(b.pick([".exp", ".sin", ".neg", ".clone", ".tanh", ".sigmoid", ".square", ".abs"]), x),
    lambda b, x, t: b.add(".sum", x, *([] if b.chance(0.3) or not t.dim() else [dim(b, t)])),
    lambda b, x, t: b.add("torch.cat", [x, x], dim(b, t)),
    lambda b, x, t: b.add("torch.stack", [x, x], 0),
    lambda b, x, t: b.add(".max", x),
    lambda b, x, t: b.add(".clone", x, memory_format=Text(b.pick(["torch.preserve_format", "torch.contiguous_format"]))),
]

DERIVATIVES: list[Maker] = [
    lambda b, x, t: b.add(".register_hook", x, Text("lambda g: g * 2")) if t.requires_grad else None,
    lambda b, x, t: b.add(".register_hook", x, Text("lambda g: log.append(g.clone())")) if t.requires_grad else None,
    lambda b, x, t: b.add(".retain_grad", x) if t.requires_grad else None,
    lambda b, x, t: b.backward(b.chance(0.8)),
    lambda b, x, t: differentiate(b),
    lambda b, x, t: b.add("{}.grad = None", x) if t.is_leaf else None,
    lambda b, x, t: b.add("{}._version", x),
    lambda b, x, t: b.add("({}._base is None)", x) if t.requires_grad and not t.is_leaf else None,
    lambda b, x, t: b.add("{}.is_leaf", x),
]


def differentiate(b: Builder) -> Ref | None:
    """autograd.grad of a sum, with and without a graph of its own."""
    output = b.tensor(lambda t: t.requires_grad and not t.is_leaf and t.numel() > 0 and t.is_floating_point())
    of = b.tensor(lambda t: t.requires_grad)
    if output is None or of is None:
        return None
    return b.add("torch.autograd.grad({}.sum(), [{}], create_graph={}, retain_graph=True, allow_unused=True)", output, of, b.chance(0.4))


def places(t: Any) -> np.ndarray:
    """Where the elements of a tensor are in its memory, in bytes."""
    found = np.array(t.storage_offset())
    for size, stride in zip(t.shape, t.stride(), strict=True):
        found = found[..., None] + np.arange(size) * stride
    return np.asarray(found.ravel() * t.element_size() + t.untyped_storage().data_ptr())


def write(b: Builder, x: Ref, t: Any) -> None:
    """A write. One whose result depends on the order in which elements are written is no part of a program; nor is one that overwrites
    what its own derivative needs (`x.mul_(x)`): PyTorch refuses the backward pass, here it works."""
    before = len(b.steps)
    written = places(t)
    operands = {ref: (places(b.value(ref)), tuple(b.value(ref).shape)) for ref in b.refs()}
    b.pick(WRITES)(b, x, t)
    for step in b.steps[before:]:
        if "out=" in step.call and np.intersect1d(written, operands[step.args[1]][0]).size:
            del b.steps[before:]
            raise EndError
        if f"v{step.number}" in b.space or is_statement(step.call):
            others = [operands[ref] for ref in step.args[1:] if isinstance(ref, Ref) and ref in operands]
            itself = any(same_memory(written, memory) for memory, _ in others) and step.call not in (".add_", ".sub_", ".copy_")
            partly = any(np.intersect1d(written, memory).size and not same_memory(written, memory) for memory, _ in others)
            if len(np.unique(written)) < written.size or partly or itself or (others and "[" in step.call):
                del b.steps[before:]
                raise EndError


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool((a == b).all())


def program(b: Builder) -> None:
    dtype = b.pick(("float64",) * 5 + ("float32", "float32", "complex128"))
    for _ in range(b.random.randint(1, 2)):
        b.leaf(b.new(b.shape(1, 3), dtype, layout="", low=-1.5))
    leaf = b.tensor()
    assert leaf is not None
    b.add(b.pick([".clone", ".sin", ".mul"]), leaf, *([2.0] if b.steps[-1].call == ".mul" else []))
    kinds: list[list[Maker]] = [VIEWS] * 5 + [[write]] * 4 + [PURE] * 2 + [DERIVATIVES] * 2 + [GEOMETRY]
    try:
        for _ in range(b.random.randint(4, 16)):
            x = b.tensor(lambda t: t.numel() <= 64 and t.dim() <= 4)
            if x is not None:
                with suppress(RuntimeError):  # of a view that may not even be asked any more
                    b.pick(b.pick(kinds))(b, x, b.value(x))
        b.backward()
    except EndError:
        pass
