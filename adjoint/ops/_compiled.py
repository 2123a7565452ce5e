"""Kernels for elementwise ops.

The first call of an op finds kernels that are `expected` only. It traces the op's forward and its rules into formulas, and puts built-ins
in their places, which compile each formula (or read it from the cache) when they first need it. Where there is no formula, NumPy serves,
from the first call on as well (`_serving.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from .._dtype import bfloat16
from .._layout import laid_out
from .._quiet import mute, nameless, unmute
from .._serving import compiles
from ._precision import FLOAT32, in_single
from ._primitives import loops
from ._registry import Op, parameters
from ._rules import conjugated

HALF = ("f16", "bf16")


class Kernels:
    """The built-ins of an op for one combination of tensors and numbers."""

    def __init__(self, forward: Callable[..., Any] | None = None) -> None:
        self.forward = forward
        self.rules: dict[str, Callable[..., Any]] = {}
        self.expected = False  # whether they have yet to be made, at the first call


def expect(op: Op, kinds: str) -> Kernels | None:
    """The kernels of an op for some kinds of inputs, which the first call of their forward will make; None where there are none."""
    if kinds not in op.kernels and op.broadcasts and compiles():
        op.kernels[kinds] = expected = Kernels(lambda *values: forward_of(op, kinds)(*values))
        expected.expected = True
    return op.kernels.get(kinds)


def forward_of(op: Op, kinds: str) -> Callable[..., Any]:
    """What computes an op that broadcasts, for arrays and numbers in the order of its arguments."""
    known = expect(op, kinds)
    if known is not None and known.expected:
        from .._kernels.lifetime import compiling

        with compiling:
            if op.kernels[kinds].expected:  # no other thread has been here meanwhile
                op.kernels[kinds] = kernels_for(op, kinds)
                op.use_kernels(kinds)
                if op.kernels[kinds].forward is None:
                    op.regenerate()
        known = op.kernels[kinds]
    return (known and known.forward) or in_single(muted(op), op.wide)


def kernels_for(op: Op, kinds: str) -> Kernels:
    from .._kernels import builtin
    from .._kernels.expr import Untraceable

    made = Kernels()
    formulas: list[builtin.Formula] = []
    fallbacks: list[Any] = []
    places: list[str] = []
    for name in ("", *op.rules):
        try:
            formulas.append(rule_formula(op, kinds, name) if name else forward_formula(op, kinds))
        except Untraceable:
            continue
        fallbacks.append(in_single(of_arrays(op, name) if name else laying_out(op), op.wide))
        places.append(name)
    if formulas:
        for place, function in zip(places, builtin.load(formulas, fallbacks), strict=True):
            if place:
                made.rules[place] = function
            else:
                made.forward = function
        speed_up_engine()
    return made


def laying_out(op: Op) -> Callable[..., Any]:
    """The forward for arguments that the built-in passes on, with its result in memory as the built-in would have it."""
    forward = muted(op)

    def laying(*values: Any) -> Any:
        return laid_out(forward(*values), [values[op.args.index(name)] for name in op.like])

    return laying


def muted(op: Op) -> Callable[..., Any]:
    """The forward for arguments that the built-in passes on."""
    if isinstance(op.impl, np.ufunc):
        return nameless(op.impl)  # type: ignore[no-any-return]
    if not op.keywords and not op.warns:
        return op.impl

    cut = len(op.args) - len(op.keywords)

    def forward(*values: Any) -> Any:
        token = mute()
        try:
            if not op.keywords:
                return op.impl(*values)
            return op.impl(*values[:cut], **dict(zip(op.keywords, values[cut:], strict=True)))
        finally:
            unmute(token)

    return forward


ROLES = {"dim": "axis", "keepdim": "option", "dtype": "absent"}  # of parameters, for a kernel along an axis; others do not matter to it


def attach(op: Op) -> None:
    """Let an op call its kernel along an axis, as soon as there is one."""
    family, name = op.along.split(".")
    roles = tuple("array" if arg == op.inputs[0] else ROLES.get(arg, "ignored") for arg in op.args)

    kinds = "T" * len(op.inputs)

    def use(builtin: Callable[..., Any]) -> None:
        op.kernels[kinds] = Kernels(builtin)
        op.use_kernels(kinds)

    if compiles():
        op.kernels[kinds] = Kernels(muted(op))
        getattr(loops(family), name).serve(roles, muted(op), use)


def forward_formula(op: Op, kinds: str, into: str = "new") -> Any:
    """What the forward computes from its arguments; `into` says where the result goes (_kernels/entry.py)."""
    kind_of = kinds_by_name(op, kinds)

    def forward(*values: Any) -> Any:
        return op.call(dict(zip(op.args, values, strict=True)))

    return formula(f"{op.name}_{kinds}", forward, op, [(name, kind_of[name]) for name in op.args], op.wide, into)


def of_arrays(op: Op, name: str) -> Callable[..., Any]:
    """The rule of an input, for arrays real or complex."""
    rule: Callable[..., Any] = conjugated(op.rules[name]) if op.holomorphic else op.rules[name]
    return rule


def rule_formula(op: Op, kinds: str, name: str) -> Any:
    """What the rule of an input computes."""
    from .._kernels.expr import Untraceable

    kind_of = {"g": "T", "out": "T", **kinds_by_name(op, kinds)}
    names = parameters(op.rules[name])
    if any(other not in kind_of for other in names):
        raise Untraceable("a shape or dtype")
    return formula(f"{op.name}_{kinds}_{name}", of_arrays(op, name), op, [(other, kind_of[other]) for other in names])


def kinds_by_name(op: Op, kinds: str) -> dict[str, str]:
    """The kind of each argument: an array (T), an array of truth values (B: an input without a derivative), a number or object (S)."""
    kind_of = dict.fromkeys(op.args, "S")
    for name, kind in zip(op.inputs, kinds, strict=True):
        masks = op.differentiable and name not in op.rules
        kind_of[name] = "B" if kind == "T" and masks else kind
    return kind_of


def formula(symbol: str, fn: Callable[..., Any], op: Op, arguments: list[tuple[str, str]], wide: bool = False, into: str = "new") -> Any:
    """The cases of a function of arguments, given by name and kind. `wide` says that `fn` gets half precision as float32."""
    from .._kernels import builtin
    from .._kernels.emit_types import KINDS
    from .._kernels.expr import Expr, Untraceable, trace_cases

    kinds = "".join(kind for _, kind in arguments)

    def cases(type_: str) -> list[builtin.Case]:
        dtype = FLOAT32 if wide and type_ in HALF else bfloat16.numpy if type_ == "bf16" else np.dtype(KINDS[type_].dtype)
        symbols = dict(zip(arguments, Expr.inputs(kinds, dtype), strict=True))
        failure, made = Untraceable("no formula"), []
        for values in itertools.product(*choices(fn, op, symbols)):
            constants = {place: value for place, value in enumerate(values) if not isinstance(value, Expr)}
            try:
                found = trace_cases(fn, values)
            except Untraceable as error:
                failure = error
            else:
                made += [builtin.Case(expr, answers, constants) for answers, expr in found if expr.args]
        if not made:
            raise failure
        return made

    types = ("f32", "f64") if op.floats else ("i64",)
    made = builtin.Formula(symbol, {type_: cases(type_) for type_ in types}, kinds, into, cases)
    made.tells = next((place for place, (name, _) in enumerate(arguments) if op.like and name == op.like[0]), 0)
    return made


def choices(fn: Callable[..., Any], op: Op, symbols: dict[tuple[str, str], Any]) -> list[list[Any]]:
    """What each argument may be: a symbol; for a parameter also None, if that is its default; or a word that `fn` compares it with."""
    from .._kernels.expr import Option, Untraceable, trace_cases

    defaults = op.default_values()
    options = {}
    given = []
    for (name, kind), symbol in symbols.items():
        default = defaults.get(name) if kind == "S" else symbol
        if isinstance(default, str):
            options[name] = default = Option(default)
        given.append(symbol if default is None else default)
    if options:
        with suppress(Untraceable):
            trace_cases(fn, given)
    result: list[list[Any]] = []
    for (name, kind), symbol in symbols.items():
        if name in options:
            result.append(options[name].compared)
        elif kind == "S" and name in defaults and (name in op.optional or isinstance(defaults[name], bool)):
            result.append([defaults[name]])
        else:
            result.append([None, symbol] if kind == "S" and name in defaults and defaults[name] is None else [symbol])
    return result


@cache
def speed_up_engine() -> None:
    """Let the engine add gradients by a kernel too."""
    from .._kernels import builtin, entry
    from .._kernels.expr import Expr
    from ..autograd import accumulate

    x, y = Expr.inputs(2)
    (kernel,) = builtin.load([builtin.Formula("add_into", x + y, "TT", entry.FIRST)], [accumulate.add_into])
    accumulate.use_kernel(kernel)
