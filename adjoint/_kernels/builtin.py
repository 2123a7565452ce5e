"""Compiled formulas as Python built-in functions: about 0.1 µs a call where a NumPy function costs 0.45.

A built-in takes NumPy arrays of one floating dtype (kind "T"), arrays of truth values ("B") and Python numbers ("S"). It computes when
all arrays are C-contiguous and of one shape, or repeat as a whole; anything else is passed on, unchanged, to a fallback that can deal with
it. The results of huge arrays go into memory that is used again (memory.py): a second built-in writes into an array that is given. Both
check their arguments themselves: a wrong one is never a crash.

Loops are compiled when they are first needed, for the dtype and the case in question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from . import entry, jit, memory, workers
from .code import TYPES
from .emit import Emitter, scalar_function
from .entry import FIRST, GIVEN, NEW
from .expr import MATHS, Expr, Number, Untraceable
from .maths import OUTSIDE, definitions
from .objects import FALLBACK, OWN, builtin, table

ALONE = 1 << 16  # elements that one thread computes sooner than two, for a formula of plain arithmetic


class Case(NamedTuple):
    """A formula, and when it is the one to use: some arguments are certain objects, some questions about numbers have certain answers."""

    expr: Expr
    answers: Sequence[tuple[Number, bool]] = ()
    constants: Mapping[int, Any] = MappingProxyType({})


class Formula:
    """What a built-in computes: the cases of its formula for each type (or one Expr for all), and where the result goes."""

    def __init__(self, symbol: str, cases: Expr | dict[str, list[Case]], kinds: str, into: str = NEW) -> None:
        self.symbol = symbol
        self.cases = {type_: [Case(cases)] for type_ in TYPES} if isinstance(cases, Expr) else cases
        self.kinds = kinds
        self.into = into
        every = [case for some in self.cases.values() for case in some]
        self.result = "B" if every[0].expr.is_bool else "T"
        self.costly = max(case.expr.count(MATHS) for case in every)
        self.constants: list[Any] = []
        for case in every:
            self.constants += [c for c in case.constants.values() if not any(c is known for known in self.constants)]
            self.check(case)

    def check(self, case: Case) -> None:
        if "T" not in self.kinds or len(self.kinds) > entry.MOST:
            raise Untraceable("arguments that a built-in does not take")
        if case.expr.is_bool != (self.result == "B"):
            raise Untraceable("cases with results of different types")
        if self.into == FIRST and (self.result == "B" or case.expr.count(OUTSIDE)):
            raise Untraceable("a result that cannot overwrite an argument")
        if any(question.count(OUTSIDE) for question, _ in case.answers):
            raise Untraceable("a question that cannot be answered for all numbers")

    @property
    def constants_at(self) -> int:
        """The place of the first constant in the table."""
        return entry.LOOPS + 2 * max(map(len, self.cases.values()))

    def types(self, kind: str) -> list[str]:
        """The LLVM types of the arguments of the scalar functions."""
        return [{"T": TYPES[kind], "B": "i1", "S": "double"}[k] for k in self.kinds]


def load(formulas: list[Formula], fallbacks: list[Any]) -> list[Callable[..., Any]]:
    """Built-ins for several formulas, each with its own fallback."""
    return [Kernel(formula, fallback).call for formula, fallback in zip(formulas, fallbacks, strict=True)]


@cache
def entries() -> dict[str, int]:
    """The addresses of the entries that all built-ins share."""
    return jit.load("entries", entry.text, [f"entry_{into}" for into in (NEW, FIRST, GIVEN)])


def unable(*args: Any) -> None:
    """The fallback of the built-in that writes into a given array: None says that it cannot take these arguments."""


_compiling = Lock()


class Kernel:
    """The built-ins of a formula, and the table that they share."""

    def __init__(self, formula: Formula, fallback: Any) -> None:
        self.formula = formula
        self.missing = {
            entry.LOOPS + 2 * place + wide: (case.expr, kind)
            for wide, (kind, cases) in enumerate(formula.cases.items())
            for place, case in enumerate(cases)
        }
        otherwise = self.otherwise(fallback)
        facts = table(otherwise, [0] * (formula.constants_at - OWN) + [id(constant) for constant in formula.constants])
        self.words = memoryview(facts)
        self.words[entry.COUNT] = len(formula.kinds)
        self.words[entry.LIKE] = formula.kinds.index("T")
        self.words[entry.ALONE] = ALONE >> min(3, formula.costly)
        if workers.supported():
            threads = workers.workers()
            self.words[entry.SHARE], self.words[entry.STATE] = threads.share, threads.address
        code = {"T": entry.ARRAY, "B": entry.TRUTH, "S": entry.NUMBER}
        for place, kind in enumerate(formula.result + formula.kinds, entry.RESULT):
            self.words[place] = code[kind]
        for place, cases in enumerate(formula.cases.values(), entry.CHOOSE):
            if any(case.answers or case.constants for case in cases):
                self.words[place] = load_choice(formula, cases)
        self.call = builtin(formula.symbol, entries()[f"entry_{formula.into}"], facts, otherwise, formula.constants)
        into = facts.copy()
        into[FALLBACK] = id(unable)
        self.into_words = memoryview(into)
        self.into = builtin(formula.symbol, entries()[f"entry_{GIVEN}"], into) if formula.into == NEW else self.call

    def otherwise(self, fallback: Any) -> Callable[..., Any]:
        """The fallback: a loop that is missing is compiled, huge arrays get memory of their own, all else goes to NumPy."""
        first, count, makes = self.formula.kinds.index("T"), len(self.formula.kinds), self.formula.into == NEW

        def otherwise(*args: Any) -> Any:
            if self.words[entry.ASKED]:
                self.compile_missing(self.words)
                return self.call(*args)
            if makes and len(args) == count:
                array = args[first]
                if array.__class__ is np.ndarray and array.nbytes >= memory.HUGE:
                    result = self.compute_huge(array, args)
                    if result is not None:
                        return result
            return fallback(*args)

        return otherwise

    def compile_missing(self, asking: memoryview[int]) -> None:
        """Compile the loop that was asked for."""
        with _compiling:  # another thread may have asked for the same loop
            place = asking[entry.ASKED]
            if place in self.missing:
                self.words[place] = self.into_words[place] = load_loop(self.formula, *self.missing[place])
                del self.missing[place]
            asking[entry.ASKED] = 0

    def compute_huge(self, array: Any, args: tuple[Any, ...]) -> Any:
        """The result for huge arrays, None if they do not fit."""
        out = memory.empty(array.shape, np.dtype(np.bool_) if self.formula.result == "B" else array.dtype)
        result = self.into(out, *args)
        if result is None and self.into_words[entry.ASKED]:
            self.compile_missing(self.into_words)
            result = self.into(out, *args)
        return result


# ---- text ---------------------------------------------------------------------------------------------------------------------------


def load_loop(formula: Formula, expr: Expr, kind: str) -> int:
    """The address of the loop for a case and a type."""
    description = f"loop {kind} {formula.kinds} {formula.into == FIRST} {expr!r}"
    return jit.load(description, lambda: loop_module(formula, expr, kind), ["loop"])["loop"]


def loop_module(formula: Formula, expr: Expr, kind: str) -> str:
    scalar = scalar_function("scalar", expr, formula.types(kind), kind)
    library, declared = definitions(scalar.maths)
    hints = vector_hints(kind == "f32" and "fpext" in library, expr.count(MATHS) > 0)
    return "\n".join([*sorted(scalar.declared | declared), library, scalar.text, loop_text(formula, kind), hints])


def vector_hints(widens: bool, costly: bool) -> str:
    """What LLVM is told about the loop. Left alone, it makes vectors of as many doubles as fit into a register, even where most of the work
    is done in float32, and works on one vector at a time where two would hide each other's delays."""
    wishes = [("vectorize.width", jit.float_lanes())] if widens else [("interleave.count", 2)] if costly else []
    lines = [f'!{place} = !{{!"llvm.loop.{name}", i32 {value}}}' for place, (name, value) in enumerate(wishes, 1)]
    return "\n".join([f"!0 = distinct !{{!0{''.join(f', !{place}' for place in range(1, len(wishes) + 1))}}}", *lines])


