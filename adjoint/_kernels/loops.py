"""Kernels written as plain Python loops, and compiled from their source.

    @loop
    def add_rows(out: Out, x: Floats, bias: Floats, width: int, rows: range) -> None:
        for i in rows:
            for j in range(width):
                out[i * width + j] = x[i * width + j] + bias[j]

    add_rows.run(out, x, bias, width, len(x), width) or numpy_does_it(...)

The language is a part of Python: `for` over `range`, `while`, `if`, assignments, arithmetic, comparisons, elements of arrays, and the
functions below. A kernel is compiled for float32 and for float64, whichever its `Floats` have; if it says so, also for other kinds of
elements (`kinds=`). Arrays are C-contiguous (unless they are `Strided`), and indexed as the flat memory that they are; nothing checks an
index, so a kernel must be right for all arguments that its caller lets through.

The last parameter is the range of units that a call works on (from its `start` to its `stop`). The caller gives the number of units in its
place, and after it how many elements there are to a unit: from both it follows how the work is cut into pieces for the threads. So the
results do not depend on the number of threads, as long as each unit writes where no other does.

`run` returns True, or None where it cannot serve: llvmlite is missing, or an argument is not what it takes (another dtype, not
contiguous). Then the caller computes the result by NumPy. A kernel that has a `Mark` can say that its results are not to be used; `run`
returns False then.

Numbers: `int` is 64 bits. A literal like 0.5 and the elements of `Floats` have the kernel's floating type, `wide(x)` is a double and
`narrow(x)` goes back, `bits(x)` is the pattern of its bits. `a // b` and `a % b` are of non-negative integers. Both sides of
`a if condition else b` are computed. A tuple of numbers of the kernel's module is an array of doubles.

Elements in half precision are float32 as soon as they are read, and rounded where they are written. Results may be of another kind than
the elements, if they go to an array of `Results`: their kind is the one that is computed in. With whole numbers, infinity is the largest
there is, and `wide(x)` has 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, overload

from .._serving import compiles
from .lifetime import compiling

# ---- the types of parameters --------------------------------------------------------------------------------------------------------


class Elements:
    """An array; this is what a type checker sees of it."""

    def __getitem__(self, place: Any) -> Any: ...

    def __setitem__(self, place: Any, value: Any) -> None: ...


class Floats(Elements):
    """An array of the kernel's floating type. One that is written to may be the same as another."""


class Out(Floats):
    """An array that shares no memory with the others."""


class Strided(Out):
    """An array of any strides, which the kernel is told as numbers; its elements are counted from the first. Like `Out` it shares no
    memory with the others, unless both are only read."""


class Results(Out):
    """An array of what a kernel computes, whose elements may be of another kind than those of `Floats`."""


class Ints(Elements):
    """An array of int64."""


class Words(Elements):
    """An array of uint32. Its elements are integers, and keep the low 32 bits of what is written to them."""


class Bools(Elements):
    """An array of truth values."""


class Doubles(Elements):
    """An array of float64, whatever the kernel's floating type."""


class Mark(Elements):
    """One integer, which is not given by the caller: 0, unless the kernel writes `mark[0] = 1`. Then `run` returns False."""


# ---- functions of the language: these, abs, min, max, and those of LLVM and of maths.py ---------------------------------------------


def _function(*numbers: Any) -> Any:
    """A function of floating numbers."""


sqrt = floor = ceil = trunc = rint = fma = maximum = minimum = copysign = _function
exp = exp2 = exp_negative = expm1 = log = log2 = log1p = power = sinh = cosh = tanh = sin = cos = erf = erfc = lgamma = _function


# Those of the C library, of doubles: as exact, to the last bit, as in other programs that call them.
c_exp = c_log = c_log1p = c_pow = c_sin = c_cos = c_tan = c_lgamma = _function


def wide(x: Any) -> Any:
    """A number as a double."""


def narrow(x: Any) -> Any:
    """A number in the kernel's floating type."""


def select(condition: Any, a: Any, b: Any) -> Any:
    """One of two numbers, without a branch."""


def bits(x: Any) -> Any:
    """The bits of a number of the kernel's floating type, as a non-negative integer if that has 32 bits."""


def exactly(x: Any) -> Any:
    """The expression computed as it is written, in a loop where sums may be reordered: `exactly((x - top) - shift)`."""


def precision() -> float:
    """The relative error that does not matter in the results."""
    raise TypeError("precision() is called by kernels only")


