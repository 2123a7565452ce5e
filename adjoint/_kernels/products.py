"""Matrix products as a built-in function: arguments are checked, the result is made, and multiply.py computes it.

Matrices may be transposed and batches strided, as views are, in up to two dimensions of batches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .._serving import compiles
from . import gemm, jit, multiply, objects, workers
from .blocks import order
from .objects import (
    ALIGNED,
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    F32,
    F64,
    FLAGS,
    INC_REF,
    NDARRAY,
    NDIM,
    OWN,
    RESTORE_THREAD,
    SAVE_THREAD,
    SHAPE,
    STRIDES,
    Text,
)

SHORT = 1 << 13  # multiplications of a vector and a matrix, at most
BEGUN = 1 << 10  # what a matrix takes however small it is, in multiplications

EMPTY, NONE, SHARE, STATE, TAKE, FREE = range(OWN, OWN + 6)
EMPTY_ARRAY = 184  # the place of this function in NumPy's table


@cache
def function(kind: str) -> Callable[..., Any]:
    """`function("f32")(a, b, bias)` is the product of two matrices or batches of them, None where NumPy has to compute it. `bias` is
    None, a vector that is added to each row, a matrix (m, n), or one number for each row (m, 1); of a batch, the same for all."""
    if not compiles() or not workers.supported():
        return unable
    found = jit.load(f"products {kind}", lambda: text(kind), ["products"], jit.FINISHED)
    threads, api = workers.workers(), ctypes.pythonapi
    more = [objects.array_function(EMPTY_ARRAY), id(None), threads.share, threads.address]
    memory = [objects.address(api.PyMem_RawMalloc), objects.address(api.PyMem_RawFree)]
    return objects.builtin("products", found["products"], objects.table(unable, [*more, *memory]), unable)


def unable(*args: Any) -> None:
    """The fallback."""


def text(kind: str) -> str:
    return "\n".join([multiply.text(kind), entry_text(kind)])


# ---- the arguments ------------------------------------------------------------------------------------------------------------------


class Matrices:
    """What the entry finds out about an argument."""

    def __init__(self, t: Text, obj: str, descr: str) -> None:
        self.t = t
        t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
        t.require(t.let(f"icmp eq i64 {t.field(obj, DESCR, 'i64')}, {descr}"))
        flags = t.let(f"and i32 {t.field(obj, FLAGS, 'i32')}, {ALIGNED}")
        t.require(t.let(f"icmp eq i32 {flags}, {ALIGNED}"))
        self.ndim = t.let(f"sext i32 {t.field(obj, NDIM, 'i32')} to i64")
        t.require(t.let(f"icmp sge i64 {self.ndim}, 2"))
        t.require(t.let(f"icmp sle i64 {self.ndim}, 4"))
        self.data = t.field(obj, DATA, "ptr")
        self.shape, self.strides = t.field(obj, SHAPE, "ptr"), t.field(obj, STRIDES, "ptr")

    def last(self, of: str, back: int, missing: int = 0) -> str:
        """The size or stride of a dimension, counted from the end."""
        t = self.t
        place = t.let(f"sub i64 {self.ndim}, {back}")
        exists = t.let(f"icmp sge i64 {place}, 0")
        place = t.let(f"select i1 {exists}, i64 {place}, i64 0")
        found = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {of}, i64 {place}')}")
        return t.let(f"select i1 {exists}, i64 {found}, i64 {missing}")

    def matrix(self, item: int) -> dict[str, str]:
        """Rows, columns, and the steps between them, counted in numbers."""
        t = self.t
        rows, columns = self.last(self.shape, 2), self.last(self.shape, 1)
        for size in (rows, columns):
            t.require(t.let(f"icmp sgt i64 {size}, 0"))
        steps = []
        for back in (2, 1):
            stride = self.last(self.strides, back)
            t.require(t.let(f"icmp eq i64 {t.let(f'srem i64 {stride}, {item}')}, 0"))
            steps.append(t.let(f"sdiv i64 {stride}, {item}"))
        return {"rows": rows, "columns": columns, "row": steps[0], "column": steps[1]}

    def batch(self, back: int) -> tuple[str, str]:
        """The size of a dimension of batches, 1 if there is none, and its stride, 0 if it is repeated."""
        size, stride = self.last(self.shape, back, 1), self.last(self.strides, back)
        return size, self.t.let(f"select i1 {self.t.let(f'icmp eq i64 {size}, 1')}, i64 0, i64 {stride}")


def entry_text(kind: str) -> str:
    t, item = Text(), gemm.SIZES[kind]
    t.require(t.let("icmp eq i64 %n, 3"))
    given = [t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr %args, i64 {place}')}") for place in range(3)]
    descr = t.fact(F32 if kind == "f32" else F64)
    a, b = (Matrices(t, obj, descr) for obj in given[:2])
    left, right = a.matrix(item), b.matrix(item)
    m, n, k = left["rows"], right["columns"], left["columns"]
    t.require(t.let(f"icmp eq i64 {right['rows']}, {k}"))
    values = {"m": m, "n": n, "k": k}
    sizes = []
    for back, name in ((4, "outer"), (3, "inner")):
        (a_size, values[f"a_{name}"]), (b_size, values[f"b_{name}"]) = a.batch(back), b.batch(back)
        repeated = t.let(f"icmp eq i64 {a_size}, 1")
        size = t.let(f"select i1 {repeated}, i64 {b_size}, i64 {a_size}")
        same = t.let(f"icmp eq i64 {b_size}, {size}")
        t.require(t.let(f"or i1 {same}, {t.let(f'icmp eq i64 {b_size}, 1')}"))
        t.require(t.let(f"icmp sgt i64 {size}, 0"))
        sizes.append(size)
    batch = t.let(f"mul i64 {sizes[0]}, {sizes[1]}")
    vector = t.let(f"icmp eq i64 {t.let(f'call i64 @llvm.smin.i64(i64 {m}, i64 {n})')}, 1")
    each = t.let(f"mul i64 {t.let(f'mul i64 {m}, {n}')}, {k}")
    large = t.let(f"and i1 {vector}, {t.let(f'icmp sgt i64 {each}, {SHORT}')}")
    t.require(t.let(f"or i1 {t.let(f'icmp ne i64 {batch}, 1')}, {t.let(f'xor i1 {large}, true')}"))  # for which BLAS has functions
    bias = bias_argument(t, given[2], descr, m, n)
    cost = t.let(f"mul i64 {batch}, {t.let(f'add i64 {each}, {BEGUN}')}")
    out = new_array(t, [*sizes, m, n], a.ndim, b.ndim, descr)
    values |= {
        "a": a.data, "b": b.data, "out": t.field(out, DATA, "ptr"), **bias, "inner": sizes[1],
        "batch": batch, "cost": cost, "a_row": left["row"], "a_column": left["column"], "b_row": right["row"],
        "b_column": right["column"], "share": t.fact(SHARE, "ptr"), "state": t.fact(STATE, "ptr"), "take": t.fact(TAKE, "ptr"),
        "free": t.fact(FREE, "ptr"),
    }  # fmt: skip
    job = t.let(f"alloca [{len(order(multiply.JOB))} x i64]")
    for place, name in enumerate(multiply.GIVEN.split()):
        type_ = "ptr" if name.endswith("*") else "i64"
        t.do(f"store {type_} {values[name.strip('*')]}, ptr {t.let(f'getelementptr i64, ptr {job}, i64 {place}')}")
    t.branch(t.let(f"icmp slt i64 {cost}, {multiply.ALONE}"), "held", "unheld")
    t.lines.append("held:")
    t.do(f"call void @plan(ptr {job})")
    t.do(f"ret ptr {out}")
    t.lines.append("unheld:")
    state = t.let(f"call ptr {t.fact(SAVE_THREAD, 'ptr')}()")
    t.do(f"call void @plan(ptr {job})")
    t.do(f"call void {t.fact(RESTORE_THREAD, 'ptr')}(ptr {state})")
    t.do(f"ret ptr {out}")
    return "declare i64 @llvm.smin.i64(i64, i64)\n" + t.function("products")


def new_array(t: Text, sizes: list[str], a_dims: str, b_dims: str, descr: str) -> str:
    """A new array of the last dimensions of four, as many as the operand with more of them has."""
    room = t.let("alloca [4 x i64]")
    for place, size in enumerate(sizes):
        t.do(f"store i64 {size}, ptr {t.let(f'getelementptr i64, ptr {room}, i64 {place}')}")
    dims = t.let(f"select i1 {t.let(f'icmp sgt i64 {a_dims}, {b_dims}')}, i64 {a_dims}, i64 {b_dims}")
    shape = t.let(f"getelementptr i64, ptr {room}, i64 {t.let(f'sub i64 4, {dims}')}")
    dtype = t.let(f"inttoptr i64 {descr} to ptr")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {dtype})")  # which NumPy takes over
    out = t.let(f"call ptr {t.fact(EMPTY, 'ptr')}(i32 {t.let(f'trunc i64 {dims} to i32')}, ptr {shape}, ptr {dtype}, i32 0)")
    t.branch(t.let(f"icmp eq ptr {out}, null"), "no_memory", "memory")
    t.lines += ["no_memory:", "  ret ptr null", "memory:"]
    return out


def bias_argument(t: Text, obj: str, descr: str, m: str, n: str) -> dict[str, str]:
    """Where the bias is, null for None, and how far apart its numbers are for rows and columns."""
    room = t.let("alloca [3 x i64]")
    places = [t.let(f"getelementptr i64, ptr {room}, i64 {place}") for place in range(3)]
    t.do(f"store ptr null, ptr {places[0]}")
    for place in places[1:]:
        t.do(f"store i64 0, ptr {place}")
    t.branch(t.let(f"icmp eq ptr {obj}, {t.fact(NONE, 'ptr')}"), "no_bias", "some_bias")
    t.lines.append("some_bias:")
    t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
    t.require(t.let(f"icmp eq i64 {t.field(obj, DESCR, 'i64')}, {descr}"))
    flags = t.let(f"and i32 {t.field(obj, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
    ndim, shape = t.field(obj, NDIM, "i32"), t.field(obj, SHAPE, "ptr")
    vector, matrix = (t.let(f"icmp eq i32 {ndim}, {dims}") for dims in (1, 2))
    t.require(t.let(f"or i1 {vector}, {matrix}"))
    rows = t.let(f"load i64, ptr {shape}")
    last = t.let(f"zext i1 {matrix} to i64")
    columns = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {shape}, i64 {last}')}")
    t.require(t.let(f"or i1 {vector}, {t.let(f'icmp eq i64 {rows}, {m}')}"))
    whole, single = t.let(f"icmp eq i64 {columns}, {n}"), t.let(f"icmp eq i64 {columns}, 1")
    t.require(t.let(f"or i1 {whole}, {t.let(f'and i1 {matrix}, {single}')}"))
    t.do(f"store ptr {t.field(obj, DATA, 'ptr')}, ptr {places[0]}")
    t.do(f"store i64 {t.let(f'select i1 {matrix}, i64 {columns}, i64 0')}, ptr {places[1]}")
    t.do(f"store i64 {t.let(f'zext i1 {whole} to i64')}, ptr {places[2]}")
    t.do("br label %no_bias")
    t.lines.append("no_bias:")
    found = zip(("bias", "bias_row", "bias_column"), ("ptr", "i64", "i64"), places, strict=True)
    return {name: t.let(f"load {type_}, ptr {place}") for name, type_, place in found}
