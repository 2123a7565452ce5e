"""Formulas by tracing: NumPy code that acts on each element by itself, run on symbols, builds its own expression.

>>> x, y = Expr.inputs(2)
>>> x * y + 1
add(multiply(x0, x1), 1)
>>> np.where(x > 0, np.exp(x), 0)
where(greater(x0, 0), exp(x0), 0)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from . import maths


class Untraceable(Exception):
    """The code looks at values, shapes or dtypes, or uses a function that has no formula here."""


class Expr:
    """A formula: a function of other formulas, an input (`x0`), or a number."""

    __slots__ = ("args", "is_bool", "name")
    __array_priority__ = 2000

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.args = args
        self.is_bool = name in COMPARISONS or name in LOGICAL

    @staticmethod
    def inputs(count: int) -> list[Expr]:
        return [Expr(f"x{place}") for place in range(count)]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})" if self.args else self.name

    def count(self, names: Collection[str]) -> int:
        """How often functions of these names occur."""
        return (self.name in names) + sum(arg.count(names) for arg in self.args if isinstance(arg, Expr))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Expr:
        name = SAME_AS.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or kwargs or name not in FUNCTIONS:
            raise Untraceable(f"numpy.{ufunc.__name__}")
        return function(name, *args)

    def __array_function__(self, fn: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Expr:
        if fn is np.where and len(args) == 3 and not kwargs:
            return function("where", *args)
        if fn in REDUCED and len(args) == 1 and kwargs == {"axis": -1, "keepdims": True}:
            return Expr(REDUCED[fn], args)
        if getattr(fn, "__name__", "") in MATHS and not kwargs:  # the special functions of ops/_special_math.py
            return function(fn.__name__, *args)
        raise Untraceable(getattr(fn, "__name__", repr(fn)))

    def __bool__(self) -> bool:
        raise Untraceable("a condition on a value")

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f".{name}")

    __hash__ = None  # type: ignore[assignment]


def function(name: str, *args: Any) -> Expr:
    """A formula from a function and its operands, with powers of small exponents written out."""
    for arg in args:
        if not isinstance(arg, Expr | bool | int | float):
            raise Untraceable(f"a {type(arg).__name__} in a formula")
    if name == "power":
        return power(*args)
    if name == "square":
        return Expr("multiply", (args[0], args[0]))
    if name == "reciprocal":
        return Expr("divide", (1.0, args[0]))
    return Expr(name, args)


def power(base: Any, exponent: Any) -> Expr:
    if isinstance(exponent, bool | int | float) and isinstance(base, Expr):
        if exponent == 1:
            return base
        if exponent == 2:
            return Expr("multiply", (base, base))
        if exponent == 0.5:
            return Expr("sqrt", (base,))
        if exponent == -1:
            return Expr("divide", (1.0, base))
    return Expr("power", (base, exponent))


# Reductions over the last axis, for row kernels.
REDUCED: dict[Any, str] = {np.sum: "reduce_sum", np.max: "reduce_max", np.min: "reduce_min"}
REDUCTIONS = set(REDUCED.values())

COMPARISONS = {"greater": "ogt", "greater_equal": "oge", "less": "olt", "less_equal": "ole", "equal": "oeq", "not_equal": "une"}
LOGICAL = {"logical_and", "logical_or", "logical_not", "isnan", "isfinite", "isinf"}
ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
INTRINSICS = {
    "absolute": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "copysign": "copysign",
    "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
MATHS = frozenset(maths.FUNCTIONS)
FUNCTIONS = {*COMPARISONS, *LOGICAL, *ARITHMETIC, *INTRINSICS, *MATHS, "negative", "positive", "sign", "where", "power", "square", "reciprocal"}
SAME_AS = {"true_divide": "divide", "fabs": "absolute", "abs": "absolute", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
           "invert": "logical_not", "bitwise_not": "logical_not", "conjugate": "positive"}  # fmt: skip


def _operator(name: str) -> tuple[Callable[..., Expr], Callable[..., Expr]]:
    return (lambda self, other: function(name, self, other)), (lambda self, other: function(name, other, self))


for _name, _symbol in (("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("divide", "truediv"), ("power", "pow")):
    _forward, _reflected = _operator(_name)
    setattr(Expr, f"__{_symbol}__", _forward)
    setattr(Expr, f"__r{_symbol}__", _reflected)
for _name, _symbol in (("greater", "gt"), ("greater_equal", "ge"), ("less", "lt"), ("less_equal", "le"), ("equal", "eq"), ("not_equal", "ne"),
                       ("logical_and", "and"), ("logical_or", "or")):  # fmt: skip
    setattr(Expr, f"__{_symbol}__", _operator(_name)[0])
for _name, _symbol in (("negative", "neg"), ("positive", "pos"), ("absolute", "abs"), ("logical_not", "invert")):
    setattr(Expr, f"__{_symbol}__", lambda self, name=_name: function(name, self))


def trace(fn: Callable[..., Any], arguments: list[Any]) -> Expr:
    """The formula that `fn` computes from symbols and constants; Untraceable if it is none."""
    try:
        result = fn(*arguments)
    except Untraceable:
        raise
    except Exception as error:
        raise Untraceable(repr(error)) from error
    if not isinstance(result, Expr):
        raise Untraceable("no formula")
    return result
