"""Compiled formulas as Python built-in functions: about 0.1 µs a call where a NumPy function costs 0.45.

A built-in takes NumPy arrays (kind "T") and Python numbers (kind "S"). It computes when all arrays are of one floating dtype, of one shape,
C-contiguous and not large; anything else is passed on, unchanged, to a fallback that can deal with it. Large arrays are cut into pieces
for the thread pool: a second built-in computes one piece, with the GIL released. It checks all of that itself: a wrong
argument is never a crash. What the code needs of Python and NumPy (types, functions) is read from a table that comes as `self`, so that
object code holds no addresses and can be kept on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from . import jit, pool
from .code import TYPES
from .emit import scalar_function
from .expr import MATHS, Expr, Untraceable
from .maths import OUTSIDE, definitions

LARGEST = 32768  # elements that a built-in computes while it holds the GIL
ALONE = 1 << 20  # elements below which waking another thread costs more than it saves, for a formula of plain arithmetic

# The layout of a NumPy array object on 64-bit CPython; `supported()` compares it with a real one.
DATA, NDIM, SHAPE, DESCR, FLAGS = 16, 24, 32, 56, 64
CONTIGUOUS_ALIGNED, WRITEABLE = 0x101, 0x400

# Places in the table.
(NDARRAY, F32, F64, FLOAT, INT, NEW_LIKE, VECTORCALL, FALLBACK, LONG_AS_DOUBLE, ERR_CLEAR, INC_REF, SAVE_THREAD, RESTORE_THREAD,
 LONG_AS_SSIZE, DEC_REF) = range(15)  # fmt: skip

# Where the result goes.
NEW, FIRST, PIECE = "new", "first", "piece"  # a new array; the first argument; a piece of the first argument, between two numbers


def supported() -> bool:
    """Whether array objects are laid out as expected (they are not in a free-threaded or debug build)."""
    array = np.arange(6.0).reshape(2, 3)
    at = id(array)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(at + offset).value

    shape = (ctypes.c_int64 * 2).from_address(word(SHAPE)) if word(SHAPE) else (0, 0)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(8) == id(np.ndarray)
        and word(DATA) == array.ctypes.data
        and ctypes.c_int32.from_address(at + NDIM).value == 2
        and tuple(shape) == (2, 3)
        and word(DESCR) == id(array.dtype)
        and ctypes.c_int32.from_address(at + FLAGS).value & (CONTIGUOUS_ALIGNED | WRITEABLE) == CONTIGUOUS_ALIGNED | WRITEABLE
    )


def address(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def new_like_array() -> int:
    """NumPy's function that makes an array like another."""
    from numpy._core import _multiarray_umath as multiarray

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api = ctypes.cast(pointer(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))  # type: ignore[attr-defined]
    return int(api[277])


def table(fallback: Any) -> Any:
    api = ctypes.pythonapi
    entries = [
        id(np.ndarray), id(np.dtype("float32")), id(np.dtype("float64")), id(float), id(int), new_like_array(),
        address(api.PyObject_Vectorcall), id(fallback), address(api.PyLong_AsDouble), address(api.PyErr_Clear), address(api.Py_IncRef),
        address(api.PyEval_SaveThread), address(api.PyEval_RestoreThread), address(api.PyLong_AsSsize_t),
        address(api.Py_DecRef),
    ]  # fmt: skip
    return np.array(entries, dtype=np.int64)


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


METH_FASTCALL = 0x80
_alive: list[Any] = []  # Python keeps pointers to these


