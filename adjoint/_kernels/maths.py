"""Mathematical functions as code that LLVM vectorises: range reduction, a polynomial, no branches and no tables.

The error is below 2 units in the last place everywhere (4 for Bessel functions and trigamma of a float64; near the roots of lgamma and
digamma the units are those of the terms of their sums), and 0, infinities, NaN, overflow and subnormal numbers come out right;
tests/kernels/test_maths.py shows both. A few functions are computed for a part of the numbers only: they come with a predicate that says
where not (`OUTSIDE`), and a kernel leaves arrays with such numbers to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from .arithmetic import fmod, hypot, too_many_times
from .bessel import i0, i0e, i1, i1e
from .code import Code, Function, Value
from .error_function import erf, erfc, erfinv
from .exponential import arccosh, arcsinh, arctanh, cosh, exp, exp2, exp_negative, expm1, log, log1p, log2, log10, power, sinh, tanh
from .gamma_functions import digamma, lgamma, trigamma
from .trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan, too_large

FUNCTIONS: dict[str, Function] = {
    function.__name__: function
    for function in (
        exp, exp2, expm1, log, log2, log10, log1p, power, sinh, cosh, tanh, arcsinh, arccosh, arctanh, sin, cos, tan, arcsin, arccos,
        arctan, arctan2, erf, erfc, erfinv, lgamma, digamma, trigamma, i0, i0e, i1, i1e, fmod, hypot,
    )
}  # fmt: skip

IN_LOOPS: dict[str, Function] = {"exp_negative": exp_negative}  # for kernels that were written as loops

OUTSIDE: dict[str, Callable[..., str]] = {"sin": too_large, "cos": too_large, "tan": too_large, "fmod": too_many_times}


def definitions(wanted: set[tuple[str, str]]) -> tuple[str, set[str]]:
    """The text of the functions asked for, as (name, "f32" or "f64"), and the intrinsics that it declares."""
    texts: list[str] = []
    declared: set[str] = set()
    for name, kind in sorted(wanted):
        texts.append(definition(f"m_{name}_{kind}", (FUNCTIONS | IN_LOOPS)[name], kind, declared))
        if name in OUTSIDE:
            texts.append(definition(f"m_{name}_{kind}_outside", OUTSIDE[name], kind, declared))
    return "\n".join(texts), declared


def definition(symbol: str, function: Callable[..., Value | str], kind: str, declared: set[str]) -> str:
    code = Code(kind)
    inputs = [f"%x{place}" for place in range(len(signature(function).parameters) - 1)]
    result = function(code, *(Value(code, register) for register in inputs))
    returned = f"{code.type} {result.register}" if isinstance(result, Value) else f"i1 {result}"
    body = "\n".join(code.lines)
    declared |= code.declared
    params = ", ".join(f"{code.type} {register}" for register in inputs)
    return f"define internal {returned.partition(' ')[0]} @{symbol}({params}) alwaysinline {{\n{body}\n  ret {returned}\n}}\n"
