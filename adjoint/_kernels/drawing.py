"""Built-ins that draw random numbers: into an array that is given, or into a new one.

    uniform.fill(array, words, low, high)            True, or None where it cannot serve
    uniform.new((2, 3), dtype, words, low, high)     an array, or None; the sizes may also come as ((2, 3),)

A draw of not too many numbers is one call, made while the GIL is held: no other thread can draw meanwhile, and no lock is needed. Those
who draw from the same words in any other way say so in the word `BUSY`, and then it cannot serve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._serving import compiles
from . import jit, loop_code, objects
from .calls import LARGEST, array_argument, dtype_of, record_of
from .emit_types import BY_DTYPE, served
from .lifetime import compiling
from .loops import Loop, unable
from .objects import CONTIGUOUS_ALIGNED, DATA, F64, FLAGS, INC_REF, OWN, WRITEABLE
from .several import COUNT, ITEMS, MOST_DIMS, NEW_FROM_DESCR, TYPE, Lines

BUSY = 625  # the place of this word, after those of the engine and the place of the next
# Places in the table, after those that all built-ins have. The last is where the loops begin: of each the dtype, and the address.
TRUE, UINT32, INT64, TUPLE, NEW_ARRAY, LOOPS = range(OWN, OWN + 6)
MOST = 16  # loops


class Drawing:
    """A kernel whose parameters are what is drawn, words, more arrays (those of elements are as large) and numbers, how many elements
    there are, and one unit."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.dtypes: list[Any] = []  # of the loops in the tables
        self.fill: Callable[..., bool | None] = self.fill_first
        self.new: Callable[..., Any] = self.make_first

    def fill_first(self, *args: Any) -> bool | None:
        self.compile()
        return self.fill(*args)

    def make_first(self, *args: Any) -> Any:
        self.compile()
        return self.new(*args)

    def compile(self) -> None:
        with compiling:
            if self.new == self.make_first:  # no other thread has been here meanwhile
                self.make_builtins()

    def make_builtins(self) -> None:
        if not compiles():
            self.fill = self.new = unable
            return
        marks = loop_code.parameter_kinds(self.loop)
        known = [id(True), id(np.dtype("uint32")), id(np.dtype("int64")), id(tuple), objects.array_function(NEW_FROM_DESCR)]
        fallbacks = {"fill": self.fill_otherwise, "new": self.make_otherwise}
        tables = {symbol: objects.table(fallback, [*known, *[0] * (2 * MOST + 1)]) for symbol, fallback in fallbacks.items()}
        self.tables = [memoryview(table) for table in tables.values()]
        at = jit.load(f"drawing {marks}", lambda: "\n".join(text(marks.split(), symbol) for symbol in tables), [*tables], jit.CALLS)
        made = {symbol: objects.builtin(self.loop.__name__, at[symbol], tables[symbol], fallbacks[symbol]) for symbol in tables}
        self.fill, self.new = made["fill"], made["new"]

    def fill_otherwise(self, array: Any, *args: Any) -> bool | None:
        return self.fill(array, *args) if self.loaded(array.dtype) else None

    def make_otherwise(self, sizes: Any, dtype: Any, *args: Any) -> Any:
        return self.new(sizes, dtype, *args) if self.loaded(dtype) else None

    def loaded(self, dtype: Any) -> bool:
        """Whether the arguments were refused for want of a loop for their dtype, which is there now."""
        if dtype in self.dtypes:
            return False
        kind = BY_DTYPE.get(dtype.name, "") if dtype.isnative else ""
        if kind not in self.loop.kinds or not served(kind):
            return False
        with compiling:
            if dtype not in self.dtypes:
                address, record = loop_code.load(self.loop, kind), LOOPS + 2 * len(self.dtypes)
                for words in self.tables:
                    words[record + 1] = address
                    words[record] = id(dtype)  # last: other threads read the table
                self.dtypes.append(dtype)
        return True


