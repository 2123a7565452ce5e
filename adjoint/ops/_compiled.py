"""Kernels for elementwise ops: when an op is worth compiling, and what of it.

An op starts on NumPy. Each call adds to its heat, more for large arrays; past `WARM` its forward and its rules are traced into formulas and
compiled (or read from the cache), and its functions are generated anew to call the built-ins. It happens at a fixed call and not some time
later in a thread, so that a program computes the same numbers every time it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from .._quiet import mute, nameless, unmute
from ._registry import Op, parameters

WARM = 200
_lock = Lock()


class Kernels:
    """The built-ins of an op for one combination of tensors and numbers. `symbolic` says that the forward takes the parameters as arguments;
    otherwise it was made for their defaults."""

    def __init__(self) -> None:
        self.forward: Callable[..., Any] | None = None
        self.symbolic = True
        self.rules: dict[str, Callable[..., Any]] = {}


def ignite(op: Op, kinds: str) -> None:
    """Compile an op that has become hot."""
    with _lock:
        if kinds not in op.kernels:
            op.kernels[kinds] = kernels_for(op, kinds)
            op.regenerate()


def kernels_for(op: Op, kinds: str) -> Kernels:
    from .._kernels import builtin, jit
    from .._kernels.expr import Untraceable

    made = Kernels()
    if not jit.available() or not builtin.supported():
        return made
    formulas: list[builtin.Formula] = []
    fallbacks: list[Any] = []
    places: list[str] = []
    try:
        made.symbolic, expr, signature = forward_formula(op, kinds)
        formulas.append(builtin.Formula(f"{op.name}_{kinds}", expr, signature))
        fallbacks.append(nameless(op.impl) if isinstance(op.impl, np.ufunc) else muted(op, made.symbolic))
        places.append("")
    except Untraceable:
        pass
    for name, rule in op.rules.items():
        try:
            expr, signature = rule_formula(op, kinds, name)
        except Untraceable:
            continue
        formulas.append(builtin.Formula(f"{op.name}_{kinds}_{name}", expr, signature))
        fallbacks.append(rule)
        places.append(name)
    if formulas:
        for place, function in zip(places, builtin.load(formulas, fallbacks), strict=True):
            if place:
                made.rules[place] = function
            else:
                made.forward = function
        speed_up_engine()
    return made


def muted(op: Op, symbolic: bool) -> Callable[..., Any]:
    """The forward for arguments that the built-in passes on."""
    names = op.args if symbolic else op.inputs
    defaults = {} if symbolic else op.default_values()

    def forward(*values: Any) -> Any:
        token = mute()
        try:
            return op.call({**defaults, **dict(zip(names, values, strict=True))})
        finally:
            unmute(token)

    return forward


def forward_formula(op: Op, kinds: str) -> tuple[bool, Any, str]:
    """The formula of the forward: with parameters as symbols if they are only computed with, else for their defaults."""
    from .._kernels.expr import Expr, Untraceable, trace

    kind_of = dict(zip(op.inputs, kinds, strict=True))
    signature = "".join(kind_of.get(name, "S") for name in op.args)
    try:
        symbols = dict(zip(op.args, Expr.inputs(len(op.args)), strict=True))
        return True, trivial_refused(trace(lambda: op.call(symbols), [])), signature
    except Untraceable:
        if not op.params:
            raise
    values = op.default_values() | dict(zip(op.inputs, Expr.inputs(len(op.inputs)), strict=True))
    return False, trivial_refused(trace(lambda: op.call(values), [])), kinds


def rule_formula(op: Op, kinds: str, name: str) -> tuple[Any, str]:
    from .._kernels.expr import Expr, Untraceable, trace

    kind_of = {"g": "T", "out": "T", **dict(zip(op.inputs, kinds, strict=True))}
    names = parameters(op.rules[name])
    if any(other not in kind_of and other not in op.params for other in names):
        raise Untraceable("a shape or dtype")
    signature = "".join(kind_of.get(other, "S") for other in names)
    return trivial_refused(trace(op.rules[name], list(Expr.inputs(len(names))))), signature


def trivial_refused(expr: Any) -> Any:
    """A formula that computes nothing, or yields a truth value, is better left to NumPy."""
    from .._kernels.expr import Untraceable

    if not expr.args or expr.is_bool:
        raise Untraceable("nothing to compute")
    return expr


def speed_up_engine() -> None:
    """Let the engine add gradients by a kernel too."""
    from .._kernels import builtin
    from .._kernels.expr import Expr
    from ..autograd import accumulate

    if accumulate.add_into.__class__ is not speed_up_engine.__class__:
        return
    x, y = Expr.inputs(2)
    (kernel,) = builtin.load([builtin.Formula("add_into", x + y, "TT", builtin.FIRST)], [accumulate.add_into])
    accumulate.use_kernel(kernel)


class Rowwise:
    """A function of NumPy code over the last axis that is compiled when it has become hot. On Tensors it is the function itself."""

    def __init__(self, fn: Callable[..., Any], kinds: str) -> None:
        self.fn = self.run = fn
        self.kinds = kinds
        self.heat = 0
        self.__doc__ = fn.__doc__
        self.__name__ = fn.__name__

    def __call__(self, *args: Any) -> Any:
        if self.run is self.fn and self.heat <= WARM and args[0].__class__ is np.ndarray:
            self.heat += 1 + (args[0].size >> 12)
            if self.heat > WARM:
                self.ignite()
        return self.run(*args)

    def ignite(self) -> None:
        from .._kernels import builtin, jit

        if jit.available() and builtin.supported():
            from .._kernels import rows

            with _lock:
                self.run = rows.load(f"rows_{self.__name__}", self.fn, self.kinds)


def rowwise(kinds: str) -> Callable[[Callable[..., Any]], Rowwise]:
    """Compile the decorated function by rows. Its arguments are matrices (T), rows (R), columns (C) or numbers (S), the first a matrix; it
    reduces with `np.sum`, `np.max` or `np.min` over `axis=-1, keepdims=True`."""

    def decorate(fn: Callable[..., Any]) -> Rowwise:
        return Rowwise(fn, kinds)

    return decorate
