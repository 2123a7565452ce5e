"""Every elementwise function at sizes from 64 to ten million, forward alone and with the backward pass."""

from __future__ import annotations

from typing import Any

from ._passes import Build, Case, register

SIZES = {"64": 64, "1k": 1_000, "10k": 10_000, "1M": 1_000_000, "10M": 10_000_000}

UNARY = (
    "abs", "acos", "angle", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp",
    "exp2", "expm1", "floor", "frac", "i0", "lgamma", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg", "rad2deg",
    "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
ACTIVATIONS = (
    "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "relu6", "selu",
    "silu", "softplus", "softshrink", "softsign", "tanhshrink",
)  # fmt: skip
BINARY = (
    "add", "atan2", "copysign", "div", "fmax", "fmin", "fmod", "hypot", "logaddexp", "maximum", "minimum", "mul", "pow", "remainder", "sub",
    "xlogy",
)  # fmt: skip
TERNARY = ("addcdiv", "addcmul", "lerp")
TESTS = ("isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "logical_not", "signbit")
COMPARISONS = (
    "eq", "floor_divide", "ge", "gt", "heaviside", "isclose", "le", "logical_and", "logical_or", "logical_xor", "lt", "ne", "nextafter",
)  # fmt: skip

# Functions of `special`, and how many operands they take; then those that have no derivative, in PyTorch either.
SPECIAL = {"entr": 1, "erfcx": 1, "i0e": 1, "i1": 1, "i1e": 1, "log_ndtr": 1, "ndtr": 1, "ndtri": 1, "xlog1py": 2}
WITHOUT_DERIVATIVE = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip


def operands(lib: Any, count: int, size: int) -> list[Any]:
    """Distinct values where every function above is defined and smooth."""
    ends = ((0.05, 0.95), (0.97, 0.15), (0.3, 0.7))
    return [lib.linspace(low, high, size) for low, high in ends[:count]]


def of(name: str, count: int, size: int) -> Build:
    def build(lib: Any) -> Case:
        if name in ACTIVATIONS:  # both sides of the bend: PyTorch computes no exponential where all numbers are positive
            return getattr(lib.nn.functional, name), [lib.linspace(-3, 3, size)]
        return getattr(lib, name), operands(lib, count, size)

    return build


def with_scalar(name: str, size: int) -> Build:
    """A tensor and a Python number."""

    def build(lib: Any) -> Case:
        fn = getattr(lib, name)
        return (lambda x: fn(x, 1.7)), operands(lib, 1, size)

    return build


def selection(size: int) -> Build:
    def build(lib: Any) -> Case:
        x, y = operands(lib, 2, size)
        mask = x > y
        return (lambda a, b: lib.where(mask, a, b)), [x, y]

    return build


def clamped(size: int) -> Build:
    return lambda lib: ((lambda x: lib.clamp(x, 0.2, 0.8)), operands(lib, 1, size))


def special(name: str, count: int, size: int) -> Build:
    return lambda lib: (getattr(lib.special, name), operands(lib, count, size))


for _label, _size in SIZES.items():
    for _count, _names in ((1, UNARY + ACTIVATIONS), (2, BINARY), (3, TERNARY)):
        for _name in _names:
            register(f"{_name} {_label}", of(_name, _count, _size))
    for _name in ("add", "mul", "pow"):
        register(f"{_name} of a number {_label}", with_scalar(_name, _size))
    register(f"where {_label}", selection(_size))
    register(f"clamp {_label}", clamped(_size))
    for _name in TESTS + COMPARISONS:
        register(f"{_name} {_label}", of(_name, 1 if _name in TESTS else 2, _size), backward=False)
    if _label == "10M":
        continue
    for _name, _count in SPECIAL.items():
        register(f"{_name} {_label}", special(_name, _count, _size))
    for _name in WITHOUT_DERIVATIVE:
        register(f"{_name} {_label}", special(_name, 1, _size), backward=False)