def text(marks: list[str], symbol: str) -> str:
    t = Lines()
    arguments, sizes = t.let(f"alloca [{len(marks)} x i64]"), t.let(f"alloca [{MOST_DIMS} x i64]")
    counter, total, items_at, ndim_at = (t.let(f"alloca {type_}") for type_ in ("i64", "i64", "ptr", "i64"))
    more = marks[1:-2]
    first = 2 if symbol == "new" else 1
    t.require(t.calc("icmp eq", "%n", str(first + len(more))))
    t.store("1", total)
    if symbol == "new":
        dtype = t.argument(1)
        descr = t.let(f"ptrtoint ptr {dtype} to i64")
        sizes_of_tuple(t, items_at, ndim_at)
        ndim = t.load(ndim_at)
    else:
        array = t.argument(0)
        descr = dtype_of(t, array)
        bits = CONTIGUOUS_ALIGNED | WRITEABLE
        flags = t.let(f"and i32 {t.field(array, FLAGS, 'i32')}, {bits}")
        t.require(t.let(f"icmp eq i32 {flags}, {bits}"))
        ndim, shape, _ = t.geometry(array, MOST_DIMS)
    record = record_of(t, LOOPS, 2, descr)
    with t.loop(ndim, counter) as i:
        size = t.integer(t.item(t.load(items_at, "ptr"), i)) if symbol == "new" else t.load(t.at(shape, i))
        t.store(size, t.at(sizes, i))
        multiply(t, total, size)
    count = t.load(total)
    t.require(t.calc("icmp ne", count, "0"))
    for place, mark in enumerate(more, 1):
        obj, slot = t.argument(first + place - 1), t.at(arguments, str(place))
        if mark[0] in "WDIT":
            wanted = descr if mark[0] == "T" else t.fact({"W": UINT32, "D": F64, "I": INT64}[mark[0]])
            array_argument(t, obj, wanted, slot, optional=False, strided=False, written="!" in mark)
            if mark[0] == "T":
                t.store("1", total)
                own_ndim, own_shape, _ = t.geometry(obj, MOST_DIMS)
                with t.loop(own_ndim, counter) as i:
                    multiply(t, total, t.load(t.at(own_shape, i)))
                t.require(t.calc("icmp eq", t.load(total), count))
        elif mark[0] == "i":
            t.store(t.integer(obj), slot)
        else:
            is_number, value = t.number(obj)
            t.require(is_number)
            t.store(value, slot, "double")
    t.store(count, t.at(arguments, str(len(marks) - 2)))
    busy = t.field(t.load(t.at(arguments, "1"), "ptr"), 4 * BUSY, "i32")
    t.require(t.let(f"icmp eq i32 {busy}, 0"))
    result = t.fact(TRUE, "ptr")
    if symbol == "new":
        result = t.new_array(dtype, ndim, sizes, make=t.fact(NEW_ARRAY, "ptr"))
    else:
        t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {result})")
    t.store(t.field(result if symbol == "new" else array, DATA, "ptr"), arguments, "ptr")
    t.do(f"call void {t.field(record, 8, 'ptr')}(ptr {arguments}, i64 0, i64 1)")
    t.do(f"ret ptr {result}")
    return t.function(symbol)


def multiply(t: Lines, total: str, size: str) -> None:
    """Count elements, up to the most that are drawn here."""
    t.require(t.calc("icmp ule", size, str(LARGEST)))
    t.store(t.calc("mul", t.load(total), size), total)
    t.require(t.calc("icmp ule", t.load(total), str(LARGEST)))


def sizes_of_tuple(t: Lines, items_at: str, ndim_at: str) -> None:
    """Where the items of the first argument are, and how many; it may be a tuple in a tuple."""
    given = t.argument(0)
    t.require_type(given, TUPLE)
    t.require(t.calc("icmp ne", t.field(given, COUNT, "i64"), "0"))
    inner = t.load(t.beyond(given, ITEMS), "ptr")
    nested = t.calc("icmp eq", t.field(inner, TYPE, "i64"), t.fact(TUPLE))
    found = t.choose(nested, "ptr", inner, given)
    alone = t.calc("icmp eq", t.field(given, COUNT, "i64"), "1")
    t.require(t.choose(nested, "i1", alone, "true"))
    t.store(t.beyond(found, ITEMS), items_at, "ptr")
    ndim = t.field(found, COUNT, "i64")
    t.require(t.calc("icmp ule", ndim, str(MOST_DIMS)))
    t.store(ndim, ndim_at)
