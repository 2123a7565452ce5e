"""Elementwise functions with numbers, options or random choices among their arguments; in place; of operands that are broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._passes import Build, register
from .elementwise import SIZES

Call = Callable[[Any], Callable[..., Any]]  # from the library module to the function that is called with the operands
Ends = tuple[float, float]  # of the range of an operand

WIDE, HIGH, ABOVE_ONE = (-3.0, 3.0), (0.3, 9.0), (1.1, 9.0)

CALLS: dict[str, tuple[Call, Ends, *tuple[Ends, ...]]] = {
    "acosh": (lambda lib: lib.acosh, ABOVE_ONE),
    "add with alpha": (lambda lib: lambda x, y: lib.add(x, y, alpha=0.5), WIDE, HIGH),
    "clamp by tensors": (lambda lib: lib.clamp, WIDE, (-0.5, -0.4), (0.4, 0.5)),
    "clamp from below": (lambda lib: lambda x: lib.clamp(x, min=0.2), WIDE),
    "div by a number": (lambda lib: lambda x: x / 1.7, WIDE),
    "div rounded down": (lambda lib: lambda x, y: lib.div(x, y, rounding_mode="floor"), WIDE, HIGH),
    "dropout": (lambda lib: lambda x: lib.nn.functional.dropout(x, 0.3), WIDE),
    "float_power": (lambda lib: lib.float_power, HIGH, WIDE),
    "gelu by tanh": (lambda lib: lambda x: lib.nn.functional.gelu(x, approximate="tanh"), WIDE),
    "glu": (lambda lib: lib.nn.functional.glu, WIDE),
    "lerp by a number": (lambda lib: lambda x, y: lib.lerp(x, y, 0.3), WIDE, HIGH),
    "logaddexp2": (lambda lib: lib.logaddexp2, WIDE, HIGH),
    "masked_fill": (lambda lib: lambda x: x.masked_fill(x > 0.1, 0.0), WIDE),
    "mvlgamma": (lambda lib: lambda x: lib.mvlgamma(x, 2), ABOVE_ONE),
    "number divided by": (lambda lib: lambda x: 1.7 / x, HIGH),
    "number minus": (lambda lib: lambda x: 1.7 - x, WIDE),
    "number to the power of": (lambda lib: lambda x: 1.7**x, WIDE),
    "polygamma of 1": (lambda lib: lambda x: lib.polygamma(1, x), HIGH),
    "polygamma of 2": (lambda lib: lambda x: lib.polygamma(2, x), HIGH),
    "prelu": (lambda lib: lambda x: lib.nn.functional.prelu(x, lib.full((1,), 0.2)), WIDE),
    "round to 2 decimals": (lambda lib: lambda x: lib.round(x, decimals=2), WIDE),
    "rrelu": (lambda lib: lib.nn.functional.rrelu, WIDE),
    "rrelu in training": (lambda lib: lambda x: lib.nn.functional.rrelu(x, training=True), WIDE),
    "square by pow": (lambda lib: lambda x: x**2, WIDE),
    "sub of a number": (lambda lib: lambda x: x - 1.7, WIDE),
    "threshold": (lambda lib: lambda x: lib.nn.functional.threshold(x, 0.1, 0.5), WIDE),
    "where with a number": (lambda lib: lambda x: lib.where(x > 0.1, x, 0.0), WIDE),
}

FORWARD_ONLY: dict[str, tuple[Call, Ends, *tuple[Ends, ...]]] = {
    "gt of a number": (lambda lib: lambda x: x > 0.5, WIDE),
    "igamma": (lambda lib: lib.igamma, HIGH, ABOVE_ONE),
    "igammac": (lambda lib: lib.igammac, HIGH, ABOVE_ONE),
    "ldexp": (lambda lib: lib.ldexp, WIDE, HIGH),
    "zeta": (lambda lib: lib.special.zeta, ABOVE_ONE, HIGH),
    "add_": (lambda lib: lambda x, y: x.add_(y), (0.0, 0.0), (-1e-9, 1e-9)),
    "add_ of a number": (lambda lib: lambda x: x.add_(0.5), (0.0, 0.0)),
    "addcmul_": (lambda lib: lambda x, y, z: x.addcmul_(y, z, value=0.5), (0.0, 0.0), WIDE, (-1e-9, 1e-9)),
    "clamp_": (lambda lib: lambda x: x.clamp_(-1.0, 1.0), WIDE),
    "copy_": (lambda lib: lambda x, y: x.copy_(y), WIDE, WIDE),
    "fill_": (lambda lib: lambda x: x.fill_(0.5), WIDE),
    "lerp_": (lambda lib: lambda x, y: x.lerp_(y, 0.1), WIDE, WIDE),
    "mul_": (lambda lib: lambda x, y: x.mul_(y), WIDE, (1.0, 1.0)),
    "mul_ of a number": (lambda lib: lambda x: x.mul_(0.5).mul_(2.0), WIDE),
    "relu_": (lambda lib: lambda x: x.relu_(), WIDE),
    "zero_": (lambda lib: lambda x: x.zero_(), WIDE),
}


def called(call: Call, ends: tuple[Ends, ...], size: int) -> Build:
    return lambda lib: (call(lib), [lib.linspace(low, high, size) for low, high in ends])


for _label in ("64", "1k", "10k", "1M"):
    for _name, (_call, *_ends) in CALLS.items():
        register(f"{_name} {_label}", called(_call, tuple(_ends), SIZES[_label]))
    for _name, (_call, *_ends) in FORWARD_ONLY.items():
        register(f"{_name} {_label}", called(_call, tuple(_ends), SIZES[_label]), backward=False)


# ---- broadcasting -------------------------------------------------------------------------------------------------------------------

ROWS = {"8x8": (8, 8), "32x32": (32, 32), "100x100": (100, 100), "8000x125": (8000, 125), "1000x1000": (1000, 1000)}
OTHERS: dict[str, Callable[[int, int], tuple[int, ...]]] = {
    "a row": lambda rows, columns: (columns,),
    "a column": lambda rows, columns: (rows, 1),
    "one number": lambda rows, columns: (1,),
}


def broadcast(name: str, shape: tuple[int, ...], other: tuple[int, ...]) -> Build:
    return lambda lib: (getattr(lib, name), [lib.rand(shape) + 0.5, lib.rand(other) + 0.5])


for _label, _shape in ROWS.items():
    for _what, _other in OTHERS.items():
        for _name in ("add", "mul", "div", "maximum"):
            register(f"{_name} of {_label} and {_what}", broadcast(_name, _shape, _other(*_shape)))
for _name in ("add", "mul"):
    register(f"{_name} of 16x64x28x28 and channels", broadcast(_name, (16, 64, 28, 28), (64, 1, 1)))
