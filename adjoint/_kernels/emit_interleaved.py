"""Sums and products of complex numbers, computed as they lie in memory: a vector holds some numbers, each part beside the other.

LLVM, left alone, sorts the parts into vectors of their own and sorts the result back, which takes longer than the arithmetic. Here a
product takes three permutations of neighbours: the real parts of one factor doubled, its imaginary parts doubled, and the parts of the
other exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from . import target
from .code import constant
from .emit import Emitter
from .emit_types import KINDS, PARTS
from .expr import Expr, Number, Untraceable


class InterleavedEmitter(Emitter):
    """Writes a formula of vectors, which hold `lanes` parts."""

    def __init__(self, kind: str, inputs: list[Any]) -> None:
        super().__init__(PARTS[kind], inputs)
        self.lanes = 4 * target.current().float_lanes // KINDS[self.kind].size
        self.vector = f"<{self.lanes} x {self.type}>"

    @cached_property
    def doubles(self) -> Emitter:
        return Emitter("f64", self.inputs, within=self)

    def value(self, formula: Expr | float) -> Any:
        if isinstance(formula, Expr) and type(formula) is not Number:
            return self.register(formula)
        number = super().value(formula) if isinstance(formula, Expr) else constant(formula, self.kind)
        return self.permuted(self.let(f"insertelement {self.vector} zeroinitializer, {self.type} {number}, i64 0"), lambda i: i % 2)

    def register(self, formula: Expr) -> Any:
        return self.doubles.register(formula) if type(formula) is Number else super().register(formula)

    def compute(self, formula: Expr) -> Any:
        return self.other(f"interleaved_{formula.name}", *formula.args) if formula.args else super().compute(formula)

    # ---- vectors --------------------------------------------------------------------------------------------------------------------

    def of(self, instruction: str, *operands: str) -> str:
        return self.let(f"{instruction} {self.vector} {', '.join(operands)}")

    def permuted(self, x: str, source: Callable[[int], int], y: str = "poison") -> str:
        """The lanes of one vector, or of two, from which each lane of the result is taken."""
        mask = ", ".join(f"i32 {source(i)}" for i in range(self.lanes))
        return self.let(f"shufflevector {self.vector} {x}, {self.vector} {y}, <{self.lanes} x i32> <{mask}>")

    def merged(self, real: str, imaginary: str) -> str:
        """The real parts of one vector with the imaginary ones of another."""
        return self.permuted(real, lambda i: i + i % 2 * self.lanes, imaginary)

    # ---- functions ------------------------------------------------------------------------------------------------------------------

    def _interleaved_add(self, x: Any, y: Any) -> str:
        return self.of("fadd", self.value(x), self.value(y))

    def _interleaved_subtract(self, x: Any, y: Any) -> str:
        return self.of("fsub", self.value(x), self.value(y))

    def _interleaved_negative(self, x: Any) -> str:
        return self.of("fneg", self.value(x))

    def _interleaved_positive(self, x: Any) -> Any:
        return self.value(x)

    def _interleaved_conjugate(self, x: Any) -> str:
        return self.merged(self.value(x), self.of("fneg", self.value(x)))

    def _interleaved_multiply(self, x: Any, y: Any) -> str:
        x, y = self.value(x), self.value(y)
        straight = self.of("fmul", self.permuted(x, lambda i: i & ~1), y)
        crossed = self.of("fmul", self.permuted(x, lambda i: i | 1), self.permuted(y, lambda i: i ^ 1))
        return self.merged(self.of("fsub", straight, crossed), self.of("fadd", straight, crossed))


def interleaved_loop(expr: Expr, kind: str, kinds: str, still: int) -> str | None:
    """The loop over as many numbers as fill vectors, and then @any over those that are left; None for formulas of other functions."""
    if expr.is_bool or "B" in kinds:
        return None
    writer = InterleavedEmitter(kind, [f"%v{i}" for i in range(len(kinds))])
    try:
        result = writer.value(expr)
    except Untraceable:
        return None
    part, vector, numbers = KINDS[writer.kind].size, writer.vector, writer.lanes // 2
    before, loads = [], []
    for i, k in enumerate(kinds):
        if k == "S":
            before += [f"%a{i} = getelementptr double, ptr %numbers, i64 {i}", f"%v{i} = load double, ptr %a{i}"]
            continue
        before += [f"%a{i} = getelementptr ptr, ptr %arrays, i64 {i}", f"%p{i} = load ptr, ptr %a{i}"]
        if i == still:
            before += spread(f"%v{i}", f"%p{i}", writer)
        else:
            loads += [f"%q{i} = getelementptr [2 x {writer.type}], ptr %p{i}, i64 %i", f"%v{i} = load {vector}, ptr %q{i}, align {part}"]
    return LOOP.format(
        before="\n  ".join(before), loads="\n  ".join(loads), body="\n".join(writer.lines), numbers=numbers,
        store=f"%qo = getelementptr [2 x {writer.type}], ptr %out, i64 %i\n  store {vector} {result}, ptr %qo, align {part}",
    )  # fmt: skip


def spread(register: str, pointer: str, writer: InterleavedEmitter) -> Sequence[str]:
    """One complex number as often as a vector holds it."""
    pair, mask = f"<2 x {writer.type}>", ", ".join(f"i32 {i % 2}" for i in range(writer.lanes))
    load = f"{register}_one = load {pair}, ptr {pointer}, align {KINDS[writer.kind].size}"
    return load, f"{register} = shufflevector {pair} {register}_one, {pair} poison, <{writer.lanes} x i32> <{mask}>"


LOOP = """
define i1 @loop(ptr noalias %out, ptr noalias %arrays, ptr noalias %numbers, i64 %n) {{
entry:
  {before}
  %whole = and i64 %n, -{numbers}
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %loop, label %rest
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  {loads}
{body}
  {store}
  %next = add nuw nsw i64 %i, {numbers}
  %more = icmp slt i64 %next, %whole
  br i1 %more, label %loop, label %rest
rest:
  %outside = call i1 @any(ptr %out, ptr %arrays, ptr %numbers, i64 %whole, i64 %n)
  ret i1 %outside
}}
"""
