"""Elementwise functions at sizes from 64 to ten million, forward alone and with the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._timing import Step, timed

SIZES = {"64": 64, "1k": 1_000, "10k": 10_000, "1M": 1_000_000, "10M": 10_000_000}

UNARY = (
    "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "reciprocal", "square", "abs", "neg", "sign", "sin", "cos", "tan", "tanh", "sigmoid",
    "erf", "floor", "relu",
)  # fmt: skip
ACTIVATIONS = ("gelu", "silu", "softplus", "mish", "elu", "leaky_relu", "hardtanh", "hardswish", "logsigmoid")
BINARY = ("add", "sub", "mul", "div", "maximum", "atan2", "pow")


def unary(name: str, size: int) -> Callable[[Any], tuple[Callable[..., Any], list[Any]]]:
    def build(lib: Any) -> tuple[Callable[..., Any], list[Any]]:
        fn = getattr(lib, name) if name in UNARY else getattr(lib.nn.functional, name)
        return fn, [lib.linspace(0.1, 1.9, size)]

    return build


def binary(name: str, size: int) -> Callable[[Any], tuple[Callable[..., Any], list[Any]]]:
    return lambda lib: (getattr(lib, name), [lib.linspace(0.1, 1.9, size), lib.linspace(1.9, 0.2, size)])


def register(name: str, label: str, build: Callable[[Any], tuple[Callable[..., Any], list[Any]]]) -> None:
    @timed(f"{name} {label}, forward")
    def forward(lib: Any) -> Step:
        fn, args = build(lib)
        return lambda: fn(*args)

    @timed(f"{name} {label}, forward+backward")
    def both(lib: Any) -> Step:
        fn, args = build(lib)
        inputs = [arg.requires_grad_() for arg in args]
        seed = lib.ones(len(args[0]))

        def step() -> None:
            for x in inputs:
                x.grad = None
            fn(*inputs).backward(seed)

        return step


for _label, _size in SIZES.items():
    for _name in UNARY + ACTIVATIONS:
        register(_name, _label, unary(_name, _size))
    for _name in BINARY:
        register(_name, _label, binary(_name, _size))
