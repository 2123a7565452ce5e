"""Members of Tensor as compiled code: the attributes that programs read all the time, and the writes that do next to nothing.

A property written in Python costs more than what it looks up, and to count a write costs more than to write a hundred zeros. Here they are
what they would be in a class written in C: descriptors of Python's own kinds around compiled functions. Each serves ordinary tensors and
leaves all else, and every error, to the Python member that it stands for. Nothing is written before all is known to be in order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from . import jit, objects
from .lifetime import forever
from .member_text import (
    BASE,
    CPU,
    CUT,
    DETACH,
    DETACH_CALL,
    DTYPES,
    FALLBACKS,
    FALSE,
    FUNCTION,
    GET_ATTR,
    GETTER,
    GRAD,
    GRAD_DTYPE,
    ITEM_SIZE,
    KNOWN_DTYPES,
    LEAF,
    LEVELS,
    METHOD,
    NO_LEVELS,
    OUTPUT,
    SAME,
    SET_ATTR,
    SETTER,
    SIZE,
    TRUE,
    MemberLines,
)  # fmt: skip
from .member_writes import DECLARED, _written, copy_, fill_, loops, made_tensor, zero_
from .objects import DATA, DESCR, F32, F64, FLAGS, NDARRAY
from .several import ALLOC, ITEMS, MOST_DIMS, NONE, PARAMETER, TENSOR, Offsets, Tensors, offsets_of, slot_offset

# ---- attributes ---------------------------------------------------------------------------------------------------------------------


def shape(t: MemberLines) -> None:
    ndim, sizes, _ = t.geometry(t.array(), MOST_DIMS)
    made = t.called(ALLOC, f"ptr {t.fact(SIZE, 'ptr')}", f"i64 {ndim}")
    with t.loop(ndim, t.counter) as i:
        t.store(t.new_int(t.load(t.at(sizes, i))), t.at(t.beyond(made, ITEMS), i), "ptr")
    t.do(f"ret ptr {made}")


def ndim(t: MemberLines) -> None:
    t.do(f"ret ptr {t.new_int(t.geometry(t.array(), MOST_DIMS)[0])}")


def dtype(t: MemberLines) -> None:
    descr = t.field(t.array(), DESCR, "ptr")
    for place in range(DTYPES, FALLBACKS, 2):
        t.give_if(t.is_(descr, place), t.fact(place + 1, "ptr"))
    t.do("br label %slow")


def device(t: MemberLines) -> None:
    t.array()
    t.give(t.fact(CPU, "ptr"))


def requires_grad(t: MemberLines) -> None:
    fn = t.history()
    t.give_if(t.is_constant(fn), t.fact(FALSE, "ptr"))
    t.give_if(t.is_(fn, LEAF), t.fact(TRUE, "ptr"))
    t.require(t.is_node(fn))
    t.give(t.fact(TRUE, "ptr"))


def is_leaf(t: MemberLines) -> None:
    fn = t.history()
    t.give_if(t.any(t.is_constant(fn), t.is_(fn, LEAF)), t.fact(TRUE, "ptr"))
    t.require(t.is_node(fn))
    t.give(t.fact(FALSE, "ptr"))


def grad_fn(t: MemberLines) -> None:
    fn = t.history()
    t.give_if(t.any(t.is_constant(fn), t.is_(fn, LEAF)), t.fact(NONE, "ptr"))
    t.require(t.is_node(fn))
    t.require(t.let(f"xor i1 {t.has_type(fn, OUTPUT)}, true"))
    t.give(fn)


def grad(t: MemberLines) -> None:
    fn = t.history()
    t.require(t.any(t.is_constant(fn), t.is_(fn, LEAF)))
    name = f"ptr {t.fact(GRAD, 'ptr')}"
    t.do(f"ret ptr {t.called(GET_ATTR, 'ptr %self', name)}")


def set_grad(t: MemberLines) -> None:
    t.require(t.let("icmp ne ptr %value, null"))
    t.branch(t.is_("%value", NONE), "set", "check")
    t.lines.append("check:")
    t.require_type("%value", TENSOR, PARAMETER)
    t.require(t.let("icmp ne ptr %value, %self"))
    array, other = t.array(), t.array("%value")
    t.require(t.calc("icmp eq", t.field(array, DESCR, "i64"), t.field(other, DESCR, "i64")))
    t.require_same_shape(array, other)
    wanted = t.called(GET_ATTR, "ptr %self", f"ptr {t.fact(GRAD_DTYPE, 'ptr')}")
    t.drop(wanted)  # which the class has, if it is this
    t.require(t.is_(wanted, SAME))
    t.label("set")
    name = f"ptr {t.fact(GRAD, 'ptr')}"
    t.do(f"ret i32 {t.called(SET_ATTR, 'ptr %self', name, 'ptr %value', result='i32')}")


def item_size(t: MemberLines, array: str) -> str:
    return t.field(t.field(array, DESCR, "ptr"), ITEM_SIZE, "i64")


def itemsize(t: MemberLines) -> None:
    t.do(f"ret ptr {t.new_int(item_size(t, t.array()))}")


def nbytes(t: MemberLines) -> None:
    array = t.array()
    t.do(f"ret ptr {t.new_int(t.calc('mul', t.elements(array), item_size(t, array)))}")


def data(t: MemberLines) -> None:
    array, fn = t.array(), t.history()
    leaf = t.is_(fn, LEAF)  # its data is no cut: it has no history
    t.require(t.any(leaf, t.is_constant(fn)))
    none = t.fact(NONE, "ptr")
    t.do(f"ret ptr {t.new_tensor(array, none, t.choose(leaf, 'ptr', none, fn))}")


def set_data(t: MemberLines) -> None:
    t.require(t.let("icmp ne ptr %value, null"))
    t.require_type("%value", TENSOR, PARAMETER)
    array = t.array("%value")
    descr = t.field(array, DESCR, "ptr")
    t.require(t.any(t.is_(descr, F32), t.is_(descr, F64)))
    t.array()
    t.require(t.is_(t.slot("%self", "tensor._vc"), NONE))  # it has no views, which would have to stay where they are
    t.replace("%self", "tensor._data", t.kept(array))
    t.do("ret i32 0")


def set_requires_grad(t: MemberLines) -> None:
    t.do("br label %slow")


# ---- methods ------------------------------------------------------------------------------------------------------------------------


def size(t: MemberLines) -> None:
    t.branch(t.calc("icmp eq", "%n", "0"), "all", "one")
    t.lines.append("all:")
    t.require_call(0)
    shape(t)
    t.lines.append("one:")
    t.require_call(1)
    ndim, sizes, _ = t.geometry(t.array(), MOST_DIMS)
    t.do(f"ret ptr {t.new_int(t.load(t.at(sizes, dimension(t, ndim))))}")


def dimension(t: MemberLines, ndim: str) -> str:
    """The number of a dimension, which may be counted from the end."""
    dim = t.integer(t.argument(0))
    dim = t.choose(t.calc("icmp slt", dim, "0"), "i64", t.calc("add", dim, ndim), dim)
    t.require(t.calc("icmp ult", dim, ndim))
    return dim


def dim(t: MemberLines) -> None:
    t.require_call(0)
    ndim(t)


def numel(t: MemberLines) -> None:
    t.require_call(0)
    t.do(f"ret ptr {t.new_int(t.elements(t.array()))}")


def element_size(t: MemberLines) -> None:
    t.require_call(0)
    itemsize(t)


def stride(t: MemberLines) -> None:
    array = t.array()
    ndim, sizes, strides = t.geometry(array, MOST_DIMS)
    item = item_size(t, array)
    with t.loop(ndim, t.counter) as i:  # for other sizes PyTorch has its own rules
        t.require(t.calc("icmp sgt", t.load(t.at(sizes, i)), "1"))
    t.branch(t.calc("icmp eq", "%n", "0"), "all", "one")
    t.lines.append("all:")
    t.require_call(0)
    made, places = t.new_tuple(ndim)
    with t.loop(ndim, t.counter) as i:
        t.store(t.new_int(t.calc("sdiv", t.load(t.at(strides, i)), item)), t.at(places, i), "ptr")
    t.do(f"ret ptr {made}")
    t.lines.append("one:")
    t.require_call(1)
    t.do(f"ret ptr {t.new_int(t.calc('sdiv', t.load(t.at(strides, dimension(t, ndim))), item))}")


def address_of(t: MemberLines, array: str) -> str:
    return t.field(array, DATA, "i64")


def data_ptr(t: MemberLines) -> None:
    t.require_call(0)
    array = t.array()
    t.require(t.calc("icmp ne", t.elements(array), "0"))
    t.do(f"ret ptr {t.new_int(address_of(t, array))}")


def storage_offset(t: MemberLines) -> None:
    t.require_call(0)
    array = t.array()
    owner = t.places[0]
    t.store(array, owner, "ptr")
    t.label("search")
    base = t.field(t.load(owner, "ptr"), BASE, "ptr")
    t.branch(t.let(f"icmp eq ptr {base}, null"), "found", "further")
    t.lines.append("further:")
    t.require_type(base, NDARRAY)
    t.store(base, owner, "ptr")
    t.do("br label %search")
    t.lines.append("found:")
    apart = t.calc("sub", address_of(t, array), address_of(t, t.load(owner, "ptr")))
    t.do(f"ret ptr {t.new_int(t.calc('sdiv', apart, item_size(t, array)))}")


def is_contiguous(t: MemberLines) -> None:
    t.require_call(0)
    dense = t.let(f"and i32 {t.field(t.array(), FLAGS, 'i32')}, 1")
    t.give(t.choose(t.let(f"icmp ne i32 {dense}, 0"), "ptr", t.fact(TRUE, "ptr"), t.fact(FALSE, "ptr")))


def contiguous(t: MemberLines) -> None:
    t.require_call(0)
    t.require_flags(t.array(), 1)
    t.give("%self")


def requires_grad_(t: MemberLines) -> None:
    """Where nothing has to change."""
    t.require(t.let("icmp eq ptr %names, null"))
    t.require(t.is_(t.variable(LEVELS), NO_LEVELS))
    fn = t.history()
    t.branch(t.calc("icmp eq", "%n", "0"), "on", "told")
    t.lines.append("told:")
    t.require_call(1)
    t.branch(t.is_(t.argument(0), TRUE), "on", "off")
    t.lines.append("off:")
    t.require(t.is_(t.argument(0), FALSE))
    t.require(t.is_constant(fn))
    t.give("%self")
    t.lines.append("on:")
    t.require(t.is_(fn, LEAF))
    t.give("%self")


def detach(t: MemberLines) -> None:
    t.require_call(0)
    array, fn = t.array(), t.history()
    t.branch(t.is_constant(fn), "constant", "cut")
    t.lines.append("constant:")
    versions = t.counted()
    t.do(f"ret ptr {t.new_tensor(array, versions, fn)}")
    t.lines.append("cut:")
    t.require(t.any(t.is_(fn, LEAF), t.is_node(fn)))
    versions = t.slot("%self", "tensor._vc")
    t.require(t.let(f"xor i1 {t.is_(versions, NONE)}, true"))
    code, last = t.user_line()
    cut = t.new(CUT)
    t.put(cut, t.offsets["cut.kind"], t.fact(DETACH, "ptr"))
    t.put(cut, t.offsets["cut.how"], t.fact(DETACH_CALL, "ptr"))
    t.put(cut, t.offsets["cut.code"], code)
    t.put(cut, t.offsets["cut.before"], t.fact(NONE, "ptr"))
    t.store(t.new_int(last), t.beyond(cut, t.offsets["cut.offset"]), "ptr")
    tensor = t.new_tensor(array, versions, cut)
    t.drop(cut)
    t.do(f"ret ptr {tensor}")


HEAD = """@facts = global ptr null
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
GETTERS = {fn.__name__: fn for fn in (shape, ndim, dtype, device, itemsize, nbytes, requires_grad, is_leaf, grad_fn, grad, data)}
SETTERS = {"grad": set_grad, "data": set_data, "requires_grad": set_requires_grad}
METHODS = {
    fn.__name__: fn
    for fn in (
        size, dim, numel, element_size, stride, data_ptr, storage_offset, is_contiguous, contiguous, requires_grad_, detach, _written,
        zero_, fill_, copy_,
    )
}  # fmt: skip
METHODS |= {"nelement": numel, "ndimension": dim}
TEXTS = [
    *((GETTER, name, fn) for name, fn in GETTERS.items()),
    *((SETTER, name, fn) for name, fn in SETTERS.items()),
    *((METHOD, name, fn) for name, fn in METHODS.items()),
    (FUNCTION, "made_tensor", made_tensor),
]


