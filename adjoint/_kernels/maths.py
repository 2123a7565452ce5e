"""Mathematical functions as code that LLVM vectorises: range reduction, a polynomial, no branches and no tables.

The error is below 2 units in the last place (near the roots of lgamma and digamma of negative numbers the units are those of the terms of
their sums; docs/accuracy.md has the figures), and 0, infinities, NaN, overflow and subnormal numbers come out right;
tests/kernels/test_maths.py shows both. A few functions are computed for a part of the numbers only: they come with a predicate that says
where not (`OUTSIDE`), and a kernel leaves arrays with such numbers to NumPy. The functions of normal.py, bessel_kinds.py and gamma_parts.py
are as precise as those in NumPy, which tests/kernels/test_special_functions.py compares them with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from inspect import signature

from . import jit
from .arithmetic import fmod, hypot, nextafter, too_many_times
from .bessel import i0, i0e, i1, i1e
from .bessel_kinds import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    beyond_eight,
    beyond_two,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    swings_too_fast,
    usual_airy_ai,
    usual_bessel_j0,
    usual_bessel_j1,
    usual_bessel_y0,
    usual_bessel_y1,
)
from .code import Code, Function, Value
from .error_function import erf, erfc, erfinv, gelu_share, gelu_slope
from .exponential import arccosh, arcsinh, arctanh, cosh, exp, exp2, exp_negative, expm1, log, log1p, log2, log10, power, sinh, tanh
from .gamma_functions import (
    digamma,
    lgamma,
    not_of_usual_size,
    not_positive,
    trigamma,
    usual_igamma,
    usual_igammac,
    usual_lgamma,
)
from .gamma_parts import igamma, igammac, polygamma, zeta
from .loops import Part
from .normal import erfcx, in_the_tails, log_ndtr, ndtri, negative, usual_erfcx, usual_ndtri
from .trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan, too_large

FUNCTIONS: dict[str, Function] = {
    function.__name__: function
    for function in (
        exp, exp2, expm1, log, log2, log10, log1p, power, sinh, cosh, tanh, arcsinh, arccosh, arctanh, sin, cos, tan, arcsin, arccos,
        arctan, arctan2, erf, erfc, erfinv, gelu_share, gelu_slope, lgamma, digamma, trigamma, i0, i0e, i1, i1e, fmod, hypot, nextafter,
        erfcx, log_ndtr, ndtri, airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_k0, modified_bessel_k1,
        scaled_modified_bessel_k0, scaled_modified_bessel_k1,
    )
}  # fmt: skip

IN_LOOPS: dict[str, Function] = {"exp_negative": exp_negative}  # for kernels that were written as loops

# Functions whose work depends on their arguments: written in the language of loops, and not vectorised.
PARTS: dict[str, Part] = {part.__name__: part for part in (igamma, igammac, polygamma, zeta)}

OUTSIDE: dict[str, Callable[..., str]] = {
    "sin": too_large, "cos": too_large, "tan": too_large, "fmod": too_many_times, "bessel_j0": too_large, "bessel_j1": too_large,
    "bessel_y0": too_large, "bessel_y1": too_large, "airy_ai": swings_too_fast,
}  # fmt: skip

# Functions that cost much less for the numbers that are usual: how they are computed there, and where not.
USUAL: dict[str, tuple[Function, Callable[..., str]]] = {
    "bessel_j0": (usual_bessel_j0, beyond_eight), "bessel_j1": (usual_bessel_j1, beyond_eight),
    "bessel_y0": (usual_bessel_y0, beyond_eight), "bessel_y1": (usual_bessel_y1, beyond_eight),
    "airy_ai": (usual_airy_ai, beyond_two), "erfcx": (usual_erfcx, negative), "ndtri": (usual_ndtri, in_the_tails),
    "lgamma": (usual_lgamma, not_positive), "igamma": (usual_igamma, not_of_usual_size), "igammac": (usual_igammac, not_of_usual_size),
}  # fmt: skip


def usual_in(kind: str) -> Collection[str]:
    """The names of those functions, for numbers of a kind: what is usual of the parts is precise enough for a float32 only."""
    return USUAL if kind == "f32" else USUAL.keys() - PARTS.keys()


def definitions(wanted: set[tuple[str, str]]) -> tuple[str, set[str]]:
    """The text of the functions asked for, as (name, kind), and what it declares. The kinds are "f32", "f64", and "f64.f32": computed in
    double precision, but only as precise as a float32 is."""
    texts: dict[tuple[str, str], str] = {}
    declared: set[str] = set()
    waiting = sorted(wanted, reverse=True)
    while waiting:
        name, kind = function = waiting.pop()
        if function in texts:
            continue
        symbol = f"m_{name}_{kind}"
        if name in PARTS:
            texts[function], needed = part_definition(symbol, name, kind, declared)
            waiting += sorted(needed, reverse=True)
        else:
            texts[function] = definition(symbol, (FUNCTIONS | IN_LOOPS)[name], kind, declared)
        if name in OUTSIDE:
            texts[function] += definition(f"{symbol}_outside", OUTSIDE[name], kind, declared)
        if name in usual_in(kind):
            usual, unusual = USUAL[name]
            texts[function] += definition(f"{symbol}_usual", usual, kind, declared)
            texts[function] += definition(f"{symbol}_usual_outside", unusual, kind, declared)
    return "\n".join(texts.values()), declared


@cache
def weight(name: str) -> int:
    """About how many instructions a function of a float32 takes; one on doubles, of which half as many fit into a vector, counts twice."""
    if name not in FUNCTIONS:
        return 1000

    def find_out() -> str:
        text = definition("any", FUNCTIONS[name], "f32", set())
        return str(text.count("\n") << ("fpext" in text))

    return int(jit.remembered(f"weight {name}", find_out))


def definition(symbol: str, function: Callable[..., Value | str], kind: str, declared: set[str]) -> str:
    computed, _, goal = kind.partition(".")
    code = Code(computed, goal)
    inputs = [f"%x{place}" for place in range(len(signature(function).parameters) - 1)]
    result = function(code, *(Value(code, register) for register in inputs))
    returned = f"{code.type} {result.register}" if isinstance(result, Value) else f"i1 {result}"
    body = "\n".join(code.lines)
    declared |= code.declared
    params = ", ".join(f"{code.type} {register}" for register in inputs)
    return f"define internal {returned.partition(' ')[0]} @{symbol}({params}) alwaysinline {{\n{body}\n  ret {returned}\n}}\n"


def part_definition(symbol: str, name: str, kind: str, declared: set[str]) -> tuple[str, set[tuple[str, str]]]:
    """The text of a part, and the functions that it calls."""
    from . import translate

    if kind != "f32":
        text, scope = translate.part_text(symbol, PARTS[name], kind)
        declared |= scope.declared
        return text, scope.maths
    places = range(len(signature(PARTS[name].fn).parameters))
    params = ", ".join(f"float %x{place}" for place in places)
    wide = "\n".join(f"  %w{place} = fpext float %x{place} to double" for place in places)
    call = f"  %y = call double @m_{name}_f64.f32({', '.join(f'double %w{place}' for place in places)})"
    end = "  %z = fptrunc double %y to float\n  ret float %z"
    return f"define internal float @{symbol}({params}) alwaysinline {{\n{wide}\n{call}\n{end}\n}}\n", {(name, "f64.f32")}