def builtin(name: str, at: int, fallback: Any) -> Callable[..., Any]:
    """The function at an address, as a Python built-in."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    definition = _MethodDef(name.encode(), at, METH_FASTCALL, None)
    facts = table(fallback)
    _alive.append((definition, facts, fallback))
    return make(ctypes.addressof(definition), facts, None)  # type: ignore[no-any-return]


class Formula:
    """What a built-in computes: a formula of arrays and numbers, and where the result goes. A formula with functions that are computed for a
    part of the numbers only cannot overwrite its arguments, which the fallback needs."""

    def __init__(self, symbol: str, expr: Expr, kinds: str, into: str = NEW, loop: str = "") -> None:
        self.symbol = symbol
        self.expr = expr
        self.kinds = kinds
        self.into = into
        self.loop = loop or symbol  # two built-ins may share one loop
        self.partial = expr.count(OUTSIDE) > 0
        if self.partial and into == FIRST:
            raise Untraceable("a function of a part of the numbers, in place")

    @property
    def description(self) -> str:
        return f"{self.symbol} {self.kinds} {self.expr!r} {self.into}"

    @property
    def piece(self) -> Formula:
        return Formula(f"{self.symbol}_piece", self.expr, self.kinds, PIECE, self.loop)


def load(formulas: list[Formula], fallbacks: list[Any]) -> list[Callable[..., Any]]:
    """Built-ins for several formulas, compiled together, each with its own fallback."""
    everything = [f for formula in formulas for f in ([formula, formula.piece] if formula.into == NEW else [formula])]
    found = jit.load(";".join(f.description for f in everything), lambda: module_text(everything), [f.symbol for f in everything])
    made = []
    for formula, fallback in zip(formulas, fallbacks, strict=True):
        if formula.into == NEW:
            piece = builtin(formula.piece.symbol, found[formula.piece.symbol], outside)
            fallback = in_pieces(piece, formula, fallback)
        made.append(builtin(formula.symbol, found[formula.symbol], fallback))
    return made


def outside(*args: Any) -> None:
    """What a piece calls when it meets a number that it cannot compute with."""


def refuse(*args: Any) -> Any:
    raise TypeError("a piece of a kernel takes contiguous arrays of one shape and dtype")


def in_pieces(piece: Callable[..., Any], formula: Formula, fallback: Any) -> Callable[..., Any]:
    """The fallback of a built-in: arrays that are only too large go to the thread pool, all else to the given one."""
    kinds = formula.kinds
    alone = ALONE // (1 + 8 * formula.expr.count(MATHS))
    first, *others = [place for place, kind in enumerate(kinds) if kind == "T"]

    def wide(*args: Any) -> Any:
        if len(args) != len(kinds) or args[first].__class__ is not np.ndarray:
            return fallback(*args)
        array = args[first]
        size, shape, dtype = array.size, array.shape, array.dtype
        if size <= LARGEST or dtype.char not in "fd" or not array.flags.c_contiguous:
            return fallback(*args)
        for place in others:
            other = args[place]
            if other.__class__ is not np.ndarray or other.shape != shape or other.dtype is not dtype or not other.flags.c_contiguous:
                return fallback(*args)
        for place, kind in enumerate(kinds):
            if kind == "S" and args[place].__class__ is not float and args[place].__class__ is not int:
                return fallback(*args)
        out = np.empty(shape, dtype)
        done: list[Any] = []
        if size <= alone:
            done.append(piece(out, *args, 0, size))
        else:
            pool.run(lambda i: done.append(piece(out, *args, i * pool.PIECE, min(size, (i + 1) * pool.PIECE))), -(-size // pool.PIECE))
        return fallback(*args) if any(result is None for result in done) else out

    return wide


# ---- text ---------------------------------------------------------------------------------------------------------------------------


def module_text(formulas: list[Formula]) -> str:
    declared: set[str] = set()
    maths: set[tuple[str, str]] = set()
    texts = []
    for formula in formulas:
        if formula.loop == formula.symbol:
            for kind in TYPES:
                scalar = scalar_function(f"{formula.symbol}_{kind}", formula.expr, len(formula.kinds), kind)
                declared |= scalar.declared
                maths |= {(name, kind) for name in scalar.maths}
                texts += [scalar.text, loop_text(formula, kind)]
        texts.append(entry_text(formula))
    library, more = definitions(maths)
    return "\n".join([*sorted(declared | more), library, *texts])


def loop_text(formula: Formula, kind: str) -> str:
    """One pass over contiguous memory. It returns whether a number was met that cannot be computed with."""
    t, kinds = TYPES[kind], formula.kinds
    size, integer = (4, "i32") if kind == "f32" else (8, "i64")
    arrays = [i for i, k in enumerate(kinds) if k == "T"]
    out = "%p0" if formula.into == FIRST else "%out"
    params = ([] if formula.into == FIRST else ["ptr noalias %out"]) + [f"ptr %p{i}" if k == "T" else f"{t} %v{i}" for i, k in enumerate(kinds)]
    loads = "\n".join(f"  %q{i} = getelementptr {t}, ptr %p{i}, i64 %i\n  %v{i} = load {t}, ptr %q{i}, align {size}" for i in arrays)
    operands = ", ".join(f"{t} %v{i}" for i in range(len(kinds)))
    # Truth values are gathered in integers as wide as the numbers, as vectors of them are.
    start = final = call = ""
    if formula.partial:
        start = f"  %seen = phi {integer} [0, %entry], [%seen_next, %loop]"
        call = f"""
  %both = call {{{t}, i1}} @{formula.symbol}_{kind}({operands})
  %y = extractvalue {{{t}, i1}} %both, 0
  %wrong = extractvalue {{{t}, i1}} %both, 1
  %mark = sext i1 %wrong to {integer}
  %seen_next = or {integer} %seen, %mark"""
        final = f"  %found = phi {integer} [0, %entry], [%seen_next, %loop]\n  %outside = icmp ne {integer} %found, 0"
    else:
        call = f"  %y = call {t} @{formula.symbol}_{kind}({operands})"
    return f"""
