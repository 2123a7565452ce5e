"""How Python calls a kernel that was written as a loop: a built-in that checks the arguments, and shares the work among threads.

Its code depends on the kinds of the parameters only: kernels with the same kinds have the same text, and find their own loops in their
table. Work that takes longer than a few microseconds is done without the GIL, and more than that by several threads (workers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import jit, objects, workers
from .emit_types import BY_DTYPE, served
from .lifetime import compiling
from .objects import CONTIGUOUS_ALIGNED, DATA, DESCR, F64, FLAGS, INC_REF, NDARRAY, OWN, RESTORE_THREAD, SAVE_THREAD, WRITEABLE, Text

# Places in the table of a built-in, after those that all have. The last is where its loops begin.
TRUE, FALSE, NONE, INT64, UINT32, TRUTH, SHARE, STATE, LOOPS = range(OWN, OWN + 9)

MOST = 16  # loops of a kernel: each has the dtype of its elements, that of its results, and an address; a zero comes after the last

LARGEST = 1 << 15  # elements that are computed while the GIL is held
ALONE = 1 << 16  # elements that one thread computes sooner than two
ALIGNED = 0x100  # of the flags, the one that strided arrays have to have too
PIECE = 1 << 15  # elements that are handed to a thread at a time


def supported() -> bool:
    return objects.supported() and workers.supported()


def entry_text(kinds: str) -> str:
    t = Text()
    marks = kinds.split()
    count = len(given_marks(marks)) + 1
    t.require(t.let(f"icmp eq i64 %n, {count}"))
    arguments, spoiled = t.let(f"alloca [{len(marks)} x i64]"), t.let("alloca i64")
    t.do(f"store i64 0, ptr {spoiled}")
    given = [t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr %args, i64 {place}')}") for place in range(count)]
    like, result = models(marks)
    descr = dtype_of(t, given[like])
    result_descr = descr if result is None else dtype_of(t, given[result])
    loop = t.field(record_of(t, LOOPS, 3, descr, result_descr), 16, "ptr")
    place = 0
    units = ""
    rest = iter(given)
    for mark in marks:
        kind = mark[0]
        obj = "" if kind == "M" else next(rest)
        if kind == "r":
            units = t.integer(obj)
            continue
        slot = t.let(f"getelementptr i64, ptr {arguments}, i64 {place}")
        place += 1
        if kind == "M":
            t.do(f"store ptr {spoiled}, ptr {slot}")
        elif kind in "TSRIBWD":
            wanted = {"I": t.fact(INT64), "B": t.fact(TRUTH), "W": t.fact(UINT32), "D": t.fact(F64), "R": result_descr}.get(kind, descr)
            array_argument(t, obj, wanted, slot, optional="?" in mark, strided=kind == "S", written="!" in mark)
        elif kind == "i":
            t.do(f"store i64 {t.integer(obj)}, ptr {slot}")
        else:
            is_number, value = t.number(obj)
            t.require(is_number)
            t.do(f"store double {value}, ptr {slot}")
    work = t.integer(given[-1])
    t.require(t.let(f"icmp sgt i64 {work}, 0"))
    total = t.let(f"mul i64 {units}, {work}")
    t.branch(t.let(f"icmp sle i64 {total}, {LARGEST}"), "small", "large")
    t.lines.append("small:")
    t.do(f"call void {loop}(ptr {arguments}, i64 0, i64 {units})")
    t.do("br label %done")
    t.lines.append("large:")
    state = t.let(f"call ptr {t.fact(SAVE_THREAD, 'ptr')}()")
    t.branch(t.let(f"icmp sle i64 {total}, {ALONE}"), "alone", "together")
    t.lines.append("alone:")
    t.do(f"call void {loop}(ptr {arguments}, i64 0, i64 {units})")
    t.do("br label %back")
    t.lines.append("together:")
    step = t.let(f"sdiv i64 {PIECE}, {work}")
    step = t.let(f"select i1 {t.let(f'icmp sgt i64 {step}, 1')}, i64 {step}, i64 1")
    t.do(f"call void {t.fact(SHARE, 'ptr')}(ptr {t.fact(STATE, 'ptr')}, ptr {loop}, ptr {arguments}, i64 {units}, i64 {step})")
    t.do("br label %back")
    t.lines.append("back:")
    t.do(f"call void {t.fact(RESTORE_THREAD, 'ptr')}(ptr {state})")
    t.do("br label %done")
    t.lines.append("done:")
    answer = t.fact(TRUE, "ptr")
    if count <= len(marks):
        spoilt = t.let(f"icmp ne i64 {t.let(f'load i64, ptr {spoiled}')}, 0")
        answer = t.let(f"select i1 {spoilt}, ptr {t.fact(FALSE, 'ptr')}, ptr {answer}")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {answer})")
    t.do(f"ret ptr {answer}")
    return t.function("entry_loop")


def given_marks(marks: list[str]) -> list[str]:
    """The parameters that the caller gives."""
    return [mark for mark in marks if mark[0] != "M"]


def models(marks: list[str]) -> tuple[int, int | None]:
    """Which of the parameters that are given say of what kind the elements and the results are."""
    places = {kind: place for place, mark in reversed([*enumerate(given_marks(marks))]) for kind in mark[0] if "?" not in mark}
    return min(places[kind] for kind in "TS" if kind in places), places.get("R")


def dtype_of(t: Text, obj: str) -> str:
    t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
    return t.field(obj, DESCR, "i64")


def record_of(t: Text, place: int, size: int, *dtypes: str) -> str:
    """Look for the record of some dtypes, with which it begins, among those of a size in the table from a place on."""
    entry = t.let("alloca ptr")
    t.do(f"store ptr {t.let(f'getelementptr i64, ptr {t.facts}, i64 {place}')}, ptr {entry}")
    t.do("br label %next_record")
    t.lines.append("next_record:")
    at = t.let(f"load ptr, ptr {entry}")
    t.do(f"store ptr {t.let(f'getelementptr i64, ptr {at}, i64 {size}')}, ptr {entry}")
    same = "true"
    for i, dtype in enumerate(dtypes):
        present = t.field(at, 8 * i, "i64")
        if not i:
            t.require(t.let(f"icmp ne i64 {present}, 0"))
        same = t.let(f"and i1 {same}, {t.let(f'icmp eq i64 {dtype}, {present}')}")
    t.branch(same, "this_record", "next_record")
    t.lines.append("this_record:")
    return at


def array_argument(t: Text, obj: str, wanted: str, slot: str, *, optional: bool, strided: bool, written: bool) -> None:
    """Check an array, and store where its memory is; of None a null."""
    t.count += 1
    mark = t.count
    if optional:
        t.do(f"store i64 0, ptr {slot}")
        t.branch(t.let(f"icmp eq ptr {obj}, {t.fact(NONE, 'ptr')}"), f"given{mark}", f"array{mark}")
        t.lines.append(f"array{mark}:")
    t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
    t.require(t.let(f"icmp eq i64 {t.field(obj, DESCR, 'i64')}, {wanted}"))
    bits = (ALIGNED if strided else CONTIGUOUS_ALIGNED) | (WRITEABLE if written else 0)
    flags = t.let(f"and i32 {t.field(obj, FLAGS, 'i32')}, {bits}")
    t.require(t.let(f"icmp eq i32 {flags}, {bits}"))
    t.do(f"store ptr {t.field(obj, DATA, 'ptr')}, ptr {slot}")
    if optional:
        t.do(f"br label %given{mark}")
        t.lines.append(f"given{mark}:")


class Kernel:
    """The built-in of a kernel, and its table."""

    def __init__(self, name: str, marks: str, load: Callable[..., int], kinds: tuple[str, ...] = ("f32", "f64")) -> None:
        """`marks` are the kinds of the parameters (translate.py); `load` gives the address of the loop for one of the `kinds` of elements,
        and for a kind of results if it has any."""
        self.load, self.kinds = load, kinds
        self.like, self.result = models(marks.split())
        self.dtypes: list[Any] = []  # of the loops in the table
        threads = workers.workers()
        otherwise = self.otherwise
        dtypes = [id(np.dtype(name)) for name in ("int64", "uint32", "bool")]
        own = [id(True), id(False), id(None), *dtypes, threads.share, threads.address, *[0] * (3 * MOST + 3)]
        facts = objects.table(otherwise, own)
        self.words = memoryview(facts)
        at = jit.load(f"entry_loop {marks}", lambda: entry_text(marks), ["entry_loop"], jit.CALLS)["entry_loop"]
        self.call: Callable[..., bool | None] = objects.builtin(name, at, facts, otherwise)

    def otherwise(self, *args: Any) -> bool | None:
        """Compile what is missing; None says that the arguments are not such as the kernel takes."""
        places = [self.like] if self.result is None else [self.like, self.result]
        if len(args) <= max(places) or any(args[place].__class__ is not np.ndarray for place in places):
            return None
        dtypes = [args[place].dtype for place in places]
        if dtypes in self.dtypes:
            return None  # not for want of a loop
        kinds = [BY_DTYPE.get(dtype.name, "") if dtype.isnative else "" for dtype in dtypes]
        if kinds[0] not in self.kinds or "" in kinds or not all(map(served, kinds)):
            return None
        with compiling:
            place = len(self.dtypes)
            if place == MOST:
                return None
            if dtypes not in self.dtypes:  # no other thread has been here meanwhile
                record = LOOPS + 3 * place
                self.words[record + 1], self.words[record + 2] = id(dtypes[-1]), self.load(*kinds)
                self.words[record] = id(dtypes[0])  # last: other threads read the table
                self.dtypes.append(dtypes)
        return self.call(*args)
