"""How Python calls a kernel that was written as a loop: a built-in that checks the arguments, and shares the work among threads.

Its code depends on the kinds of the parameters only: kernels with the same kinds have the same text, and find their own loops in their
table. Work that takes longer than a few microseconds is done without the GIL, and more than that by several threads (workers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from . import jit, objects, workers
from .objects import CONTIGUOUS_ALIGNED, DATA, DESCR, F32, F64, FLAGS, INC_REF, NDARRAY, OWN, RESTORE_THREAD, SAVE_THREAD, WRITEABLE, Text

# Places in the table of a built-in, after those that all have.
ASKED, TRUE, NONE, INT64, UINT32, TRUTH, SHARE, STATE, LOOP32, LOOP64 = range(OWN, OWN + 10)

LARGEST = 1 << 15  # elements that are computed while the GIL is held
ALONE = 1 << 16  # elements that one thread computes sooner than two
ALIGNED = 0x100  # of the flags, the one that strided arrays have to have too
PIECE = 1 << 15  # elements that are handed to a thread at a time


def supported() -> bool:
    return objects.supported() and workers.supported()


def entry_text(kinds: str) -> str:
    t = Text()
    marks = kinds.split()
    t.require(t.let(f"icmp eq i64 %n, {len(marks) + 1}"))
    arguments = t.let(f"alloca [{len(marks)} x i64]")
    given = [t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr %args, i64 {place}')}") for place in range(len(marks) + 1)]
    like = given[next(place for place, mark in enumerate(marks) if mark in ("T", "T!", "S", "S!"))]
    t.require(t.let(f"icmp eq i64 {t.field(like, 8, 'i64')}, {t.fact(NDARRAY)}"))
    descr = t.field(like, DESCR, "i64")
    is32, is64 = t.let(f"icmp eq i64 {descr}, {t.fact(F32)}"), t.let(f"icmp eq i64 {descr}, {t.fact(F64)}")
    t.require(t.let(f"or i1 {is32}, {is64}"))
    place = 0
    units = ""
    for mark, obj in zip(marks, given, strict=False):
        kind = mark[0]
        if kind == "r":
            units = t.integer(obj)
            continue
        slot = t.let(f"getelementptr i64, ptr {arguments}, i64 {place}")
        place += 1
        if kind in "TSIBWD":
            wanted = {"I": t.fact(INT64), "B": t.fact(TRUTH), "W": t.fact(UINT32), "D": t.fact(F64)}.get(kind, descr)
            array_argument(t, obj, wanted, slot, optional="?" in mark, strided=kind == "S", written="!" in mark)
        elif kind == "i":
            t.do(f"store i64 {t.integer(obj)}, ptr {slot}")
        else:
            is_number, value = t.number(obj)
            t.require(is_number)
            t.do(f"store double {value}, ptr {slot}")
    work = t.integer(given[-1])
    t.require(t.let(f"icmp sgt i64 {work}, 0"))
    loop_place = t.let(f"select i1 {is32}, i64 {LOOP32}, i64 {LOOP64}")
    loop = t.let(f"load ptr, ptr {t.let(f'getelementptr i64, ptr {t.facts}, i64 {loop_place}')}")
    t.branch(t.let(f"icmp eq ptr {loop}, null"), "ask", "ready")
    t.lines.append("ask:")
    t.do(f"store i64 {loop_place}, ptr {t.let(f'getelementptr i64, ptr {t.facts}, i64 {ASKED}')}")
    t.do("br label %slow")
    t.lines.append("ready:")
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
    true = t.fact(TRUE, "ptr")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {true})")
    t.do(f"ret ptr {true}")
    return t.function("entry_loop")


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


_compiling = Lock()


class Kernel:
    """The built-in of a kernel, and its table."""

    def __init__(self, name: str, kinds: str, load: Callable[[str], int]) -> None:
        """`kinds` are those of the parameters (translate.py); `load` gives the address of the loop for "f32" or "f64"."""
        self.load = load
        threads = workers.workers()
        otherwise = self.otherwise
        dtypes = [id(np.dtype(name)) for name in ("int64", "uint32", "bool")]
        own = [0, id(True), id(None), *dtypes, threads.share, threads.address, 0, 0]
        facts = objects.table(otherwise, own)
        self.words = memoryview(facts)
        at = jit.load(f"entry_loop {kinds}", lambda: entry_text(kinds), ["entry_loop"])["entry_loop"]
        self.call: Callable[..., bool | None] = objects.builtin(name, at, facts, otherwise)

    def otherwise(self, *args: Any) -> bool | None:
        """Compile what is missing; None says that the arguments are not such as the kernel takes."""
        with _compiling:
            place = self.words[ASKED]
            if not place:
                return None
            if not self.words[place]:
                self.words[place] = self.load("f32" if place == LOOP32 else "f64")
            self.words[ASKED] = 0
        return self.call(*args)
