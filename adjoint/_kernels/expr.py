"""Formulas by tracing: NumPy code that acts on each element by itself, run on symbols, builds its own expression.

>>> x, y = Expr.inputs(2)
>>> x * y + 1
add(multiply(x0, x1), 1)
>>> np.where(x > 0, np.exp(x), 0)
where(greater(x0, 0), exp(x0), 0)
>>> (z := x * y) + z
t0 = multiply(x0, x1); add(t0, t0)

A symbol stands for an array (`Expr`) or for a Python number (`Number`). Code that asks about a number (`if exponent == 2`) is run once for
each answer, and so yields a formula for each case (`trace_cases`). Code that asks about the values in an array has no formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np

from . import maths


class Untraceable(Exception):  # noqa: N818
    """The code looks at values or shapes, or uses a function that has no formula here."""


class Expr:
    """A formula: a function of other formulas and numbers, or an input (`x0`).

    Formulas are hash-consed: those that are equal are one object, so that a formula is a graph in which what occurs twice stands once,
    and comparing is `is`. (`==` builds a formula.)
    """

    __slots__ = ("__weakref__", "_dtype", "args", "is_bool", "name")
    __array_priority__ = 2000
    name: str
    args: tuple[Any, ...]
    is_bool: bool
    _dtype: np.dtype[Any] | None

    def __new__(cls, name: str, args: tuple[Any, ...] = (), dtype: np.dtype[Any] | None = None) -> Self:
        # A number is told by its text: 0.0 equals -0.0, 1 equals True, and NaN not even itself. Operands live as long as the formula does.
        operands = tuple(id(arg) if isinstance(arg, Expr) else (arg.__class__, repr(arg)) for arg in args)
        key = (cls, name, operands, dtype)
        made: Any = _interned.get(key)
        if made is None:
            made = object.__new__(cls)
            made.name, made.args = name, args
            made.is_bool = name in COMPARISONS or name in LOGICAL or dtype == np.bool_
            made._dtype = np.dtype(bool) if made.is_bool else dtype
            _interned[key] = made
        return made  # type: ignore[no-any-return]

    @staticmethod
    def inputs(kinds: str | int, dtype: np.dtype[Any] | None = None) -> list[Any]:
        """Symbols for arrays of a floating dtype (T), arrays of truth values (B) and numbers (S); for so many arrays."""
        kinds = "T" * kinds if isinstance(kinds, int) else kinds
        return [Number(f"x{i}") if k == "S" else Expr(f"x{i}", (), np.dtype(bool) if k == "B" else dtype) for i, k in enumerate(kinds)]

    def __repr__(self) -> str:
        """The formula as nested calls. Parts that occur twice, and those far down, get names (`t0`) and come first."""
        nodes = [*self.nodes()]
        uses = Counter(id(arg) for node in nodes for arg in node.args)
        texts, depths, lines = dict[int, str](), dict[int, int](), list[str]()
        for node in nodes:
            operands = (texts[id(arg)] if isinstance(arg, Expr) else repr(arg) for arg in node.args)
            text = f"{node.name}({', '.join(operands)})" if node.args else node.name
            depth = 1 + max((depths[id(arg)] for arg in node.args if isinstance(arg, Expr)), default=0)
            if node is not self and node.args and (uses[id(node)] > 1 or depth > DEEP):
                lines.append(f"t{len(lines)} = {text}; ")
                text, depth = f"t{len(lines) - 1}", 0
            texts[id(node)], depths[id(node)] = text, depth
        return "".join(lines) + texts[id(self)]

    def nodes(self, known: Collection[int] = ()) -> Iterator[Expr]:
        """The formulas that this one consists of, each once and after its operands, itself last. Those whose `id` is known are left out."""
        seen, waiting = set(known), [(self, False)]
        while waiting:
            expr, operands_done = waiting.pop()
            if operands_done:
                yield expr
            elif id(expr) not in seen:
                seen.add(id(expr))
                waiting.append((expr, True))
                waiting += [(arg, False) for arg in reversed(expr.args) if isinstance(arg, Expr)]

    def functions(self) -> Counter[str]:
        """How many times functions are computed, by name."""
        return Counter(expr.name for expr in self.nodes())

    def count(self, names: Collection[str]) -> int:
        """How many times functions of these names are computed."""
        return sum(uses for name, uses in self.functions().items() if name in names)

    @property
    def dtype(self) -> np.dtype[Any]:
        if self._dtype is None:
            raise Untraceable(".dtype")
        return self._dtype

    @property
    def real(self) -> Any:
        return function("real", self)

    @property
    def imag(self) -> Any:
        if not self.is_complex:
            raise Untraceable("the imaginary part of a real number")
        return Expr("imag", (self,), self._dtype)

    @property
    def is_complex(self) -> bool:
        return self._dtype is not None and self._dtype.kind == "c"

    def astype(self, dtype: Any, copy: bool = True) -> Expr:
        if self.is_bool and np.dtype(dtype).kind in "fV":
            return Expr("positive", (self,), np.dtype(dtype))
        if self.dtype != dtype:
            raise Untraceable(f"a conversion to {np.dtype(dtype)}")
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise Untraceable(f"numpy.{ufunc.__name__} with options")
        return function(ufunc.__name__, *args)

    def __array_function__(self, fn: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if fn in ARRAY_FUNCTIONS:
            return ARRAY_FUNCTIONS[fn](*args, **kwargs)
        if getattr(fn, "__name__", "") in MATHS and not kwargs:  # the special functions of ops/_special_math.py
            return function(fn.__name__, *args)
        raise Untraceable(getattr(fn, "__name__", repr(fn)))

    def __bool__(self) -> bool:
        raise Untraceable("a condition on a value")

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f".{name}")

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return function("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return function("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return function("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return function("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return function("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return function("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return function("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return function("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return function("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return function("power", other, self)

    def __mod__(self, other: Any) -> Any:
        return function("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return function("remainder", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return function("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return function("floor_divide", other, self)

    def __and__(self, other: Any) -> Any:
        return function("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return function("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return function("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return function("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return function("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return function("bitwise_xor", other, self)

    def __gt__(self, other: Any) -> Any:
        return function("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return function("greater_equal", self, other)

    def __lt__(self, other: Any) -> Any:
        return function("less", self, other)

    def __le__(self, other: Any) -> Any:
        return function("less_equal", self, other)

    def __eq__(self, other: Any) -> Any:
        return function("equal", self, other)

    def __ne__(self, other: Any) -> Any:
        return function("not_equal", self, other)

    def __neg__(self) -> Any:
        return function("negative", self)

    def __pos__(self) -> Any:
        return function("positive", self)

    def __abs__(self) -> Any:
        return function("absolute", self)

    def __invert__(self) -> Any:
        return function("invert", self)


DEEP = 30  # nested calls that are still read as one
_interned: WeakValueDictionary[tuple[Any, ...], Expr] = WeakValueDictionary()


class Number(Expr):
    """A Python number that is not known yet, or a formula of such numbers. `isinstance(x, float)` holds, so that code takes it for one."""

    __slots__ = ()

    __class__ = property(lambda self: float)
    __hash__ = None

    def item(self) -> Number:
        return self

    def __bool__(self) -> bool:
        return decide(self)

    def __eq__(self, other: Any) -> Any:
        return False if other is None or isinstance(other, str) else super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None or isinstance(other, str) else super().__ne__(other)


class Option(str):
    """A string that remembers what it is compared with."""

    compared: list[str]

    def __new__(cls, value: str) -> Option:
        made = super().__new__(cls, value)
        made.compared = [value]
        return made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and other not in self.compared:
            self.compared.append(other)
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


# ---- functions ----------------------------------------------------------------------------------------------------------------------


def function(name: str, *args: Any) -> Any:
    """A formula from a NumPy function, by its name, and its operands."""
    name = SAME_AS.get(name, name)
    for arg in args:
        if not isinstance(arg, bool | int | float | Expr):
            raise Untraceable(f"a {type(arg).__name__} in a formula")
    if name in COMPOSED:
        return COMPOSED[name](*args)
    if name not in FUNCTIONS:
        raise Untraceable(f"numpy.{name}")
    symbols = [arg for arg in args if isinstance(arg, Expr)]
    if all(type(arg) is Number for arg in symbols):
        return Number(name, args)
    if name in COMPARISONS or name in LOGICAL:
        return Expr(name, args)
    values = [arg for arg in symbols[name == "where" :] if type(arg) is not Number]
    floating = [arg for arg in values if not arg.is_bool]
    if not floating and name in OF_TRUTHS and all(map(is_truth, args)):
        return Expr(OF_TRUTHS[name], args)
    if not floating and name == "where" and all(is_truth(arg) for arg in args[1:]):
        return Expr(name, args, np.dtype(bool))
    if not floating:
        raise Untraceable(f"{name} of truth values")
    return Expr(name, args, floating[0]._dtype)


def is_truth(x: Any) -> bool:
    return x.is_bool if isinstance(x, Expr) else type(x) is bool


def bitwise(name: str, *args: Any) -> Any:
    """An operation on the bits of integers; of truth values, what it means for them."""
    dtype = whole_dtype(*args)
    return function(f"logical_{name}", *args) if dtype is None else Expr(f"bits_{name}", args, dtype)


def shifted(name: str, x: Any, by: Any) -> Any:
    """The bits of integers moved by some places."""
    dtype = whole_dtype(x, by)
    if dtype is None:
        raise Untraceable(f"{name} of other numbers than integers")
    return Expr(name, (x, by), dtype)


def complex_part(name: str, x: Any) -> Any:
    """The real part or the conjugate: of a real number, the number."""
    return Expr(name, (x,), x._dtype) if isinstance(x, Expr) and x.is_complex else x


def power(base: Any, exponent: Any) -> Any:
    """A power, with exponents that are known and small written out."""
    if type(exponent) in (bool, int, float):
        if exponent == 1:
            return function("positive", base)
        if exponent == 2:
            return base * base
        if exponent == 0.5:
            return np.sqrt(base)
        if exponent == -1:
            return 1.0 / base
    symbols = [x for x in (base, exponent) if isinstance(x, Expr)]
    made = Number if all(type(x) is Number for x in symbols) else Expr
    return made("power", (base, exponent), next((x._dtype for x in symbols if type(x) is Expr), None))


def whole_dtype(*args: Any) -> np.dtype[Any] | None:
    """The dtype of the integers among operands, if there are some."""
    return next((x._dtype for x in args if isinstance(x, Expr) and x._dtype is not None and x._dtype.kind in "iu"), None)


def remainder(x: Any, y: Any) -> Any:
    rest = np.fmod(x, y)
    if whole_dtype(x, y) is not None:
        return np.where((rest != 0) & ((y < 0) ^ (rest < 0)), rest + y, rest)
    return np.where(rest == 0, np.copysign(0.0, y), np.where((y < 0) ^ (rest < 0), rest + y, rest))


def floor_divide(x: Any, y: Any) -> Any:
    rest = np.fmod(x, y)
    dtype = whole_dtype(x, y)
    if dtype is not None:
        quotient = Expr("quotient", (x, y), dtype)
        return np.where((rest != 0) & ((y < 0) ^ (rest < 0)), quotient - 1, quotient)
    quotient = (x - rest) / y
    quotient = np.where((rest != 0) & ((y < 0) ^ (rest < 0)), quotient - 1, quotient)
    whole = np.floor(quotient)
    return np.where(quotient == 0, np.copysign(0.0, x / y), np.where(quotient - whole > 0.5, whole + 1, whole))


def log_of_sum(exp: Any, log2: float) -> Callable[[Any, Any], Any]:
    """log(exp(x) + exp(y)), for the base of which the logarithm of 2 is given."""

    def add(x: Any, y: Any) -> Any:
        larger = np.where((x >= y) | (x != x), x, y)
        return np.where(x == y, x + log2, larger + np.log1p(exp(-np.abs(x - y))) * (log2 / LN2))

    return add


LN2 = float(np.log(2.0))


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def filled(x: Any, value: Any, dtype: Any = None) -> Any:
    if dtype is not None and dtype != x.dtype:
        raise Untraceable("an array of another dtype")
    return Expr("positive", (value,), x.dtype)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    if x.is_complex:
        raise Untraceable("parts of a complex number that are replaced")
    largest = float(np.finfo(x.dtype).max)
    x = np.where(x == np.inf, largest if posinf is None else posinf, x)
    return np.where(x != x, nan, np.where(x == -np.inf, -largest if neginf is None else neginf, x))


def nextafter(x: Any, y: Any) -> Any:
    if x._dtype is not None and x._dtype.itemsize < 4:
        raise Untraceable("the next number in half precision, which is computed with in another")
    return Expr("nextafter", (x, y), x._dtype)


def any_zero(condition: Any) -> bool:
    """Whether a divisor is zero: not in a formula of integers. A loop that meets one leaves it to the code that asks."""
    if condition.name == "equal" and condition.args[1:] == (0,) and whole_dtype(condition.args[0]) is not None:
        return False
    raise Untraceable("a condition on all values")


def result_type(*args: Any) -> np.dtype[Any]:
    return next((arg.dtype for arg in args if type(arg) is Expr and not arg.is_bool), np.dtype(float))


COMPARISONS = {"greater": "ogt", "greater_equal": "oge", "less": "olt", "less_equal": "ole", "equal": "oeq", "not_equal": "une"}
LOGICAL = {"logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isfinite", "isinf", "signbit"}
ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
INTRINSICS = {
    "absolute": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "copysign": "copysign",
}  # fmt: skip
OF_TRUTHS = {"add": "logical_or", "multiply": "logical_and", "maximum": "logical_or", "minimum": "logical_and"}  # as NumPy has it
MATHS = frozenset(maths.FUNCTIONS | maths.PARTS)
FUNCTIONS = {*COMPARISONS, *LOGICAL, *ARITHMETIC, *INTRINSICS, *MATHS, "maximum", "minimum", "negative", "positive", "sign", "where"}
SAME_AS = {
    "true_divide": "divide", "fabs": "absolute", "abs": "absolute", "bitwise_not": "invert", "degrees": "rad2deg", "radians": "deg2rad",
    "mod": "remainder",
}  # fmt: skip

# Functions that are written with others.
COMPOSED: dict[str, Callable[..., Any]] = {
    "bitwise_and": lambda x, y: bitwise("and", x, y),
    "bitwise_or": lambda x, y: bitwise("or", x, y),
    "bitwise_xor": lambda x, y: bitwise("xor", x, y),
    "invert": lambda x: bitwise("not", x),
    "left_shift": lambda x, y: shifted("left_shift", x, y),
    "right_shift": lambda x, y: shifted("right_shift", x, y),
    "real": lambda x: complex_part("real", x),
    "conjugate": lambda x: function("positive", complex_part("conjugate", x)),
    "power": power,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "deg2rad": lambda x: x * (np.pi / 180),
    "rad2deg": lambda x: x * (180 / np.pi),
    "nextafter": nextafter,
    "remainder": remainder,
    "floor_divide": floor_divide,
    "fmax": lambda x, y: np.where((x >= y) | (y != y), x, y),
    "fmin": lambda x, y: np.where((x <= y) | (y != y), x, y),
    "heaviside": lambda x, y: np.where(x == 0, y, np.where(x != x, x, x > 0)),
    "logaddexp": log_of_sum(np.exp, LN2),
    "logaddexp2": log_of_sum(np.exp2, 1.0),
}

# NumPy functions that are no ufuncs.
ARRAY_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: lambda condition, x, y: function("where", condition, x, y),
    np.clip: clip,
    np.copy: lambda x: function("positive", x),
    np.real: lambda x: complex_part("real", x),
    np.imag: lambda x: x.imag,
    np.zeros_like: lambda x, dtype=None: filled(x, 0.0, dtype),
    np.ones_like: lambda x, dtype=None: filled(x, 1.0, dtype),
    np.full_like: filled,
    np.nan_to_num: nan_to_num,
    np.any: any_zero,
    np.result_type: result_type,
}


# ---- tracing ------------------------------------------------------------------------------------------------------------------------


def trace(fn: Callable[..., Any], arguments: Sequence[Any]) -> Expr:
    """The formula that `fn` computes from symbols and constants; Untraceable if it is none."""
    try:
        result = fn(*arguments)
    except Untraceable:
        raise
    except Exception as error:
        raise Untraceable(repr(error)) from error
    if not isinstance(result, Expr) or type(result) is Number:
        raise Untraceable("no formula")
    return result


Answers = list[tuple[Number, bool]]
MOST_CASES = 12
_answers: Answers = []
_prescribed: list[bool] | None = None


def decide(question: Number) -> bool:
    """Answer a question about numbers: as prescribed, then with yes, so that `trace_cases` can try no."""
    if _prescribed is None:
        raise Untraceable("a condition on a number")
    place = len(_answers)
    answer = _prescribed[place] if place < len(_prescribed) else True
    _answers.append((question, answer))
    return answer


def trace_cases(fn: Callable[..., Any], arguments: Sequence[Any]) -> list[tuple[Answers, Expr]]:
    """The formulas that `fn` computes, each with the answers that lead to it to the questions that `fn` asks about numbers."""
    global _answers, _prescribed
    cases: list[tuple[Answers, Expr]] = []
    failure = None
    waiting: list[list[bool]] = [[]]
    while waiting:
        _answers, _prescribed = [], waiting.pop()
        given = len(_prescribed)
        try:
            result = trace(fn, arguments)
            cases.append((_answers, result))
        except Untraceable as error:
            failure = error
        finally:
            _prescribed = None
        for place in range(given, len(_answers)):
            waiting.append([answer for _, answer in _answers[:place]] + [False])
        if len(cases) > MOST_CASES:
            raise Untraceable("too many cases")
    if not cases:
        raise failure or Untraceable("no formula")
    return cases
