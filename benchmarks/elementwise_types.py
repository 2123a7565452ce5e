"""Elementwise functions of other types than float32, and conversions between types."""

from __future__ import annotations

from typing import Any

from ._passes import Build, Case, register
from .elementwise import ACTIVATIONS, BINARY, COMPARISONS, SIZES, operands

OF_TYPES = {
    "float16": ("add", "mul", "exp", "tanh", "gelu", "gt", "sum", "softmax"),
    "bfloat16": ("add", "mul", "exp", "tanh", "gelu", "gt", "sum", "softmax"),
    "float64": ("add", "mul", "div", "exp", "log", "tanh", "sin", "sigmoid", "gelu", "sqrt", "relu", "pow", "maximum", "gt"),
    "int64": (
        "add", "mul", "abs", "gt", "sum", "bitwise_and", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "gcd",
        "maximum", "neg", "remainder", "sign", "square",
    ),
    "int32": ("add", "mul", "bitwise_xor", "eq", "floor_divide", "lcm"),
    "uint8": ("add", "bitwise_and", "eq", "maximum"),
    "bool": ("logical_and", "logical_not", "eq", "bitwise_or", "bitwise_xor", "any"),
    "complex64": ("add", "mul", "div", "exp", "abs", "angle", "conj_physical", "cos", "log", "neg", "reciprocal", "sgn", "sqrt", "tanh"),
    "complex128": ("add", "mul", "div", "exp", "abs"),
}  # fmt: skip
PAIRS = {
    *BINARY, *COMPARISONS, "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm",
}  # fmt: skip
WITHOUT_BACKWARD = {*COMPARISONS, "sum", "softmax", "conj_physical"}
PARTS = {"complex64": "float32", "complex128": "float64"}
CONVERSIONS = {
    "float32": ("float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"),
    "float64": ("float32", "int64"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "int64": ("float32", "int32", "bool"),
    "uint8": ("float32",),
    "bool": ("float32", "int64"),
}


def numbers(lib: Any, dtype: str, size: int) -> list[Any]:
    """Two tensors of a type."""
    x, y = (t * 3 for t in operands(lib, 2, size))
    if dtype == "bool":
        return [x > 1, y > 1]
    if dtype in PARTS:
        x, y = (t.to(getattr(lib, PARTS[dtype])) for t in (x, y))
        return [lib.complex(x, y), lib.complex(y, x)]
    if not dtype.startswith(("float", "bfloat")):
        x, y = x + 1, y + 1  # which may be divided by
    return [x.to(getattr(lib, dtype)), y.to(getattr(lib, dtype))]


def of_type(name: str, dtype: str, size: int) -> Build:
    def build(lib: Any) -> Case:
        x, y = numbers(lib, dtype, size)
        if name == "softmax":
            return (lambda t: lib.softmax(t, -1)), [x.reshape(-1, 100)]
        return getattr(lib.nn.functional if name in ACTIVATIONS else lib, name), [x, y] if name in PAIRS else [x]

    return build


def converted(source: str, target: str, size: int) -> Build:
    return lambda lib: ((lambda x: x.to(getattr(lib, target))), numbers(lib, source, size)[:1])


for _label in ("1k", "10k", "1M"):
    for _dtype, _names in OF_TYPES.items():
        for _name in _names:
            floating = _dtype.startswith(("float", "bfloat", "complex"))
            register(
                f"{_name} of {_dtype} {_label}",
                of_type(_name, _dtype, SIZES[_label]),
                backward=floating and _name not in WITHOUT_BACKWARD,
            )
    for _source, _targets in CONVERSIONS.items():
        for _target in _targets:
            register(f"conversion of {_source} to {_target} {_label}", converted(_source, _target, SIZES[_label]), backward=False)
