"""Compiled formulas as Python built-in functions: about 0.1 µs a call where a NumPy function costs 0.45.

A built-in takes NumPy arrays of one floating dtype (kind "T"), arrays of truth values ("B") and Python numbers ("S"). It computes when all
arrays are of one shape, C-contiguous and not large; anything else is passed on, unchanged, to a fallback that can deal with it. Large arrays
are cut into pieces for the thread pool: a second built-in computes one piece, with the GIL released. Both check their arguments themselves: a
wrong one is never a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import jit, pool
from .code import TYPES
from .emit import Emitter, scalar_function
from .expr import MATHS, Answers, Expr, Untraceable
from .maths import OUTSIDE, definitions
from .objects import (
    BOOL,
    CONSTANTS,
    CONTIGUOUS_ALIGNED,
    DATA,
    DEC_REF,
    DESCR,
    F32,
    F64,
    FLAGS,
    INC_REF,
    NDARRAY,
    NDIM,
    NEW_LIKE,
    RESTORE_THREAD,
    SAVE_THREAD,
    SHAPE,
    WRITEABLE,
    Text,
    builtin,
)

LARGEST = 32768  # elements that a built-in computes while it holds the GIL
ALONE = 1 << 20  # elements below which waking another thread costs more than it saves, for a formula of plain arithmetic

# Where the result goes.
NEW, FIRST, PIECE = "new", "first", "piece"  # a new array; the first argument; a piece of the first argument, between two numbers


class Case(NamedTuple):
    """A formula, and when it is the one to use: some arguments are certain objects, and some questions about numbers have certain answers."""

    expr: Expr
    answers: Answers = []  # noqa: RUF012
    constants: Mapping[int, Any] = {}  # noqa: RUF012


class Formula:
    """What a built-in computes: formulas of its arguments, by type (one Expr stands for both types), and where the result goes."""

    def __init__(self, symbol: str, cases: Expr | dict[str, list[Case]], kinds: str, into: str = NEW, loop: str = "") -> None:
        self.symbol = symbol
        self.cases = {kind: [Case(cases)] for kind in TYPES} if isinstance(cases, Expr) else cases
        self.kinds = kinds
        self.into = into
        self.loop = loop or symbol  # two built-ins may share their loops
        self.exprs = [case.expr for some in self.cases.values() for case in some]
        self.result = "B" if self.exprs[0].is_bool else "T"
        self.partial = any(expr.count(OUTSIDE) for expr in self.exprs)
        self.costly = max(expr.count(MATHS) for expr in self.exprs)
        self.constants: list[Any] = []
        for case in (case for some in self.cases.values() for case in some):
            self.constants += [c for c in case.constants.values() if not any(c is known for known in self.constants)]
            if case.expr.is_bool != (self.result == "B") or any(question.count(OUTSIDE) for question, _ in case.answers):
                raise Untraceable("cases of different types")
        if "T" not in kinds or (into == FIRST and (self.partial or self.result == "B")):
            raise Untraceable("no array that the result could be like")

    @property
    def description(self) -> str:
        return f"{self.symbol} {self.kinds} {self.cases!r} {self.into}"

    @property
    def piece(self) -> Formula:
        return Formula(f"{self.symbol}_piece", self.cases, self.kinds, PIECE, self.loop)

    def types(self, kind: str) -> list[str]:
        """The LLVM types of the arguments of the scalar functions."""
        return [{"T": TYPES[kind], "B": "i1", "S": "double"}[k] for k in self.kinds]


def load(formulas: list[Formula], fallbacks: list[Any]) -> list[Callable[..., Any]]:
    """Built-ins for several formulas, compiled together, each with its own fallback."""
    everything = [f for formula in formulas for f in ([formula, formula.piece] if formula.into == NEW else [formula])]
    found = jit.load(";".join(f.description for f in everything), lambda: module_text(everything), [f.symbol for f in everything])
    made = []
    for formula, fallback in zip(formulas, fallbacks, strict=True):
        if formula.into == NEW:
            piece = builtin(formula.piece.symbol, found[formula.piece.symbol], unable, formula.constants)
            fallback = in_pieces(piece, formula, fallback)
        made.append(builtin(formula.symbol, found[formula.symbol], fallback, formula.constants))
    return made


def unable(*args: Any) -> None:
    """The fallback of a piece: None says that it cannot take these arguments, or met a number that it cannot compute with."""


def in_pieces(piece: Callable[..., Any], formula: Formula, fallback: Any) -> Callable[..., Any]:
    """The fallback of a built-in: arrays that are only too large go to the thread pool, all else to the given one."""
    first, count = formula.kinds.index("T"), len(formula.kinds)
    alone = ALONE // (1 + 8 * formula.costly)
    answers_bool = formula.result == "B"

    def wide(*args: Any) -> Any:
        if len(args) != count or args[first].__class__ is not np.ndarray or args[first].size <= LARGEST:
            return fallback(*args)
        array = args[first]
        size = array.size
        out = np.empty(array.shape, np.bool_ if answers_bool else array.dtype)
        if piece(out, *args, 0, 0) is None:
            return fallback(*args)
        done: list[Any] = []
        if size <= alone:
            done.append(piece(out, *args, 0, size))
        else:
            pool.run(lambda i: done.append(piece(out, *args, i * pool.PIECE, min(size, (i + 1) * pool.PIECE))), -(-size // pool.PIECE))
        return fallback(*args) if any(part is None for part in done) else out

    return wide


# ---- text ---------------------------------------------------------------------------------------------------------------------------


def module_text(formulas: list[Formula]) -> str:
    declared: set[str] = set()
    maths: set[tuple[str, str]] = set()
    texts = []
    for formula in formulas:
        if formula.loop == formula.symbol:
            for kind, cases in formula.cases.items():
                for place, case in enumerate(cases):
                    name = f"{formula.symbol}_{kind}_{place}"
                    scalar = scalar_function(name, case.expr, formula.types(kind), kind)
                    declared |= scalar.declared
                    maths |= scalar.maths
                    texts += [scalar.text, loop_text(formula, kind, name)]
        entry = Entry(formula)
        texts.append(entry.function())
        declared |= entry.declared
        maths |= entry.maths
    library, more = definitions(maths)
    return "\n".join([*sorted(declared | more), library, *texts])


def loop_text(formula: Formula, kind: str, name: str) -> str:
    """One pass over contiguous memory. It returns whether a number was met that cannot be computed with."""
    t, kinds = TYPES[kind], formula.kinds
    size, integer = (4, "i32") if kind == "f32" else (8, "i64")
    out, out_type, out_size = ("%p0" if formula.into == FIRST else "%out"), *((t, size) if formula.result == "T" else ("i8", 1))
    params = [] if formula.into == FIRST else ["ptr noalias %out"]
    params += [f"double %v{i}" if k == "S" else f"ptr %p{i}" for i, k in enumerate(kinds)]
    loads = []
    for i, k in enumerate(kinds):
        if k == "T":
            loads += [f"%q{i} = getelementptr {t}, ptr %p{i}, i64 %i", f"%v{i} = load {t}, ptr %q{i}, align {size}"]
        elif k == "B":
            loads += [f"%q{i} = getelementptr i8, ptr %p{i}, i64 %i", f"%b{i} = load i8, ptr %q{i}", f"%v{i} = icmp ne i8 %b{i}, 0"]
    operands = ", ".join(f"{type_} %v{i}" for i, type_ in enumerate(formula.types(kind)))
    # Truth values are gathered in integers as wide as the numbers, as vectors of them are.
    return f"""