define internal i1 @{formula.symbol}_{kind}_loop({", ".join(params)}, i64 %n) noinline {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{start}
{loads}
{call}
  %qo = getelementptr {t}, ptr {out}, i64 %i
  store {t} %y, ptr %qo, align {size}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
{final}
  ret i1 {"%outside" if formula.partial else "false"}
}}
"""


class Text:
    """Lines of a function, with fresh names for registers and labels."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def let(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {instruction}")
        return f"%r{self.count}"

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def field(self, pointer: str, offset: int, type_: str) -> str:
        return self.let(f"load {type_}, ptr {self.let(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def require(self, condition: str) -> None:
        """Go on if the condition holds, to the fallback if not."""
        self.count += 1
        self.do(f"br i1 {condition}, label %ok{self.count}, label %slow")
        self.lines.append(f"ok{self.count}:")


def entry_text(formula: Formula) -> str:
    """The built-in itself: check the arguments, find or make the result, run the loop of its dtype."""
    text = Text()
    # A piece has the result as an argument before the others, and two numbers after them.
    kinds = f"T{formula.kinds}II" if formula.into == PIECE else formula.kinds
    shift = len("T") if formula.into == PIECE else 0
    arrays = [i for i, kind in enumerate(kinds) if kind == "T"]
    first = arrays[0]
    text.require(text.let(f"icmp eq i64 %n, {len(kinds)}"))
    facts = text.field("%self", DATA, "ptr")

    def fact(place: int, type_: str = "i64") -> str:
        return text.field(facts, 8 * place, type_)

    objects = [text.field("%args", 8 * i, "ptr") for i in range(len(kinds))]
    ndarray = fact(NDARRAY)
    numbers = {}
    for i, kind in enumerate(kinds):
        type_ = text.field(objects[i], 8, "i64")
        if kind == "T":
            text.require(text.let(f"icmp eq i64 {type_}, {ndarray}"))
        elif kind == "S":
            numbers[i] = number(text, objects[i], type_, fact)
        else:
            text.require(text.let(f"icmp eq i64 {type_}, {fact(INT)}"))
            numbers[i] = text.let(f"call i64 {fact(LONG_AS_SSIZE, 'ptr')}(ptr {objects[i]})")
    descr = text.field(objects[first], DESCR, "i64")
    ndim = text.field(objects[first], NDIM, "i32")
    own = flags = text.field(objects[first], FLAGS, "i32")
    for i in arrays[1:]:
        text.require(text.let(f"icmp eq i64 {text.field(objects[i], DESCR, 'i64')}, {descr}"))
        text.require(text.let(f"icmp eq i32 {text.field(objects[i], NDIM, 'i32')}, {ndim}"))
        flags = text.let(f"and i32 {flags}, {text.field(objects[i], FLAGS, 'i32')}")
    if formula.into != NEW:
        text.require(text.let(f"icmp ne i32 {text.let(f'and i32 {own}, {WRITEABLE}')}, 0"))
    text.require(text.let(f"icmp eq i32 {text.let(f'and i32 {flags}, {CONTIGUOUS_ALIGNED}')}, {CONTIGUOUS_ALIGNED}"))
    size = same_size(text, [text.field(objects[i], SHAPE, "ptr") for i in arrays], ndim)
    is_f32 = text.let(f"icmp eq i64 {descr}, {fact(F32)}")
    is_f64 = text.let(f"icmp eq i64 {descr}, {fact(F64)}")
    text.require(text.let(f"or i1 {is_f32}, {is_f64}"))
    start = "0"
    if formula.into == PIECE:
        start, stop = numbers[len(kinds) - 2], numbers[len(kinds) - 1]
        text.require(text.let(f"icmp sge i64 {start}, 0"))
        text.require(text.let(f"icmp sle i64 {start}, {stop}"))
        text.require(text.let(f"icmp sle i64 {stop}, {size}"))
        size = text.let(f"sub i64 {stop}, {start}")
    else:
        text.require(text.let(f"icmp sle i64 {size}, {LARGEST}"))
    if formula.into == NEW:
        result = text.let(f"call ptr {fact(NEW_LIKE, 'ptr')}(ptr {objects[first]}, i32 0, ptr null, i32 0)")
        text.do(f"br i1 {text.let(f'icmp eq ptr {result}, null')}, label %failed, label %made")
        text.lines += ["failed:", "  ret ptr null", "made:"]
    else:
        result = objects[first]
        text.do(f"call void {fact(INC_REF, 'ptr')}(ptr {result})")
    pointers = {i: text.field(objects[i], DATA, "ptr") for i in arrays}
    out = {NEW: text.field(result, DATA, "ptr"), PIECE: pointers[first]}.get(formula.into)
    state = text.let(f"call ptr {fact(SAVE_THREAD, 'ptr')}()") if formula.into == PIECE else None
    restore, drop = fact(RESTORE_THREAD, "ptr"), fact(DEC_REF, "ptr")
    text.do(f"br i1 {is_f32}, label %f32, label %f64")
    for kind, t in TYPES.items():
        text.lines.append(f"{kind}:")
        values = [] if out is None else [f"ptr {text.let(f'getelementptr {t}, ptr {out}, i64 {start}')}"]
        for i, k in enumerate(formula.kinds, shift):
            if k == "T":
                values.append(f"ptr {text.let(f'getelementptr {t}, ptr {pointers[i]}, i64 {start}')}")
            else:
                values.append(f"{t} {numbers[i] if t == 'double' else text.let(f'fptrunc double {numbers[i]} to float')}")
        wrong = text.let(f"call i1 @{formula.loop}_{kind}_loop({', '.join(values)}, i64 {size})")
        if state is not None:
            text.do(f"call void {restore}(ptr {state})")
        if formula.partial:
            text.do(f"br i1 {wrong}, label %outside, label %done_{kind}")
            text.lines.append(f"done_{kind}:")
        text.do(f"ret ptr {result}")
    if formula.partial:
        text.lines.append("outside:")
        text.do(f"call void {drop}(ptr {result})")
        text.do("br label %slow")
    body = "\n".join(text.lines)
    return f"""
define ptr @{formula.symbol}(ptr %self, ptr %args, i64 %n) {{
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


def number(text: Text, obj: str, type_: str, fact: Callable[..., str]) -> str:
    """A Python float or int as a double."""
    text.count += 1
    mark = text.count
    is_float = text.let(f"icmp eq i64 {type_}, {fact(FLOAT)}")
    text.do(f"br i1 {is_float}, label %float{mark}, label %notfloat{mark}")
    text.lines.append(f"float{mark}:")
    direct = text.field(obj, 16, "double")
    text.do(f"br label %number{mark}")
    text.lines.append(f"notfloat{mark}:")
    is_int = text.let(f"icmp eq i64 {type_}, {fact(INT)}")
    text.require(is_int)
    converted = text.let(f"call double {fact(LONG_AS_DOUBLE, 'ptr')}(ptr {obj})")
    # -1 may mean an error: the fallback finds out.
    suspicious = text.let(f"fcmp oeq double {converted}, -1.0")
    text.do(f"br i1 {suspicious}, label %clear{mark}, label %int{mark}")
    text.lines.append(f"clear{mark}:")
    text.do(f"call void {fact(ERR_CLEAR, 'ptr')}()")
    text.do("br label %slow")
    text.lines.append(f"int{mark}:")
    text.do(f"br label %number{mark}")
    text.lines.append(f"number{mark}:")
    return text.let(f"phi double [{direct}, %float{mark}], [{converted}, %int{mark}]")


def same_size(text: Text, shapes: list[str], ndim: str) -> str:
    """The number of elements, provided that all shapes are equal."""
    text.count += 1
    mark = text.count
    rank = text.let(f"sext i32 {ndim} to i64")
    text.do(f"br label %dims{mark}")
    text.lines.append(f"dims{mark}:")
    text.lines.append(f"  %d{mark} = phi i64 [0, %{previous_label(text, mark)}], [%dn{mark}, %same{mark}]")
    text.lines.append(f"  %size{mark} = phi i64 [1, %{previous_label(text, mark)}], [%sizen{mark}, %same{mark}]")
    text.do(f"br i1 {text.let(f'icmp slt i64 %d{mark}, {rank}')}, label %dim{mark}, label %counted{mark}")
    text.lines.append(f"dim{mark}:")
    sizes = [text.let(f"load i64, ptr {text.let(f'getelementptr i64, ptr {shape}, i64 %d{mark}')}") for shape in shapes]
    for other in sizes[1:]:
        text.require(text.let(f"icmp eq i64 {sizes[0]}, {other}"))
    text.do(f"br label %same{mark}")
    text.lines += [f"same{mark}:", f"  %sizen{mark} = mul i64 %size{mark}, {sizes[0]}", f"  %dn{mark} = add i64 %d{mark}, 1", f"  br label %dims{mark}"]
    text.lines.append(f"counted{mark}:")
    return f"%size{mark}"


def previous_label(text: Text, mark: int) -> str:
    """The block that leads into the loop over dimensions."""
    for line in reversed(text.lines):
        if line.endswith(":") and line != f"dims{mark}:":
            return line[:-1]
    return "entry"
