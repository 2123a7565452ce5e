"""Dtypes: operators and functions of two operands, tensors of every kind and numbers, in either order, and in place."""

from __future__ import annotations

from typing import Any

from ..generate import DTYPES, Builder, EndError, dtype
from ..program import Leaf

NUMBERS = (2, -3, 0, 0.5, -1.5, True, 1 + 2j, float("inf"), 300)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "<", ">=", "&", "|", "^", "<<", ">>")
FUNCTIONS = (
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "float_power", "maximum", "minimum", "fmax",
    "fmin", "atan2", "hypot", "logaddexp", "xlogy", "copysign", "eq", "lt", "logical_and", "bitwise_and", "bitwise_left_shift", "gcd",
    "lcm", "nextafter", "ldexp", "heaviside", "rsub", "where", "dist", "cross", "isclose", "special.xlog1py", "clamp_min", "outer", "kron",
)  # fmt: skip
UNARY = (
    "abs", "neg", "exp", "log", "sqrt", "sin", "sigmoid", "floor", "round", "sign", "square", "reciprocal", "isnan", "logical_not",
    "bitwise_not", "cumsum", "sum", "mean", "prod", "max", "argmax", "var", "norm", "sort", "cumprod", "any", "all", "softmax", "erf",
    "positive", "trunc", "frac", "sgn", "angle", "isfinite", "logit", "lgamma", "rsqrt", "expm1", "nan_to_num", "deg2rad", "signbit",
)  # fmt: skip


def operand(b: Builder) -> Any:
    if b.chance(0.25):
        return b.pick(NUMBERS)
    shape = b.pick([(), (), (3,), (2, 3), (1,)])
    kind = b.pick(DTYPES)
    special = b.chance(0.2) and kind.startswith("float")
    values = tuple(b.pick((0.0, -0.0, 1.0, float("inf"), float("nan"), -2.5)) for _ in range(3)) if special else None
    return b.leaf(Leaf(shape, kind, b.random.randrange(999), -4.0, 5.0, values))


def program(b: Builder) -> None:
    try:
        for _ in range(b.random.randint(1, 3)):
            x, y = operand(b), operand(b)
            kind = b.random.randrange(7)
            if kind < 2:
                b.add(f"{{}} {b.pick(OPERATORS)} {{}}", x, y, keep=0.3)
            elif kind == 2:
                b.add(f"{{}} {b.pick(OPERATORS[:7])}= {{}}", x if hasattr(x, "number") else b.leaf(Leaf((3,), "float32")), y, keep=0.3)
            elif kind == 3:
                b.add(f"torch.{b.pick(FUNCTIONS)}", x, y, keep=0.3)
            elif kind == 4 and hasattr(x, "number"):
                more = (0,) if b.chance(0.5) else ()
                b.add(f"torch.{b.pick(UNARY)}", x, *more, **({"dtype": dtype(b.pick(DTYPES))} if b.chance(0.2) else {}), keep=0.3)
            elif kind == 5:
                b.add(b.pick(["torch.result_type", "torch.where(torch.tensor([True, False, True]), {}, {})", "torch.div"]), x, y, keep=0.3)
            elif hasattr(x, "number"):
                b.add(".to", x, dtype(b.pick(DTYPES)))
        b.backward()
    except EndError:
        pass
