"""Formulas of complex numbers: each is a pair of registers, its parts. A formula of real numbers alone is one register as ever."""

from __future__ import annotations

from typing import Any

from .code import constant
from .emit import Emitter
from .emit_types import PARTS
from .expr import Expr

Pair = tuple[str, str]


class ComplexEmitter(Emitter):
    """The kind is that of complex numbers; with their parts it computes as with any floating numbers."""

    def __init__(self, kind: str, inputs: list[Any], within: Emitter | None = None) -> None:
        super().__init__(PARTS[kind], inputs, within)

    def results(self, formula: Expr) -> list[tuple[str, str]]:
        value = None if formula.is_bool else self.value(formula)
        return [(self.type, part) for part in value] if isinstance(value, tuple) else super().results(formula)

    def pair(self, formula: Any) -> Pair:
        value = self.value(formula)
        return value if isinstance(value, tuple) else (value, constant(0.0, self.kind))

    def is_pair(self, formula: Any) -> bool:
        return isinstance(formula, Expr) and not formula.is_bool and isinstance(self.value(formula), tuple)

    def condition(self, formula: Expr | float) -> Any:
        if not self.is_pair(formula):
            return super().condition(formula)
        re, im = (self.let(f"fcmp une {self.type} {part}, 0.0") for part in self.pair(formula))
        return self.let(f"or i1 {re}, {im}")

    def compute(self, formula: Expr) -> Any:
        name, args = formula.name, formula.args
        if not args:
            return self.inputs[int(name[1:])]
        if not any(map(self.is_pair, args[name == "where" :])):
            return super().compute(formula)
        return self.other(f"complex_{name}", *args)

    # ---- parts ----------------------------------------------------------------------------------------------------------------------

    def of(self, instruction: str, a: str, b: str) -> str:
        return self.let(f"{instruction} {self.type} {a}, {b}")

    def both(self, instruction: str, x: Any, y: Any) -> Pair:
        (a, b), (c, d) = self.pair(x), self.pair(y)
        return self.of(instruction, a, c), self.of(instruction, b, d)

    def pick(self, condition: str, yes: str, no: str) -> str:
        return self.let(f"select i1 {condition}, {self.type} {yes}, {self.type} {no}")

    def called(self, name: str, *operands: str) -> str:
        """A function of maths.py."""
        self.maths.add((name, self.kind))
        return self.let(f"call {self.type} @m_{name}_{self.kind}({', '.join(f'{self.type} {x}' for x in operands)})")

    # ---- functions ------------------------------------------------------------------------------------------------------------------

    def _complex_add(self, x: Any, y: Any) -> Pair:
        return self.both("fadd", x, y)

    def _complex_subtract(self, x: Any, y: Any) -> Pair:
        return self.both("fsub", x, y)

    def _complex_multiply(self, x: Any, y: Any) -> Pair:
        (a, b), (c, d) = self.pair(x), self.pair(y)
        re = self.of("fsub", self.of("fmul", a, c), self.of("fmul", b, d))
        return re, self.of("fadd", self.of("fmul", a, d), self.of("fmul", b, c))

    def _complex_divide(self, x: Any, y: Any) -> Pair:
        """By the larger part of the divisor first, so that nothing overflows on the way."""
        (a, b), (c, d) = self.pair(x), self.pair(y)
        size_c, size_d = self.intrinsic("fabs", c), self.intrinsic("fabs", d)
        by_real = self.let(f"fcmp oge {self.type} {size_c}, {size_d}")
        large, small = self.pick(by_real, c, d), self.pick(by_real, d, c)
        first, second = self.pick(by_real, a, b), self.pick(by_real, b, a)
        ratio = self.of("fdiv", small, large)
        whole = self.of("fadd", large, self.of("fmul", small, ratio))
        re = self.of("fdiv", self.of("fadd", first, self.of("fmul", second, ratio)), whole)
        im = self.of("fdiv", self.of("fsub", second, self.of("fmul", first, ratio)), whole)
        im = self.pick(by_real, im, self.let(f"fneg {self.type} {im}"))
        zero = self.let(f"fcmp oeq {self.type} {self.pick(by_real, size_c, size_d)}, 0.0")
        return self.pick(zero, self.of("fdiv", a, size_c), re), self.pick(zero, self.of("fdiv", b, size_c), im)

    def _complex_negative(self, x: Any) -> Pair:
        re, im = (self.let(f"fneg {self.type} {part}") for part in self.pair(x))
        return re, im

    def _complex_positive(self, x: Any) -> Pair:
        return self.pair(x)

    def _complex_conjugate(self, x: Any) -> Pair:
        re, im = self.pair(x)
        return re, self.let(f"fneg {self.type} {im}")

    def _complex_real(self, x: Any) -> str:
        return self.pair(x)[0]

    def _complex_absolute(self, x: Any) -> str:
        return self.called("hypot", *self.pair(x))

    def _complex_exp(self, x: Any) -> Pair:
        re, im = self.pair(x)
        size = self.called("exp", re)
        tame = self.let(f"fcmp olt {self.type} {self.intrinsic('fabs', re)}, {constant(80.0, self.kind)}")
        self.outside += [
            self.let(f"xor i1 {tame}, true"),  # infinite, or so large that it takes more care
            self.let(f"call i1 @m_sin_{self.kind}_outside({self.type} {im})"),
        ]
        return self.of("fmul", size, self.called("cos", im)), self.of("fmul", size, self.called("sin", im))

    def _complex_where(self, condition: Any, yes: Any, no: Any) -> Pair:
        holds = self.condition(condition)
        (a, b), (c, d) = self.pair(yes), self.pair(no)
        return self.pick(holds, a, c), self.pick(holds, b, d)

    def _complex_equal(self, x: Any, y: Any) -> str:
        re, im = (self.let(f"fcmp oeq {self.type} {a}, {b}") for a, b in zip(self.pair(x), self.pair(y), strict=True))
        return self.let(f"and i1 {re}, {im}")

    def _complex_not_equal(self, x: Any, y: Any) -> str:
        re, im = (self.let(f"fcmp une {self.type} {a}, {b}") for a, b in zip(self.pair(x), self.pair(y), strict=True))
        return self.let(f"or i1 {re}, {im}")
