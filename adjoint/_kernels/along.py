"""How Python calls a kernel that works along an axis of a small array: a built-in that finds the sizes, makes the result and fills it, in a
quarter of a microsecond. What is large, or needs several axes or steps, goes to the Python code behind it.

    reduction(x, axis, keepdim, p=1.0, levels=None)
    place(x, axis, keepdim)                             positions, as int64
    scan(x, axis, backwards)                            a result of the same shape

The kernels all have the parameters `(result, x, more, p, n, inner, take, blocks, units)`: `more` are the levels, or memory to work in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import jit, objects
from .calls import LARGEST
from .objects import CONTIGUOUS_ALIGNED, DATA, DESCR, F32, F64, FLAGS, INC_REF, NDARRAY, NDIM, OWN, SHAPE, Text
from .scan_loops import ABREAST

# Places in the table, after those that all have. The loops are for float32 and float64, each down columns and along rows.
TRUE, FALSE, NONE, EMPTY, INT64, LOOPS = range(OWN, OWN + 6)

DIMENSIONS = 8  # of an array at most
PYARRAY_EMPTY = 184  # the place of this function in NumPy's table
ROOM = 1024  # results for which there is memory to work in: two numbers for each


class Limits(NamedTuple):
    """How much kernels do at a time."""

    rows: int  # of several columns
    length: int  # of a row, where there is one column
    columns: int = LARGEST


def entry_text(kind: str, limits: Limits) -> str:
    reduces, scans = kind == "reduction", kind == "scan"
    t = Text()
    names = ("outer", "n", "inner", "size", "place", "kept", "start", "stop", "levels")
    where = {name: t.let("alloca i64") for name in names}
    dims, arguments = t.let(f"alloca [{DIMENSIONS} x i64]"), t.let("alloca [8 x i64]")
    room = t.let(f"alloca [{1 if reduces else 2 * ROOM} x i64]")

    def put(name: str, value: str) -> None:
        t.do(f"store i64 {value}, ptr {where[name]}")

    def get(name: str) -> str:
        return t.let(f"load i64, ptr {where[name]}")

    def label(name: str) -> None:
        t.lines.append(f"{name}:")

    def argument(place: int) -> str:
        return t.field("%args", 8 * place, "ptr")

    t.require(t.let("icmp uge i64 %n, 3"))
    t.require(t.let(f"icmp ule i64 %n, {5 if reduces else 3}"))
    x = argument(0)
    t.require(t.let(f"icmp eq i64 {t.field(x, 8, 'i64')}, {t.fact(NDARRAY)}"))
    descr = t.field(x, DESCR, "i64")
    is32, is64 = t.let(f"icmp eq i64 {descr}, {t.fact(F32)}"), t.let(f"icmp eq i64 {descr}, {t.fact(F64)}")
    t.require(t.let(f"or i1 {is32}, {is64}"))
    dense(t, x)
    ndim = t.let(f"sext i32 {t.field(x, NDIM, 'i32')} to i64")
    t.require(t.let(f"icmp ule i64 {ndim}, {DIMENSIONS}"))
    shape = t.field(x, SHAPE, "ptr")

    # The axis: from `start` to `stop`.
    axis = argument(1)
    put("start", "0")
    put("stop", ndim)
    t.branch(t.let(f"icmp eq ptr {axis}, {t.fact(NONE, 'ptr')}"), "axes", "one_axis")
    label("one_axis")
    number = t.integer(axis)
    number = t.let(f"select i1 {t.let(f'icmp slt i64 {number}, 0')}, i64 {t.let(f'add i64 {number}, {ndim}')}, i64 {number}")
    t.require(t.let(f"icmp ult i64 {number}, {ndim}"))
    put("start", number)
    put("stop", t.let(f"add i64 {number}, 1"))
    t.do("br label %axes")
    label("axes")
    option = argument(2)
    yes = t.let(f"icmp eq ptr {option}, {t.fact(TRUE, 'ptr')}")
    no = t.let(f"icmp eq ptr {option}, {t.fact(FALSE, 'ptr')}")
    t.require(t.let(f"or i1 {yes}, {no}"))

    # Sizes before, along and after the axis; the shape of the result.
    for name, value in (("outer", "1"), ("n", "1"), ("inner", "1"), ("place", "0"), ("kept", "0")):
        put(name, value)
    t.do("br label %sizes")
    label("sizes")
    place = get("place")
    t.branch(t.let(f"icmp eq i64 {place}, {ndim}"), "sized", "each_size")
    label("each_size")
    extent = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {shape}, i64 {place}')}")
    before = t.let(f"icmp slt i64 {place}, {get('start')}")
    after = t.let(f"icmp sge i64 {place}, {get('stop')}")
    outside = t.let(f"or i1 {before}, {after}")
    within = t.let(f"xor i1 {outside}, true")
    for name, condition in (("outer", before), ("n", within), ("inner", after)):
        put(name, t.let(f"mul i64 {get(name)}, {t.let(f'select i1 {condition}, i64 {extent}, i64 1')}"))
    kept = get("kept")
    size = extent if scans else t.let(f"select i1 {outside}, i64 {extent}, i64 1")
    t.do(f"store i64 {size}, ptr {t.let(f'getelementptr i64, ptr {dims}, i64 {kept}')}")
    stays = "true" if scans else t.let(f"or i1 {outside}, {yes}")
    put("kept", t.let(f"add i64 {kept}, {t.let(f'zext i1 {stays} to i64')}"))
    put("place", t.let(f"add i64 {place}, 1"))
    t.do("br label %sizes")
    label("sized")
    outer, n, inner = get("outer"), get("n"), get("inner")
    results = t.let(f"mul i64 {outer}, {inner}")
    elements = t.let(f"mul i64 {results}, {n}")
    t.require(t.let(f"icmp sgt i64 {elements}, 0"))
    t.require(t.let(f"icmp sle i64 {elements}, {LARGEST}"))
    along = t.let(f"icmp eq i64 {inner}, 1")
    t.require(t.let(f"icmp sle i64 {n}, {t.let(f'select i1 {along}, i64 {limits.length}, i64 {limits.rows}')}"))
    t.require(t.let(f"icmp sle i64 {inner}, {limits.columns}"))
    if not reduces:
        t.require(t.let(f"icmp sle i64 {results}, {ROOM}"))

    # The number and the levels.
    number_at = t.let(f"getelementptr i64, ptr {arguments}, i64 3")
    t.do(f"store double {t.let(f'uitofp i1 {yes} to double') if scans else '1.0'}, ptr {number_at}")
    put("levels", t.field(x, DATA, "i64"))  # if there are none: nobody reads them
    if reduces:
        t.branch(t.let("icmp eq i64 %n, 3"), "given", "number")
        label("number")
        is_number, value = t.number(argument(3))
        t.require(is_number)
        t.do(f"store double {value}, ptr {number_at}")
        t.branch(t.let("icmp eq i64 %n, 4"), "given", "levels")
        label("levels")
        levels = argument(4)
        t.branch(t.let(f"icmp eq ptr {levels}, {t.fact(NONE, 'ptr')}"), "given", "level_array")
        label("level_array")
        t.require(t.let(f"icmp eq i64 {t.field(levels, 8, 'i64')}, {t.fact(NDARRAY)}"))
        t.require(t.let(f"icmp eq i64 {t.field(levels, DESCR, 'i64')}, {descr}"))
        dense(t, levels)
        level_ndim = t.let(f"sext i32 {t.field(levels, NDIM, 'i32')} to i64")
        level_shape = t.field(levels, SHAPE, "ptr")
        put("size", "1")
        put("place", "0")
        t.do("br label %level_sizes")
        label("level_sizes")
        place = get("place")
        t.branch(t.let(f"icmp eq i64 {place}, {level_ndim}"), "level_sized", "each_level_size")
        label("each_level_size")
        extent = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {level_shape}, i64 {place}')}")
        put("size", t.let(f"mul i64 {get('size')}, {extent}"))
        put("place", t.let(f"add i64 {place}, 1"))
        t.do("br label %level_sizes")
        label("level_sized")
        t.require(t.let(f"icmp eq i64 {get('size')}, {results}"))
        put("levels", t.field(levels, DATA, "i64"))
        t.do("br label %given")
        label("given")

    loop_place = t.let(f"add i64 {LOOPS}, {t.let(f'select i1 {is32}, i64 0, i64 2')}")
    loop_place = t.let(f"add i64 {loop_place}, {t.let(f'zext i1 {along} to i64')}")
    loop = t.let(f"load ptr, ptr {t.let(f'getelementptr i64, ptr {t.facts}, i64 {loop_place}')}")
    t.require(t.let(f"icmp ne ptr {loop}, null"))
    dtype = t.fact(INT64, "ptr") if kind == "place" else t.let(f"inttoptr i64 {descr} to ptr")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {dtype})")
    count = t.let(f"trunc i64 {get('kept')} to i32")
    result = t.let(f"call ptr {t.fact(EMPTY, 'ptr')}(i32 {count}, ptr {dims}, ptr {dtype}, i32 0)")
    t.branch(t.let(f"icmp eq ptr {result}, null"), "returned", "made")
    label("made")
    more = get("levels") if reduces else t.let(f"ptrtoint ptr {room} to i64")
    take = n if reduces else outer if scans else t.let(f"select i1 {along}, i64 {n}, i64 {results}")
    units = t.let(f"sdiv i64 {t.let(f'add i64 {outer}, {ABREAST - 1}')}, {ABREAST}")
    units = t.let(f"select i1 {along}, i64 {units}, i64 {outer}") if scans else outer
    values = {0: t.field(result, DATA, "i64"), 1: t.field(x, DATA, "i64"), 2: more, 4: n, 5: inner, 6: take, 7: "1"}
    for slot, value in values.items():
        t.do(f"store i64 {value}, ptr {t.let(f'getelementptr i64, ptr {arguments}, i64 {slot}')}")
    t.do(f"call void {loop}(ptr {arguments}, i64 0, i64 {units})")
    t.do("br label %returned")
    label("returned")
    t.do(f"ret ptr {result}")
    return t.function("entry_along")


def dense(t: Text, array: str) -> None:
    flags = t.let(f"and i32 {t.field(array, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))


class Entry:
    """The built-in of a computation along an axis, and its table. `tell` lets it know a loop."""

    def __init__(self, name: str, otherwise: Callable[..., Any], kind: str, limits: Limits) -> None:
        own = [id(True), id(False), id(None), objects.array_function(PYARRAY_EMPTY), id(np.dtype("int64")), 0, 0, 0, 0]
        facts = objects.table(otherwise, own)
        self.words = memoryview(facts)
        at = jit.load(f"entry_along {kind} {limits}", lambda: entry_text(kind, limits), ["entry_along"])["entry_along"]
        self.call: Callable[..., Any] = objects.builtin(name, at, facts, otherwise)

    def knows(self, kind: str, along: bool) -> bool:
        return bool(self.words[LOOPS + 2 * (kind == "f64") + along])

    def tell(self, kind: str, along: bool, at: int) -> None:
        self.words[LOOPS + 2 * (kind == "f64") + along] = at