def of_bits(pattern: Any) -> Any:
    """The number of the kernel's floating type that has such bits."""


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, by one instruction; of NaN and a number, anything. `maximum` takes care of NaN."""


def at(address: Any) -> Any:
    """The array of `Floats` that begins at an address; it may be given a name, and no more."""


def independent(turns: Any) -> Any:
    """A range whose turns may be made in any order or at once: none writes what another reads or writes. (Where few arrays are involved,
    LLVM finds that out by itself.)"""


def fortran(address: Any, *arguments: Any) -> None:
    """Call a function of a Fortran library, which takes places: those of elements (`x[i]`), or of 64-bit integers that are given."""


def room(count: Any) -> Any:
    """An array of results in a piece of work's own memory; it may be given a name, and no more. Its size is a constant."""


def element_room(count: Any) -> Any:
    """The same for elements, where results are of another kind."""


def wide_room(count: Any) -> Any:
    """The same for doubles."""


def index_room(count: Any) -> Any:
    """The same for integers."""


class Part:
    """A function that kernels call. Its parameters are annotated like a kernel's; it ends with the one `return`, unless it is annotated to
    return None. It is written where it is called, unless it is `apart`."""

    def __init__(self, fn: Callable[..., Any], apart: bool = False) -> None:
        self.fn = fn
        self.apart = apart
        self.__name__ = fn.__name__

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.__name__}() is called by kernels only")


def part(fn: Callable[..., Any]) -> Part:
    return Part(fn)


def part_apart(fn: Callable[..., Any]) -> Part:
    """A part that is compiled once and called, for what is long, and called in several places. It takes arrays, `int` and `float`."""
    return Part(fn, apart=True)


def given(*arguments: Any) -> Any:
    """Stands for a part that a template is given: `step = given`."""


class Template:
    """A loop that calls parts which it does not know: `template("name", step=add)` is the kernel whose `step` is the part `add`."""

    def __init__(self, fn: Callable[..., Any], flags: str, kinds: tuple[str, ...]) -> None:
        self.fn = fn
        self.flags = flags
        self.kinds = kinds

    def __call__(self, name: str, **parts: Part) -> Loop:
        return Loop(self.fn, self.flags, self.kinds, name, parts)


FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16")
WHOLE = ("i64", "i32", "i16", "i8", "u8", "bool")


def template(*, reorder: bool = False, kinds: tuple[str, ...] = FLOATS) -> Callable[[Callable[..., Any]], Template]:
    """Declare a loop with parts that are given later. `reorder` and `kinds` are as for `loop`."""
    return lambda fn: Template(fn, REORDER if reorder else "", kinds)


# ---- kernels ------------------------------------------------------------------------------------------------------------------------

REORDER = "reassoc nsz contract"
LOOPS: list[Loop] = []  # all that have been declared


class Loop:
    """A kernel. `run` becomes a built-in function when the kernel has been compiled."""

    def __init__(
        self, fn: Callable[..., Any], flags: str, kinds: tuple[str, ...] = FLOATS, name: str = "", parts: dict[str, Part] | None = None,
        unroll: bool = True,
    ) -> None:  # fmt: skip
        self.fn = fn
        self.flags = flags
        self.kinds = kinds
        self.parts = parts or {}
        self.unroll = unroll
        self.__name__ = name or fn.__name__
        self.__doc__ = fn.__doc__
        self.run: Callable[..., bool | None] = self.first
        LOOPS.append(self)

    def first(self, *args: Any) -> bool | None:
        """The first call, which compiles."""
        with compiling:
            if self.run == self.first:  # no other thread has been here meanwhile
                self.run = self.compiled()
        return self.run(*args)

    def compiled(self) -> Callable[..., bool | None]:
        if not compiles():
            return unable
        from . import calls, loop_code

        return calls.Kernel(self.__name__, loop_code.parameter_kinds(self), partial(loop_code.load, self), self.kinds).call


def unable(*args: Any) -> None:
    """What serves where nothing can be compiled."""


@overload
def loop(fn: Callable[..., Any], /) -> Loop: ...


@overload
def loop(*, reorder: bool = False, kinds: tuple[str, ...] = FLOATS, unroll: bool = True) -> Callable[[Callable[..., Any]], Loop]: ...


def loop(fn: Callable[..., Any] | None = None, *, reorder: bool = False, kinds: tuple[str, ...] = FLOATS, unroll: bool = True) -> Any:
    """Declare a kernel. Where sums may be computed in another order and products be added without rounding, say `reorder`: only then are
    sums vectorised. `kinds` are the kinds of elements that it takes. A kernel of very many loops is compiled in half the time without
    `unroll`."""
    flags = REORDER if reorder else ""
    return Loop(fn, flags, kinds) if fn is not None else lambda fn: Loop(fn, flags, kinds, unroll=unroll)


PIECES = 8  # in which work is cut at most, if each piece needs memory of its own


def cut(units: int) -> tuple[int, int]:
    """How many units make a piece of such work, and how many pieces there are."""
    take = -(-units // PIECES)
    return take, -(-units // take)
