"""LLVM instructions written with Python's operators: what the mathematical functions of the kernels are made of.

A function is written once for both floating types. `Code.kind` says in which type it computes, `Code.goal` how precise the result has to
be: some functions of a float32 are computed in double precision, with short polynomials.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

from .polynomials import Table

TYPES = {"f32": "float", "f64": "double"}
FUSED = 2  # steps at the end of a polynomial that are rounded once on any CPU


def rounded(value: float, kind: str) -> float:
    """A number as its type holds it."""
    return float(struct.unpack("f", struct.pack("f", value))[0]) if kind == "f32" else float(value)


def constant(value: float, kind: str) -> str:
    """A number as LLVM writes it: the bits of the double nearest to the value in its type."""
    return f"0x{struct.unpack('Q', struct.pack('d', rounded(value, kind)))[0]:016X}"


class Facts:
    """What distinguishes the two types."""

    def __init__(self, kind: str) -> None:
        wide = kind == "f64"
        self.int = "i64" if wide else "i32"
        self.bits = 64 if wide else 32
        self.mantissa = 52 if wide else 23
        self.bias = 1023 if wide else 127
        # Adding this to a small number leaves the nearest integer in the low bits of the sum.
        self.magic = 1.5 * 2.0**self.mantissa
        self.largest = 709.782712893384 if wide else 88.72283935546875  # exp of more overflows
        self.smallest = -745.2 if wide else -104.0  # exp of less is 0
        self.tiny = 2.0**-1022 if wide else 2.0**-126  # the smallest normal number


class Code:
    """A function under construction."""

    def __init__(self, kind: str, goal: str = "", within: Code | None = None) -> None:
        self.kind = kind
        self.goal = goal or kind
        self.type = TYPES[kind]
        self.facts = Facts(kind)
        self.lines: list[str] = within.lines if within else []
        self.declared: set[str] = within.declared if within else set()

    @property
    def exact(self) -> bool:
        """Whether the result is needed to the last bit of the type that is computed in."""
        return self.kind == self.goal

    def let(self, instruction: str) -> str:
        self.lines.append(f"  %m{len(self.lines)} = {instruction}")
        return f"%m{len(self.lines) - 1}"

    def number(self, value: Value | float) -> str:
        return value.register if isinstance(value, Value) else constant(value, self.kind)

    def operation(self, name: str, a: Value | float, b: Value | float) -> Value:
        return Value(self, self.let(f"{name} {self.type} {self.number(a)}, {self.number(b)}"))

    def compare(self, name: str, a: Value | float, b: Value | float) -> str:
        return self.let(f"fcmp {name} {self.type} {self.number(a)}, {self.number(b)}")

    def both(self, a: str, b: str) -> str:
        return self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or i1 {a}, {b}")

    def intrinsic(self, name: str, *args: Value | float) -> Value:
        t = self.type
        self.declared.add(f"declare {t} @llvm.{name}.{self.kind}({', '.join([t] * len(args))})")
        return Value(self, self.let(f"call {t} @llvm.{name}.{self.kind}({', '.join(f'{t} {self.number(x)}' for x in args)})"))

    def fma(self, a: Value | float, b: Value | float, c: Value | float) -> Value:
        """`a * b + c`, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def sqrt(self, x: Value) -> Value:
        return self.intrinsic("sqrt", x)

    def rint(self, x: Value) -> Value:
        return self.intrinsic("rint", x)

    def copysign(self, x: Value | float, sign: Value) -> Value:
        return self.intrinsic("copysign", x, sign)

    def select(self, condition: str, yes: Value | float, no: Value | float) -> Value:
        t = self.type
        return Value(self, self.let(f"select i1 {condition}, {t} {self.number(yes)}, {t} {self.number(no)}"))

    def bits(self, value: Value | float) -> str:
        return self.let(f"bitcast {self.type} {self.number(value)} to {self.facts.int}")

    def from_bits(self, register: str) -> Value:
        return Value(self, self.let(f"bitcast {self.facts.int} {register} to {self.type}"))

    def integer(self, instruction: str, a: str, b: str | int) -> str:
        return self.let(f"{instruction} {self.facts.int} {a}, {b}")

    def test_bit(self, register: str, bit: int) -> str:
        """Whether a bit is set."""
        return self.let(f"icmp ne {self.facts.int} {self.integer('and', register, 1 << bit)}, 0")

    def widened(self, *values: Value) -> tuple[Any, ...]:
        """The code that computes in double precision to the same goal, and float32 numbers as it takes them."""
        wide = Code("f64", goal=self.goal, within=self)
        return wide, *(Value(wide, self.let(f"fpext float {value.register} to double")) for value in values)

    def narrowed(self, value: Value) -> Value:
        """A double as a float32."""
        return Value(self, self.let(f"fptrunc double {value.register} to float"))

    def polynomial(self, x: Value, coefficients: Table, start: int = 0) -> Value:
        """By Horner's rule, from a given coefficient on. (Splitting long ones into several chains was tried and gains nothing: the CPU
        works on several vectors at once.)"""
        *others, last = coefficients[self.goal][start:]
        result: Value | float = last
        for place in reversed(range(len(others))):
            # Rounding twice costs no precision but in the last steps, and a CPU without fused operations is much faster so.
            result = self.intrinsic("fma" if place < FUSED and self.exact else "fmuladd", x, result, others[place])
        assert isinstance(result, Value)
        return result


class Value:
    """A number in a function under construction."""

    __slots__ = ("code", "register")

    def __init__(self, code: Code, register: str) -> None:
        self.code = code
        self.register = register

    def __add__(self, other: Value | float) -> Value:
        return self.code.operation("fadd", self, other)

    def __radd__(self, other: float) -> Value:
        return self.code.operation("fadd", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.code.operation("fsub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.code.operation("fsub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.code.operation("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Value | float) -> Value:
        return self.code.operation("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.code.operation("fdiv", other, self)

    def __neg__(self) -> Value:
        return Value(self.code, self.code.let(f"fneg {self.code.type} {self.register}"))

    def __abs__(self) -> Value:
        return self.code.intrinsic("fabs", self)


Function = Callable[..., Value]


def in_double(function: Function) -> Function:
    """Compute a function of float32 in double precision."""

    @wraps(function)
    def write(c: Code, *args: Value) -> Value:
        if c.kind == "f64":
            return function(c, *args)
        return c.narrowed(function(*c.widened(*args)))

    return write


# ---- sums of two numbers, the second being what rounding the first lost -------------------------------------------------------------

Pair = tuple[Value, Value]


def ordered_sum(a: Value | float, b: Value) -> Pair:
    """a + b, where |a| >= |b| or a is 0."""
    total = a + b
    return total, b - (total - a)


def product(c: Code, a: Value, b: Value | float) -> Pair:
    result = a * b
    return result, c.fma(a, b, -result)


# ---- constants as sums --------------------------------------------------------------------------------------------------------------

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068000949339362196969471560586332699641868754")
LN10 = Fraction("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599720508959829834")


def nearest(exact: Fraction, kind: str, count: int = 2) -> tuple[float, ...]:
    """The sum of so many numbers of a type that comes nearest to a number."""
    parts = []
    for _ in range(count):
        parts.append(rounded(float(exact), kind))
        exact -= Fraction(parts[-1])
    return tuple(parts)


def with_short_head(exact: Fraction, kind: str) -> tuple[float, float]:
    """A number below 1 as a sum of two, the first with so many zeros at its end that its products with exponents are exact."""
    scale = 2**32 if kind == "f64" else 2**14
    head = Fraction(math.floor(exact * scale), scale)
    return float(head), float(exact - head)