def module_text(offsets: Offsets) -> str:
    found = [HEAD, DECLARED]
    for place, (kind, name, write) in enumerate(TEXTS, FALLBACKS):
        text = MemberLines(kind, offsets)
        write(text)
        found.append(text.member(kind, f"{kind}_{name}", place))
    return "\n".join(found)


# ---- descriptors --------------------------------------------------------------------------------------------------------------------


class _GetSet(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("get", ctypes.c_void_p), ("set", ctypes.c_void_p), ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )  # fmt: skip


METH_FASTCALL_KEYWORDS = 0x82
_alive: list[Any] = forever([])  # Python and compiled code keep pointers to these


def descriptor(make: Any, owner: type, definition: Any) -> Any:
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    _alive.append(definition)
    return make(owner, ctypes.addressof(definition))


def functions() -> list[int]:
    """The entries of the table from `IS_SUBTYPE` to `SET_SLICE`."""
    api = ctypes.pythonapi
    return [
        objects.address(function)
        for function in (
            api.PyType_IsSubtype, api.PyLong_FromSsize_t, api.PyObject_GetAttr, api.PyObject_SetAttr, api.PyContextVar_Get,
            api.PyObject_CallNoArgs, api.PyEval_GetFrame, api.PyFrame_GetBack, api.PyFrame_GetCode, api.PyFrame_GetLasti,
            api.PySet_Contains, api.PyList_Append, api.PyList_SetSlice,
        )
    ]  # fmt: skip


