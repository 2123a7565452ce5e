"""Mathematical functions as code that LLVM vectorises: range reduction, a polynomial, no branches and no tables.

Each function is written once for both floating types with operators on `Value`, which write LLVM instructions. The error is below 2 units in
the last place everywhere, and 0, infinities, NaN, overflow and subnormal numbers come out right; tests/kernels/test_maths.py shows both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from .emit import TYPES, constant


class Facts:
    """What distinguishes the two types."""

    def __init__(self, kind: str) -> None:
        wide = kind == "f64"
        self.int = "i64" if wide else "i32"
        self.mantissa = 52 if wide else 23
        self.bias = 1023 if wide else 127
        # Adding this to a small number leaves the nearest integer in the low bits of the sum.
        self.magic = 1.5 * 2.0**self.mantissa
        self.terms = 13 if wide else 7  # of the exponential series for |r| < 0.35
        self.log_terms = 11 if wide else 5  # of the atanh series for |s| < 0.18
        self.largest = 709.782712893384 if wide else 88.72283935546875  # exp of more overflows
        self.smallest = -745.2 if wide else -104.0  # exp of less is 0
        self.tiny = 2.0**-1022 if wide else 2.0**-126  # the smallest normal number


class Code:
    """A function under construction."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.type = TYPES[kind]
        self.facts = Facts(kind)
        self.lines: list[str] = []
        self.declared: set[str] = set()

    def let(self, instruction: str) -> str:
        self.lines.append(f"  %m{len(self.lines)} = {instruction}")
        return f"%m{len(self.lines) - 1}"

    def number(self, value: Value | float) -> str:
        return value.register if isinstance(value, Value) else constant(value, self.kind)

    def operation(self, name: str, a: Value | float, b: Value | float) -> Value:
        return Value(self, self.let(f"{name} {self.type} {self.number(a)}, {self.number(b)}"))

    def compare(self, name: str, a: Value | float, b: Value | float) -> str:
        return self.let(f"fcmp {name} {self.type} {self.number(a)}, {self.number(b)}")

    def intrinsic(self, name: str, *args: Value | float) -> Value:
        t = self.type
        self.declared.add(f"declare {t} @llvm.{name}.{self.kind}({', '.join([t] * len(args))})")
        return Value(self, self.let(f"call {t} @llvm.{name}.{self.kind}({', '.join(f'{t} {self.number(x)}' for x in args)})"))

    def fma(self, a: Value | float, b: Value | float, c: Value | float) -> Value:
        """`a * b + c`, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def select(self, condition: str, yes: Value | float, no: Value | float) -> Value:
        t = self.type
        return Value(self, self.let(f"select i1 {condition}, {t} {self.number(yes)}, {t} {self.number(no)}"))

    def bits(self, value: Value | float) -> str:
        return self.let(f"bitcast {self.type} {self.number(value)} to {self.facts.int}")

    def from_bits(self, register: str) -> Value:
        return Value(self, self.let(f"bitcast {self.facts.int} {register} to {self.type}"))

    def integer(self, instruction: str, a: str, b: str | int) -> str:
        return self.let(f"{instruction} {self.facts.int} {a}, {b}")

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """By Horner's rule, the constant term first."""
        result = self.fma(x, coefficients[-1], coefficients[-2])
        for coefficient in reversed(coefficients[:-2]):
            result = self.fma(result, x, coefficient)
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


# ln 2 in two parts: the first has enough zeros at its end for n * LN2_HIGH to be exact.
def ln2_parts(kind: str) -> tuple[float, float]:
    exact = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")
    scale = 2**32 if kind == "f64" else 2**14
    high = Fraction(math.floor(exact * scale), scale)
    return float(high), float(exact - high)


def split_exponent(c: Code, x: Value) -> tuple[str, Value]:
    """x = n ln 2 + r: the integer n, and r with |r| < 0.35."""
    high, low = ln2_parts(c.kind)
    shifted = c.fma(x, 1 / math.log(2), c.facts.magic)
    whole = shifted - c.facts.magic
    remainder = c.fma(whole, -low, c.fma(whole, -high, x))
    return c.integer("sub", c.bits(shifted), c.bits(c.facts.magic)), remainder


def power_of_two(c: Code, n: str) -> Value:
    return c.from_bits(c.integer("shl", c.integer("add", n, c.facts.bias), c.facts.mantissa))


def scaled(c: Code, value: Value, n: str) -> Value:
    """value * 2**n, in two steps because 2**n alone may overflow where the product does not."""
    half = c.integer("ashr", n, 1)
    return value * power_of_two(c, half) * power_of_two(c, c.integer("sub", n, half))


def exp_minus_one_near_zero(c: Code, r: Value) -> tuple[Value, Value]:
    """exp(r) - 1 for |r| < 0.35 as r + r**2 (1/2! + r/3! + ...), and what rounding the sum lost."""
    series = c.polynomial(r, [1 / math.factorial(k) for k in range(2, c.facts.terms + 1)])
    small = r * r * series
    total = r + small
    return total, small - (total - r)


def clamped(c: Code, x: Value, low: float, high: float) -> Value:
    """x, brought into a range; NaN stays NaN."""
    x = c.select(c.compare("olt", x, low), low, x)
    return c.select(c.compare("ogt", x, high), high, x)


