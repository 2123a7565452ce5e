"""Several tensors or arrays at once, as built-ins: what `cat`, `stack`, `split` and `unbind` do besides computing.

Each does, for ordinary tensors, what the Python function does that it is given as its fallback, and that takes a microsecond for every few
objects. All that can be refused is refused, and left to the fallback, before the first object is made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import jit, objects
from .objects import (
    BOOL,
    CONTIGUOUS_ALIGNED,
    DATA,
    DEC_REF,
    DESCR,
    F32,
    F64,
    FLAGS,
    INC_REF,
    LONG_AS_SSIZE,
    NDARRAY,
    NDIM,
    OWN,
    SHAPE,
    STRIDES,
    WRITEABLE,
    Text,
)  # fmt: skip

# Places in the table, after those that all built-ins have.
(TENSOR, PARAMETER, VIEW, COUNTER, ORDINARY, LIST, TUPLE, NONE, ZERO, INT64, ALLOC, NEW_LIST, NEW_TUPLE, NEW_ARRAY,
 SET_BASE) = range(OWN, OWN + 15)  # fmt: skip

NEW_FROM_DESCR, SET_BASE_OBJECT = 94, 282  # the places of these functions in NumPy's table
TYPE, COUNT, ITEMS = 8, 16, 24  # in lists, tuples and all other objects; the items of a tuple are in it, those of a list elsewhere
MOST_DIMS = 64
LARGEST = 1 << 17  # bytes that are joined here; more than that is left to threads

Offsets = dict[str, int]  # where the slots of Tensor, View and VersionCounter are


def slot_offset(cls: type, name: str) -> int:
    """Where an object of a class keeps a slot."""
    member = ctypes.c_int64.from_address(id(cls.__dict__[name]) + 40).value
    return ctypes.c_int64.from_address(member + 16).value


def offsets_of(classes: dict[str, type]) -> Offsets:
    slots = [(owner, cls, name) for owner, cls in classes.items() for name in cls.__dict__["__slots__"] if not name.startswith("__")]
    return {f"{owner}.{name}": slot_offset(cls, name) for owner, cls, name in slots}


def as_expected(made: Any, owner: str, offsets: Offsets) -> bool:
    """Whether an object has its slots where they are said to be."""
    found = {name.split(".")[1]: at for name, at in offsets.items() if name.startswith(f"{owner}.")}
    return all(ctypes.c_int64.from_address(id(made) + at).value == id(getattr(made, name)) for name, at in found.items())


class Tensors(NamedTuple):
    """The classes that compiled code has to know."""

    tensor: type
    parameter: type
    view: type
    counter: Any
    ordinary: str

    def offsets(self) -> Offsets | None:
        """Where their slots are, None where that is not certain or nothing can be compiled."""
        if not jit.available() or not objects.supported():
            return None
        offsets = offsets_of({"tensor": self.tensor, "view": self.view, "counter": self.counter})
        sample: Any = object.__new__(self.tensor)
        write = self.counter()
        sample._data, sample._fn, sample._vc = np.zeros(2), write, None
        return offsets if as_expected(sample, "tensor", offsets) and as_expected(write, "counter", offsets) else None

    def facts(self) -> list[int]:
        """The entries of the table from `TENSOR` to `SET_BASE`."""
        api = ctypes.pythonapi
        return [
            *map(id, self), id(list), id(tuple), id(None), id(0), id(np.dtype("int64")),
            objects.address(api.PyType_GenericAlloc), objects.address(api.PyList_New), objects.address(api.PyTuple_New),
            objects.array_function(NEW_FROM_DESCR), objects.array_function(SET_BASE_OBJECT),
        ]  # fmt: skip


def builtins(
    fallbacks: dict[str, Callable[..., Any]], tensor: type, parameter: type, view: type, counter: type, ordinary: str, compiling: bool
) -> dict[str, Any]:
    """The built-ins by name; none where they cannot be had, or not without `compiling` them."""
    tensors = Tensors(tensor, parameter, view, counter, ordinary)
    offsets = tensors.offsets()
    if offsets is None:
        return {}
    texts: dict[str, Callable[[Lines, Offsets], None]] = {
        "plain_arrays": arrays_text, "edges_of": edges_text, "view": view_text, "views": views_text, "slices": slices_text,
        "rows": rows_text, "strided": strided_text, "join": join_text,
    }  # fmt: skip
    description = f"several {sorted(offsets.items())}"
    if not compiling and not jit.is_kept(description):
        return {}
    at = jit.load(description, lambda: module_text(texts, offsets), list(texts), jit.FINISHED)
    facts = tensors.facts()
    return {name: objects.builtin(name, at[name], objects.table(fallbacks[name], facts), fallbacks[name], tensors) for name in texts}


# ---- text ---------------------------------------------------------------------------------------------------------------------------


class Lines(Text):
    """Text with a little arithmetic. All numbers are of 64 bits."""

    def calc(self, what: str, a: str, b: str) -> str:
        return self.let(f"{what} i64 {a}, {b}")

    def choose(self, condition: str, type_: str, yes: str, no: str) -> str:
        return self.let(f"select i1 {condition}, {type_} {yes}, {type_} {no}")

    def load(self, place: str, type_: str = "i64") -> str:
        return self.let(f"load {type_}, ptr {place}")

    def store(self, value: str, place: str, type_: str = "i64") -> None:
        self.do(f"store {type_} {value}, ptr {place}")

    def at(self, base: str, i: str) -> str:
        """The place of a word."""
        return self.let(f"getelementptr i64, ptr {base}, i64 {i}")

    def beyond(self, base: str, count: str | int) -> str:
        """The place so many bytes further on."""
        return self.let(f"getelementptr i8, ptr {base}, i64 {count}")

    def argument(self, place: int) -> str:
        return self.load(self.at("%args", str(place)), "ptr")

    @contextmanager
    def loop(self, count: str, counter: str) -> Iterator[str]:
        """Count in a place on the stack, which has to be made before the first branch."""
        self.count += 1
        mark = self.count
        self.store("0", counter)
        self.do(f"br label %head{mark}")
        self.lines.append(f"head{mark}:")
        i = self.load(counter)
        self.branch(self.calc("icmp slt", i, count), f"body{mark}", f"after{mark}")
        self.lines.append(f"body{mark}:")
        yield i
        self.store(self.calc("add", i, "1"), counter)
        self.do(f"br label %head{mark}")
        self.lines.append(f"after{mark}:")

    def kept(self, obj: str) -> str:
        """An object that one more thing refers to."""
        self.do(f"call void {self.fact(INC_REF, 'ptr')}(ptr {obj})")
        return obj

    def put(self, obj: str, offset: int, value: str) -> None:
        self.store(self.kept(value), self.beyond(obj, offset), "ptr")

    def made(self, call: str) -> str:
        """What a function makes; an error is passed on."""
        result = self.let(call)
        self.count += 1
        mark = self.count
        self.branch(self.let(f"icmp eq ptr {result}, null"), f"failed{mark}", f"made{mark}")
        self.lines += [f"failed{mark}:", "  ret ptr null", f"made{mark}:"]
        return result

    def new(self, place: int) -> str:
        return self.made(f"call ptr {self.fact(ALLOC, 'ptr')}(ptr {self.fact(place, 'ptr')}, i64 0)")

    def new_counter(self, offsets: Offsets) -> str:
        """A VersionCounter."""
        counter = self.new(COUNTER)
        self.put(counter, offsets["counter.stamp"], self.fact(ZERO, "ptr"))
        self.put(counter, offsets["counter.version"], self.fact(ZERO, "ptr"))
        self.store(self.made(f"call ptr {self.fact(NEW_LIST, 'ptr')}(i64 0)"), self.beyond(counter, offsets["counter.writes"]), "ptr")
        return counter

    def new_tuple(self, count: str) -> tuple[str, str]:
        """A tuple, and where its items go."""
        found = self.made(f"call ptr {self.fact(NEW_TUPLE, 'ptr')}(i64 {count})")
        return found, self.beyond(found, ITEMS)

    def new_array(
        self, descr: str, ndim: str, sizes: str, strides: str = "null", data: str = "null", flags: str = "0", make: str = ""
    ) -> str:
        few, make = self.let(f"trunc i64 {ndim} to i32"), make or self.fact(NEW_ARRAY, "ptr")
        return self.made(
            f"call ptr {make}(ptr {self.fact(NDARRAY, 'ptr')}, ptr {self.kept(descr)}, i32 {few}, ptr {sizes}, "
            f"ptr {strides}, ptr {data}, i32 {flags}, ptr null)"
        )

    def part_of(self, array: str, ndim: str, sizes: str, strides: str, data: str) -> str:
        """A view of an array."""
        flags = self.let(f"and i32 {self.field(array, FLAGS, 'i32')}, {WRITEABLE}")
        part = self.new_array(self.field(array, DESCR, "ptr"), ndim, sizes, strides, data, flags)
        self.let(f"call i32 {self.fact(SET_BASE, 'ptr')}(ptr {part}, ptr {self.kept(array)})")
        return part

    def require_type(self, obj: str, *places: int) -> None:
        kind = self.field(obj, TYPE, "i64")
        found = "false"
        for place in places:
            found = self.let(f"or i1 {found}, {self.calc('icmp eq', kind, self.fact(place))}")
        self.require(found)

    def items_of(self, obj: str) -> tuple[str, str]:
        """The items of a list or a tuple, and how many there are, at least one."""
        self.require_type(obj, LIST, TUPLE)
        is_list = self.calc("icmp eq", self.field(obj, TYPE, "i64"), self.fact(LIST))
        count = self.field(obj, COUNT, "i64")
        self.require(self.calc("icmp sgt", count, "0"))  # an empty list has no items to point to
        inside = self.beyond(obj, ITEMS)
        return self.choose(is_list, "ptr", self.load(inside, "ptr"), inside), count

    def item(self, items: str, i: str) -> str:
        return self.load(self.at(items, i), "ptr")

    def array_slot(self, tensor: str, offsets: Offsets) -> str:
        """The array of an ordinary tensor."""
        self.require_type(tensor, TENSOR, PARAMETER)
        array = self.field(tensor, offsets["tensor._data"], "ptr")
        self.require(self.let(f"icmp ne ptr {array}, null"))
        self.require_type(array, NDARRAY)
        return array

    def geometry(self, array: str, most: int) -> tuple[str, str, str]:
        """The number of dimensions of an array, and where its sizes and strides are."""
        self.require_type(array, NDARRAY)
        ndim = self.let(f"zext i32 {self.field(array, NDIM, 'i32')} to i64")
        self.require(self.calc("icmp ule", ndim, str(most)))
        return ndim, self.field(array, SHAPE, "ptr"), self.field(array, STRIDES, "ptr")

    def dimension(self, obj: str, ndim: str) -> str:
        """The number of a dimension, counted from the front."""
        dim = self.integer(obj)
        self.require(self.calc("icmp ult", dim, ndim))
        return dim


def module_text(texts: dict[str, Callable[[Lines, Offsets], None]], offsets: Offsets) -> str:
    found = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    for name, write in texts.items():
        text = Lines()
        write(text, offsets)
        found.append(text.function(name))
    return "\n".join(found)


def arrays_text(t: Lines, offsets: Offsets) -> None:
    """The arrays of tensors of one dtype."""
    counter = t.let("alloca i64")
    t.require(t.calc("icmp eq", "%n", "1"))
    items, count = t.items_of(t.argument(0))
    descr = t.field(t.array_slot(t.item(items, "0"), offsets), DESCR, "i64")
    usual = "false"
    for place in (F32, F64, INT64):
        usual = t.let(f"or i1 {usual}, {t.calc('icmp eq', descr, t.fact(place))}")
    t.require(usual)
    with t.loop(count, counter) as i:
        t.require(t.calc("icmp eq", t.field(t.array_slot(t.item(items, i), offsets), DESCR, "i64"), descr))
    result = t.made(f"call ptr {t.fact(NEW_LIST, 'ptr')}(i64 {count})")
    places = t.field(result, ITEMS, "ptr")
    with t.loop(count, counter) as i:
        t.store(t.kept(t.field(t.item(items, i), offsets["tensor._data"], "ptr")), t.at(places, i), "ptr")
    t.do(f"ret ptr {result}")


def edges_text(t: Lines, offsets: Offsets) -> None:
    """None, if no tensor has a history."""
    counter = t.let("alloca i64")
    t.require(t.calc("icmp eq", "%n", "1"))
    items, count = t.items_of(t.argument(0))
    none = t.fact(NONE, "ptr")
    with t.loop(count, counter) as i:
        tensor = t.item(items, i)
        t.require_type(tensor, TENSOR, PARAMETER)
        t.require(t.let(f"icmp eq ptr {t.field(tensor, offsets['tensor._fn'], 'ptr')}, {none}"))
    t.do(f"ret ptr {t.kept(none)}")


def origin_of(t: Lines, base: str, offsets: Offsets, parent_at: str, root_at: str) -> tuple[str, str, str, str]:
    """Of a view that is to be made of a tensor: the history that this has, if that is a view's, the whole, and the history of the whole."""
    t.store(t.fact(NONE, "ptr"), parent_at, "ptr")
    t.store(base, root_at, "ptr")
    origin = t.field(base, offsets["tensor._fn"], "ptr")
    t.require(t.let(f"icmp ne ptr {origin}, null"))
    viewed = t.calc("icmp eq", t.field(origin, TYPE, "i64"), t.fact(VIEW))
    t.branch(viewed, "of_view", "of_base")
    t.lines.append("of_view:")
    t.store(origin, parent_at, "ptr")
    t.store(t.field(origin, offsets["view.base"], "ptr"), root_at, "ptr")
    t.do("br label %of_base")
    t.lines.append("of_base:")
    parent, root = t.load(parent_at, "ptr"), t.load(root_at, "ptr")
    made_for = t.field(root, offsets["tensor._fn"], "ptr")
    t.require(t.let(f"icmp ne ptr {made_for}, null"))
    return viewed, parent, root, made_for


