"""Reductions over each axis and over everything; softmax, norms and cross entropy by rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._passes import Case
from ._passes import register as register_passes

Function = Callable[[Any], Any]


def register(name: str, shape: tuple[int, ...], build: Callable[[Any], Function], *, backward: bool = True) -> None:
    """A function of one tensor of normal numbers."""

    def case(lib: Any) -> Case:
        lib.manual_seed(0)
        return build(lib), [lib.randn(*shape)]

    register_passes(name, case, backward=backward)


REDUCTIONS = ("sum", "mean", "amax", "max", "var", "std", "norm", "logsumexp", "prod", "argmax", "any", "cumsum")
WHOLE = ("sum", "mean", "max", "var", "norm", "argmax")  # what makes sense without an axis
EXACT = ("argmax", "any")  # no derivative


def over(name: str, dim: int | tuple[int, ...] | None) -> Callable[[Any], Function]:
    def build(lib: Any) -> Function:
        fn = getattr(lib, name)
        if dim is None:
            return fn  # type: ignore[no-any-return]
        if name in ("max",):
            return lambda x: fn(x, dim)[0]
        return lambda x: fn(x, dim=dim)

    return build


for _shape, _label in (((1024, 1024), "1024x1024"), ((32, 32), "32x32")):
    for _name in REDUCTIONS:
        for _dim in (0, 1):
            register(f"{_name} over axis {_dim} of {_label}", _shape, over(_name, _dim), backward=_name not in EXACT)
    for _name in WHOLE:
        register(f"{_name} of {_label}", _shape, over(_name, None), backward=_name not in EXACT)
register("sum over axes 0 and 2 of 64x32x512", (64, 32, 512), over("sum", (0, 2)))
register("mean over axes 2 and 3 of 32x64x28x28", (32, 64, 28, 28), over("mean", (2, 3)))


def softmax(lib: Any) -> Function:
    return lambda x: lib.softmax(x, dim=-1)


def log_softmax(lib: Any) -> Function:
    return lambda x: lib.log_softmax(x, dim=-1)


def layer_norm(width: int) -> Callable[[Any], Function]:
    def build(lib: Any) -> Function:
        weight, bias = lib.ones(width).requires_grad_(), lib.zeros(width).requires_grad_()
        return lambda x: lib.nn.functional.layer_norm(x, (width,), weight, bias)

    return build


def rms_norm(width: int) -> Callable[[Any], Function]:
    def build(lib: Any) -> Function:
        weight = lib.ones(width).requires_grad_()
        return lambda x: lib.nn.functional.rms_norm(x, (width,), weight)

    return build


def cross_entropy(rows: int, width: int) -> Callable[[Any], Function]:
    def build(lib: Any) -> Function:
        target = lib.randint(0, width, (rows,))
        return lambda x: lib.nn.functional.cross_entropy(x, target)

    return build


for _rows, _width in ((2048, 512), (32, 10)):
    _label = f"{_rows}x{_width}"
    register(f"softmax {_label}", (_rows, _width), softmax)
    register(f"log_softmax {_label}", (_rows, _width), log_softmax)
    register(f"layer_norm {_label}", (_rows, _width), layer_norm(_width))
    register(f"rms_norm {_label}", (_rows, _width), rms_norm(_width))
    register(f"cross_entropy {_label}", (_rows, _width), cross_entropy(_rows, _width))


def batch_norm(lib: Any) -> Function:
    weight, bias = lib.ones(64).requires_grad_(), lib.zeros(64).requires_grad_()
    mean, var = lib.zeros(64), lib.ones(64)
    return lambda x: lib.nn.functional.batch_norm(x, mean, var, weight, bias, training=True)


def group_norm(lib: Any) -> Function:
    weight, bias = lib.ones(64).requires_grad_(), lib.zeros(64).requires_grad_()
    return lambda x: lib.nn.functional.group_norm(x, 8, weight, bias)


def dropout(lib: Any) -> Function:
    return lambda x: lib.nn.functional.dropout(x, 0.5)


register("batch_norm 32x64x28x28", (32, 64, 28, 28), batch_norm)
register("group_norm 32x64x28x28, 8 groups", (32, 64, 28, 28), group_norm)
register("dropout 2048x512", (2048, 512), dropout)
register("dropout 32x32", (32, 32), dropout)
