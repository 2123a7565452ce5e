"""From a formula to LLVM IR: a scalar function that LLVM inlines into loops and vectorises.

No flag allows LLVM to ignore NaN or infinity, or to reorder; a multiplication and an addition may be contracted to one rounding only where a
formula says so.
"""

from __future__ import annotations

from typing import NamedTuple

from .code import TYPES, constant
from .expr import ARITHMETIC, COMPARISONS, INTRINSICS, MATHS, Expr
from .maths import OUTSIDE


class Scalar(NamedTuple):
    """A scalar function: its text, the intrinsics it declares, the mathematical functions it calls, and whether it returns, with the value,
    that an argument is outside of what it can compute."""

    text: str
    declared: set[str]
    maths: set[str]
    partial: bool


class Emitter:
    """Writes the instructions of one scalar function."""

    def __init__(self, kind: str, inputs: list[str]) -> None:
        self.kind = kind
        self.type = TYPES[kind]
        self.inputs = inputs
        self.lines: list[str] = []
        self.known: dict[str, str] = {}  # formula -> register: a formula that occurs twice is computed once
        self.declared: set[str] = set()
        self.maths: set[str] = set()
        self.outside: list[str] = []  # truth values: an argument is where a function cannot be computed

    def let(self, instruction: str) -> str:
        register = f"%t{len(self.lines)}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def value(self, formula: Expr | float) -> str:
        """The register that holds a formula as a number."""
        if not isinstance(formula, Expr):
            return constant(formula, self.kind)
        register = self.register(formula)
        return self.let(f"uitofp i1 {register} to {self.type}") if formula.is_bool else register

    def condition(self, formula: Expr | float) -> str:
        """The register that holds a formula as a truth value."""
        if not isinstance(formula, Expr):
            return "true" if formula else "false"
        register = self.register(formula)
        return register if formula.is_bool else self.let(f"fcmp une {self.type} {register}, 0.0")

    def register(self, formula: Expr) -> str:
        key = repr(formula)
        if key not in self.known:
            self.known[key] = self.compute(formula)
        return self.known[key]

    def compute(self, formula: Expr) -> str:
        name, args, t = formula.name, formula.args, self.type
        if not args:
            return self.inputs[int(name[1:])]
        if name in ARITHMETIC:
            return self.let(f"{ARITHMETIC[name]} {t} {self.value(args[0])}, {self.value(args[1])}")
        if name in COMPARISONS:
            return self.let(f"fcmp {COMPARISONS[name]} {t} {self.value(args[0])}, {self.value(args[1])}")
        if name in INTRINSICS:
            return self.intrinsic(INTRINSICS[name], *map(self.value, args))
        if name in MATHS:
            self.maths.add(name)
            operands = ", ".join(f"{t} {self.value(arg)}" for arg in args)
            if name in OUTSIDE:
                self.outside.append(self.let(f"call i1 @m_{name}_{self.kind}_outside({operands})"))
            return self.let(f"call {t} @m_{name}_{self.kind}({operands})")
        return getattr(self, f"_{name}")(*args)  # type: ignore[no-any-return]

    def intrinsic(self, name: str, *operands: str) -> str:
        t = self.type
        self.declared.add(f"declare {t} @llvm.{name}.{self.kind}({', '.join([t] * len(operands))})")
        return self.let(f"call {t} @llvm.{name}.{self.kind}({', '.join(f'{t} {x}' for x in operands)})")

    def _negative(self, x: Expr) -> str:
        return self.let(f"fneg {self.type} {self.value(x)}")

    def _positive(self, x: Expr) -> str:
        return self.value(x)

    def _where(self, condition: Expr, yes: Expr, no: Expr) -> str:
        return self.let(f"select i1 {self.condition(condition)}, {self.type} {self.value(yes)}, {self.type} {self.value(no)}")

    def _sign(self, x: Expr) -> str:
        value, t = self.value(x), self.type
        unit = self.intrinsic("copysign", constant(1.0, self.kind), value)
        zero_or_nan = self.let(f"fcmp ueq {t} {value}, 0.0")
        return self.let(f"select i1 {zero_or_nan}, {t} {value}, {t} {unit}")

    def _logical_and(self, x: Expr, y: Expr) -> str:
        return self.let(f"and i1 {self.condition(x)}, {self.condition(y)}")

    def _logical_or(self, x: Expr, y: Expr) -> str:
        return self.let(f"or i1 {self.condition(x)}, {self.condition(y)}")

    def _logical_not(self, x: Expr) -> str:
        return self.let(f"xor i1 {self.condition(x)}, true")

    def _isnan(self, x: Expr) -> str:
        value = self.value(x)
        return self.let(f"fcmp uno {self.type} {value}, {value}")

    def _isinf(self, x: Expr) -> str:
        return self.let(f"fcmp oeq {self.type} {self.intrinsic('fabs', self.value(x))}, {constant(float('inf'), self.kind)}")

    def _isfinite(self, x: Expr) -> str:
        return self.let(f"fcmp olt {self.type} {self.intrinsic('fabs', self.value(x))}, {constant(float('inf'), self.kind)}")


def scalar_function(name: str, formula: Expr, inputs: int, kind: str) -> Scalar:
    """A function of numbers that computes a formula."""
    registers = [f"%x{i}" for i in range(inputs)]
    emitter = Emitter(kind, registers)
    result = emitter.value(formula)
    returned = t = emitter.type
    if emitter.outside:
        wrong = emitter.outside[0]
        for other in emitter.outside[1:]:
            wrong = emitter.let(f"or i1 {wrong}, {other}")
        returned = f"{{{t}, i1}}"
        result = emitter.let(f"insertvalue {returned} poison, {t} {result}, 0")
        result = emitter.let(f"insertvalue {returned} {result}, i1 {wrong}, 1")
    body = "\n".join(emitter.lines)
    params = ", ".join(f"{t} {r}" for r in registers)
    text = f"define internal {returned} @{name}({params}) alwaysinline {{\n{body}\n  ret {returned} {result}\n}}\n"
    return Scalar(text, emitter.declared, emitter.maths, bool(emitter.outside))
