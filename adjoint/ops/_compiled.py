"""Kernels for elementwise ops: when an op is worth compiling, and what of it.

An op starts on NumPy. Each call adds to its heat (`_warm.py`); past `WARM` its forward and its rules are traced into formulas, and its
functions are generated anew to call built-ins, which compile each formula (or read it from the cache) when they first need it. All of it
happens at a fixed call and not some time later in a thread, so that a program computes the same numbers every time it runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .._dtype import bfloat16
from .._quiet import mute, nameless, unmute
from .._warm import WARM, heat
from ._precision import FLOAT32, in_single
from ._registry import Op, parameters
from ._rules import conjugated, loops

HALF = ("f16", "bf16")


class Kernels:
    """The built-ins of an op for one combination of tensors and numbers."""

    def __init__(self) -> None:
        self.forward: Callable[..., Any] | None = None
        self.rules: dict[str, Callable[..., Any]] = {}


def ignite(op: Op, kinds: str) -> None:
    """Compile an op that has become hot."""
    from .._kernels.lifetime import compiling

    with compiling:
        if kinds not in op.kernels:
            op.kernels[kinds] = kernels_for(op, kinds)
            op.regenerate()


def kernels_for(op: Op, kinds: str) -> Kernels:
    from .._kernels import builtin, jit, objects
    from .._kernels.expr import Untraceable

    made = Kernels()
    if not jit.available() or not objects.supported():
        return made
    formulas: list[builtin.Formula] = []
    fallbacks: list[Any] = []
    places: list[str] = []
    for name in ("", *op.rules):
        try:
            formulas.append(rule_formula(op, kinds, name) if name else forward_formula(op, kinds))
        except Untraceable:
            continue
        fallbacks.append(in_single(of_arrays(op, name) if name else muted(op), op.wide))
        places.append(name)
    if formulas:
        for place, function in zip(places, builtin.load(formulas, fallbacks), strict=True):
            if place:
                made.rules[place] = function
            else:
                made.forward = function
        next(_shared, no_more)()
    return made


def warmed(op: Op, size: int) -> Callable[..., Any]:
    """The forward of an op of one tensor, inside a rule: its kernel, once it has been used so often."""
    if "T" not in op.kernels:
        op.heat[0] += heat(size, op.bits)
        if op.heat[0] <= WARM:
            return op.impl
        ignite(op, "T")
    return op.kernels["T"].forward or op.impl


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

    def use(builtin: Callable[..., Any]) -> None:
        from .._kernels.lifetime import compiling

        made = Kernels()
        made.forward = builtin
        with compiling:
            op.kernels["T" * len(op.inputs)] = made
            op.regenerate()

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
    return builtin.Formula(symbol, {type_: cases(type_) for type_ in types}, kinds, into, cases)


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


def speed_up_engine() -> None:
    """Let the engine add gradients by a kernel too."""
    from .._kernels import builtin, entry
    from .._kernels.expr import Expr
    from ..autograd import accumulate

    if accumulate.add_into is not accumulate.add_by_numpy:
        return
    x, y = Expr.inputs(2)
    (kernel,) = builtin.load([builtin.Formula("add_into", x + y, "TT", entry.FIRST)], [accumulate.add_into])
    accumulate.use_kernel(kernel)


def prepare_members() -> None:
    """Compile what members of Tensor need."""
    from .._kernels import member_writes

    member_writes.loops()


def speed_up_members() -> None:
    """Let members of Tensor be compiled ones."""
    from .._compiled_members import use_compiled_members

    use_compiled_members()


def no_more() -> None:
    """What is left to do when all is done."""


# What all programs use is compiled with the ops that become warm after the first, one thing at a time: so no call takes long.
_shared = iter((no_more, speed_up_engine, prepare_members, speed_up_members))