def negligible(c: Code, x: Value) -> str:
    """Whether 1 + x rounds to 1: then exp(x) - 1 and log(1 + x) are x itself, the sign of zero included."""
    return c.compare("olt", c.intrinsic("fabs", x), 2.0 ** -(c.facts.mantissa + 2))


def exp(c: Code, x: Value) -> Value:
    n, r = split_exponent(c, clamped(c, x, c.facts.smallest, c.facts.largest + 1))
    near, _ = exp_minus_one_near_zero(c, r)
    return scaled(c, near + 1.0, n)


def expm1(c: Code, x: Value) -> Value:
    n, r = split_exponent(c, clamped(c, x, -60.0, c.facts.largest + 0.2))
    near, _ = exp_minus_one_near_zero(c, r)
    # 2**n (near + 1) - 1, with half the power of two, which does not overflow before the result does.
    half = power_of_two(c, c.integer("sub", n, 1))
    result = c.fma(half, near, half - 0.5) * 2.0
    return c.select(negligible(c, x), x, result)


def tanh(c: Code, x: Value) -> Value:
    """e / (e + 2) with e = exp(2|x|) - 1, corrected for what rounding e, e + 2 and the quotient lost."""
    size = c.intrinsic("fabs", x)
    n, r = split_exponent(c, clamped(c, size, 0.0, 22.0) * 2.0)
    power = power_of_two(c, n)
    near, lost = exp_minus_one_near_zero(c, r)
    e = c.fma(power, near, power - 1.0)
    lost = lost * power
    below = e + 2.0
    lost_below = e - (below - 2.0) + lost
    quotient = e / below
    rest = c.fma(quotient * -1.0, below, e) + lost - quotient * lost_below
    return c.intrinsic("copysign", quotient + rest / below, x)


def log_of(c: Code, x: Value) -> tuple[str, Value]:
    """x = 2**n (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), for positive normal x: n as bits, and f."""

    offset = c.integer("sub", c.bits(x), c.bits(math.sqrt(0.5)))
    n = c.integer("ashr", offset, c.facts.mantissa)
    mantissa = c.integer("sub", c.bits(x), c.integer("shl", n, c.facts.mantissa))

    return n, c.from_bits(mantissa) - 1.0


def log_one_plus(c: Code, n: Value, f: Value, correction: Value | float) -> Value:
    """n ln 2 + log(1 + f) + correction, by 2 atanh(s) with s = f / (2 + f), arranged so that the large terms are added last."""
    high, low = ln2_parts(c.kind)
    s = f / (f + 2.0)
    z = s * s
    series = z * c.polynomial(z, [2 / (2 * k + 3) for k in range(c.facts.log_terms)])
    half = f * f * 0.5
    small = c.fma(s, half + series, n * low + correction)
    return c.fma(n, high, f - (half - small))


def log(c: Code, x: Value) -> Value:
    small = c.compare("olt", x, c.facts.tiny)
    shift = float(c.facts.mantissa + 1)
    normal = c.select(small, x * 2.0**shift, x)
    n, f = log_of(c, normal)
    count = Value(c, c.let(f"sitofp {c.facts.int} {n} to {c.type}"))
    result = log_one_plus(c, count - c.select(small, shift, 0.0), f, 0.0)
    return special_logs(c, result, x, 0.0)


def log1p(c: Code, x: Value) -> Value:
    u = x + 1.0
    n, f = log_of(c, u)
    count = Value(c, c.let(f"sitofp {c.facts.int} {n} to {c.type}"))
    # What rounding 1 + x lost, relative to it.
    lost = c.select(c.compare("oge", x, 1.0), 1.0 - (u - x), x - (u - 1.0)) / u
    result = log_one_plus(c, count, f, lost)
    result = c.select(negligible(c, x), x, result)
    return special_logs(c, result, x, -1.0)


def special_logs(c: Code, result: Value, x: Value, edge: float) -> Value:
    """The logarithm at the edge of its domain (-inf), outside it (NaN), at infinity and at NaN (the same)."""
    result = c.select(c.compare("oeq", x, edge), -math.inf, result)
    result = c.select(c.compare("oeq", x, math.inf), math.inf, result)
    return c.select(c.compare("ult", x, edge), math.nan, result)


FUNCTIONS: dict[str, Callable[[Code, Value], Value]] = {"exp": exp, "expm1": expm1, "tanh": tanh, "log": log, "log1p": log1p}


def definitions(wanted: set[tuple[str, str]]) -> tuple[str, set[str]]:
    """The text of the functions asked for, as (name, "f32" or "f64"), and the intrinsics that it declares."""
    parts: list[str] = []
    declared: set[str] = set()
    for name, kind in sorted(wanted):
        code = Code(kind)
        result = FUNCTIONS[name](code, Value(code, "%x"))
        body = "\n".join(code.lines)
        parts.append(f"define internal {code.type} @m_{name}_{kind}({code.type} %x) alwaysinline {{\n{body}\n  ret {code.type} {result.register}\n}}\n")
        declared |= code.declared
    return "\n".join(parts), declared
