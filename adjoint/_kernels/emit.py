"""From a formula to LLVM IR: a scalar function that LLVM inlines into loops and vectorises.

No flag allows LLVM to ignore NaN or infinity, or to reorder; a multiplication and an addition may be contracted to one rounding only
where a formula says so. What is computed from numbers alone is computed in double precision, as Python does.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from .code import TYPES, constant
from .expr import ARITHMETIC, COMPARISONS, INTRINSICS, MATHS, Expr, Number, Untraceable, is_truth
from .maths import OUTSIDE, usual_in


class Scalar(NamedTuple):
    """A scalar function: its text, the LLVM types of what it returns, the intrinsics it declares, and the mathematical functions it calls,
    each with its type."""

    text: str
    returned: list[str]
    declared: set[str]
    maths: set[tuple[str, str]]


class Emitter:
    """Writes the instructions of one scalar function. Inputs are registers: arrays' elements in the type of the function, or truth values,
    and numbers as doubles."""

    types = TYPES
    usual = False  # whether numbers that are not usual are outside too (maths.py)

    def __init__(self, kind: str, inputs: list[Any], within: Emitter | None = None) -> None:
        self.kind = kind
        self.type = self.types[kind]
        self.inputs = inputs
        self.known: dict[int, Any] = {}  # the registers of formulas, by `id`: a formula that occurs twice is computed once
        self.lines: list[str] = within.lines if within else []
        self.declared: set[str] = within.declared if within else set()
        self.maths: set[tuple[str, str]] = within.maths if within else set()
        self.outside: list[str] = within.outside if within else []  # truth values: an argument is where a function cannot be computed

    @cached_property
    def doubles(self) -> Emitter:
        """The one that writes formulas of numbers."""
        return self if self.kind == "f64" else Emitter("f64", self.inputs, within=self)

    def let(self, instruction: str) -> str:
        register = f"%t{len(self.lines)}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def results(self, formula: Expr) -> list[tuple[str, str]]:
        """What a formula yields, as types and registers; a truth value is a byte."""
        if formula.is_bool:
            return [("i8", self.let(f"zext i1 {self.condition(formula)} to i8"))]
        return [(self.type, self.value(formula))]

    def value(self, formula: Expr | float) -> Any:
        """The register that holds a formula as a number."""
        if not isinstance(formula, Expr):
            return constant(formula, self.kind)
        register = self.register(formula)
        if formula.is_bool:
            return self.let(f"uitofp i1 {register} to {self.type}")
        if type(formula) is Number and self.kind == "f32":
            return self.let(f"fptrunc double {register} to float")
        return register

    def condition(self, formula: Expr | float) -> Any:
        """The register that holds a formula as a truth value."""
        if not isinstance(formula, Expr):
            return "true" if formula else "false"
        if formula.is_bool:
            return self.register(formula)
        return self.let(f"fcmp une {self.type} {self.value(formula)}, 0.0")

    def register(self, formula: Expr) -> Any:
        """The register of a formula; that of a number is a double."""
        if type(formula) is Number and self.kind != "f64":
            return self.doubles.register(formula)
        if id(formula) not in self.known:
            for part in formula.nodes(self.known):  # operands first, so that formulas of any depth need no recursion
                if type(part) is Number and self.kind != "f64":
                    self.doubles.register(part)
                else:
                    self.known[id(part)] = self.compute(part)
        return self.known[id(formula)]

    def compute(self, formula: Expr) -> Any:
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
            operands = [self.value(arg) for arg in args]
            form = "_usual" if self.usual and name in usual_in(self.kind) else ""
            if form or name in OUTSIDE:
                self.outside.append(self.let(f"call i1 @m_{name}_{self.kind}{form}_outside({', '.join(f'{t} {x}' for x in operands)})"))
            return self.called(name, *operands, form=form)
        return self.other(name, *args)

    def other(self, name: str, *args: Any) -> Any:
        """A function that has a method here."""
        method = getattr(self, f"_{name}", None)
        if method is None:
            raise Untraceable(f"{name} of {self.kind}")
        return method(*args)

    def called(self, name: str, *operands: str, form: str = "") -> str:
        """A function of maths.py."""
        self.maths.add((name, self.kind))
        return self.let(f"call {self.type} @m_{name}_{self.kind}{form}({', '.join(f'{self.type} {x}' for x in operands)})")

    def intrinsic(self, name: str, *operands: str) -> str:
        t = self.type
        self.declared.add(f"declare {t} @llvm.{name}.{self.kind}({', '.join([t] * len(operands))})")
        return self.let(f"call {t} @llvm.{name}.{self.kind}({', '.join(f'{t} {x}' for x in operands)})")

    def _negative(self, x: Expr) -> str:
        return self.let(f"fneg {self.type} {self.value(x)}")

    def _positive(self, x: Expr) -> Any:
        return self.value(x)

    def _where(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if is_truth(yes) and is_truth(no):
            return self.let(f"select i1 {self.condition(condition)}, i1 {self.condition(yes)}, i1 {self.condition(no)}")
        return self.let(f"select i1 {self.condition(condition)}, {self.type} {self.value(yes)}, {self.type} {self.value(no)}")

    def _maximum(self, x: Expr, y: Expr) -> str:
        return self.extreme("olt", x, y)

    def _minimum(self, x: Expr, y: Expr) -> str:
        return self.extreme("ogt", x, y)

    def extreme(self, yields: str, x: Expr, y: Expr) -> str:
        """x, or y where x `yields` to it; NaN if one is NaN. Of two zeros it is y, but x where y is a number: as in PyTorch, and whether a
        number is NaN need not be asked for each element."""
        (a, b), t = (self.value(x), self.value(y)), self.type
        if type(y) is Expr:
            a, b = b, a
        chosen = self.let(f"select i1 {self.let(f'fcmp {yields} {t} {a}, {b}')}, {t} {b}, {t} {a}")
        return self.let(f"select i1 {self.let(f'fcmp uno {t} {b}, {b}')}, {t} {b}, {t} {chosen}")

    def _sign(self, x: Expr) -> str:
        value, t = self.value(x), self.type
        unit = self.intrinsic("copysign", constant(1.0, self.kind), value)
        zero_or_nan = self.let(f"fcmp ueq {t} {value}, 0.0")
        return self.let(f"select i1 {zero_or_nan}, {t} {value}, {t} {unit}")

    def _logical_and(self, x: Expr, y: Expr) -> str:
        return self.let(f"and i1 {self.condition(x)}, {self.condition(y)}")

    def _logical_or(self, x: Expr, y: Expr) -> str:
        return self.let(f"or i1 {self.condition(x)}, {self.condition(y)}")

    def _logical_xor(self, x: Expr, y: Expr) -> str:
        return self.let(f"xor i1 {self.condition(x)}, {self.condition(y)}")

    def _logical_not(self, x: Expr) -> str:
        return self.let(f"xor i1 {self.condition(x)}, true")

    def _isnan(self, x: Expr) -> str:
        value = self.value(x)
        return self.let(f"fcmp uno {self.type} {value}, {value}")

    def _isinf(self, x: Expr) -> str:
        return self.let(f"fcmp oeq {self.type} {self.intrinsic('fabs', self.value(x))}, {constant(float('inf'), self.kind)}")

    def _isfinite(self, x: Expr) -> str:
        return self.let(f"fcmp olt {self.type} {self.intrinsic('fabs', self.value(x))}, {constant(float('inf'), self.kind)}")

    def _signbit(self, x: Expr) -> str:
        unit = self.intrinsic("copysign", constant(1.0, self.kind), self.value(x))
        return self.let(f"fcmp olt {self.type} {unit}, 0.0")


def scalar_function(name: str, formula: Expr, types: list[list[str]], emitter: type[Emitter], kind: str, usual: bool = False) -> Scalar:
    """A function that computes a formula of inputs, each of which is given by the LLVM types of its parts. It returns the parts of the
    value, and whether an argument is outside of what it can compute."""
    registers = [[f"%x{i}_{part}" for part in range(len(parts))] for i, parts in enumerate(types)]
    writer = emitter(kind, [parts[0] if len(parts) == 1 else tuple(parts) for parts in registers])
    writer.usual = usual
    values = writer.results(formula)
    wrong = "false"
    for other in writer.outside:
        wrong = other if wrong == "false" else writer.let(f"or i1 {wrong}, {other}")
    returned = f"{{{', '.join(type_ for type_, _ in values)}, i1}}"
    result = "poison"
    for place, (type_, register) in enumerate([*values, ("i1", wrong)]):
        result = writer.let(f"insertvalue {returned} {result}, {type_} {register}, {place}")
    body = "\n".join(writer.lines)
    pairs = [pair for some in zip(types, registers, strict=True) for pair in zip(*some, strict=True)]
    params = ", ".join(f"{type_} {register}" for type_, register in pairs)
    text = f"define internal {returned} @{name}({params}) alwaysinline {{\n{body}\n  ret {returned} {result}\n}}\n"
    return Scalar(text, [type_ for type_, _ in values], writer.declared, writer.maths)
