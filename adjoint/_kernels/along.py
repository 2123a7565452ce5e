"""How Python calls a kernel that works along an axis of a small array: a built-in that finds the sizes, makes the result and fills it, in a
quarter of a microsecond. An array that is not contiguous is copied before, and so is one whose axes, if there are several, are not
neighbours. The rows of a large matrix, and the pieces of one long row, are reduced by several threads; what else is large goes to the
Python code behind it.

    reduction(x, axis, keepdim, p=1.0, levels=None)
    mean(x, axis, keepdim)                              a reduction whose p is the number of elements
    place(x, axis, keepdim)                             positions, as int64
    scan(x, axis, backwards)                            a result of the same shape
    map(x, axis, False)                                 the same

Ops call such built-ins too, with their own parameters, whose roles they tell.

The kernels all have the parameters `(result, x, more, p, n, inner, take, blocks, units)`: `more` are the levels, or memory to work in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import jit, objects, workers
from .axes import CUT, NARROW
from .calls import LARGEST, MOST, PIECE, dtype_of, record_of
from .objects import CONTIGUOUS_ALIGNED, DATA, DEC_REF, DESCR, FLAGS, INC_REF, NDARRAY, NDIM, OWN, RESTORE_THREAD, SAVE_THREAD, SHAPE, Text
from .reduce_loops import PARTS, PIECES
from .scan_loops import ABREAST

# Places in the table, after those that all have. The last is where the records begin: the dtype of the elements, that of the results,
# loops (down columns, along rows, over the pieces of a long row, and over their results), and how many numbers an element is to them.
TRUE, FALSE, NONE, TUPLE, LIST, EMPTY, NEW_COPY, TRANSPOSE, SHARE, STATE, RECORDS = range(OWN, OWN + 11)
COLUMNS, ROWS = 0, 1  # the loops, and after them those of pieces (reduce_loops.py)
WIDTH = 6
RECORD = 7

# The roles of parameters: one that has to be None, and one that does not matter, are the last.
ARRAY, AXIS, OPTION, NUMBER, LEVELS, ABSENT, IGNORED = "array", "axis", "option", "number", "levels", "absent", "ignored"
USUAL = (ARRAY, AXIS, OPTION)

DIMENSIONS = 8  # of an array at most
PYARRAY_NEW_COPY, PYARRAY_TRANSPOSE = 85, 123  # the places of these functions in NumPy's table
ROOM = 1024  # results, or partial ones, for which there is memory to work in: two numbers for each


class Limits(NamedTuple):
    """How much kernels do at a time."""

    rows: int  # of several columns
    length: int  # of a row, where there is one column
    columns: int = LARGEST


def entry_text(kind: str, limits: Limits, roles: tuple[str, ...]) -> str:
    return Writing(kind, limits, roles).text()


class Writing:
    """Writes an entry: each method a part of it, in the order in which they run. What a part finds out are attributes for the next."""

    def __init__(self, kind: str, limits: Limits, roles: tuple[str, ...]) -> None:
        self.kind, self.limits, self.roles = kind, limits, roles
        self.reduces, self.scans, self.takes_levels = kind in ("reduction", "mean"), kind in ("scan", "map"), LEVELS in roles
        self.t = t = Text()
        names = ("outer", "n", "inner", "size", "place", "kept", "axes", "start", "levels", "source")
        self.where = {name: t.let("alloca i64") for name in names}
        self.dims, self.arguments = t.let(f"alloca [{DIMENSIONS} x i64]"), t.let("alloca [8 x i64]")
        self.room = t.let(f"alloca [{2 * ROOM} x i64]")

    def text(self) -> str:
        self.read_array()
        self.read_axes()
        self.measure()
        self.check_sizes()
        self.read_number()
        self.find_loop()
        self.make_result()
        self.tell_sizes()
        self.compute()
        return self.finish()

    def put(self, name: str, value: str) -> None:
        self.t.do(f"store i64 {value}, ptr {self.where[name]}")

    def get(self, name: str) -> str:
        return self.t.let(f"load i64, ptr {self.where[name]}")

    def label(self, name: str) -> None:
        self.t.lines.append(f"{name}:")

    def argument(self, role: str) -> str:
        return self.t.field("%args", 8 * self.roles.index(role), "ptr")

    def read_array(self) -> None:
        """The array, and the record of its dtype."""
        t, roles = self.t, self.roles
        t.require(t.let(f"icmp uge i64 %n, {len(roles) - (2 if self.takes_levels else 0)}"))
        t.require(t.let(f"icmp ule i64 %n, {len(roles)}"))
        if ABSENT in roles:
            t.require(t.let(f"icmp eq ptr {self.argument(ABSENT)}, {t.fact(NONE, 'ptr')}"))
        self.x = self.argument(ARRAY)
        self.descr = dtype_of(t, self.x)
        self.record = record_of(t, RECORDS, RECORD, self.descr)
        self.ndim = t.let(f"sext i32 {t.field(self.x, NDIM, 'i32')} to i64")
        t.require(t.let(f"icmp ule i64 {self.ndim}, {DIMENSIONS}"))
        self.shape = t.field(self.x, SHAPE, "ptr")

    def bit_of(self, number: str) -> str:
        """The bit of an axis."""
        t, ndim = self.t, self.ndim
        number = t.let(f"select i1 {t.let(f'icmp slt i64 {number}, 0')}, i64 {t.let(f'add i64 {number}, {ndim}')}, i64 {number}")
        t.require(t.let(f"icmp ult i64 {number}, {ndim}"))
        return t.let(f"shl i64 1, {number}")

    def read_axes(self) -> None:
        """The axes, as bits, and the option."""
        t = self.t
        self.put("axes", t.let(f"sub i64 {t.let(f'shl i64 1, {self.ndim}')}, 1"))
        if AXIS in self.roles:
            axis = self.argument(AXIS)
            if not self.scans:
                t.branch(t.let(f"icmp eq ptr {axis}, {t.fact(NONE, 'ptr')}"), "axes", "other_than_none")
                self.label("other_than_none")
            if self.reduces:
                several_axes(t, axis, self.bit_of, self.put, self.get)
            self.put("axes", self.bit_of(t.integer(axis)))
            t.do("br label %axes")
            self.label("axes")
        self.yes = "false"
        if OPTION in self.roles:
            self.yes, no = (t.let(f"icmp eq ptr {self.argument(OPTION)}, {t.fact(place, 'ptr')}") for place in (TRUE, FALSE))
            t.require(t.let(f"or i1 {self.yes}, {no}"))

    def measure(self) -> None:
        """Sizes before, along and after the axes, or if they are not neighbours of the others and along; the shape of the result."""
        t = self.t
        self.axes = axes = self.get("axes")
        start = t.intrinsic("cttz", t.let(f"or i64 {axes}, {1 << DIMENSIONS}"), "i1 false")
        shifted = t.let(f"lshr i64 {axes}, {start}")
        gaps = t.let(f"and i64 {shifted}, {t.let(f'add i64 {shifted}, 1')}")
        self.scattered = t.let(f"icmp ne i64 {gaps}, 0")
        for name, value in (("outer", "1"), ("n", "1"), ("inner", "1"), ("place", "0"), ("kept", "0")):
            self.put(name, value)
        t.do("br label %sizes")
        self.label("sizes")
        place = self.get("place")
        t.branch(t.let(f"icmp eq i64 {place}, {self.ndim}"), "sized", "each_size")
        self.label("each_size")
        extent = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {self.shape}, i64 {place}')}")
        within = t.let(f"trunc i64 {t.let(f'lshr i64 {axes}, {place}')} to i1")
        outside = t.let(f"xor i1 {within}, true")
        ahead = t.let(f"or i1 {self.scattered}, {t.let(f'icmp slt i64 {place}, {start}')}")
        before, after = t.let(f"and i1 {outside}, {ahead}"), t.let(f"and i1 {outside}, {t.let(f'xor i1 {ahead}, true')}")
        for name, condition in (("outer", before), ("n", within), ("inner", after)):
            self.put(name, t.let(f"mul i64 {self.get(name)}, {t.let(f'select i1 {condition}, i64 {extent}, i64 1')}"))
        kept = self.get("kept")
        size = extent if self.scans else t.let(f"select i1 {outside}, i64 {extent}, i64 1")
        t.do(f"store i64 {size}, ptr {t.let(f'getelementptr i64, ptr {self.dims}, i64 {kept}')}")
        stays = "true" if self.scans else t.let(f"or i1 {outside}, {self.yes}")
        self.put("kept", t.let(f"add i64 {kept}, {t.let(f'zext i1 {stays} to i64')}"))
        self.put("place", t.let(f"add i64 {place}, 1"))
        t.do("br label %sizes")
        self.label("sized")
        self.outer, self.n, self.inner = self.get("outer"), self.get("n"), self.get("inner")
        self.results = t.let(f"mul i64 {self.outer}, {self.inner}")

    def check_sizes(self) -> None:
        """Leave to Python what is too large: a `whole` row is computed at once, a long one of its own in pieces."""
        t, n, inner, limits, reduces = self.t, self.n, self.inner, self.limits, self.reduces
        elements = t.let(f"mul i64 {self.results}, {n}")
        t.require(t.let(f"icmp sgt i64 {elements}, 0"))
        self.along = along = t.let(f"icmp eq i64 {inner}, 1")
        self.few = few = t.let(f"icmp sle i64 {elements}, {LARGEST}")
        if reduces:
            whole_rows = t.let(f"and i1 {along}, {t.let(f'xor i1 {self.scattered}, true')}")
            t.require(t.let(f"or i1 {few}, {t.let(f'and i1 {whole_rows}, {is_dense(t, self.x)}')}"))
        else:
            t.require(few)
        rows = str(limits.rows)
        if reduces:
            rows = t.let(f"mul i64 {rows}, {t.intrinsic('smax', t.let(f'udiv i64 {NARROW}, {inner}'), 'i64 1')}")
        longest = t.let(f"select i1 {along}, i64 {limits.length}, i64 {rows}")
        self.whole = whole = t.let(f"icmp sle i64 {n}, {longest}")
        if reduces:
            one = t.let(f"icmp eq i64 {self.results}, 1")
            self.pieces = t.let(f"udiv i64 {t.let(f'add i64 {n}, {CUT - 1}')}, {CUT}")
            cut = t.let(f"and i1 {one}, {t.let(f'icmp ule i64 {self.pieces}, {ROOM}')}")
            t.require(t.let(f"or i1 {whole}, {cut}"))
        else:
            t.require(whole)
        if self.kind != "map":  # which does more of them block by block
            t.require(t.let(f"icmp sle i64 {inner}, {limits.columns}"))
        if not reduces:
            t.require(t.let(f"icmp sle i64 {self.results}, {ROOM}"))

    def read_number(self) -> None:
        """The number, and the levels if there are any."""
        t, roles, yes = self.t, self.roles, self.yes
        number_at = t.let(f"getelementptr i64, ptr {self.arguments}, i64 3")
        kind = self.kind
        p = t.let(f"uitofp i1 {yes} to double") if self.scans else t.let(f"sitofp i64 {self.n} to double") if kind == "mean" else "1.0"
        t.do(f"store double {p}, ptr {number_at}")
        self.put("levels", "0")
        if not self.takes_levels:
            return
        t.branch(t.let(f"icmp eq i64 %n, {roles.index(NUMBER)}"), "given", "number")
        self.label("number")
        is_number, value = t.number(self.argument(NUMBER))
        t.require(is_number)
        t.do(f"store double {value}, ptr {number_at}")
        t.branch(t.let(f"icmp eq i64 %n, {roles.index(LEVELS)}"), "given", "levels")
        self.label("levels")
        levels = self.argument(LEVELS)
        t.branch(t.let(f"icmp eq ptr {levels}, {t.fact(NONE, 'ptr')}"), "given", "level_array")
        self.label("level_array")
        self.check_levels(levels)
        self.put("levels", t.field(levels, DATA, "i64"))
        t.do("br label %given")
        self.label("given")

    def check_levels(self, levels: str) -> None:
        """There is one for each result, in an array like the first."""
        t = self.t
        t.require(t.let(f"icmp eq i64 {t.field(levels, 8, 'i64')}, {t.fact(NDARRAY)}"))
        t.require(t.let(f"icmp eq i64 {t.field(levels, DESCR, 'i64')}, {self.descr}"))
        t.require(is_dense(t, levels))
        level_ndim = t.let(f"sext i32 {t.field(levels, NDIM, 'i32')} to i64")
        level_shape = t.field(levels, SHAPE, "ptr")
        self.put("size", "1")
        self.put("place", "0")
        t.do("br label %level_sizes")
        self.label("level_sizes")
        place = self.get("place")
        t.branch(t.let(f"icmp eq i64 {place}, {level_ndim}"), "level_sized", "each_level_size")
        self.label("each_level_size")
        extent = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {level_shape}, i64 {place}')}")
        self.put("size", t.let(f"mul i64 {self.get('size')}, {extent}"))
        self.put("place", t.let(f"add i64 {place}, 1"))
        t.do("br label %level_sizes")
        self.label("level_sized")
        t.require(t.let(f"icmp eq i64 {self.get('size')}, {self.results}"))

    def find_loop(self) -> None:
        t = self.t
        loop_place = t.let(f"select i1 {self.along}, i64 {2 + ROWS}, i64 {2 + COLUMNS}")
        if self.reduces:
            loop_place = t.let(f"select i1 {self.whole}, i64 {loop_place}, i64 {2 + PIECES}")
        self.loop = t.let(f"load ptr, ptr {t.let(f'getelementptr i64, ptr {self.record}, i64 {loop_place}')}")
        t.require(t.let(f"icmp ne ptr {self.loop}, null"))

    def make_result(self) -> None:
        """A new array, and the one to read from: the given one, or a copy."""
        t = self.t
        dtype = t.field(self.record, 8, "ptr")
        copied(t, self.x, self.ndim, self.axes, self.scattered, self.put, self.get)
        t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {dtype})")
        count = t.let(f"trunc i64 {self.get('kept')} to i32")
        self.result = t.let(f"call ptr {t.fact(EMPTY, 'ptr')}(i32 {count}, ptr {self.dims}, ptr {dtype}, i32 0)")
        self.source = t.let(f"inttoptr i64 {self.get('source')} to ptr")
        t.branch(t.let(f"icmp eq ptr {self.result}, null"), "computed", "made")
        self.label("made")

    def tell(self, values: dict[int, str]) -> None:
        """Write arguments of the loop."""
        for slot, value in values.items():
            self.t.do(f"store i64 {value}, ptr {self.t.let(f'getelementptr i64, ptr {self.arguments}, i64 {slot}')}")

    def tell_sizes(self) -> None:
        """The arguments of the loop, and the units of its work."""
        t, n, inner, along, outer, reduces = self.t, self.n, self.inner, self.along, self.outer, self.reduces
        data = t.field(self.source, DATA, "i64")
        more = self.get("levels") if self.takes_levels else data if reduces else t.let(f"ptrtoint ptr {self.room} to i64")
        if self.takes_levels:  # if there are none, nobody reads them
            more = t.let(f"select i1 {t.let(f'icmp eq i64 {more}, 0')}, i64 {data}, i64 {more}")
        take = n if reduces else outer if self.scans else t.let(f"select i1 {along}, i64 {n}, i64 {self.results}")
        units = t.let(f"sdiv i64 {t.let(f'add i64 {outer}, {ABREAST - 1}')}, {ABREAST}")
        units = t.let(f"select i1 {along}, i64 {units}, i64 {outer}") if self.kind == "scan" else outer
        blocks = "1"
        if self.kind == "map":
            blocks = t.let(f"sdiv i64 {t.let(f'add i64 {inner}, {self.limits.columns - 1}')}, {self.limits.columns}")
            units = t.let(f"mul i64 {units}, {blocks}")
        columns = t.let(f"mul i64 {inner}, {t.field(self.record, 8 * WIDTH, 'i64')}") if reduces else inner
        self.units, self.values = units, {0: t.field(self.result, DATA, "i64"), 1: data, 2: more, 4: n, 5: columns, 6: take, 7: blocks}
        self.tell(self.values)

    def share(self, units: str, work: str) -> None:
        """Let the threads work on units together."""
        t = self.t
        step = t.intrinsic("smax", t.let(f"sdiv i64 {PIECE}, {work}"), "i64 1")
        state = t.let(f"call ptr {t.fact(SAVE_THREAD, 'ptr')}()")
        shared = f"ptr {self.loop}, ptr {self.arguments}, i64 {units}, i64 {step}"
        t.do(f"call void {t.fact(SHARE, 'ptr')}(ptr {t.fact(STATE, 'ptr')}, {shared})")
        t.do(f"call void {t.fact(RESTORE_THREAD, 'ptr')}(ptr {state})")

    def compute(self) -> None:
        """Run the loop; a reduction of much, together: over the pieces of one long row and then over their results, or over rows."""
        t = self.t
        if self.reduces:
            t.branch(self.whole, "whole", "cut")
            self.label("cut")
            partial = t.let(f"ptrtoint ptr {self.room} to i64")
            self.tell({0: partial, 6: str(CUT), 7: self.pieces})
            self.share(self.pieces, str(CUT))
            own = {0: self.values[0], 1: partial, 4: self.pieces, 6: self.pieces, 7: "1"}
            self.tell(own | ({} if self.takes_levels else {2: partial}))
            t.do(f"call void {t.field(self.record, 8 * (2 + PARTS), 'ptr')}(ptr {self.arguments}, i64 0, i64 1)")
            t.do("br label %computed")
            self.label("whole")
            t.branch(self.few, "alone", "together")
            self.label("together")
            self.share(self.units, self.n)
            t.do("br label %computed")
            self.label("alone")
        t.do(f"call void {self.loop}(ptr {self.arguments}, i64 0, i64 {self.units})")
        t.do("br label %computed")

    def finish(self) -> str:
        """Drop the copy, if there is one, and return the result."""
        t = self.t
        self.label("computed")
        t.branch(t.let(f"icmp eq ptr {self.source}, {self.x}"), "returned", "drop_copy")
        self.label("drop_copy")
        t.do(f"call void {t.fact(DEC_REF, 'ptr')}(ptr {self.source})")
        t.do("br label %returned")
        self.label("returned")
        t.do(f"ret ptr {self.result}")
        return t.function("entry_along")


def several_axes(t: Text, axis: str, bit_of: Callable[[str], str], put: Callable[[str, str], None], get: Callable[[str], str]) -> None:
    """If `axis` is a tuple or a list, each of its numbers sets a bit. On with one number, or at the label `axes`."""
    type_ = t.field(axis, 8, "i64")
    is_tuple, is_list = (t.let(f"icmp eq i64 {type_}, {t.fact(place)}") for place in (TUPLE, LIST))
    t.branch(t.let(f"or i1 {is_tuple}, {is_list}"), "several", "one_axis")
    t.lines.append("several:")
    size, inside = t.field(axis, 16, "i64"), t.let(f"getelementptr i8, ptr {axis}, i64 24")
    items = t.let(f"select i1 {is_tuple}, ptr {inside}, ptr {t.let(f'load ptr, ptr {inside}')}")
    t.require(t.let(f"icmp sgt i64 {size}, 0"))
    put("axes", "0")
    put("place", "0")
    t.do("br label %each_axis")
    t.lines.append("each_axis:")
    place = get("place")
    bit = bit_of(t.integer(t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr {items}, i64 {place}')}")))
    axes = get("axes")
    t.require(t.let(f"icmp eq i64 {t.let(f'and i64 {axes}, {bit}')}, 0"))
    put("axes", t.let(f"or i64 {axes}, {bit}"))
    next_place = t.let(f"add i64 {place}, 1")
    put("place", next_place)
    t.branch(t.let(f"icmp eq i64 {next_place}, {size}"), "axes", "each_axis")
    t.lines.append("one_axis:")


def copied(
    t: Text, x: str, ndim: str, axes: str, scattered: str, put: Callable[[str, str], None], get: Callable[[str], str]
) -> None:
    """Put the array to read into `source`: x itself, or a contiguous copy, in which scattered axes are the last ones."""

    def copy_of(array: str) -> None:
        copy = t.let(f"call ptr {t.fact(NEW_COPY, 'ptr')}(ptr {array}, i32 0)")
        put("source", t.let(f"ptrtoint ptr {copy} to i64"))

    put("source", t.let(f"ptrtoint ptr {x} to i64"))
    t.branch(scattered, "transpose", "untransposed")
    t.lines.append("transpose:")
    order, dims = t.let(f"alloca [{DIMENSIONS} x i64]"), t.let("alloca {ptr, i32}")
    put("size", "0")
    for turn, wanted in enumerate(("0", "1")):  # those that stay, then the others
        put("place", "0")
        t.do(f"br label %order{turn}")
        t.lines.append(f"order{turn}:")
        place, size = get("place"), get("size")
        bit = t.let(f"and i64 {t.let(f'lshr i64 {axes}, {place}')}, 1")
        t.do(f"store i64 {place}, ptr {t.let(f'getelementptr i64, ptr {order}, i64 {size}')}")
        chosen = t.let(f"icmp eq i64 {bit}, {wanted}")
        put("size", t.let(f"add i64 {size}, {t.let(f'zext i1 {chosen} to i64')}"))
        next_place = t.let(f"add i64 {place}, 1")
        put("place", next_place)
        t.branch(t.let(f"icmp ult i64 {next_place}, {ndim}"), f"order{turn}", f"ordered{turn}")
        t.lines.append(f"ordered{turn}:")
    t.do(f"store ptr {order}, ptr {dims}")
    t.do(f"store i32 {t.let(f'trunc i64 {ndim} to i32')}, ptr {t.let(f'getelementptr i8, ptr {dims}, i64 8')}")
    view = t.let(f"call ptr {t.fact(TRANSPOSE, 'ptr')}(ptr {x}, ptr {dims})")
    t.branch(t.let(f"icmp eq ptr {view}, null"), "no_copy", "transposed")
    t.lines.append("transposed:")
    copy_of(view)
    t.do(f"call void {t.fact(DEC_REF, 'ptr')}(ptr {view})")
    t.do("br label %copied")
    t.lines.append("untransposed:")
    t.branch(is_dense(t, x), "ready", "copy")
    t.lines.append("copy:")
    copy_of(x)
    t.do("br label %copied")
    t.lines.append("copied:")
    t.branch(t.let(f"icmp eq i64 {get('source')}, 0"), "no_copy", "ready")
    t.lines.append("no_copy:")
    t.do("ret ptr null")
    t.lines.append("ready:")


def is_dense(t: Text, array: str) -> str:
    flags = t.let(f"and i32 {t.field(array, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    return t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}")


class Entry:
    """The built-in of a computation along an axis, and its table."""

    def __init__(self, name: str, otherwise: Callable[..., Any], kind: str, limits: Limits, roles: tuple[str, ...] = ()) -> None:
        roles = roles or ((*USUAL, NUMBER, LEVELS) if kind == "reduction" else USUAL)
        own = [id(True), id(False), id(None), id(tuple), id(list)]
        own += [objects.array_function(place) for place in (objects.EMPTY_ARRAY, PYARRAY_NEW_COPY, PYARRAY_TRANSPOSE)]
        threads = workers.workers()
        own += [threads.share, threads.address]
        facts = objects.table(otherwise, own + [0] * (RECORD * (MOST + 1)))
        self.words = memoryview(facts)
        self.dtypes: list[Any] = []  # that the table refers to
        text = f"entry_along {kind} {limits} {roles}"
        at = jit.load(text, lambda: entry_text(kind, limits, roles), ["entry_along"], jit.CALLS)["entry_along"]
        self.call: Callable[..., Any] = objects.builtin(name, at, facts, otherwise)

    def tell(self, dtype: Any, result: Any, loop: int, at: int) -> None:
        """Let the built-in know a loop. (That for partial results comes before that for pieces.)"""
        self.dtypes += [dtype, result]
        for record in range(RECORDS, RECORDS + RECORD * MOST, RECORD):
            if self.words[record] in (0, id(dtype)):
                self.words[record + 1], self.words[record + 2 + loop] = id(result), at
                self.words[record + WIDTH] = 2 if dtype.kind == "c" else 1
                self.words[record] = id(dtype)  # last: other threads read the table
                return
