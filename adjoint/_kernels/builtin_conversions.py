"""Conversions between types of elements, as built-ins: half precision by instructions of the CPU, large arrays by several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import objects
from .builtin import Case, Formula, Kernel
from .code import constant
from .emit import Scalar
from .emit_integers import MAGIC
from .emit_types import BY_DTYPE, KINDS, PARTS, register_type, served
from .entry import NEW
from .expr import Expr, Untraceable


class Conversion(Formula):
    """To a type, from any that it can be made of by one instruction."""

    def __init__(self, target: str) -> None:
        self.symbol, self.kinds, self.into = f"to_{target}", "T", NEW
        self.target = target
        self.room, self.weight = 1, 0
        self.cases, self.constants = {}, []

    def cases_of(self, kind: str) -> list[Case]:
        instruction(kind, self.target)
        return [Case(Expr(self.symbol, (Expr("x0"),)))]

    def result_of(self, kind: str) -> str:
        return self.target

    def has_usual(self, expr: Expr, kind: str) -> bool:
        return instruction(kind, self.target) == WIDE

    def scalar(self, expr: Expr, kind: str, usual: bool = False) -> Scalar:
        given, returned = self.types(kind)[0][0], register_type(self.target)
        value, lines, unusual = "%x", [], "false"
        how = instruction(kind, self.target)
        if how.endswith("cmp"):
            test = f"{how} {'ne' if how == 'icmp' else 'une'} {given} %x, {'0' if how == 'icmp' else '0.0'}"
            lines, value = [f"%t = {test}", f"%y = zext i1 %t to {returned}"], "%y"
        elif how == WIDE:
            lines, value = (from_usual_int64 if usual else from_int64)(self.target), "%y"
            unusual = "%unusual" if usual else "false"
        elif how == SHORT:
            lines = [f"%w = fptosi {given} %x to i32", f"%c = trunc i32 %w to {returned}", f"%y = freeze {returned} %c"]
            value = "%y"
        elif how:
            lines, value = [f"%c = {how} {given} %x to {returned}", f"%y = freeze {returned} %c"], "%y"
        both = f"{{{returned}, i1}}"
        lines += [f"%r = insertvalue {both} poison, {returned} {value}, 0", f"%s = insertvalue {both} %r, i1 {unusual}, 1"]
        lines.append(f"ret {both} %s")
        body = "\n  ".join(lines)
        name = "usual_scalar" if usual else "scalar"
        return Scalar(f"define internal {both} @{name}({given} %x) alwaysinline {{\n  {body}\n}}\n", [returned], set(), set())


WIDE = "int64"
SHORT = "fptosi and trunc"


def from_usual_int64(target: str) -> list[str]:
    """The same for one that fits into a double."""
    lines = [
        f"%shifted = add i64 %x, {MAGIC}", "%top = lshr i64 %shifted, 52", f"%unusual = icmp ne i64 %top, {MAGIC >> 52}",
        "%raised = bitcast i64 %shifted to double", f"%sum = fsub double %raised, {constant(1.5 * 2**52, 'f64')}",
    ]  # fmt: skip
    return [*lines, rounded_sum(target)]


def rounded_sum(target: str) -> str:
    return "%y = fptrunc double %sum to float" if target == "f32" else "%y = fadd double %sum, 0.0"


def from_int64(target: str) -> list[str]:
    """A floating number of an int64 by operations that there are for vectors. Its halves become the fractions of doubles, whose sum is
    rounded once. For single precision, which is rounded again, bits that do not fit into a double are gathered in one that does."""
    lines, whole = [], "%x"
    if target == "f32":
        lines = [
            "%low = and i64 %x, 2047", "%more = add i64 %low, 2047", "%any = or i64 %more, %x", "%sticky = and i64 %any, -2048",
            f"%up = add i64 %x, {1 << 53}", "%over = lshr i64 %up, 54", "%large = icmp ne i64 %over, 0",
            "%fit = select i1 %large, i64 %sticky, i64 %x",
        ]  # fmt: skip
        whole = "%fit"
    lines += [
        f"%l = and i64 {whole}, 4294967295", f"%lb = or i64 %l, {0x4330000000000000}", "%ld = bitcast i64 %lb to double",
        f"%h = lshr i64 {whole}, 32", f"%hb = xor i64 %h, {0x4530000080000000}", "%hd = bitcast i64 %hb to double",
        f"%od = bitcast i64 {0x4530000080100000} to double", "%hs = fsub double %hd, %od", "%sum = fadd double %hs, %ld",
    ]  # fmt: skip
    return [*lines, rounded_sum(target)]


def instruction(kind: str, target: str) -> str:
    """What makes one register of the other; nothing where they are the same. Untraceable where it takes more than that."""
    source, goal = KINDS[kind].computed, KINDS[target].computed
    floating = {"f32", "f64"}
    if source in PARTS or goal in PARTS or not served(kind) or not served(target):
        raise Untraceable("a conversion of its own kind")
    if source in floating and goal in floating:
        if source == "f64" and KINDS[target].size == 2:
            raise Untraceable("two roundings")
        return "" if source == goal else "fpext" if goal == "f64" else "fptrunc"
    if target == "bool":
        return "fcmp" if source in floating else "icmp"
    if kind == "i64" and target in floating:
        return WIDE
    if goal in floating:
        return "sitofp" if source[0] == "i" else "uitofp"
    if source in floating:
        # What does not fit, or is NaN, becomes what the CPU makes of it, as in NumPy and PyTorch.
        return "fptosi" if goal in ("i32", "i64") else SHORT
    before, after = 1 if kind == "bool" else int(source[1:]), int(goal[1:])
    return "" if before == after else "trunc" if before > after else "sext" if source[0] == "i" else "zext"


def conversion(dtype: np.dtype[Any], otherwise: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """The function that converts arrays to a dtype; None where there is none. `otherwise` converts what it cannot."""
    kind = BY_DTYPE.get(dtype.name)
    if kind is None or kind in PARTS or not objects.supported():
        return None
    kernel = Kernel(Conversion(kind), otherwise)
    if kind == "bf16":
        kernel.expect(kind, dtype)
    return kernel.call