def loop_text(formula: Formula, kind: str) -> str:
    """One pass over contiguous memory."""
    t = TYPES[kind]
    size, integer = (4, "i32") if kind == "f32" else (8, "i64")
    result, result_size = (t, size) if formula.result == "T" else ("i8", 1)
    before, loads = [], []
    for i, k in enumerate(formula.kinds):
        if k == "S":
            before += [f"%a{i} = getelementptr double, ptr %numbers, i64 {i}", f"%v{i} = load double, ptr %a{i}"]
            continue
        before += [f"%a{i} = getelementptr ptr, ptr %arrays, i64 {i}", f"%p{i} = load ptr, ptr %a{i}"]
        if k == "T":
            loads += [f"%q{i} = getelementptr {t}, ptr %p{i}, i64 %i", f"%v{i} = load {t}, ptr %q{i}, align {size}"]
        else:
            loads += [f"%q{i} = getelementptr i8, ptr %p{i}, i64 %i", f"%b{i} = load i8, ptr %q{i}", f"%v{i} = icmp ne i8 %b{i}, 0"]
    operands = ", ".join(f"{type_} %v{i}" for i, type_ in enumerate(formula.types(kind)))
    newline = "\n  "
    # LLVM vectorises a loop that writes over what it reads only if it sees that both are the same array.
    target = f"%p{formula.kinds.index('T')}" if formula.into == FIRST else "%out"
    # Truth values are gathered in integers as wide as the numbers, as vectors of them are.
    return f"""
define i1 @loop(ptr {"" if formula.into == FIRST else "noalias "}%out, ptr noalias %arrays, ptr noalias %numbers, i64 %n) {{
entry:
  {newline.join(before)}
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %seen = phi {integer} [0, %entry], [%seen_next, %loop]
  {newline.join(loads)}
  %both = call {{{result}, i1}} @scalar({operands})
  %y = extractvalue {{{result}, i1}} %both, 0
  %wrong = extractvalue {{{result}, i1}} %both, 1
  %mark = sext i1 %wrong to {integer}
  %seen_next = or {integer} %seen, %mark
  %qo = getelementptr {result}, ptr {target}, i64 %i
  store {result} %y, ptr %qo, align {result_size}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  %found = phi {integer} [0, %entry], [%seen_next, %loop]
  %outside = icmp ne {integer} %found, 0
  ret i1 %outside
}}
"""


