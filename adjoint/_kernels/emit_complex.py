"""Formulas of complex numbers: each is a pair of registers, its parts. A formula of real numbers alone is one register as ever."""

from __future__ import annotations

import math
from typing import Any

from .code import constant
from .emit import Emitter
from .emit_types import PARTS
from .expr import Expr, Untraceable

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

    def _complex_imag(self, x: Any) -> str:
        return self.pair(x)[1]

    def _complex_sign(self, x: Any) -> Pair:
        size = self.called("hypot", *self.pair(x))
        self.expect_below(size, float("inf"))
        zero = self.let(f"fcmp oeq {self.type} {size}, 0.0")
        re, im = (self.pick(zero, constant(0.0, self.kind), self.of("fdiv", part, size)) for part in self.pair(x))
        return re, im

    # What is infinite, or so large that it takes more care, is left to NumPy.

    def expect_below(self, part: str, limit: float) -> None:
        tame = self.let(f"fcmp olt {self.type} {self.intrinsic('fabs', part)}, {constant(limit, self.kind)}")
        self.outside.append(self.let(f"xor i1 {tame}, true"))

    def trigonometric(self, name: str, part: str) -> str:
        self.expect_below(part, float("inf"))
        self.outside.append(self.let(f"call i1 @m_{name}_{self.kind}_outside({self.type} {part})"))
        return self.called(name, part)

    def _complex_exp(self, x: Any) -> Pair:
        re, im = self.pair(x)
        self.expect_below(re, 80.0)
        size = self.called("exp", re)
        return self.of("fmul", size, self.trigonometric("cos", im)), self.of("fmul", size, self.trigonometric("sin", im))

    def waves(self, angle: str, other: str) -> tuple[str, str, str, str]:
        """Cosine and sine of an angle, and both hyperbolic ones of another number."""
        self.expect_below(other, 80.0)
        return self.trigonometric("cos", angle), self.trigonometric("sin", angle), self.called("cosh", other), self.called("sinh", other)

    def _complex_cos(self, x: Any) -> Pair:
        cos, sin, cosh, sinh = self.waves(*self.pair(x))
        return self.of("fmul", cos, cosh), self.let(f"fneg {self.type} {self.of('fmul', sin, sinh)}")

    def _complex_sin(self, x: Any) -> Pair:
        cos, sin, cosh, sinh = self.waves(*self.pair(x))
        return self.of("fmul", sin, cosh), self.of("fmul", cos, sinh)

    def _complex_cosh(self, x: Any) -> Pair:
        cos, sin, cosh, sinh = self.waves(*reversed(self.pair(x)))
        return self.of("fmul", cos, cosh), self.of("fmul", sin, sinh)

    def _complex_sinh(self, x: Any) -> Pair:
        cos, sin, cosh, sinh = self.waves(*reversed(self.pair(x)))
        return self.of("fmul", cos, sinh), self.of("fmul", sin, cosh)

    def _complex_tanh(self, x: Any) -> Pair:
        return self.hyperbolic_tangent(*self.pair(x))

    def hyperbolic_tangent(self, re: str, im: str) -> Pair:
        """By Kahan's formula, of the tangent and the hyperbolic sine."""
        self.expect_below(re, 20.0)
        one, sinh, tangent = constant(1.0, self.kind), self.called("sinh", re), self.trigonometric("tan", im)
        slope = self.of("fadd", one, self.of("fmul", tangent, tangent))
        square = self.of("fmul", sinh, sinh)
        cosh = self.intrinsic("sqrt", self.of("fadd", one, square))
        whole = self.of("fadd", one, self.of("fmul", slope, square))
        return self.of("fdiv", self.of("fmul", self.of("fmul", slope, cosh), sinh), whole), self.of("fdiv", tangent, whole)

    def _complex_tan(self, x: Any) -> Pair:
        """That of x is -i times the hyperbolic one of ix."""
        re, im = self.pair(x)
        turned = self.hyperbolic_tangent(self.let(f"fneg {self.type} {im}"), re)
        return turned[1], self.let(f"fneg {self.type} {turned[0]}")

    # In double precision, where a square can neither overflow nor lose anything.

    def wide_parts(self, x: Any) -> tuple[str, str, str]:
        """Both parts, and the square of the modulus, of a finite number in single precision."""
        if self.kind != "f32":
            raise Untraceable("a function of complex numbers in double precision")
        for part in self.pair(x):
            self.expect_below(part, float("inf"))
        a, b = (self.let(f"fpext float {part} to double") for part in self.pair(x))
        square = self.let(f"fadd double {self.let(f'fmul double {a}, {a}')}, {self.let(f'fmul double {b}, {b}')}")
        return a, b, square

    def _complex_log(self, x: Any, base: float = math.e) -> Pair:
        _, _, square = self.wide_parts(x)
        half = self.let(f"fmul double {self.doubles.called('log', square)}, {constant(0.5 / math.log(base), 'f64')}")
        re, im = self.pair(x)
        angle = self.of("fmul", self.called("arctan2", im, re), constant(1 / math.log(base), self.kind))
        return self.let(f"fptrunc double {half} to float"), angle

    def _complex_log2(self, x: Any) -> Pair:
        return self._complex_log(x, 2.0)

    def _complex_log10(self, x: Any) -> Pair:
        return self._complex_log(x, 10.0)

    def _complex_sqrt(self, x: Any) -> Pair:
        """The larger part by a sum that loses nothing, the other from their product, which is half the imaginary part."""
        a, b, square = self.wide_parts(x)
        d, half = self.doubles, constant(0.5, "f64")
        larger = d.let(f"fadd double {d.intrinsic('sqrt', square)}, {d.intrinsic('fabs', a)}")
        larger = d.intrinsic("sqrt", d.let(f"fmul double {larger}, {half}"))
        other = d.let(f"fdiv double {d.let(f'fmul double {b}, {half}')}, {larger}")
        right = d.let(f"fcmp oge double {a}, 0.0")
        re = d.let(f"select i1 {right}, double {larger}, double {d.intrinsic('fabs', other)}")
        im = d.let(f"select i1 {right}, double {other}, double {d.intrinsic('copysign', larger, b)}")
        zero = d.let(f"fcmp oeq double {square}, 0.0")
        re, im = (self.let(f"fptrunc double {part} to float") for part in (re, d.let(f"select i1 {zero}, double {b}, double {im}")))
        return self.pick(zero, constant(0.0, "f32"), re), im

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
