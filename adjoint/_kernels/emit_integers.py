"""Formulas of integers and truth values. They wrap around; what would make a floating number of them has no formula here."""

from __future__ import annotations

from typing import Any

from .code import constant
from .emit import Emitter
from .expr import COMPARISONS, Expr, Number, Untraceable

OPERATIONS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "bits_and": "and", "bits_or": "or", "bits_xor": "xor",
}  # fmt: skip
QUOTIENTS = ("quotient", "fmod")
MAGIC = 0x4338000000000000  # the bits of 1.5 * 2**52: added to a number, they are those of the double that is so much larger
ORDER = {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le"}


class IntegerEmitter(Emitter):
    """The kind is "i" or "u", for numbers without a sign, and how many bits there are. A truth value counts as 0 or 1."""

    types = {f"{sign}{bits}": f"i{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}  # noqa: RUF012

    def value(self, formula: Expr | float) -> str:
        if type(formula) in (bool, int):
            return str(int(formula))
        if not isinstance(formula, Expr):
            raise Untraceable("a floating number among integers")
        register: str = self.register(formula)
        if formula.is_bool:
            return self.let(f"zext i1 {register} to {self.type}")
        if type(formula) is Number:
            if formula.args:
                raise Untraceable("arithmetic of numbers, which Python does in its own way")
            exact = self.let(f"fptosi double {register} to i64")
            return exact if self.type == "i64" else self.let(f"trunc i64 {exact} to {self.type}")
        return register

    def condition(self, formula: Expr | float) -> Any:
        if isinstance(formula, Expr) and not formula.is_bool:
            return self.let(f"icmp ne {self.type} {self.value(formula)}, 0")
        return super().condition(formula)

    def register(self, formula: Expr) -> Any:
        if type(formula) is Number:
            return self.doubles.register(formula)
        return super().register(formula)

    def compute(self, formula: Expr) -> Any:
        name, args, t = formula.name, formula.args, self.type
        if not args:
            return self.inputs[int(name[1:])]
        if name in OPERATIONS:
            return self.let(f"{OPERATIONS[name]} {t} {self.value(args[0])}, {self.value(args[1])}")
        if name in COMPARISONS:
            how = {"equal": "eq", "not_equal": "ne"}.get(name) or ("u" if self.kind[0] == "u" else "s") + ORDER[name]
            return self.let(f"icmp {how} {t} {self.value(args[0])}, {self.value(args[1])}")
        return self.other(name, *args)

    def chosen(self, comparison: str, a: str, b: str, yes: str, no: str) -> str:
        return self.let(f"select i1 {self.let(f'icmp {comparison} {self.type} {a}, {b}')}, {self.type} {yes}, {self.type} {no}")

    def extreme(self, yields: str, x: Expr, y: Expr) -> str:
        a, b = self.value(x), self.value(y)
        return self.chosen(("u" if self.kind[0] == "u" else "s") + yields[1:], a, b, b, a)

    def _negative(self, x: Expr) -> str:
        return self.let(f"sub {self.type} 0, {self.value(x)}")

    def _absolute(self, x: Expr) -> str:
        value = self.value(x)
        return value if self.kind[0] == "u" else self.chosen("slt", value, "0", self.let(f"sub {self.type} 0, {value}"), value)

    def _sign(self, x: Expr) -> str:
        value = self.value(x)
        positive = self.let(f"zext i1 {self.let(f'icmp ne {self.type} {value}, 0')} to {self.type}")
        return positive if self.kind[0] == "u" else self.chosen("slt", value, "0", "-1", positive)

    def _bits_not(self, x: Expr) -> str:
        return self.let(f"xor {self.type} {self.value(x)}, -1")

    def exact_double(self, value: str) -> str:
        """An int64 as a double; one that may be too large for that is not usual."""
        shifted = self.let(f"add i64 {value}, {MAGIC}")
        self.outside.append(self.let(f"icmp ne i64 {self.let(f'lshr i64 {shifted}, 52')}, {MAGIC >> 52}"))
        return self.let(f"fsub double {self.let(f'bitcast i64 {shifted} to double')}, {constant(1.5 * 2**52, 'f64')}")

    def from_double(self, value: str) -> str:
        raised = self.let(f"fadd double {value}, {constant(1.5 * 2**52, 'f64')}")
        return self.let(f"sub i64 {self.let(f'bitcast double {raised} to i64')}, {MAGIC}")

    def double_quotient(self, x: Expr, y: Expr) -> tuple[str, str, str]:
        """A usual dividend, its divisor and their quotient towards zero, as doubles: there are vectors of those."""
        a, b = (self.exact_double(self.value(operand)) for operand in (x, y))
        self.outside.append(self.let(f"fcmp oeq double {b}, 0.0"))
        return a, b, self.doubles.intrinsic("trunc", self.let(f"fdiv double {a}, {b}"))

    def _quotient(self, x: Expr, y: Expr) -> str:
        """Towards zero. The CPU knows no quotient by zero, which is left to others, nor of the least number by -1."""
        if self.usual:
            return self.from_double(self.double_quotient(x, y)[2])
        value, divisor, t = self.value(x), self.value(y), self.type
        self.outside.append(self.let(f"icmp eq {t} {divisor}, 0"))
        if self.kind[0] == "u":
            return self.divided("u", value, self.chosen("eq", divisor, "0", "1", divisor))
        unusual = self.let(f"icmp ule {t} {self.let(f'add {t} {divisor}, 1')}, 1")
        result = self.divided("s", value, self.let(f"select i1 {unusual}, {t} 1, {t} {divisor}"))
        return self.chosen("eq", divisor, "-1", self.let(f"sub {t} 0, {value}"), result)

    def divided(self, sign: str, value: str, divisor: str) -> str:
        """A quotient of short numbers is exact in double precision, and there are vectors of those."""
        t = self.type
        if t == "i64":
            return self.let(f"{sign}div i64 {value}, {divisor}")
        a, b = (self.let(f"{sign}itofp {t} {x} to double") for x in (value, divisor))
        whole = self.let(f"fpto{sign}i double {self.let(f'fdiv double {a}, {b}')} to i32")
        return whole if t == "i32" else self.let(f"trunc i32 {whole} to {t}")

    def _fmod(self, x: Expr, y: Expr) -> str:
        if self.usual:
            a, b, quotient = self.double_quotient(x, y)
            return self.from_double(self.let(f"fsub double {a}, {self.let(f'fmul double {quotient}, {b}')}"))  # all of it is exact
        product = self.let(f"mul {self.type} {self._quotient(x, y)}, {self.value(y)}")
        return self.let(f"sub {self.type} {self.value(x)}, {product}")

    def shift(self, instruction: str, x: Expr, by: Expr, beyond: str) -> str:
        """`beyond` is the result for as many places as there are bits, more, or a negative number of them."""
        places, t = self.value(by), self.type
        some = self.let(f"icmp ult {t} {places}, {t[1:]}")
        moved = self.let(f"{instruction} {t} {self.value(x)}, {self.let(f'select i1 {some}, {t} {places}, {t} 0')}")
        return self.let(f"select i1 {some}, {t} {moved}, {t} {beyond}")

    def _left_shift(self, x: Expr, by: Expr) -> str:
        return self.shift("shl", x, by, "0")

    def _right_shift(self, x: Expr, by: Expr) -> str:
        if self.kind[0] == "u":
            return self.shift("lshr", x, by, "0")
        return self.shift("ashr", x, by, self.let(f"ashr {self.type} {self.value(x)}, {int(self.type[1:]) - 1}"))

    def _isnan(self, x: Expr) -> str:
        return "false"

    def _isinf(self, x: Expr) -> str:
        return "false"

    def _isfinite(self, x: Expr) -> str:
        return "true"

    def _signbit(self, x: Expr) -> str:
        return "false" if self.kind[0] == "u" else self.let(f"icmp slt {self.type} {self.value(x)}, 0")
