"""One pass over many arrays that changes several of them: an optimizer's step for all parameters at once.

A formula takes elements and numbers and returns new elements, as many as it changes, from the first argument on (`skip` says which
arguments are only read). The pass goes over blocks, which a table lists: the address of each array's part, and its length. So parameters of
any size are shared evenly among threads, and a step of a hundred small parameters is one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._serving import compiles
from . import calls, jit, objects
from .blocks_loops import squares
from .code import TYPES
from .emit import Emitter
from .expr import Expr
from .maths import OUTSIDE, definitions
from .objects import CONTIGUOUS_ALIGNED, DATA, DESCR, FLAGS, INC_REF, NDARRAY, NDIM, SHAPE, Text

BLOCK = 1 << 12  # elements

Formula = Callable[..., Sequence[Any]]


def available() -> bool:
    return compiles()


class Pass:
    """The compiled form of `formula(numbers, *arrays)`, which returns what becomes of the arrays other than those it only reads."""

    def __init__(self, symbol: str, formula: Formula, arrays: int, numbers: int, reads: Sequence[int]) -> None:
        inputs = Expr.inputs("T" * arrays + "S" * numbers)
        results = formula(inputs[arrays:], *inputs[:arrays])
        written = [place for place in range(arrays) if place not in reads]
        self.results = dict(zip(written, results, strict=True))
        self.arrays, self.numbers = arrays, numbers
        assert not any(result.count(OUTSIDE) for result in results)
        kernel = calls.Kernel(symbol, "T I D r", self.load)
        self.call = kernel.call

    def load(self, kind: str) -> int:
        description = f"update {kind} {self.arrays} {self.numbers} {self.results!r}"
        return jit.load(description, lambda: self.text(kind), ["work"])["work"]

    def text(self, kind: str) -> str:
        t, size = TYPES[kind], 4 if kind == "f32" else 8
        mark = f", align {size}, !llvm.access.group !1"
        numbers = range(self.arrays, self.arrays + self.numbers)
        emitter = Emitter(kind, [f"%v{i}" for i in range(self.arrays + self.numbers)])
        values = {place: emitter.value(result) for place, result in self.results.items()}
        library, declared = definitions(emitter.maths)
        constants, pointers, loads, stores = [], [], [], []
        for place, i in enumerate(numbers):
            constants += [f"  %n{i} = getelementptr double, ptr %numbers, i64 {place}", f"  %v{i} = load double, ptr %n{i}"]
        for i in range(self.arrays):
            pointers += [f"  %e{i} = getelementptr ptr, ptr %row, i64 {i}", f"  %p{i} = load ptr, ptr %e{i}"]
            loads += [f"  %q{i} = getelementptr {t}, ptr %p{i}, i64 %i", f"  %v{i} = load {t}, ptr %q{i}{mark}"]
        stores = [f"  store {t} {value}, ptr %q{i}{mark}" for i, value in values.items()]
        newline = "\n"
        return f"""{newline.join(sorted(emitter.declared | declared))}
{library}
define void @work(ptr noalias %arguments, i64 %first, i64 %last) {{
entry:
  %table_at = getelementptr ptr, ptr %arguments, i64 1
  %table = load ptr, ptr %table_at
  %numbers_at = getelementptr ptr, ptr %arguments, i64 2
  %numbers = load ptr, ptr %numbers_at
{newline.join(constants)}
  br label %blocks
blocks:
  %block = phi i64 [%first, %entry], [%block_next, %done]
  %some = icmp slt i64 %block, %last
  br i1 %some, label %begin, label %end
begin:
  %offset = mul i64 %block, {self.arrays + 1}
  %row = getelementptr i64, ptr %table, i64 %offset
{newline.join(pointers)}
  %length_at = getelementptr i64, ptr %row, i64 {self.arrays}
  %length = load i64, ptr %length_at
  %any = icmp sgt i64 %length, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %begin], [%next, %loop]
{newline.join(loads)}
{newline.join(emitter.lines)}
{newline.join(stores)}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %length
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  %block_next = add i64 %block, 1
  br label %blocks
end:
  ret void
}}
!0 = distinct !{{!0, !2}}
!1 = distinct !{{}}
!2 = !{{!"llvm.loop.parallel_accesses", !1}}
"""


class Blocks:
    """The table of a pass: which arrays it goes over. Those of one column may be others in each step (the gradients)."""

    def __init__(self, columns: Sequence[Sequence[Any]], changing: int | None = None) -> None:
        """`columns` are the arrays by argument, then by parameter. All are contiguous and of one dtype. Those of the column that is
        changing are not looked at; `point` names them before each run."""
        first = columns[0]
        self.sizes = sizes = np.array([array.size for array in first], np.int64)
        counts = -(-sizes // BLOCK)
        self.owner = np.repeat(np.arange(len(first)), counts)
        starts = (np.arange(len(self.owner)) - np.repeat(np.cumsum(counts) - counts, counts)) * BLOCK
        self.offsets = starts * first[0].itemsize
        self.table = np.empty((len(self.owner), len(columns) + 1), np.int64)
        self.table[:, -1] = np.minimum(BLOCK, sizes[self.owner] - starts)
        self.bases = np.empty(len(first), np.int64)
        self.like = np.empty(0, first[0].dtype)
        for place, arrays in enumerate(columns):
            if place != changing and not self.point(place, list(arrays)):
                raise ValueError("arrays that a pass cannot go over")

    def point(self, place: int, arrays: list[Any]) -> bool:
        """Put the addresses of arrays into the table; False if they are not such as a pass takes."""
        if not addresses()(arrays, self.bases, self.like, self.sizes):
            return False
        np.add(self.bases[self.owner], self.offsets, out=self.table[:, place])
        return True

    def run(self, update: Pass, numbers: Any) -> None:
        """Make the pass."""
        update.call(self.like, self.table, numbers, len(self.table), BLOCK)

    def norm(self) -> float | None:
        """The root of the sum of all squares, of a table with a single column."""
        partial = np.empty(len(self.table))
        if squares.run(partial, self.like, self.table, len(self.table), BLOCK) is None:
            return None
        return float(np.sqrt(np.add.reduce(partial)))


@cache
def addresses() -> Callable[..., bool | None]:
    """A built-in that writes the addresses of a list's arrays into an array of integers, and returns True; None if one of them is not a
    contiguous array of the dtype of a third argument, with as many elements as a fourth says, or if there are more or less of them."""
    found = jit.load("addresses", addresses_text, ["addresses"])
    facts = objects.table(nothing, [id(list), id(np.dtype("int64")), id(True)])
    return objects.builtin("addresses", found["addresses"], facts, nothing)


LIST, INT64, TRUE = range(objects.OWN, objects.OWN + 3)
LIST_SIZE, LIST_ITEMS = 16, 24  # the layout of a list


def nothing(*args: Any) -> None:
    """The fallback."""


def addresses_text() -> str:
    t = Text()
    t.require(t.let("icmp eq i64 %n, 4"))
    given, out, like, sizes = (t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr %args, i64 {place}')}") for place in range(4))
    t.require(t.let(f"icmp eq i64 {t.field(given, 8, 'i64')}, {t.fact(LIST)}"))
    for array in (out, like, sizes):
        t.require(t.let(f"icmp eq i64 {t.field(array, 8, 'i64')}, {t.fact(NDARRAY)}"))
    count, items = t.field(given, LIST_SIZE, "i64"), t.field(given, LIST_ITEMS, "ptr")
    for array in (out, sizes):
        t.require(t.let(f"icmp eq i64 {t.field(array, DESCR, 'i64')}, {t.fact(INT64)}"))
        room = t.let(f"load i64, ptr {t.field(array, SHAPE, 'ptr')}")
        t.require(t.let(f"icmp eq i64 {count}, {room}"))
    wanted, target, ndarray = t.field(like, DESCR, "i64"), t.field(out, DATA, "ptr"), t.fact(NDARRAY)
    expected = t.field(sizes, DATA, "ptr")
    place, axis, size = (t.let("alloca i64") for _ in range(3))
    t.do(f"store i64 0, ptr {place}")
    t.do("br label %test")
    t.lines.append("test:")
    i = t.let(f"load i64, ptr {place}")
    t.branch(t.let(f"icmp slt i64 {i}, {count}"), "body", "end")
    t.lines.append("body:")
    array = t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr {items}, i64 {i}')}")
    t.require(t.let(f"icmp eq i64 {t.field(array, 8, 'i64')}, {ndarray}"))
    t.require(t.let(f"icmp eq i64 {t.field(array, DESCR, 'i64')}, {wanted}"))
    flags = t.let(f"and i32 {t.field(array, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
    ndim, shape = t.let(f"sext i32 {t.field(array, NDIM, 'i32')} to i64"), t.field(array, SHAPE, "ptr")
    t.do(f"store i64 0, ptr {axis}")
    t.do(f"store i64 1, ptr {size}")
    t.do("br label %axes")
    t.lines.append("axes:")
    d = t.let(f"load i64, ptr {axis}")
    t.branch(t.let(f"icmp slt i64 {d}, {ndim}"), "extent", "sized")
    t.lines.append("extent:")
    extent = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {shape}, i64 {d}')}")
    before = t.let(f"load i64, ptr {size}")
    t.do(f"store i64 {t.let(f'mul i64 {before}, {extent}')}, ptr {size}")
    t.do(f"store i64 {t.let(f'add i64 {d}, 1')}, ptr {axis}")
    t.do("br label %axes")
    t.lines.append("sized:")
    found, wished = t.let(f"load i64, ptr {size}"), t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {expected}, i64 {i}')}")
    t.require(t.let(f"icmp eq i64 {found}, {wished}"))
    t.do(f"store i64 {t.field(array, DATA, 'i64')}, ptr {t.let(f'getelementptr i64, ptr {target}, i64 {i}')}")
    t.do(f"store i64 {t.let(f'add i64 {i}, 1')}, ptr {place}")
    t.do("br label %test")
    t.lines.append("end:")
    true = t.fact(TRUE, "ptr")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {true})")
    t.do(f"ret ptr {true}")
    return t.function("addresses")