define internal i1 @{name}_loop({", ".join(params)}, i64 %n) noinline {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %seen = phi {integer} [0, %entry], [%seen_next, %loop]
  {chr(10).join(loads)}
  %both = call {{{out_type}, i1}} @{name}({operands})
  %y = extractvalue {{{out_type}, i1}} %both, 0
  %wrong = extractvalue {{{out_type}, i1}} %both, 1
  %mark = sext i1 %wrong to {integer}
  %seen_next = or {integer} %seen, %mark
  %qo = getelementptr {out_type}, ptr {out}, i64 %i
  store {out_type} %y, ptr %qo, align {out_size}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %found = phi {integer} [0, %entry], [%seen_next, %loop]
  %outside = icmp ne {integer} %found, 0
  ret i1 %outside
}}
"""


class Entry:
    """The built-in itself: check the arguments, choose the case, find or make the result, run the loop."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.text = Text()
        self.declared: set[str] = set()
        self.maths: set[tuple[str, str]] = set()
        # A piece has the result as an argument before the others, and two numbers after them.
        self.shift = 1 if formula.into == PIECE else 0
        self.kinds = f"{formula.result}{formula.kinds}II" if formula.into == PIECE else formula.kinds
        self.arrays = [i for i, kind in enumerate(self.kinds) if kind in "TB"]
        self.like = formula.kinds.index("T") + self.shift  # the array that says what the others have to be

    def function(self) -> str:
        text, kinds = self.text, self.kinds
        text.require(text.let(f"icmp eq i64 %n, {len(kinds)}"))
        self.objects = [text.field("%args", 8 * i, "ptr") for i in range(len(kinds))]
        size = self.check_arrays()
        self.read_numbers()
        start = "0"
        if self.formula.into == PIECE:
            start, stop = (text.integer(obj) for obj in self.objects[-2:])
            text.require(text.let(f"icmp sge i64 {start}, 0"))
            text.require(text.let(f"icmp sle i64 {start}, {stop}"))
            text.require(text.let(f"icmp sle i64 {stop}, {size}"))
            size = text.let(f"sub i64 {stop}, {start}")
        else:
            text.require(text.let(f"icmp sle i64 {size}, {LARGEST}"))
        text.branch(self.is_f32, "f32", "f64")
        for kind, cases in self.formula.cases.items():
            text.lines.append(f"{kind}:")
            if not cases:
                text.do("br label %slow")
            for place, case in enumerate(cases):
                last = place == len(cases) - 1
                self.choose(case, "slow" if last else f"{kind}_{place + 1}")
                self.run(kind, place, start, size)
                if not last:
                    text.lines.append(f"{kind}_{place + 1}:")
        return text.function(self.formula.symbol)

    def check_arrays(self) -> str:
        """Go to the fallback unless all arrays fit; the number of elements."""
        text, objects, like = self.text, self.objects, self.like
        ndarray, truth = text.fact(NDARRAY), text.fact(BOOL)
        for i in self.arrays:
            text.require(text.let(f"icmp eq i64 {text.field(objects[i], 8, 'i64')}, {ndarray}"))
        descr, ndim = text.field(objects[like], DESCR, "i64"), text.field(objects[like], NDIM, "i32")
        flags = str(CONTIGUOUS_ALIGNED)
        for i in self.arrays:
            if i != like:
                expected = descr if self.kinds[i] == "T" else truth
                text.require(text.let(f"icmp eq i64 {text.field(objects[i], DESCR, 'i64')}, {expected}"))
                text.require(text.let(f"icmp eq i32 {text.field(objects[i], NDIM, 'i32')}, {ndim}"))
            flags = text.let(f"and i32 {flags}, {text.field(objects[i], FLAGS, 'i32')}")
        text.require(text.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
        if self.formula.into != NEW:
            own = text.field(objects[0], FLAGS, "i32")
            text.require(text.let(f"icmp ne i32 {text.let(f'and i32 {own}, {WRITEABLE}')}, 0"))
        self.is_f32 = text.let(f"icmp eq i64 {descr}, {text.fact(F32)}")
        is_f64 = text.let(f"icmp eq i64 {descr}, {text.fact(F64)}")
        text.require(text.let(f"or i1 {self.is_f32}, {is_f64}"))
        return text.same_size([text.field(objects[i], SHAPE, "ptr") for i in self.arrays], ndim)

    def read_numbers(self) -> None:
        """Python numbers as doubles. An argument that may be another object is not a number in all cases."""
        self.is_number: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        for i, kind in enumerate(self.formula.kinds):
            if kind == "S":
                self.is_number[i], self.numbers[i] = self.text.number(self.objects[i + self.shift])

    def choose(self, case: Case, otherwise: str) -> None:
        """Go on if this is the case, else to a label."""
        text = self.text
        for i, is_number in self.is_number.items():
            if i in case.constants:
                place = next(p for p, constant in enumerate(self.formula.constants) if constant is case.constants[i])
                is_number = text.let(f"icmp eq ptr {self.objects[i + self.shift]}, {text.fact(CONSTANTS + place, 'ptr')}")
            text.require(is_number, otherwise)
        emitter = Emitter("f64", [self.numbers.get(i, "") for i in range(len(self.formula.kinds))])
        emitter.lines = text.lines
        for question, answer in case.answers:
            holds = emitter.condition(question)
            text.require(holds if answer else text.let(f"xor i1 {holds}, true"), otherwise)
        self.declared |= emitter.declared
        self.maths |= emitter.maths

    def run(self, kind: str, place: int, start: str, size: str) -> None:
        """Run a loop and return its result."""
        text, formula, t = self.text, self.formula, TYPES[kind]
        result = self.new_array() if formula.into == NEW else self.objects[0]
        if formula.into != NEW:
            text.do(f"call void {text.fact(INC_REF, 'ptr')}(ptr {result})")
        types = {"T": t, "B": "i8"}
        values = [(formula.result, result)] if formula.into != FIRST else []
        values += [(k, self.objects[i]) for i, k in enumerate(self.kinds) if self.shift <= i < len(formula.kinds) + self.shift]
        operands = []
        for i, (k, obj) in enumerate(values, -1 if formula.into != FIRST else 0):
            if k == "S":
                operands.append(f"double {self.numbers[i]}")
            else:
                data = text.field(obj, DATA, "ptr")
                operands.append(f"ptr {text.let(f'getelementptr {types[k]}, ptr {data}, i64 {start}')}")
        release = formula.into == PIECE
        restore, drop = text.fact(RESTORE_THREAD, "ptr"), text.fact(DEC_REF, "ptr")
        state = text.let(f"call ptr {text.fact(SAVE_THREAD, 'ptr')}()") if release else ""
        wrong = text.let(f"call i1 @{formula.loop}_{kind}_{place}_loop({', '.join(operands)}, i64 {size})")
        if release:
            text.do(f"call void {restore}(ptr {state})")
        if formula.partial:
            text.branch(wrong, f"outside_{kind}_{place}", f"done_{kind}_{place}")
            text.lines.append(f"outside_{kind}_{place}:")
            text.do(f"call void {drop}(ptr {result})")
            text.do("br label %slow")
            text.lines.append(f"done_{kind}_{place}:")
        text.do(f"ret ptr {result}")

    def new_array(self) -> str:
        """An array for the result; an error while making it is returned."""
        text = self.text
        dtype = "null"
        if self.formula.result == "B":
            dtype = text.fact(BOOL, "ptr")
            text.do(f"call void {text.fact(INC_REF, 'ptr')}(ptr {dtype})")  # NumPy takes the reference
        made = text.let(f"call ptr {text.fact(NEW_LIKE, 'ptr')}(ptr {self.objects[self.like]}, i32 0, ptr {dtype}, i32 0)")
        text.count += 1
        mark = text.count
        text.branch(text.let(f"icmp eq ptr {made}, null"), f"failed{mark}", f"made{mark}")
        text.lines += [f"failed{mark}:", "  ret ptr null", f"made{mark}:"]
        return made