def view_text(t: Lines, offsets: Offsets) -> None:
    """A view of a tensor: (base, op, params, array, node, creation). The tensor gets a version counter if it has none."""
    parent_at, root_at, creation_at, versions_at = (t.let("alloca ptr") for _ in range(4))
    t.require(t.calc("icmp eq", "%n", "6"))
    base, op, params, array, node, given = (t.argument(place) for place in range(6))
    t.require_type(base, TENSOR, PARAMETER)
    none, ordinary = t.fact(NONE, "ptr"), t.fact(ORDINARY, "ptr")
    t.store(t.field(base, offsets["tensor._vc"], "ptr"), versions_at, "ptr")
    t.require(t.let(f"icmp ne ptr {t.load(versions_at, 'ptr')}, null"))
    viewed, parent, root, made_for = origin_of(t, base, offsets, parent_at, root_at)
    t.store(given, creation_at, "ptr")
    inherits = t.let(f"and i1 {viewed}, {t.let(f'icmp eq ptr {given}, {ordinary}')}")
    t.branch(inherits, "inherits", "created")
    t.lines.append("inherits:")
    t.store(t.field(parent, offsets["view.creation"], "ptr"), creation_at, "ptr")
    t.do("br label %created")
    t.lines.append("created:")
    creation = t.load(creation_at, "ptr")
    t.branch(t.let(f"icmp eq ptr {t.load(versions_at, 'ptr')}, {none}"), "uncounted", "counted")
    t.lines.append("uncounted:")
    counter = t.new_counter(offsets)
    t.store(counter, t.beyond(base, offsets["tensor._vc"]), "ptr")
    t.do(f"call void {t.fact(DEC_REF, 'ptr')}(ptr {none})")  # in whose place it is now
    t.store(counter, versions_at, "ptr")
    t.do("br label %counted")
    t.lines.append("counted:")
    versions = t.load(versions_at, "ptr")
    t.require_type(versions, COUNTER)
    view = t.new(VIEW)
    values = {"parent": parent, "base": root, "op": op, "params": params, "node": node, "made_for": made_for, "creation": creation}
    for name, value in values.items():
        t.put(view, offsets[f"view.{name}"], value)
    t.branch(t.let(f"icmp eq ptr {creation}, {ordinary}"), "finish", "versioned")
    t.lines.append("versioned:")
    t.put(view, offsets["view.version"], t.field(versions, offsets["counter.version"], "ptr"))
    t.do("br label %finish")
    t.lines.append("finish:")
    tensor = t.new(TENSOR)
    t.put(tensor, offsets["tensor._data"], array)
    t.put(tensor, offsets["tensor._vc"], versions)
    t.store(view, t.beyond(tensor, offsets["tensor._fn"]), "ptr")
    t.do(f"ret ptr {tensor}")