def layout_as_expected() -> bool:
    """Whether dtypes, arrays and code have what is read of them where it is expected."""
    code, whole = layout_as_expected.__code__, np.zeros(4)
    part = whole[2:]

    def word(obj: Any, offset: int) -> int:
        return ctypes.c_int64.from_address(id(obj) + offset).value

    sizes = all(word(np.dtype(kind), ITEM_SIZE) == np.dtype(kind).itemsize for kind in ("bool", "int16", "float32", "complex128"))
    return sizes and word(part, BASE) == id(whole) and word(code, slot_offset(CodeType, "co_filename")) == id(code.co_filename)


def fallback(member: Any, kind: str) -> Any:
    """The function that does in Python what a compiled one does."""
    if kind == GETTER:
        return member.fget
    return assigning(member) if kind == SETTER else member


def assigning(member: property) -> Callable[..., None]:
    """Set a property, or delete it if no value is given."""

    def assign(tensor: Any, *value: Any) -> None:
        if value:
            member.__set__(tensor, *value)
        else:
            member.__delete__(tensor)

    return assign


def descriptors(
    tensors: Tensors, members: dict[str, Any], facts: tuple[Any, ...], dtypes: dict[Any, Any], compiling: bool
) -> dict[str, Any]:
    """Compiled members by name, from those written in Python; none where they cannot be had, or not without `compiling` them. `facts`: the
    entries of the table from `TRUE` to `DETACH_CALL`."""
    found = tensors.offsets()
    cut = facts[CUT - TRUE]
    if found is None or not layout_as_expected() or len(dtypes) > KNOWN_DTYPES:
        return {}
    offsets = found | {"code.co_filename": slot_offset(CodeType, "co_filename"), "kept": tensors.counter.KEPT} | offsets_of({"cut": cut})
    pairs = [id(x) for pair in dtypes.items() for x in pair]
    room = [0] * (2 * KNOWN_DTYPES - len(pairs))
    behind = [fallback(members[name], kind) for kind, name, _ in TEXTS]
    table = objects.table(None, [*tensors.facts(), *map(id, facts), *functions(), *pairs, *room, *map(id, behind)])
    _alive.append((tensors, facts, dtypes, behind, table))
    symbols = [f"{kind}_{name}" for kind, name, _ in TEXTS]
    description = f"members {sorted(offsets.items())}"
    if not compiling and not jit.is_kept(description):
        return {}
    at = jit.load(description, lambda: module_text(offsets), [*symbols, "facts"], jit.FINISHED, loops())
    ctypes.c_int64.from_address(at["facts"]).value = table.ctypes.data
    api, made = ctypes.pythonapi, {}
    for name in GETTERS:
        doc = (members[name].__doc__ or "").encode()
        definition: Any = _GetSet(name.encode(), at[f"{GETTER}_{name}"], at.get(f"{SETTER}_{name}"), doc, None)
        made[name] = descriptor(api.PyDescr_NewGetSet, tensors.tensor, definition)
    for name in METHODS:
        doc = (members[name].__doc__ or "").encode()
        definition = objects._MethodDef(name.encode(), at[f"{METHOD}_{name}"], METH_FASTCALL_KEYWORDS, doc)
        made[name] = descriptor(api.PyDescr_NewMethod, tensors.tensor, definition)
    definition = objects._MethodDef(b"made_tensor", at[f"{FUNCTION}_made_tensor"], METH_FASTCALL_KEYWORDS, None)
    _alive.append(definition)
    new_function = api.PyCFunction_NewEx
    new_function.restype, new_function.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made["made_tensor"] = new_function(ctypes.addressof(definition), None, None)
    return made
