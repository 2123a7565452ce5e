"""Row kernels: formulas that reduce over the last axis, compiled into a few passes over each row.

The NumPy code of a softmax,

    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)

traced like an elementwise formula, contains reductions. Each reduction becomes one number per row. They are computed in as many passes over
the row as they depend on each other (here: the maximum, then the sum), and a last pass writes the result. A costly subexpression that
several passes need (here: `e`) is kept in the result's own memory in between. A row stays in the cache from one pass to the next.

Long sums do not lose precision: blocks of a row are summed in its own type, several numbers at a time, and their totals in double. Rows are
whole pieces of work, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import jit, pool
from .code import TYPES, constant
from .emit import Emitter
from .expr import MATHS, REDUCTIONS, Expr, Untraceable, trace
from .maths import OUTSIDE, definitions
from .objects import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    F32,
    F64,
    FLAGS,
    INC_REF,
    NDARRAY,
    NDIM,
    RESTORE_THREAD,
    SAVE_THREAD,
    SHAPE,
    WRITEABLE,
    Text,
    builtin,
    table,
)

# Kinds of arguments: a matrix (T), a row that all rows share (R), a column with one number per row (C), a number (S).
MATRIX, ROW, COLUMN, NUMBER = "TRCS"
BLOCK = 1024  # elements of a row that are summed in the row's own type
ALONE = 1 << 15  # elements below which waking another thread costs more than it saves


def parts(expr: Any) -> Iterator[Expr]:
    """An expression and all in it, inner ones first, each once."""
    seen: set[str] = set()

    def walk(e: Any) -> Iterator[Expr]:
        if isinstance(e, Expr) and repr(e) not in seen:
            seen.add(repr(e))
            for arg in e.args:
                yield from walk(arg)
            yield e

    yield from walk(expr)


class Program:
    """The passes of a row formula."""

    def __init__(self, symbol: str, expr: Expr, kinds: str) -> None:
        self.symbol = symbol
        self.expr = expr
        self.kinds = kinds
        self.level: dict[str, int] = {}  # reductions by the pass that computes them, the first being 1; of other parts, the last they need
        for part in parts(expr):
            inner = max((self.level[repr(arg)] for arg in part.args if isinstance(arg, Expr)), default=0)
            self.level[repr(part)] = inner + (part.name in REDUCTIONS)
        self.reductions = [part for part in parts(expr) if part.name in REDUCTIONS]
        if expr.count(OUTSIDE):
            raise Untraceable("a function of a part of the numbers, in rows")
        self.passes = max((self.level[repr(part)] for part in self.reductions), default=0)
        self.to_column = not self.varies(expr)
        self.kept = None if self.to_column else self.worth_keeping()

    def varies(self, expr: Any) -> bool:
        """Whether an expression differs along a row."""
        if not isinstance(expr, Expr) or expr.name in REDUCTIONS:
            return False
        if not expr.args:
            return self.kinds[int(expr.name[1:])] in (MATRIX, ROW)
        return any(self.varies(arg) for arg in expr.args)

    def worth_keeping(self) -> Expr | None:
        """The costly expression that more than one pass needs, if there is one."""
        best = None
        for part in parts(self.expr):
            if part.name in MATHS and self.varies(part):
                uses = {self.level[repr(r)] for r in self.reductions if contains(r.args[0], part)}
                if contains_outside(self.expr, part):
                    uses.add(self.passes + 1)
                if len(uses) > 1:
                    best = part
        return best

    @property
    def description(self) -> str:
        return f"rows {self.symbol} {self.kinds} {self.expr!r}"


def contains(expr: Any, part: Expr) -> bool:
    return any(repr(e) == repr(part) for e in parts(expr))


def contains_outside(expr: Any, part: Expr) -> bool:
    """Whether a part occurs outside all reductions."""
    if not isinstance(expr, Expr) or expr.name in REDUCTIONS:
        return False
    return repr(expr) == repr(part) or any(contains_outside(arg, part) for arg in expr.args)


class RowEmitter(Emitter):
    """Writes one pass: reductions of earlier passes are registers, a kept expression is read back from the result."""

    def __init__(self, step: int, kind: str, inputs: list[str], known: dict[str, str]) -> None:
        super().__init__(kind, inputs)
        self.step = step
        self.known = dict(known)

    def let(self, instruction: str) -> str:
        register = f"%t{self.step}_{len(self.lines)}"
        self.lines.append(f"  {register} = {instruction}")
        return register


def row_text(program: Program, kind: str) -> tuple[str, set[str], set[tuple[str, str]]]:
    """A function that computes one row."""
    t = TYPES[kind]
    size = 4 if kind == "f32" else 8
    kinds = program.kinds
    declared: set[str] = set()
    maths: set[tuple[str, str]] = set()
    lines: list[str] = []
    params = ["ptr noalias %out"] + [f"ptr %p{i}" if k in (MATRIX, ROW) else f"{t} %v{i}" for i, k in enumerate(kinds)] + ["i64 %n"]
    scalars: dict[str, str] = {}
    before = "entry"
    for step in range(1, program.passes + 2):
        last = step == program.passes + 1
        if last and program.to_column:
            emitter = RowEmitter(step, kind, [f"%v{i}" for i in range(len(kinds))], scalars)
            result = emitter.value(program.expr)
            lines += [*emitter.lines, f"  store {t} {result}, ptr %out, align {size}"]
            declared |= emitter.declared
            maths |= emitter.maths
            continue
        wanted = [r for r in program.reductions if program.level[repr(r)] == step]
        inputs = [f"%e{step}_{i}" if k in (MATRIX, ROW) else f"%v{i}" for i, k in enumerate(kinds)]
        emitter = RowEmitter(step, kind, inputs, scalars)
        # Blocks of a row: within one, sums run in the row's own type, eight numbers or more at a time; their totals in double.
        outer = [f"  br label %block{step}", f"block{step}:", f"  %b{step} = phi i64 [0, %{before}], [%end{step}, %summed{step}]"]
        head = [
            f"  %limit{step} = add nuw nsw i64 %b{step}, {BLOCK}",
            f"  %short{step} = icmp slt i64 %n, %limit{step}",
            f"  %end{step} = select i1 %short{step}, i64 %n, i64 %limit{step}",
            f"  br label %pass{step}",
            f"pass{step}:",
            f"  %i{step} = phi i64 [%b{step}, %block{step}], [%next{step}, %pass{step}]",
        ]
        totals: list[str] = []
        loads = [
            line
            for i, k in enumerate(kinds)
            if k in (MATRIX, ROW)
            for line in (
                f"  %q{step}_{i} = getelementptr {t}, ptr %p{i}, i64 %i{step}",
                f"  %e{step}_{i} = load {t}, ptr %q{step}_{i}, align {size}",
            )
        ]
        kept = program.kept
        if kept is not None and program.level[repr(kept)] < step - 1:
            loads += [f"  %ko{step} = getelementptr {t}, ptr %out, i64 %i{step}", f"  %k{step} = load {t}, ptr %ko{step}, align {size}"]
            emitter.known[repr(kept)] = f"%k{step}"
        if last:
            value = emitter.value(program.expr)
            emitter.lines += [f"  %o{step} = getelementptr {t}, ptr %out, i64 %i{step}", f"  store {t} {value}, ptr %o{step}, align {size}"]
        for place, reduction in enumerate(wanted):
            value = emitter.value(reduction.args[0])
            total = f"%s{step}_{place}"
            if reduction.name == "reduce_sum":
                outer.append(f"  {total}d = phi double [0.0, %{before}], [{total}dn, %summed{step}]")
                head.append(f"  {total} = phi {t} [0.0, %block{step}], [{total}n, %pass{step}]")
                emitter.lines.append(f"  {total}n = fadd reassoc {t} {total}, {value}")
                wide = f"{total}n"
                if kind == "f32":
                    wide = f"{total}w"
                    totals.append(f"  {wide} = fpext float {total}n to double")
                totals.append(f"  {total}dn = fadd double {total}d, {wide}")
            else:
                worst = constant(float("-inf") if reduction.name == "reduce_max" else float("inf"), kind)
                outer.append(f"  {total}d = phi {t} [{worst}, %{before}], [{total}n, %summed{step}]")
                head.append(f"  {total} = phi {t} [{total}d, %block{step}], [{total}n, %pass{step}]")
                name = "maximum" if reduction.name == "reduce_max" else "minimum"
                emitter.declared.add(f"declare {t} @llvm.{name}.{kind}({t}, {t})")
                emitter.lines.append(f"  {total}n = call nsz {t} @llvm.{name}.{kind}({t} {total}, {t} {value})")
        if kept is not None and not last and program.level[repr(kept)] == step - 1 and repr(kept) in emitter.known:
            emitter.lines += [
                f"  %ks{step} = getelementptr {t}, ptr %out, i64 %i{step}",
                f"  store {t} {emitter.known[repr(kept)]}, ptr %ks{step}, align {size}",
            ]
        tail = [
            f"  %next{step} = add nuw nsw i64 %i{step}, 1",
            f"  %more{step} = icmp slt i64 %next{step}, %end{step}",
            f"  br i1 %more{step}, label %pass{step}, label %summed{step}",
            f"summed{step}:",
            *totals,
            f"  %further{step} = icmp slt i64 %end{step}, %n",
            f"  br i1 %further{step}, label %block{step}, label %after{step}",
            f"after{step}:",
        ]
        for place, reduction in enumerate(wanted):
            register = f"%s{step}_{place}n"
            if reduction.name == "reduce_sum":
                register = f"%s{step}_{place}dn"
                if kind == "f32":
                    tail.append(f"  %f{step}_{place} = fptrunc double {register} to float")
                    register = f"%f{step}_{place}"
            scalars[repr(reduction)] = register
        declared |= emitter.declared
        maths |= emitter.maths
        lines += outer + head + loads + emitter.lines + tail
        before = f"after{step}"
    body = "\n".join(lines)
    return f"define internal void @{program.symbol}_{kind}_row({', '.join(params)}) {{\nentry:\n{body}\n  ret void\n}}\n", declared, maths


def entry_text(program: Program) -> str:
    """The built-in `f(out, *arguments, start, stop)`: rows from `start` to `stop`, with the GIL released."""
    text, kinds = Text(), program.kinds
    count = len(kinds)
    text.require(text.let(f"icmp eq i64 %n, {count + 3}"))
    fact = text.fact
    objects = [text.field("%args", 8 * i, "ptr") for i in range(count + 3)]
    arrays = [0] + [i + 1 for i, kind in enumerate(kinds) if kind != NUMBER]
    numbers = {}
    ndarray = fact(NDARRAY)
    for i, obj in enumerate(objects):
        if i in arrays:
            text.require(text.let(f"icmp eq i64 {text.field(obj, 8, 'i64')}, {ndarray}"))
        elif i <= count:
            is_number, numbers[i] = text.number(obj)
            text.require(is_number)
        else:
            numbers[i] = text.integer(obj)
    descr = text.field(objects[1], DESCR, "i64")
    flags = text.field(objects[0], FLAGS, "i32")
    text.require(text.let(f"icmp ne i32 {text.let(f'and i32 {flags}, {WRITEABLE}')}, 0"))
    sizes = {}
    for i in arrays:
        text.require(text.let(f"icmp eq i64 {text.field(objects[i], DESCR, 'i64')}, {descr}"))
        own = text.field(objects[i], FLAGS, "i32")
        text.require(text.let(f"icmp eq i32 {text.let(f'and i32 {own}, {CONTIGUOUS_ALIGNED}')}, {CONTIGUOUS_ALIGNED}"))
        # Every array comes as a matrix: rows by columns.
        text.require(text.let(f"icmp eq i32 {text.field(objects[i], NDIM, 'i32')}, 2"))
        shape = text.field(objects[i], SHAPE, "ptr")
        sizes[i] = text.field(shape, 0, "i64"), text.field(shape, 8, "i64")
    rows, columns = sizes[1]
    for i in arrays:
        kind = (COLUMN if program.to_column else MATRIX) if i == 0 else kinds[i - 1]
        text.require(text.let(f"icmp eq i64 {sizes[i][0]}, {1 if kind == ROW else rows}"))
        text.require(text.let(f"icmp eq i64 {sizes[i][1]}, {1 if kind == COLUMN else columns}"))
    start, stop = numbers[count + 1], numbers[count + 2]
    text.require(text.let(f"icmp sgt i64 {columns}, 0"))
    text.require(text.let(f"icmp sge i64 {start}, 0"))
    text.require(text.let(f"icmp slt i64 {start}, {stop}"))
    text.require(text.let(f"icmp sle i64 {stop}, {rows}"))
    is_f32 = text.let(f"icmp eq i64 {descr}, {fact(F32)}")
    is_f64 = text.let(f"icmp eq i64 {descr}, {fact(F64)}")
    text.require(text.let(f"or i1 {is_f32}, {is_f64}"))
    text.do(f"call void {fact(INC_REF, 'ptr')}(ptr {objects[0]})")
    pointers = {i: text.field(objects[i], DATA, "ptr") for i in arrays}
    restore = fact(RESTORE_THREAD, "ptr")
    state = text.let(f"call ptr {fact(SAVE_THREAD, 'ptr')}()")
    text.do(f"br i1 {is_f32}, label %f32, label %f64")
    for kind, t in TYPES.items():
        text.lines += [f"{kind}:"]
        singles = {
            i: numbers[i] if t == "double" else text.let(f"fptrunc double {numbers[i]} to float")
            for i in range(1, count + 1)
            if kinds[i - 1] == NUMBER
        }
        text.do(f"br label %rows_{kind}")
        text.lines += [f"rows_{kind}:", f"  %row_{kind} = phi i64 [{start}, %{kind}], [%row_next_{kind}, %rows_{kind}]"]
        offset = text.let(f"mul i64 %row_{kind}, {columns}")
        place = f"%row_{kind}" if program.to_column else offset
        values = [f"ptr {text.let(f'getelementptr {t}, ptr {pointers[0]}, i64 {place}')}"]
        for i, k in enumerate(kinds, 1):
            if k == MATRIX:
                values.append(f"ptr {text.let(f'getelementptr {t}, ptr {pointers[i]}, i64 {offset}')}")
            elif k == ROW:
                values.append(f"ptr {pointers[i]}")
            elif k == COLUMN:
                at = text.let(f"getelementptr {t}, ptr {pointers[i]}, i64 %row_{kind}")
                values.append(f"{t} {text.let(f'load {t}, ptr {at}')}")
            else:
                values.append(f"{t} {singles[i]}")
        text.do(f"call void @{program.symbol}_{kind}_row({', '.join(values)}, i64 {columns})")
        text.do(f"%row_next_{kind} = add i64 %row_{kind}, 1")
        text.do(f"%row_more_{kind} = icmp slt i64 %row_next_{kind}, {stop}")
        text.do(f"br i1 %row_more_{kind}, label %rows_{kind}, label %end_{kind}")
        text.lines.append(f"end_{kind}:")
        text.do(f"call void {restore}(ptr {state})")
        text.do(f"ret ptr {objects[0]}")
    return text.function(program.symbol)


def module_text(program: Program) -> str:
    declared: set[str] = set()
    maths: set[tuple[str, str]] = set()
    texts = []
    for kind in TYPES:
        text, intrinsics, functions = row_text(program, kind)
        declared |= intrinsics
        maths |= functions
        texts.append(text)
    library, more = definitions(maths)
    return "\n".join([*sorted(declared | more), library, *texts, entry_text(program)])


def refuse(*args: Any) -> Any:
    raise TypeError("a piece of a kernel takes contiguous matrices of one dtype")


def load(symbol: str, fn: Callable[..., Any], kinds: str) -> Callable[..., Any]:
    """A compiled form of `fn`, whose arguments are of the given kinds; what it cannot take goes to `fn` itself."""
    program = Program(symbol, trace(fn, list(Expr.inputs(len(kinds)))), kinds)
    found = jit.load(program.description, lambda: module_text(program), [symbol])
    piece = builtin(symbol, found[symbol], table(refuse), refuse)
    costly = program.expr.count(MATHS) > 0

    def call(*args: Any) -> Any:
        x = args[0]
        if x.__class__ is not np.ndarray or x.ndim == 0 or x.dtype.char not in "fd" or not x.flags.c_contiguous or not x.size:
            return fn(*args)
        shape, dtype, columns = x.shape, x.dtype, x.shape[-1]
        rows = x.size // columns
        given: list[Any] = []
        for kind, arg in zip(kinds, args, strict=True):
            if kind == NUMBER:
                if arg.__class__ is not float and arg.__class__ is not int:
                    return fn(*args)
                given.append(arg)
                continue
            expected = {MATRIX: shape, ROW: (columns,), COLUMN: (*shape[:-1], 1)}[kind]
            if arg.__class__ is not np.ndarray or arg.shape != expected or arg.dtype is not dtype or not arg.flags.c_contiguous:
                return fn(*args)
            given.append(arg.reshape((1, columns) if kind == ROW else (rows, -1)))
        out = np.empty((rows, 1 if program.to_column else columns), dtype)
        if x.size <= ALONE * (1 if costly else 8):
            piece(out, *given, 0, rows)
        else:
            step = max(1, pool.PIECE // columns)
            pool.run(lambda i: piece(out, *given, i * step, min(rows, (i + 1) * step)), -(-rows // step))
        return out.reshape((*shape[:-1], 1) if program.to_column else shape)

    return call