def views_text(t: Lines, offsets: Offsets) -> None:
    """Views of a tensor that nothing is recorded of: (base, its version counter, ops, params, arrays, creation, None)."""
    counter, parent_at, root_at = t.let("alloca i64"), t.let("alloca ptr"), t.let("alloca ptr")
    t.require(t.calc("icmp eq", "%n", "7"))
    base, versions, ops, params, arrays, creation, node = (t.argument(place) for place in range(7))
    t.require_type(base, TENSOR, PARAMETER)
    t.require_type(versions, COUNTER)
    items, count = t.items_of(arrays)
    steps, known = t.items_of(ops)
    t.require(t.calc("icmp sge", known, count))
    none = t.fact(NONE, "ptr")
    t.require(t.let(f"icmp eq ptr {node}, {none}"))
    _, parent, root, made_for = origin_of(t, base, offsets, parent_at, root_at)
    version = t.field(versions, offsets["counter.version"], "ptr")
    t.require(t.let(f"icmp ne ptr {version}, null"))
    result, places = t.new_tuple(count)
    with t.loop(count, counter) as i:
        view = t.new(VIEW)
        values = {
            "parent": parent, "base": root, "op": t.item(steps, i), "params": params, "node": none, "made_for": made_for,
            "creation": creation, "version": version,
        }  # fmt: skip
        for name, value in values.items():
            t.put(view, offsets[f"view.{name}"], value)
        tensor = t.new(TENSOR)
        t.put(tensor, offsets["tensor._data"], t.item(items, i))
        t.put(tensor, offsets["tensor._vc"], versions)
        t.store(view, t.beyond(tensor, offsets["tensor._fn"]), "ptr")
        t.store(tensor, t.at(places, i), "ptr")
    t.do(f"ret ptr {result}")


