"""Derivatives in symbols, read from the ops' own rules: a rule is NumPy code, so it is called with symbols that note what is done to them.

>>> import adjoint as ad
>>> from adjoint.ops._registry import OPS
>>> found = derivative(OPS["pow_number"], "input", {"input": np.float64(5.0), "exponent": 2, "out": np.float64(25.0)}, np.float64(1.0))
>>> found.text({"g": "g", "input": "s"})
'2·g·s'

A symbol carries the value that it stands for, so code that asks for shapes and values goes the way it went. A term is written as a person
would write it, and can be evaluated: `derivative` gives one only if its value is the gradient that the rule gives for arrays. What cannot
be read gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..ops._registry import Op, parameters
from ..ops._rules import cast, sum_to
from .terms import Term, atom, call, compare, matmul, number, part, power, product, shaped, sum_of, total, transpose, where


class UnreadableError(Exception):
    """The rule uses a function that has no symbol here."""


class Nowhere:
    """The flags of something that does not lie in memory: no kernel takes it."""

    def __getattr__(self, name: str) -> bool:
        return False


NOWHERE = Nowhere()


class Symbol:
    """A value, and the term that says how it came about."""

    __slots__ = ("term", "value")
    __array_priority__ = 3000

    def __init__(self, term: Term, value: Any) -> None:
        self.term = term
        self.value = value

    # ---- what code may ask ------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def ndim(self) -> int:
        return np.ndim(self.value)

    @property
    def size(self) -> int:
        return int(np.size(self.value))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.asarray(self.value).dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def flags(self) -> Nowhere:
        return NOWHERE

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def item(self) -> Any:
        return self

    # ---- shapes: the term says the same -----------------------------------------------------------------------------------------------

    def _as(self, fn: Callable[[Any], Any]) -> Symbol:
        return Symbol(shaped(self.term, fn), fn(self.value))

    def reshape(self, *shape: Any) -> Symbol:
        return self._as(lambda x: np.reshape(x, shape[0] if len(shape) == 1 else shape))

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        return self._as(lambda x: np.asarray(x).astype(dtype))

    def copy(self) -> Symbol:
        return self

    @property
    def T(self) -> Symbol:
        return Symbol(transpose(self.term, lambda x: np.asarray(x).T), np.asarray(self.value).T)

    @property
    def mT(self) -> Symbol:
        return turned(np.swapaxes)(self, -1, -2)

    @property
    def real(self) -> Symbol:
        if self.dtype.kind == "c":
            raise UnreadableError("complex numbers")
        return self

    def sum(self, axis: Any = None, keepdims: bool = False) -> Symbol:
        return reduced("sum", self, axis, keepdims)

    # ---- arithmetic -------------------------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc in (np.add, np.maximum, np.minimum) and not kwargs.get("out"):
            name = {np.add: "sum", np.maximum: "amax", np.minimum: "amin"}[ufunc]
            axis = kwargs.get("axis", args[1] if len(args) > 1 else 0)
            return reduced(name, args[0], axis, kwargs.get("keepdims", False))
        if method != "__call__" or kwargs:
            raise UnreadableError(ufunc.__name__)
        return applied(ufunc, *args)

    def __array_function__(self, fn: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = FUNCTIONS.get(fn)
        return named(fn, args, kwargs) if known is None else known(*args, **kwargs)

    def __getitem__(self, index: Any) -> Symbol:
        return Symbol(part(self.term, written_index(index), lambda x: x[index]), np.asarray(self.value)[index])

    def __getattr__(self, name: str) -> Any:
        raise UnreadableError(f".{name}")

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return applied(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return applied(np.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return applied(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return applied(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return applied(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return applied(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return applied(np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return applied(np.divide, other, self)

    def __pow__(self, other: Any) -> Any:
        return applied(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return applied(np.power, other, self)

    def __matmul__(self, other: Any) -> Any:
        return applied(np.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return applied(np.matmul, other, self)

    def __neg__(self) -> Any:
        return applied(np.negative, self)

    def __abs__(self) -> Any:
        return applied(np.absolute, self)

    def __invert__(self) -> Any:
        return applied(np.logical_not, self)

    def __and__(self, other: Any) -> Any:
        return applied(np.logical_and, self, other)

    def __or__(self, other: Any) -> Any:
        return applied(np.logical_or, self, other)

    def __gt__(self, other: Any) -> Any:
        return applied(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return applied(np.greater_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return applied(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return applied(np.less_equal, self, other)

    def __eq__(self, other: Any) -> Any:
        return applied(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        return applied(np.not_equal, self, other)


# ---- what NumPy's functions mean ----------------------------------------------------------------------------------------------------


def term_of(x: Any) -> Term:
    if isinstance(x, Symbol):
        return x.term
    if np.size(x) == 1 and isinstance(x, bool | int | float | np.ndarray | np.generic):
        return number(float(np.asarray(x).reshape(()).item()))
    raise UnreadableError(f"a {type(x).__name__}")


def value_of(x: Any) -> Any:
    return x.value if isinstance(x, Symbol) else x


COMPARISONS = {np.greater: ">", np.greater_equal: "≥", np.less: "<", np.less_equal: "≤", np.equal: "=", np.not_equal: "≠"}
ARITHMETIC: dict[Any, Callable[..., Term]] = {
    np.add: lambda a, b: sum_of(a, b),
    np.subtract: lambda a, b: sum_of(a, product(-1.0, b)),
    np.multiply: lambda a, b: product(1.0, a, b),
    np.divide: lambda a, b: product(1.0, a, power(b, -1.0)),
    np.negative: lambda a: product(-1.0, a),
    np.positive: lambda a: a,
    np.square: lambda a: power(a, 2.0),
    np.sqrt: lambda a: power(a, 0.5),
    np.reciprocal: lambda a: power(a, -1.0),
    np.conjugate: lambda a: a,
    np.matmul: matmul,
    np.log1p: lambda a: call("ln", np.log, sum_of(number(1.0), a)),
    np.expm1: lambda a: sum_of(call("exp", np.exp, a), number(-1.0)),
}


def applied(ufunc: np.ufunc, *args: Any) -> Symbol:
    """A ufunc on symbols."""
    with np.errstate(all="ignore"):
        value = ufunc(*map(value_of, args))
    if value.dtype.kind == "c":
        raise UnreadableError("complex numbers")
    terms = [term_of(arg) for arg in args]
    if ufunc in ARITHMETIC:
        return Symbol(ARITHMETIC[ufunc](*terms), value)
    if ufunc in COMPARISONS:
        return Symbol(compare(COMPARISONS[ufunc], ufunc, *terms), value)
    if ufunc is np.power and terms[1].kind == "number":
        return Symbol(power(terms[0], terms[1].value), value)
    return Symbol(call(NAMES.get(ufunc.__name__, ufunc.__name__), ufunc, *terms), value)


NAMES = {
    "log": "ln", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "maximum": "max", "minimum": "min", "power": "pow", "logical_and": "and", "logical_or": "or",
}  # fmt: skip


def named(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbol:
    """A function that has no sign of its own: `flip(g)`. Arguments that are no symbols belong to it."""
    places = [place for place, arg in enumerate(args) if isinstance(arg, Symbol)]

    def of(*values: Any) -> Any:
        full = list(args)
        for place, value in zip(places, values, strict=True):
            full[place] = value
        return fn(*full, **kwargs)

    value = of(*(args[place].value for place in places))
    if not places or not isinstance(value, np.ndarray | np.generic) or value.dtype.kind == "c":
        raise UnreadableError(getattr(fn, "__name__", repr(fn)))
    return Symbol(call(fn.__name__, of, *(args[place].term for place in places)), value)


def written_index(index: Any) -> str:
    """
    >>> written_index((slice(None), slice(0, 2), 3))
    ':, :2, 3'
    """
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join(written_part(part) for part in parts)


def written_part(index: Any) -> str:
    if isinstance(index, slice):
        ends = [str(end) if end else "" for end in (index.start, index.stop)]
        return ":".join(ends) + (f":{index.step}" if index.step not in (None, 1) else "")
    return str(index) if isinstance(index, int) else "…"


def reduced(name: str, x: Any, axis: Any = None, keepdims: Any = False, **options: Any) -> Symbol:
    """A sum, mean or the like."""
    if {key for key, value in options.items() if value is not None} - {"dtype"}:
        raise UnreadableError(name)
    keep = bool(keepdims) if isinstance(keepdims, bool | np.bool_) else False

    def fn(value: Any) -> Any:
        return getattr(np, name)(value, axis=axis, keepdims=keep)

    return Symbol(total({"sum": "Σ", "amax": "max", "amin": "min"}.get(name, name), fn, term_of(x)), fn(value_of(x)))


def same(fn: Callable[..., Any]) -> Callable[..., Symbol]:
    """A function that only changes the shape."""
    return lambda x, *args, **kwargs: Symbol(shaped(term_of(x), lambda value: fn(value, *args, **kwargs)), fn(value_of(x), *args, **kwargs))


def turned(fn: Callable[..., Any]) -> Callable[..., Symbol]:
    """A function that exchanges dimensions; of a matrix, its transpose."""

    def of(x: Any, *args: Any, **kwargs: Any) -> Symbol:
        value = fn(value_of(x), *args, **kwargs)
        make = transpose if np.ndim(value) == 2 and np.shape(value) == np.shape(value_of(x))[::-1] else shaped
        return Symbol(make(term_of(x), lambda value: fn(value, *args, **kwargs)), value)

    return of


def where_of(condition: Any, a: Any, b: Any) -> Symbol:
    chosen = np.asarray(value_of(condition))
    value = np.where(chosen, value_of(a), value_of(b))
    if guards(term_of(condition)) and chosen.size and (chosen.all() or not chosen.any()):  # a case that did not come up is not worth a word
        return Symbol(shaped(term_of(a if chosen.all() else b), lambda x: np.broadcast_to(x, value.shape)), value)
    return Symbol(where(term_of(condition), term_of(a), term_of(b)), value)


def guards(condition: Term) -> bool:
    """Whether it tells special values (zeros, ties, what is not a number) from all others."""
    if condition.name in ("and", "or", "logical_not"):
        return (any if condition.name == "and" else all)(map(guards, condition.args))
    return condition.name in ("=", "≠", "isnan", "isfinite", "isinf")


def filled(x: Any, value: Any, **options: Any) -> Symbol:
    full = np.full_like(value_of(x), value)
    return Symbol(shaped(number(float(value)), lambda one: np.full_like(full, one)), full)


def clipped(x: Any, low: Any = None, high: Any = None, **options: Any) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where_of, np.reshape: same(np.reshape), np.expand_dims: same(np.expand_dims), np.squeeze: same(np.squeeze),
    np.broadcast_to: same(np.broadcast_to), np.ravel: same(np.ravel), np.ascontiguousarray: same(np.ascontiguousarray),
    np.copy: same(np.copy), np.swapaxes: turned(np.swapaxes), np.transpose: turned(np.transpose), np.moveaxis: turned(np.moveaxis),
    np.zeros_like: lambda x, **options: filled(x, 0.0), np.ones_like: lambda x, **options: filled(x, 1.0),
    np.full_like: filled, np.clip: clipped, np.real: lambda x: x.real,
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size,
    np.sum: lambda *args, **kwargs: reduced("sum", *args, **kwargs), np.mean: lambda *args, **kwargs: reduced("mean", *args, **kwargs),
    np.result_type: lambda *args: np.result_type(*map(value_of, args)),
    np.any: lambda x: bool(np.any(value_of(x))), np.all: lambda x: bool(np.all(value_of(x))),
    np.dot: lambda a, b: applied(np.matmul, a, b),
}  # fmt: skip


# ---- rules and forwards -------------------------------------------------------------------------------------------------------------


def derivative(op: Op, name: str, values: Mapping[str, Any], g: Any, place: int = 0) -> Term | None:
    """The gradient of the input `name` (of a sequence, that at `place`) as a term of `g`, the inputs and `out`; None if the rule cannot
    be read. `values`: arrays and parameters by name, `out` among them."""
    shape = np.shape(values[name][place] if op.sequence else values[name])
    try:
        with np.errstate(all="ignore"):
            read = rule_on(op, name, {**values, **symbols(op, values)}, Symbol(atom("g", np.ndim(g) == 0), g), place)
            if not isinstance(read, Symbol):
                return None
            read = Symbol(*brought_back(read, shape))
            found = read.term.evaluate({"g": g, **values})
            expected = rule_on(op, name, values, g, place)
            expected = cast(sum_to(expected, shape), expected.dtype)
        return read.term if agrees(found, expected) else None
    except Exception:  # whatever a rule does with symbols that it does with arrays only
        return None


def forward(op: Op, values: Mapping[str, Any]) -> Term | None:
    """The result of an op as a term of its inputs, None if its forward cannot be read."""
    try:
        with np.errstate(all="ignore"):
            read = op.call({**values, **symbols(op, values)})
            if not isinstance(read, Symbol):
                return None
            found = read.term.evaluate(values)
        return read.term if agrees(found, values["out"]) else None
    except Exception:  # whatever a forward does with symbols that it does with arrays only
        return None


def agrees(found: Any, expected: Any) -> bool:
    """Whether a term has the values that were computed, all of them or one for all. A term leaves reshaping out."""
    shape = np.shape(expected)
    if np.size(found) not in (1, prod(shape)):
        return False
    same = np.broadcast_to(np.reshape(found, ()), shape) if np.size(found) == 1 else np.reshape(found, shape)
    return bool(np.allclose(same, expected, rtol=1e-4, atol=1e-6, equal_nan=True))


def symbols(op: Op, values: Mapping[str, Any]) -> dict[str, Any]:
    """A symbol for each input and for the result; numbers in the place of tensors stay numbers."""
    found = {name: values[name] for name in (*op.inputs, "out") if values.get(name) is not None}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray | np.generic)}
    return {name: Symbol(atom(name, np.ndim(value) == 0), value) for name, value in arrays.items()}


def rule_on(op: Op, name: str, values: Mapping[str, Any], g: Any, place: int) -> Any:
    """What the rule for an input gives."""
    rule = op.rules.get(name) or op.joint
    assert rule is not None
    known = {**values, "g": g, "needs": tuple(other == name for other in op.inputs)}
    for other in op.inputs:
        value = values.get(other)
        if value is not None and not isinstance(value, list | tuple):
            known[f"{other}_shape"], known[f"{other}_dtype"] = np.shape(value), np.asarray(value_of(value)).dtype
        elif value is not None:
            known[f"{other}_shape"] = [np.shape(one) for one in value]
    result = rule(*(known[parameter] for parameter in parameters(rule)))
    if name in op.rules and not op.sequence:
        return result
    return result[place if op.sequence else op.inputs.index(name)]


def brought_back(found: Symbol, shape: tuple[int, ...]) -> tuple[Term, Any]:
    """With the sum that undoes broadcasting."""
    if found.shape == shape:
        return found.term, found.value
    before = found.shape
    return total("Σ", lambda x: sum_to(np.broadcast_to(x, before), shape), found.term), sum_to(np.asarray(found.value), shape)
