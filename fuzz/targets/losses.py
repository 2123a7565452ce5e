"""Losses with all their arguments, as modules and as functions, with gradients of every input that has one."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, EndError
from ..program import Leaf
from .layers import some


def leaf(b: Builder, shape: tuple[int, ...], kind: str, low: float = -2.0, high: float = 2.0, grad: bool = True) -> Any:
    layout = b.pick(["", "", "transposed", "strided"]) if shape and 0 not in shape else ""
    floating = kind.startswith("float")
    return b.leaf(Leaf(shape, kind, b.random.randrange(999), low, high, None, layout, floating and grad and b.chance(0.8)))


def regression(b: Builder, kind: str) -> tuple[str, dict[str, Any], list[Any]]:
    name, options = b.pick([
        ("MSELoss", {}), ("L1Loss", {}), ("SmoothL1Loss", {"beta": [0.0, 0.5, 2.0]}), ("HuberLoss", {"delta": [0.5, 2.0]}),
        ("SoftMarginLoss", {}), ("HingeEmbeddingLoss", {"margin": [0.5, 2.0]}), ("KLDivLoss", {"log_target": [True, False]}),
        ("PoissonNLLLoss", {"log_input": [False], "full": [True], "eps": [1e-3]}), ("MultiLabelSoftMarginLoss", {}),
    ])  # fmt: skip
    shape = b.shape(2 if name.startswith("MultiL") else 0, 3)
    positive = name in ("PoissonNLLLoss", "KLDivLoss")
    return name, some(b, **options), [leaf(b, shape, kind, 0.1 if positive else -2.0), leaf(b, shape, kind, 0.1 if positive else -2.0)]


def binary(b: Builder, kind: str) -> tuple[str, dict[str, Any], list[Any]]:
    shape, name = b.shape(0, 3), b.pick(["BCELoss", "BCEWithLogitsLoss"])
    kwargs: dict[str, Any] = {}
    if b.chance(0.4):
        kwargs["weight"] = leaf(b, shape, kind, 0.0, grad=False)
    if name == "BCEWithLogitsLoss" and b.chance(0.4):
        kwargs["pos_weight"] = leaf(b, shape[-1:], kind, 0.1, grad=False)
    logits = leaf(b, shape, kind, *((0.01, 0.99) if name == "BCELoss" else (-30.0, 30.0)))
    return name, kwargs, [logits, leaf(b, shape, kind, 0.0, 1.0)]


def classes(b: Builder, kind: str) -> tuple[str, dict[str, Any], list[Any]]:
    count, name = b.pick([1, 3, 5]), b.pick(["CrossEntropyLoss", "CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"])
    batch = () if b.chance(0.15) else (b.pick([1, 2, 4]),)
    more = b.shape(1, 2) if batch and b.chance(0.4) and name != "MultiMarginLoss" else ()
    kwargs: dict[str, Any] = {"weight": leaf(b, (count,), kind, 0.1, grad=False)} if b.chance(0.4) else {}
    if name == "MultiMarginLoss":
        kwargs |= some(b, p=[1, 2], margin=[0.5, 2.0])
    else:
        kwargs |= some(b, ignore_index=[0, 1, -1])
    if name == "CrossEntropyLoss":
        kwargs |= some(b, label_smoothing=[0.1, 0.9, 1.0])
        if b.chance(0.3):
            kwargs.pop("ignore_index", None)
            return name, kwargs, [leaf(b, (*batch, count, *more), kind), leaf(b, (*batch, count, *more), kind, 0.0)]
    return name, kwargs, [leaf(b, (*batch, count, *more), kind), leaf(b, (*batch, *more), "int64", 0, count)]


def pairs(b: Builder, kind: str) -> tuple[str, dict[str, Any], list[Any]]:
    shape = b.shape(2, 2)
    name = b.pick(["MarginRankingLoss", "CosineEmbeddingLoss", "TripletMarginLoss", "GaussianNLLLoss", "MultiLabelMarginLoss"])
    if name == "TripletMarginLoss":
        kwargs = some(b, margin=[0.5, 2.0], p=[1.0, 2.0, 3.0], eps=[0.1], swap=[True])
        return name, kwargs, [leaf(b, shape, kind) for _ in range(3)]
    if name == "GaussianNLLLoss":
        variance = b.pick([shape, shape[:-1], (*shape[:-1], 1)])
        return name, some(b, full=[True], eps=[0.1]), [leaf(b, shape, kind), leaf(b, shape, kind), leaf(b, variance, kind, 0.01)]
    if name == "MultiLabelMarginLoss":
        return name, {}, [leaf(b, shape, kind), leaf(b, shape, "int64", -1, max(1, shape[-1]))]
    target = b.leaf(Leaf(shape[:1] if name.startswith("C") else shape, kind, values=(1.0, -1.0, -1.0)))
    margin = some(b, margin=[0.5, -0.5, 0.0])
    return name, margin, [leaf(b, shape, kind), leaf(b, shape, kind), target]


def sequences(b: Builder, kind: str) -> tuple[str, dict[str, Any], list[Any]]:
    steps, batch, count, length, blank = b.pick([3, 5, 8]), b.pick([1, 2, 3]), b.pick([3, 4]), b.pick([1, 2, 3]), b.pick([0, 0, 1])
    raw = leaf(b, (steps, batch, count), kind)
    inputs = [b.add(".log_softmax", raw, -1), b.leaf(Leaf((batch, length), "int64", b.random.randrange(99), blank + 1, count))]
    inputs += [b.leaf(Leaf((batch,), "int64", b.random.randrange(99), b.pick([1, steps]), steps + 1))]
    inputs += [b.leaf(Leaf((batch,), "int64", b.random.randrange(99), b.pick([0, 1]), length + 1))]
    return "CTCLoss", {"blank": blank} | some(b, zero_infinity=[True]), inputs


def program(b: Builder) -> None:
    kind = b.pick(["float64", "float32", "float32"])
    name, kwargs, inputs = b.pick([regression, regression, binary, classes, classes, pairs, sequences])(b, kind)
    kwargs |= some(b, reduction=["none", "sum", "mean"])
    layer = b.add(f"torch.nn.{name}", **kwargs)
    if layer is None:
        return
    try:
        output = b.add(f"{{}}({', '.join('{}' for _ in inputs)})", layer, *inputs, keep=0.5)
        if output is None or not b.value(output).requires_grad:
            return
        if b.chance(0.3):
            of = b.tensor(lambda t: t.requires_grad and t.is_leaf)
            first = b.add("torch.autograd.grad({}.square().sum(), [{}], create_graph=True, allow_unused=True)[0]", output, of)
            if first is not None and b.value(first) is not None and b.value(first).requires_grad:
                b.add("{}.square().sum().backward()", first)
        else:
            b.backward()
    except EndError:
        pass