def slices_text(t: Lines, offsets: Offsets) -> None:
    """Consecutive parts of a dimension: (array, a tuple of their lengths, dim)."""
    counter, start, sizes = t.let("alloca i64"), t.let("alloca i64"), t.let(f"alloca [{MOST_DIMS} x i64]")
    t.require(t.calc("icmp eq", "%n", "3"))
    array, lengths = t.argument(0), t.argument(1)
    ndim, shape, strides = t.geometry(array, MOST_DIMS)
    dim = t.dimension(t.argument(2), ndim)
    t.require_type(lengths, TUPLE)
    items, count = t.items_of(lengths)
    size, step = t.load(t.at(shape, dim)), t.load(t.at(strides, dim))
    t.store("0", start)
    with t.loop(count, counter) as i:
        length, begin = t.integer(t.item(items, i)), t.load(start)
        t.require(t.calc("icmp ule", length, t.calc("sub", size, begin)))
        t.store(t.calc("add", begin, length), start)
    with t.loop(ndim, counter) as i:
        t.store(t.load(t.at(shape, i)), t.at(sizes, i))
    result, places = t.new_tuple(count)
    t.store("0", start)
    with t.loop(count, counter) as i:
        length, begin = t.let(f"call i64 {t.fact(LONG_AS_SSIZE, 'ptr')}(ptr {t.item(items, i)})"), t.load(start)
        t.store(length, t.at(sizes, dim))
        data = t.beyond(t.field(array, DATA, "ptr"), t.calc("mul", begin, step))
        t.store(t.part_of(array, ndim, sizes, strides, data), t.at(places, i), "ptr")
        t.store(t.calc("add", begin, length), start)
    t.do(f"ret ptr {result}")


