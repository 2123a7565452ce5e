"""Members of Tensor that write, and the function that makes tensors of one number, as compiled code (see members.py)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

from . import jit
from .blocks import Function
from .member_text import (
    DEVICES,
    INFERENCE,
    ITEM_SIZE,
    LEVELS,
    MODE,
    MOST_BYTES,
    NO_LEVELS,
    ONE,
    SIZE,
    SMALL,
    USUAL_DEVICES,
    MemberLines,
)  # fmt: skip
from .objects import BOOL, CONTIGUOUS_ALIGNED, DATA, DESCR, F32, F64, NDARRAY
from .several import COUNT, INT64, ITEMS, MOST_DIMS, NONE, PARAMETER, TENSOR, TUPLE, ZERO


def _written(t: MemberLines) -> None:
    t.require_call(0)
    t.require_type("%self", TENSOR, PARAMETER)
    t.require(t.let(f"xor i1 {t.is_(t.slot('%self', 'tensor._vc'), INFERENCE)}, true"))
    t.count_write(*t.user_line())


def zero_(t: MemberLines) -> None:
    t.require_call(0)
    array, size = t.target()
    line = t.user_line()
    t.do(f"call void @llvm.memset.p0.i64(ptr {t.field(array, DATA, 'ptr')}, i8 0, i64 {size}, i1 false)")
    t.count_write(*line)


def fill_(t: MemberLines) -> None:
    t.require_call(1)
    array, size = t.target()
    line = t.user_line()
    fill(t, t.field(array, DESCR, "ptr"), t.argument(0), size, lambda: t.field(array, DATA, "ptr"))
    t.count_write(*line)


def fill(t: MemberLines, descr: str, value: str, size: str, data: Callable[[], str]) -> None:
    """Write a number all over memory of so many bytes, which is asked for when nothing can be refused any more."""
    single = t.is_(descr, F32)
    t.branch(t.is_(descr, INT64), "whole", "real")
    t.lines.append("whole:")
    whole = t.integer(value)
    t.do(f"call void @fill_i64(ptr {data()}, i64 {whole}, i64 {t.calc('lshr', size, '3')})")
    t.do("br label %written")
    t.lines.append("real:")
    t.require(t.any(single, t.is_(descr, F64)))
    is_number, number = t.number(value)
    t.require(is_number)
    t.require(t.let(f"fcmp oge double {number}, -{SMALL}"))
    t.require(t.let(f"fcmp ole double {number}, {SMALL}"))
    t.branch(single, "single", "double")
    t.lines.append("single:")
    short = t.let(f"fptrunc double {number} to float")
    t.do(f"call void @fill_float(ptr {data()}, float {short}, i64 {t.calc('lshr', size, '2')})")
    t.do("br label %written")
    t.lines.append("double:")
    t.do(f"call void @fill_double(ptr {data()}, double {number}, i64 {t.calc('lshr', size, '3')})")
    t.label("written")


def copy_(t: MemberLines) -> None:
    t.require_call(1)
    array, size = t.target()
    source = t.argument(0)
    t.require_unrecorded(source, "_source")
    other = t.array(source)
    t.require_same_shape(array, other)
    t.require_flags(other, CONTIGUOUS_ALIGNED)
    line = t.user_line()
    to, come = t.field(array, DATA, "ptr"), t.field(other, DATA, "ptr")
    descr, given = t.field(array, DESCR, "ptr"), t.field(other, DESCR, "ptr")
    t.branch(t.let(f"icmp eq ptr {descr}, {given}"), "alike", "different")
    t.lines.append("alike:")
    same, behind = t.let(f"icmp eq ptr {to}, {come}"), t.let(f"icmp ule ptr {t.beyond(come, size)}, {to}")
    t.require(t.any(same, behind, t.let(f"icmp ule ptr {t.beyond(to, size)}, {come}")))  # what overlaps otherwise is refused
    t.do(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {come}, i64 {size}, i1 false)")
    t.do("br label %written")
    t.lines.append("different:")
    count = t.calc("sdiv", size, t.field(descr, ITEM_SIZE, "i64"))
    ends = t.beyond(to, size), t.beyond(come, t.calc("mul", count, t.field(given, ITEM_SIZE, "i64")))
    t.require(t.any(t.let(f"icmp ule ptr {ends[0]}, {come}"), t.let(f"icmp ule ptr {ends[1]}, {to}")))  # no memory in common
    for (a, place), (b, place_b) in itertools.permutations(NUMBERS.items(), 2):
        if b != "i64":
            t.branch(t.let(f"and i1 {t.is_(given, place)}, {t.is_(descr, place_b)}"), f"{a}_to_{b}", f"not_{a}_to_{b}")
            t.lines.append(f"{a}_to_{b}:")
            t.do(f"call void @copy_{a}_{b}(ptr {come}, ptr {to}, i64 {count})")
            t.do("br label %written")
            t.lines.append(f"not_{a}_to_{b}:")
    t.do("br label %slow")
    t.lines.append("written:")
    t.count_write(*line)


# ---- making tensors -----------------------------------------------------------------------------------------------------------------


def made_tensor(t: MemberLines) -> None:
    """A tensor of one number, or of whatever was in memory if that is None: (lengths, or an array that has them; dtype, number, name)."""
    t.require_call(4)
    like, descr, value = (t.argument(place) for place in range(3))
    mode = t.variable(MODE)
    t.require(t.any(t.is_(mode, ZERO), t.is_(mode, ONE)))
    t.require(t.is_(t.variable(LEVELS), NO_LEVELS))
    t.require(t.is_(t.variable(DEVICES), USUAL_DEVICES))
    t.require(t.any(*(t.is_(descr, place) for place in (F32, F64, INT64, BOOL))))
    ndim_at, size_at = t.places
    t.store(t.field(descr, ITEM_SIZE, "i64"), size_at)
    t.branch(t.has_type(like, NDARRAY), "like", "lengths")
    t.lines.append("like:")
    t.require_flags(like, 1)
    count, lengths, _ = t.geometry(like, MOST_DIMS)
    t.store(count, ndim_at)
    with t.loop(count, t.counter) as i:
        add_length(t, i, t.load(t.at(lengths, i)), size_at)
    t.do("br label %known")
    t.lines.append("lengths:")
    t.require_type(like, TUPLE)
    t.require(t.calc("icmp ne", t.field(like, COUNT, "i64"), "0"))
    t.store(like, ndim_at, "ptr")
    first = t.item(t.beyond(like, ITEMS), "0")
    nested = t.any(t.has_type(first, TUPLE), t.has_type(first, SIZE))
    t.branch(t.let(f"and i1 {nested}, {t.calc('icmp eq', t.field(like, COUNT, 'i64'), '1')}"), "nested", "flat")
    t.lines.append("nested:")
    t.store(first, ndim_at, "ptr")
    t.label("flat")
    given = t.load(ndim_at, "ptr")
    count = t.field(given, COUNT, "i64")
    t.require(t.calc("icmp ule", count, str(MOST_DIMS)))
    t.store(count, ndim_at)
    with t.loop(count, t.counter) as i:
        add_length(t, i, t.integer(t.item(t.beyond(given, ITEMS), i)), size_at)
    t.label("known")
    count, size = t.load(ndim_at), t.load(size_at)
    array_at = t.places[0]

    def data() -> str:
        array = t.new_array(descr, count, t.sizes)
        t.store(array, array_at, "ptr")
        return t.field(array, DATA, "ptr")

    t.branch(t.is_(value, NONE), "anything", "something")
    t.lines.append("anything:")
    data()
    t.do("br label %made")
    t.lines.append("something:")
    t.branch(t.is_(value, ZERO), "zeros", "number")
    t.lines.append("zeros:")
    t.do(f"call void @llvm.memset.p0.i64(ptr {data()}, i8 0, i64 {size}, i1 false)")
    t.do("br label %made")
    t.lines.append("number:")
    fill(t, descr, value, size, data)
    t.label("made")
    array, none = t.load(array_at, "ptr"), t.fact(NONE, "ptr")
    tensor = t.new_tensor(array, none, none)
    t.drop(array)
    t.do(f"ret ptr {tensor}")


def add_length(t: MemberLines, place: str, length: str, size_at: str) -> None:
    """One more dimension. The bytes of all of it must not be too many."""
    t.require(t.calc("icmp ule", length, str(MOST_BYTES)))
    t.store(length, t.at(t.sizes, place))
    total = t.calc("mul", t.load(size_at), length)
    t.require(t.calc("icmp ule", total, str(MOST_BYTES)))
    t.store(total, size_at)


NUMBERS = {"float": F32, "double": F64, "i64": INT64}
CONVERSIONS = {("float", "double"): "fpext", ("double", "float"): "fptrunc", ("i64", "float"): "sitofp", ("i64", "double"): "sitofp"}


def fill_loop(kind: str) -> str:
    f = Function(f"fill_{kind}", "ptr %to", f"{kind} %value", "i64 %n")
    with f.loop("%n") as i:
        f.store(kind, "%value", f.at(kind, "%to", i))
    return f.text()


def copy_loop(a: str, b: str) -> str:
    f = Function(f"copy_{a}_{b}", "ptr noalias %from", "ptr noalias %to", "i64 %n")
    with f.loop("%n") as i:
        number = f.let(f"{CONVERSIONS[a, b]} {a} {f.load(a, '%from', i)} to {b}")
        f.store(b, number, f.at(b, "%to", i))
    return f.text()


@cache
def loops() -> dict[str, int]:
    """The addresses of the loops that members call, which are compiled apart: only here LLVM has to look for vectors."""
    texts = {f"fill_{kind}": fill_loop(kind) for kind in NUMBERS}
    texts |= {f"copy_{a}_{b}": copy_loop(a, b) for a, b in CONVERSIONS}
    return jit.load("loops of members", lambda: "\n".join(texts.values()), [*texts], jit.VECTORS)


DECLARED = "".join(f"declare void @fill_{kind}(ptr, {kind}, i64)\n" for kind in NUMBERS)
DECLARED += "".join(f"declare void @copy_{a}_{b}(ptr, ptr, i64)\n" for a, b in CONVERSIONS)
