"""Compiled formulas as Python built-in functions: about 0.1 µs a call where a NumPy function costs 0.45.

A built-in takes NumPy arrays of one dtype (kind "T"), arrays of truth values ("B") and Python numbers ("S"). It computes when
they have one shape, or can be broadcast; anything else is passed on, unchanged, to a fallback that can deal with it. Huge results go into
memory that is used again (memory.py): a second built-in writes into an array that is given. Both check their arguments themselves: a wrong
one is never a crash.

Loops are compiled when they are first needed, for the dtype and the case in question. A formula is traced in float32 and float64 when it
is made; what it is for other types (emit_types.py) is found out when the first array of them comes along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .._layout import memory_order
from . import entry, jit, memory, target, workers
from .chunks import ARRAY, MOST, NUMBER, TRUTH
from .code import TYPES
from .emit import Emitter, Scalar, scalar_function
from .emit_complex import ComplexEmitter
from .emit_integers import QUOTIENTS, IntegerEmitter
from .emit_interleaved import interleaved_loop
from .emit_types import BY_DTYPE, FENCE, KINDS, PARTS, loading, register_type, served, storing
from .entry import FIRST, GIVEN, NEW
from .expr import MATHS, Expr, Number, Untraceable
from .lifetime import compiling
from .maths import OUTSIDE, definitions, usual_in, weight
from .objects import FALLBACK, NEW_ARRAY, OWN, array_function, builtin, table

ALONE = 1 << 16  # elements that one thread computes sooner than two, for a formula of plain arithmetic


class Case(NamedTuple):
    """A formula, and when it is the one to use: some arguments are certain objects, some questions about numbers have certain answers."""

    expr: Expr
    answers: Sequence[tuple[Number, bool]] = ()
    constants: Mapping[int, Any] = MappingProxyType({})


class Formula:
    """What a built-in computes: the cases of its formula for float32 and float64 (or one Expr for all types), how to find those for
    another type, and where the result goes."""

    tells = 0  # the argument whose strides decide first on those of the result, then the next ones, in turn

    def __init__(
        self, symbol: str, cases: Expr | dict[str, list[Case]], kinds: str, into: str = NEW, more: Callable[[str], list[Case]] | None = None
    ) -> None:
        self.symbol = symbol
        self.kinds = kinds
        self.into = into
        one = [Case(cases)] if isinstance(cases, Expr) else []
        self.cases = cases if isinstance(cases, dict) else {type_: one for type_ in TYPES}
        self.more = more or (lambda _: one)
        every = [case for some in self.cases.values() for case in some]
        self.room = max(map(len, self.cases.values()))  # cases that a type may have
        self.weight = max(sum(weight(name) * uses for name, uses in case.expr.functions().items() if name in MATHS) for case in every)
        self.constants: list[Any] = []
        for case in every:
            self.constants += [c for c in case.constants.values() if not any(c is known for known in self.constants)]
        if "T" not in kinds or len(kinds) > MOST:
            raise Untraceable("arguments that a built-in does not take")
        for kind in self.cases:
            self.result_of(kind)

    def cases_of(self, kind: str) -> list[Case]:
        """The cases for a type; Untraceable if there are none, or more than there is room for."""
        if kind not in self.cases:
            if not served(kind):
                raise Untraceable(f"{kind} on this CPU")
            found = [case for case in self.more(kind) if self.has_formula(case.expr, kind)]
            if not found or len(found) > self.room:
                raise Untraceable("no cases, or too many")
            if any(not any(c is known for known in self.constants) for case in found for c in case.constants.values()):
                raise Untraceable("other constants")
            self.cases[kind] = found
        return self.cases[kind]

    def has_formula(self, expr: Expr, kind: str) -> bool:
        """Whether a case can be computed for a type: powers of integers can if they are products."""
        with suppress(Untraceable):
            return bool(self.scalar(expr, kind))
        return False

    def has_usual(self, expr: Expr, kind: str) -> bool:
        """Whether there is less to compute for the numbers that are usual."""
        return expr.count(QUOTIENTS if kind == "i64" else usual_in(KINDS[kind].computed)) > 0

    def result_of(self, kind: str) -> str:
        """The kind of the result for arrays of a kind."""
        results = set()
        for case in self.cases_of(kind):
            results.add(self.result_of_case(case.expr, kind))
            if self.into == FIRST and case.expr.count(OUTSIDE):
                raise Untraceable("a result that cannot overwrite an argument")
            if any(question.count(OUTSIDE) for question, _ in case.answers):
                raise Untraceable("a question that cannot be answered for all numbers")
        (result,) = results if len(results) == 1 else ("",)
        if not result or (self.into == FIRST and result != kind):
            raise Untraceable("results of different types")
        return result

    def result_of_case(self, expr: Expr, kind: str) -> str:
        if kind in TYPES:
            return "bool" if expr.is_bool else kind
        parts = len(self.scalar(expr, kind).returned)
        return "bool" if expr.is_bool else kind if parts == KINDS[kind].parts else PARTS[kind]

    def types(self, kind: str) -> list[list[str]]:
        """The LLVM types of the arguments of the scalar functions, by parts."""
        element = ["i1"] if kind == "bool" else [register_type(kind)] * KINDS[kind].parts
        return [{"T": element, "B": ["i1"], "S": ["double"]}[k] for k in self.kinds]

    def scalar(self, expr: Expr, kind: str, usual: bool = False) -> Scalar:
        computed = KINDS[kind].computed
        emitter = ComplexEmitter if computed in PARTS else IntegerEmitter if KINDS[kind].whole else Emitter
        return scalar_function("usual_scalar" if usual else "scalar", expr, self.types(kind), emitter, computed, usual)

    @property
    def apart(self) -> int:
        """How many places there are for loops in which the same operand stands still."""
        return len(KINDS) * self.room

    @property
    def constants_at(self) -> int:
        """The place of the first constant in the table."""
        return entry.LOOPS + self.apart * (1 + len(self.kinds))


def load(formulas: list[Formula], fallbacks: list[Any]) -> list[Callable[..., Any]]:
    """Built-ins for several formulas, each with its own fallback."""
    return [Kernel(formula, fallback).call for formula, fallback in zip(formulas, fallbacks, strict=True)]


@cache
def entry_address(into: str) -> int:
    """The address of the entry that all built-ins share whose results go to the same place."""
    return jit.load(f"entry {into}", lambda: entry.text(into), [f"entry_{into}"], jit.CALLS)[f"entry_{into}"]


def unable(*args: Any) -> None:
    """The fallback of the built-in that writes into a given array: None says that it cannot take these arguments."""


NAMES = list(KINDS)
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class Kernel:
    """The built-ins of a formula, and the table that they share."""

    def __init__(self, formula: Formula, fallback: Any) -> None:
        self.formula = formula
        self.missing: dict[int, tuple[Expr, str, int]] = {}
        self.dtypes: list[Any] = []  # that the table refers to
        otherwise = self.otherwise(fallback)
        facts = table(otherwise, [0] * (formula.constants_at - OWN) + [id(constant) for constant in formula.constants])
        self.words = memoryview(facts)
        self.words[entry.COUNT] = len(formula.kinds)
        self.words[entry.LIKE] = formula.kinds.index("T")
        self.words[entry.APART] = formula.apart
        self.words[entry.TELLS] = formula.tells
        self.words[entry.NEW_ARRAY] = array_function(NEW_ARRAY)
        self.words[entry.ALONE] = ALONE >> min(5, (formula.weight // 16).bit_length())
        if workers.supported():
            threads = workers.workers()
            self.words[entry.SHARE], self.words[entry.STATE] = threads.share, threads.address
        code = {"T": ARRAY, "B": TRUTH, "S": NUMBER}
        for place, kind in enumerate(formula.kinds, entry.KINDS):
            self.words[place] = code[kind]
        into = facts.copy()
        into[FALLBACK] = id(unable)
        self.tables = [self.words, memoryview(into)]
        self.into_words = self.tables[1]
        for kind, facts_of_kind in KINDS.items():
            if kind != "bf16":  # whose dtype exists once ml_dtypes has been imported
                self.expect(kind, np.dtype(facts_of_kind.dtype))
        for kind in formula.cases:
            self.prepare(kind)
        self.call = builtin(formula.symbol, entry_address(formula.into), facts, otherwise, formula.constants)
        self.into_facts = into

    @cached_property
    def into(self) -> Callable[..., Any]:
        """The built-in that writes into an array that is given; only huge results need it."""
        return builtin(self.formula.symbol, entry_address(GIVEN), self.into_facts, unable)

    def record(self, kind: str) -> int:
        return entry.RECORDS + entry.RECORD * NUMBERS[kind]

    def write(self, place: int, value: int) -> None:
        for words in self.tables:
            words[place] = value

    def expect(self, kind: str, dtype: np.dtype[Any]) -> None:
        """Let arrays of a dtype be recognised."""
        at, facts = self.record(kind), KINDS[kind]
        self.write(at + entry.SIZE, facts.size)
        self.write(at + entry.WHOLE, facts.whole)
        for place, limit in ((entry.LEAST, facts.least), (entry.GREATEST, facts.most)):
            self.write(at + place, int(np.float64(limit).view(np.int64)))
        self.dtypes.append(dtype)
        self.write(at + entry.DTYPE, id(dtype))

    def prepare(self, kind: str) -> None:
        """Find out what the formula is for a type: which loops there are to compile, and what the result is."""
        at = self.record(kind)
        try:
            cases, result = self.formula.cases_of(kind), self.formula.result_of(kind)
        except Untraceable:
            self.write(at + entry.READY, entry.REFUSED)
            return
        for place, case in enumerate(cases):
            for still in (-1, *(number for number, of in enumerate(self.formula.kinds) if of != "S")):
                where = entry.LOOPS + self.formula.apart * (still + 1) + len(KINDS) * place + NUMBERS[kind]
                self.missing[where] = case.expr, kind, still
        if any(case.answers or case.constants for case in cases):
            self.write(at + entry.CHOOSE, load_choice(self.formula, cases))
        self.write(at + entry.RESULT, self.words[self.record(result) + entry.DTYPE])
        self.write(at + entry.RESULT_SIZE, KINDS[result].size)
        self.write(at + entry.READY, entry.KNOWN)

    def otherwise(self, fallback: Any) -> Callable[..., Any]:
        """The fallback: a loop that is missing is compiled, huge arrays get memory of their own, all else goes to NumPy."""
        first, count = self.formula.kinds.index("T"), len(self.formula.kinds)

        def otherwise(*args: Any) -> Any:
            if self.words[entry.ASKED] == entry.MEMORY:
                self.words[entry.ASKED] = 0
                result = self.compute_huge(args)
                return fallback(*args) if result is None else result
            if self.words[entry.ASKED]:
                self.compile_missing(self.words)
                return self.call(*args)
            if len(args) == count:
                array = args[first]
                if array.__class__ is np.ndarray and array.dtype.char == "E" and self.knows(array.dtype):
                    return self.call(*args)
            return fallback(*args)

        return otherwise

    def knows(self, dtype: np.dtype[Any]) -> bool:
        """Whether this is bfloat16, not recognised up to now."""
        if dtype.name != "bfloat16" or not dtype.isnative or self.words[self.record("bf16") + entry.DTYPE]:
            return False
        self.expect("bf16", dtype)
        return True

    def compile_missing(self, asking: memoryview[int]) -> None:
        """Compile the loop that was asked for, or find the cases of the type that was."""
        with compiling:  # another thread may have asked for the same loop
            place = asking[entry.ASKED]
            if place in self.missing:
                self.write(place, load_loop(self.formula, *self.missing[place]))
                del self.missing[place]
            elif place and place < entry.LOOPS and self.words[place] == entry.UNKNOWN:
                self.prepare(NAMES[(place - entry.RECORDS) // entry.RECORD])
            asking[entry.ASKED] = 0

    def compute_huge(self, args: tuple[Any, ...]) -> Any:
        """The result of arguments that suit, in memory of its own; None if numbers were met that cannot be computed with."""
        first, kinds = self.formula.tells, self.formula.kinds
        arrays = [args[place] for place in (*range(first, len(kinds)), *range(first)) if kinds[place] != "S"]
        dtype = args[self.formula.kinds.index("T")].dtype
        kind = BY_DTYPE[dtype.name]
        result = self.formula.result_of(kind)
        made = dtype if result == kind else np.dtype(KINDS[result].dtype)
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
        order = memory_order(shape, arrays)
        if order is None:
            return self.into(memory.empty(shape, made), *args)
        # What is written is in order: the axes of the arguments are, too, and those of the result are put back.
        given = [
            x if of == "S" else np.broadcast_to(x, shape).transpose(order) for x, of in zip(args, self.formula.kinds, strict=True)
        ]
        found = self.into(memory.empty(tuple([shape[axis] for axis in order]), made), *given)
        return None if found is None else found.transpose(np.argsort(order))


# ---- text ---------------------------------------------------------------------------------------------------------------------------


def load_loop(formula: Formula, expr: Expr, kind: str, still: int) -> int:
    """The address of the loop for a case and a type, in which one operand may stand still."""
    description = f"loop {kind} {formula.kinds} {formula.into == FIRST} {still} {expr!r}"
    return jit.load(description, lambda: loop_module(formula, expr, kind, still), ["loop"])["loop"]


def loop_module(formula: Formula, expr: Expr, kind: str, still: int) -> str:
    scalar = formula.scalar(expr, kind)
    library, declared = definitions(scalar.maths)
    hints = vector_hints(KINDS[kind].computed in ("f32", "c64") and "fpext" in library, bool(scalar.maths), still >= 0)
    declared |= scalar.declared | ({FENCE} if formula.result_of(kind) == "f16" else set())
    if kind in PARTS and (whole := interleaved_loop(expr, kind, formula.kinds, still)):
        hints, loops = SHORT, [scalar.text, loop_text(formula, kind, scalar, "any", still), whole]
    elif formula.has_usual(expr, kind) and formula.into != FIRST:
        usual = formula.scalar(expr, kind, usual=True)
        declared |= usual.declared | {"declare i64 @llvm.smin.i64(i64, i64)"}
        both = [loop_text(formula, kind, scalar, "any", still), loop_text(formula, kind, usual, "usual", still)]
        loops = [scalar.text, usual.text, *both, TWO_LOOPS]
    else:
        loops = [scalar.text, loop_text(formula, kind, scalar, "loop", still)]
    return "\n".join([*sorted(declared), library, *loops, hints])


# Block by block, as if all numbers were usual, and where some are not, once more.
TWO_LOOPS = """
define i1 @loop(ptr noalias %out, ptr noalias %arrays, ptr noalias %numbers, i64 %n) {
entry:
  br label %test
test:
  %first = phi i64 [0, %entry], [%last, %done]
  %seen = phi i1 [false, %entry], [%seen_next, %done]
  %more = icmp slt i64 %first, %n
  br i1 %more, label %block, label %end
block:
  %full = add i64 %first, 512
  %last = call i64 @llvm.smin.i64(i64 %full, i64 %n)
  %unusual = call i1 @usual(ptr %out, ptr %arrays, ptr %numbers, i64 %first, i64 %last)
  br i1 %unusual, label %again, label %done
again:
  %outside = call i1 @any(ptr %out, ptr %arrays, ptr %numbers, i64 %first, i64 %last)
  br label %done
done:
  %found = phi i1 [false, %block], [%outside, %again]
  %seen_next = or i1 %seen, %found
  br label %test
end:
  ret i1 %seen
}
"""


SHORT = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 false}'  # of a loop over what does not fill a vector


def vector_hints(widens: bool, costly: bool, brief: bool = False) -> str:
    """What LLVM is told about the loop. Left alone, it makes vectors of as many doubles as fit into a register, even where most of the work
    is done in float32, and works on one vector at a time where two would hide each other's delays. Where one operand stands still, rows may
    be short: of four vectors at a time, much of a row would be left to do one by one."""
    wishes = [("vectorize.width", target.current().float_lanes)] if widens else [("interleave.count", 2)] if costly or brief else []
    lines = [f'!{place} = !{{!"llvm.loop.{name}", i32 {value}}}' for place, (name, value) in enumerate(wishes, 1)]
    return "\n".join([f"!0 = distinct !{{!0{''.join(f', !{place}' for place in range(1, len(wishes) + 1))}}}", *lines])


def loop_text(formula: Formula, kind: str, scalar: Scalar, name: str, still: int) -> str:
    """One pass over contiguous memory: all of it, or a part if the loop is one of two."""
    function, first = ("usual_scalar" if name == "usual" else "scalar"), ("0" if name == "loop" else "%first")
    result = formula.result_of(kind)
    integer = f"i{max(8, 8 * KINDS[KINDS[kind].computed].size // KINDS[kind].parts)}"
    before, loads, given = [], [], []
    for i, k in enumerate(formula.kinds):
        if k == "S":
            before += [f"%a{i} = getelementptr double, ptr %numbers, i64 {i}", f"%v{i} = load double, ptr %a{i}"]
            given.append([f"%v{i}"])
            continue
        before += [f"%a{i} = getelementptr ptr, ptr %arrays, i64 {i}", f"%p{i} = load ptr, ptr %a{i}"]
        lines, registers = loading(kind if k == "T" else "bool", f"%p{i}", str(i))
        if i == still:
            before += [line.replace("i64 %i", "i64 0") for line in lines]
        else:
            loads += lines
        given.append(registers)
    pairs = [pair for some in zip(formula.types(kind), given, strict=True) for pair in zip(*some, strict=True)]
    operands = ", ".join(f"{type_} {register}" for type_, register in pairs)
    returned = f"{{{', '.join(scalar.returned)}, i1}}"
    values = [f"%y{part}" for part in range(len(scalar.returned))]
    parts = [f"{value} = extractvalue {returned} %both, {part}" for part, value in enumerate(values)]
    newline = "\n  "
    # A loop that writes over what it reads says noalias too: an element is read before it is written, never after. If LLVM saw that both
    # are one array, it would store only what changes, under masks, which on some CPUs takes five times as long.
    parameters = ["ptr noalias %out", "ptr noalias %arrays", "ptr noalias %numbers", "i64 %n"]
    parameters[3:3] = [] if name == "loop" else ["i64 %first"]
    # Truth values are gathered in integers as wide as the numbers, as vectors of them are.
    return f"""
define {"" if name == "loop" else "internal "}i1 @{name}({", ".join(parameters)}) {{
entry:
  {newline.join(before)}
  %some = icmp sgt i64 %n, {first}
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [{first}, %entry], [%next, %loop]
  %seen = phi {integer} [0, %entry], [%seen_next, %loop]
  {newline.join(loads)}
  %both = call {returned} @{function}({operands})
  {newline.join(parts)}
  %wrong = extractvalue {returned} %both, {len(parts)}
  %mark = zext i1 %wrong to {integer}
  %seen_next = or {integer} %seen, %mark
  {newline.join(storing(result, "%out", values))}
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