def rows_text(t: Lines, offsets: Offsets) -> None:
    """The parts at each index of a dimension: (array, dim)."""
    counter = t.let("alloca i64")
    sizes, steps = (t.let(f"alloca [{MOST_DIMS} x i64]") for _ in range(2))
    t.require(t.calc("icmp eq", "%n", "2"))
    array = t.argument(0)
    ndim, shape, strides = t.geometry(array, MOST_DIMS)
    dim = t.dimension(t.argument(1), ndim)
    size, step = t.load(t.at(shape, dim)), t.load(t.at(strides, dim))
    rest = t.calc("sub", ndim, "1")
    with t.loop(rest, counter) as i:
        later = t.let(f"zext i1 {t.calc('icmp sge', i, dim)} to i64")
        place = t.calc("add", i, later)
        t.store(t.load(t.at(shape, place)), t.at(sizes, i))
        t.store(t.load(t.at(strides, place)), t.at(steps, i))
    result, places = t.new_tuple(size)
    with t.loop(size, counter) as i:
        data = t.beyond(t.field(array, DATA, "ptr"), t.calc("mul", i, step))
        t.store(t.part_of(array, rest, sizes, steps, data), t.at(places, i), "ptr")
    t.do(f"ret ptr {result}")


def strided_text(t: Lines, offsets: Offsets) -> None:
    """The memory of an array in another shape with other strides, which are not looked at: (array, shape, strides)."""
    counter, sizes, steps = t.let("alloca i64"), t.let(f"alloca [{MOST_DIMS} x i64]"), t.let(f"alloca [{MOST_DIMS} x i64]")
    t.require(t.calc("icmp eq", "%n", "3"))
    array = t.argument(0)
    t.require_type(array, NDARRAY)
    for place, numbers in ((1, sizes), (2, steps)):
        t.require_type(t.argument(place), TUPLE)
        items, count = t.items_of(t.argument(place))
        t.require(t.calc("icmp ule", count, str(MOST_DIMS)))
        t.require(t.calc("icmp eq", count, t.field(t.argument(1), COUNT, "i64")))
        with t.loop(count, counter) as i:
            number = t.integer(t.item(items, i))
            t.require(t.calc("icmp sge", number, "0"))
            t.store(number, t.at(numbers, i))
    ndim, data = t.field(t.argument(1), COUNT, "i64"), t.field(array, DATA, "ptr")
    t.do(f"ret ptr {t.part_of(array, ndim, sizes, steps, data)}")


