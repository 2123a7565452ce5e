"""Python and NumPy as compiled code sees them: the layout of objects, the functions it calls, and how it becomes a built-in function.

What the code needs of Python and NumPy (types, functions) is read from a table that comes as `self`, so that object code holds no
addresses and can be kept on disk.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .lifetime import forever

# The layout of a NumPy array object on 64-bit CPython; `supported()` compares it with a real one.
DATA, NDIM, SHAPE, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64
CONTIGUOUS_ALIGNED, ALIGNED, WRITEABLE = 0x101, 0x100, 0x400

# Places in the table; those after the last are for the function at hand.
(NDARRAY, F32, F64, BOOL, FLOAT, INT, NEW_LIKE, VECTORCALL, FALLBACK, LONG_AS_DOUBLE, ERR_OCCURRED, ERR_CLEAR, INC_REF, DEC_REF,
 SAVE_THREAD, RESTORE_THREAD, LONG_AS_SSIZE, OWN) = range(18)  # fmt: skip


NEW_LIKE_ARRAY, EMPTY_ARRAY, NEW_ARRAY = 277, 184, 94  # the places of these functions in NumPy's table


def supported() -> bool:
    """Whether array objects are laid out as expected (they are not in a free-threaded or debug build)."""
    array = np.arange(6.0).reshape(2, 3)
    at = id(array)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(at + offset).value

    shape = (ctypes.c_int64 * 2).from_address(word(SHAPE)) if word(SHAPE) else (0, 0)
    strides = (ctypes.c_int64 * 2).from_address(word(STRIDES)) if word(STRIDES) else (0, 0)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(8) == id(np.ndarray)
        and word(DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(at + NDIM).value == 2
        and tuple(shape) == (2, 3)
        and tuple(strides) == (24, 8)
        and word(DESCR) == id(array.dtype)
        and ctypes.c_int32.from_address(at + FLAGS).value & (CONTIGUOUS_ALIGNED | WRITEABLE) == CONTIGUOUS_ALIGNED | WRITEABLE
    )


def address(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def array_function(place: int) -> int:
    """The address of a function in NumPy's table."""
    multiarray: Any = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api = ctypes.cast(pointer(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(api[place])


def table(fallback: Any, more: Sequence[int] = ()) -> Any:
    """What a built-in gets to know: these entries, and more of its own."""
    api = ctypes.pythonapi
    entries = [
        id(np.ndarray), id(np.dtype("float32")), id(np.dtype("float64")), id(np.dtype("bool")), id(float), id(int),
        array_function(NEW_LIKE_ARRAY), address(api.PyObject_Vectorcall), id(fallback), address(api.PyLong_AsDouble),
        address(api.PyErr_Occurred), address(api.PyErr_Clear),
        address(api.Py_IncRef), address(api.Py_DecRef), address(api.PyEval_SaveThread), address(api.PyEval_RestoreThread),
        address(api.PyLong_AsSsize_t), *more,
    ]  # fmt: skip
    return np.array(entries, dtype=np.int64)


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


METH_FASTCALL = 0x80
_alive: list[Any] = forever([])  # Python and the tables keep pointers to these


def builtin(name: str, at: int, facts: Any, *others: Any) -> Callable[..., Any]:
    """The function at an address, as a Python built-in with a table. The objects that the table refers to are kept alive with it."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    definition = _MethodDef(name.encode(), at, METH_FASTCALL, None)
    _alive.append((definition, facts, others))
    return make(ctypes.addressof(definition), facts, None)  # type: ignore[no-any-return]


# ---- text ---------------------------------------------------------------------------------------------------------------------------


class Text:
    """Lines of a built-in, with fresh names for registers and labels. It is called with `%self`, `%args` and `%n`; what it cannot do it
    leaves to its fallback, at the label `slow`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.count = 0
        self.facts = self.field("%self", DATA, "ptr")

    def let(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {instruction}")
        return f"%r{self.count}"

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def field(self, pointer: str, offset: int, type_: str) -> str:
        return self.let(f"load {type_}, ptr {self.let(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def fact(self, place: int, type_: str = "i64") -> str:
        """An entry of the table."""
        return self.field(self.facts, 8 * place, type_)

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def require(self, condition: str) -> None:
        """Go on if the condition holds, to the fallback if not."""
        self.count += 1
        self.branch(condition, f"ok{self.count}", "slow")
        self.lines.append(f"ok{self.count}:")

    def number(self, obj: str) -> tuple[str, str]:
        """Whether an object is a Python float or int, and its value as a double."""
        type_ = self.field(obj, 8, "i64")
        self.count += 1
        mark = self.count
        self.branch(self.let(f"icmp eq i64 {type_}, {self.fact(FLOAT)}"), f"float{mark}", f"notfloat{mark}")
        self.lines.append(f"float{mark}:")
        direct = self.field(obj, 16, "double")
        self.do(f"br label %number{mark}")
        self.lines.append(f"notfloat{mark}:")
        self.branch(self.let(f"icmp eq i64 {type_}, {self.fact(INT)}"), f"int{mark}", f"other{mark}")
        self.lines.append(f"int{mark}:")
        converted = self.let(f"call double {self.fact(LONG_AS_DOUBLE, 'ptr')}(ptr {obj})")
        self.require_no_error(self.let(f"fcmp oeq double {converted}, -1.0"), f"fine{mark}")
        self.lines += [f"  br label %number{mark}", f"other{mark}:", f"  br label %number{mark}", f"number{mark}:"]
        origins = f"[{{}}, %float{mark}], [{{}}, %fine{mark}], [{{}}, %other{mark}]"
        is_number = self.let(f"phi i1 {origins.format('true', 'true', 'false')}")
        return is_number, self.let(f"phi double {origins.format(direct, converted, '0.0')}")

    def integer(self, obj: str) -> str:
        """The value of an int that must be one."""
        self.require(self.let(f"icmp eq i64 {self.field(obj, 8, 'i64')}, {self.fact(INT)}"))
        value = self.let(f"call i64 {self.fact(LONG_AS_SSIZE, 'ptr')}(ptr {obj})")
        self.count += 1
        self.require_no_error(self.let(f"icmp eq i64 {value}, -1"), f"whole{self.count}")
        return value

    def require_no_error(self, suspicious: str, fine: str) -> None:
        """Go on at a label, unless a number that Python converted is -1 because it was too large: then forget the error."""
        self.count += 1
        mark = self.count
        self.branch(suspicious, f"suspicious{mark}", fine)
        self.lines.append(f"suspicious{mark}:")
        error = self.let(f"call ptr {self.fact(ERR_OCCURRED, 'ptr')}()")
        self.branch(self.let(f"icmp eq ptr {error}, null"), fine, f"clear{mark}")
        self.lines.append(f"clear{mark}:")
        self.do(f"call void {self.fact(ERR_CLEAR, 'ptr')}()")
        self.do("br label %slow")
        self.lines.append(f"{fine}:")

    def intrinsic(self, name: str, value: str, *more: str) -> str:
        """A function of LLVM of a 64-bit integer."""
        types = ["i64", *(one.split()[0] for one in more)]
        self.declared.add(f"declare i64 @llvm.{name}.i64({', '.join(types)})")
        return self.let(f"call i64 @llvm.{name}.i64({', '.join([f'i64 {value}', *more])})")

    def function(self, symbol: str) -> str:
        """The whole built-in."""
        body = "\n".join(self.lines)
        declared = "\n".join(sorted(self.declared))
        return f"""
{declared}
define ptr @{symbol}(ptr %self, ptr %args, i64 %n) {{
entry:
{body}
slow:
  %table_at = getelementptr i8, ptr %self, i64 {DATA}
  %table = load ptr, ptr %table_at
  %call_at = getelementptr i8, ptr %table, i64 {8 * VECTORCALL}
  %call = load ptr, ptr %call_at
  %other_at = getelementptr i8, ptr %table, i64 {8 * FALLBACK}
  %other = load ptr, ptr %other_at
  %passed = call ptr %call(ptr %other, ptr %args, i64 %n, ptr null)
  ret ptr %passed
}}
"""