def load_choice(formula: Formula, cases: list[Case]) -> int:
    """The address of the function that chooses among cases."""
    description = "; ".join(f"{case.answers!r} {case.constants!r}" for case in cases)
    description = f"choose {formula.kinds} {formula.constants_at} {formula.constants} {description}"
    return jit.load(description, lambda: choice_text(formula, cases), ["choose"])["choose"]


def choice_text(formula: Formula, cases: list[Case]) -> str:
    """Cases in their order; the first that applies is chosen."""
    numbers = [i for i, kind in enumerate(formula.kinds) if kind == "S"]
    emitter = Emitter("f64", [f"%v{i}" for i in range(len(formula.kinds))])
    lines = emitter.lines
    for i in numbers:
        lines += [f"  %n{i} = getelementptr double, ptr %numbers, i64 {i}", f"  %v{i} = load double, ptr %n{i}"]
        lines += [f"  %o{i} = getelementptr ptr, ptr %objects, i64 {i}", f"  %object{i} = load ptr, ptr %o{i}"]
    chosen = "-1"
    for number, case in reversed([*enumerate(cases)]):
        holds = "true"
        for i in numbers:
            if i in case.constants:
                place = formula.constants_at + next(p for p, constant in enumerate(formula.constants) if constant is case.constants[i])
                wanted = emitter.let(f"load ptr, ptr {emitter.let(f'getelementptr ptr, ptr %table, i64 {place}')}")
                applies = emitter.let(f"icmp eq ptr %object{i}, {wanted}")
            else:
                applies = emitter.let(f"icmp eq i64 {emitter.let(f'and i64 %others, {1 << i}')}, 0")
            holds = emitter.let(f"and i1 {holds}, {applies}")
        for question, answer in case.answers:
            right = emitter.condition(question)
            holds = emitter.let(f"and i1 {holds}, {right if answer else emitter.let(f'xor i1 {right}, true')}")
        chosen = emitter.let(f"select i1 {holds}, i64 {number}, i64 {chosen}")
    library, declared = definitions(emitter.maths)
    body = "\n".join(lines)
    function = f"define i64 @choose(ptr %table, ptr %objects, ptr %numbers, i64 %others) {{\n{body}\n  ret i64 {chosen}\n}}\n"
    return "\n".join([*sorted(emitter.declared | declared), library, function])