def join_text(t: Lines, offsets: Offsets) -> None:
    """Contiguous arrays of one dtype, one after the other along a dimension that they have: (arrays, dim). With a third argument, arrays of
    one shape along a new dimension before that one: they lie in memory in the same way."""
    counter, inner_counter, total = (t.let("alloca i64") for _ in range(3))
    sizes, more = (t.let(f"alloca [{MOST_DIMS} x i64]") for _ in range(2))
    is_new = t.calc("icmp eq", "%n", "3")
    t.require(t.let(f"or i1 {is_new}, {t.calc('icmp eq', '%n', '2')}"))
    items, count = t.items_of(t.argument(0))
    first = t.item(items, "0")
    ndim, shape, _ = t.geometry(first, MOST_DIMS - 1)
    dim = t.dimension(t.argument(1), ndim)
    descr, each = t.field(first, DESCR, "i64"), "0"
    for place, known in ((F32, "4"), (F64, "8"), (INT64, "8"), (BOOL, "1")):
        each = t.choose(t.calc("icmp eq", descr, t.fact(place)), "i64", known, each)
    t.require(t.calc("icmp ne", each, "0"))
    t.store("0", total)
    with t.loop(count, counter) as k:
        array = t.item(items, k)
        other_ndim, other, _ = t.geometry(array, MOST_DIMS)
        t.require(t.calc("icmp eq", other_ndim, ndim))
        t.require(t.calc("icmp eq", t.field(array, DESCR, "i64"), descr))
        flags = t.let(f"and i32 {t.field(array, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
        t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
        with t.loop(ndim, inner_counter) as i:
            same = t.calc("icmp eq", t.load(t.at(other, i)), t.load(t.at(shape, i)))
            joint = t.choose(is_new, "i1", "false", t.calc("icmp eq", i, dim))
            t.require(t.let(f"or i1 {same}, {joint}"))
        t.store(t.calc("add", t.load(t.at(other, dim)), t.load(total)), total)
    joined = t.load(total)
    # How often rows follow each other, and the bytes of what has one index along the dimension.
    outer, below = "1", each
    for inner in (False, True):
        t.store(below if inner else outer, total)
        with t.loop(ndim, inner_counter) as i:
            size = t.load(t.at(shape, i))
            t.store(t.choose(t.calc("icmp eq", i, dim), "i64", joined, size), t.at(sizes, i))
            t.store(size, t.at(more, t.calc("add", i, t.let(f"zext i1 {t.calc('icmp sge', i, dim)} to i64"))))
            counts = t.calc("icmp sgt" if inner else "icmp slt", i, dim)
            grown = t.calc("mul", t.load(total), t.choose(counts, "i64", size, "1"))
            t.require(t.calc("icmp ule", grown, str(LARGEST)))
            t.store(grown, total)
        outer, below = (outer, t.load(total)) if inner else (t.load(total), below)
    t.require(t.calc("icmp ule", joined, str(LARGEST)))
    width = t.calc("mul", joined, below)
    t.require(t.calc("icmp ule", t.calc("mul", outer, width), str(LARGEST)))
    t.store(count, t.at(more, dim))
    dims = t.calc("add", ndim, t.let(f"zext i1 {is_new} to i64"))
    result = t.new_array(t.field(first, DESCR, "ptr"), dims, t.choose(is_new, "ptr", more, sizes))
    t.store(t.field(result, DATA, "ptr"), total, "ptr")
    with t.loop(count, counter) as k:
        array = t.item(items, k)
        source, target = t.field(array, DATA, "ptr"), t.load(total, "ptr")
        part = t.calc("mul", t.load(t.at(t.field(array, SHAPE, "ptr"), dim)), below)
        with t.loop(outer, inner_counter) as row:
            to, come = t.beyond(target, t.calc("mul", row, width)), t.beyond(source, t.calc("mul", row, part))
            t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {come}, i64 {part}, i1 false)")
        t.store(t.beyond(target, part), total, "ptr")
    t.do(f"ret ptr {result}")
