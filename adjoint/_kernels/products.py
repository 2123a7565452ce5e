"""Matrix products as a built-in function: arguments are checked, the result is made, and its blocks are shared among threads.

Matrices may be transposed and batches strided, as views are, in up to two dimensions of batches. How a product is cut depends on its size
only. The matrix on the right is read where it is if it is small, or arranged anew for every block of the result; for a large product it is
arranged once, by all threads, before they multiply.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from . import calls, gemm, jit, objects, workers
from .blocks import Function, fields, order
from .code import TYPES
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

# What a product takes is counted in multiplications.
BEGUN = 1 << 10  # what a matrix takes however small it is
ALONE = 1 << 16  # what one thread computes sooner than two, while it holds the GIL
PIECE = 1 << 16  # a block of the result, at least, and what is handed to a thread at a time
PIECES = 16  # blocks into which a product is cut, if they are large enough
TALL = 128  # rows of a block, at most: what a panel is multiplied with stays in the second cache
NEAR = 6144  # numbers in the rows of the right matrix that are used together, if they are read where they are

LARGE = 1 << 25  # multiplications from which on the right matrix is arranged by all threads
GATHERED = 96  # rows of a block then, at most; there is room for them, arranged, in the second cache
TOGETHER = 4  # panels that are arranged at a time
ROOM = 1 << 24  # bytes for the arranged matrix: so many of its columns at a time, at least one panel

EMPTY, NONE, SHARE, STATE, TAKE, FREE = range(OWN, OWN + 6)
EMPTY_ARRAY = 184  # the place of this function in NumPy's table

GIVEN = "a* b* out* bias* inner a_outer a_inner b_outer b_inner batch cost m n k a_row a_column b_row b_column share* state* take* free*"
CUT = "rows columns row_blocks column_blocks arranges arranged* padded out_step"
JOB = f"{GIVEN} {CUT}"


@cache
def function(kind: str) -> Callable[..., Any]:
    """`function("f32")(a, b, bias)` is the product of two matrices or batches of them, None where NumPy has to compute it. `bias` is a
    vector or None."""
    if not jit.available() or not calls.supported() or not workers.supported():
        return unable
    found = jit.load(f"products {kind}", lambda: text(kind), ["products"])
    threads, api = workers.workers(), ctypes.pythonapi
    more = [objects.array_function(EMPTY_ARRAY), id(None), threads.share, threads.address]
    memory = [objects.address(api.PyMem_RawMalloc), objects.address(api.PyMem_RawFree)]
    return objects.builtin("products", found["products"], objects.table(unable, [*more, *memory]), unable)


def unable(*args: Any) -> None:
    """The fallback."""


def text(kind: str) -> str:
    return "\n".join([gemm.text(kind), work_text(kind), arrange_text(kind), run_text(kind), entry_text(kind)])


# ---- the blocks of a product --------------------------------------------------------------------------------------------------------


def work_text(kind: str) -> str:
    """Compute the blocks from `first` to before `last`."""
    t = TYPES[kind]
    f = Function("work", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, JOB)
    room = f.variable("ptr", "null")
    known, turned = f.let(f"icmp ne ptr {a['arranged']}, null"), f.let(f"icmp ne i64 {a['a_column']}, 1")
    with f.when(f.let(f"and i1 {known}, {turned}")):
        size = gemm.SIZES[kind] * (gemm.DEPTH * gemm.SLOT + gemm.APART) * -(-GATHERED // gemm.most_rows(gemm.VECTORS))
        room.set(f.let(f"call ptr {a['take']}(i64 {size})"))
    pieces = f.mul(a["row_blocks"], a["column_blocks"])
    with f.loop("%last", "%first") as unit:
        matrix = gemm.quotient(f, unit, pieces)
        piece = f.sub(unit, f.mul(matrix, pieces))
        left, right, out = operands(f, kind, a, matrix)
        block = gemm.quotient(f, piece, a["column_blocks"])
        row, column = f.mul(block, a["rows"]), f.mul(f.sub(piece, f.mul(block, a["column_blocks"])), a["columns"])
        out = f.at(t, out, f.add(f.mul(row, a["out_step"]), column))
        bias = f.pick(f.let(f"icmp eq ptr {a['bias']}, null"), "ptr", "null", f.at(t, a["bias"], column))
        arranges = f.let(f"icmp ne i64 {a['arranges']}, 0")
        f.do(
            f"call void @multiply(ptr {f.at(t, left, f.mul(row, a['a_row']))}, i64 {a['a_row']}, i64 {a['a_column']}, "
            f"ptr {f.at(t, right, f.mul(column, a['b_column']))}, i64 {a['b_row']}, i64 {a['b_column']}, "
            f"i64 {f.smaller(f.sub(a['m'], row), a['rows'])}, i64 {f.smaller(f.sub(a['n'], column), a['columns'])}, i64 {a['k']}, "
            f"ptr {bias}, ptr {out}, i64 {a['out_step']}, i1 {arranges}, ptr {room.get()}, "
            f"ptr {a['arranged']}, i64 {column}, i64 {a['padded']})"
        )
    f.do(f"call void {a['free']}(ptr {room.get()})")
    return f.text(internal=True)


def operands(f: Function, kind: str, a: dict[str, str], matrix: str) -> list[str]:
    """Where the matrices of a batch are that are multiplied, and their product."""
    outer = gemm.quotient(f, matrix, a["inner"])
    inner = f.sub(matrix, f.mul(outer, a["inner"]))
    places = [f.at("i8", a[name], f.add(f.mul(outer, a[f"{name}_outer"]), f.mul(inner, a[f"{name}_inner"]))) for name in ("a", "b")]
    return [*places, f.at(TYPES[kind], a["out"], f.mul(f.mul(matrix, a["m"]), a["out_step"]))]


def arrange_text(kind: str) -> str:
    """Arrange the panels of the right matrix, `TOGETHER` at a time, from `first` to before `last`."""
    t, wide = TYPES[kind], gemm.width(kind)
    f = Function("arrange_panels", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, JOB)
    with gemm.deep_blocks(f, a["k"]) as (first, depth), f.loop("%last", "%first") as piece:
        column = f.mul(piece, TOGETHER * wide)
        source = f.at(t, a["b"], f.add(f.mul(first, a["b_row"]), f.mul(column, a["b_column"])))
        target = f.at(t, a["arranged"], f.add(f.mul(first, a["padded"]), f.mul(column, depth)))
        count = f.smaller(f.sub(a["n"], column), TOGETHER * wide)
        panels = f.let(f"udiv i64 {f.add(count, wide - 1)}, {wide}")
        gemm.arrange(f, source, a["b_row"], a["b_column"], depth, count, target, wide, f.mul(depth, wide), panels, wide)
    return f.text(internal=True)


def run_text(kind: str) -> str:
    """Cut a product into blocks, and have them computed."""
    t, wide, size = TYPES[kind], gemm.width(kind), gemm.SIZES[kind]
    f = Function("run", "ptr %facts")
    a = fields(f, JOB)
    a["out_step"] = a["n"]

    def put(**values: str | int) -> None:
        for name, value in values.items():
            place = order(JOB).index(name)
            f.store("ptr" if f"{name}*" in JOB.split() else "i64", str(value), f.at("i64", "%facts", place))

    def above(x: str, y: str | int) -> str:
        """The quotient, rounded up."""
        return f.let(f"udiv i64 {f.sub(f.add(x, y), 1)}, {y}")

    def larger(x: str, y: str | int) -> str:
        return f.pick(f.less(x, y), "i64", y, x)

    def share(work: str, units: str, step: str | int) -> None:
        f.do(f"call void {a['share']}(ptr {a['state']}, ptr @{work}, ptr %facts, i64 {units}, i64 {step})")

    def cut(n: str, tall: int, least: int, wanted: str) -> str:
        """Blocks of rows, and of panels, until there are as many as wanted; how many there are."""
        panels, row_blocks = above(n, wide), above(a["m"], tall)
        column_blocks = f.smaller(panels, above(wanted, row_blocks))
        row_blocks = larger(row_blocks, f.smaller(above(a["m"], least), above(wanted, column_blocks)))
        rows, columns = above(a["m"], row_blocks), f.mul(above(panels, column_blocks), wide)
        row_blocks, column_blocks = above(a["m"], rows), above(n, columns)
        put(rows=rows, columns=columns, row_blocks=row_blocks, column_blocks=column_blocks)
        return f.mul(row_blocks, column_blocks)

    each = f.mul(f.mul(a["m"], a["n"]), a["k"])
    memory = f.variable("ptr", "null")
    columns = f.smaller(f.mul(above(a["n"], wide), wide), larger(f.mul(f.let(f"udiv i64 {ROOM // size // wide}, {a['k']}"), wide), wide))
    with f.when(f.let(f"and i1 {f.less(str(LARGE), each)}, {f.less(str(GATHERED // 2), a['m'])}")):
        memory.set(f.let(f"call ptr {a['take']}(i64 {f.add(f.mul(f.mul(columns, a['k']), size), 64)})"))
    arranged = memory.get()
    large = f.let(f"icmp ne ptr {arranged}, null")
    put(out_step=a["n"], padded=columns, arranged="null")
    with f.when(large):
        address = f.let(f"ptrtoint ptr {arranged} to i64")
        put(arranged=f.let(f"inttoptr i64 {f.let(f'and i64 {f.add(address, 63)}, -64')} to ptr"), arranges=0)
        with f.loop(a["batch"]) as matrix, f.loop(a["n"], 0, columns) as first:
            left, right, out = operands(f, kind, a, matrix)
            n = f.smaller(f.sub(a["n"], first), columns)
            bias = f.pick(f.let(f"icmp eq ptr {a['bias']}, null"), "ptr", "null", f.at(t, a["bias"], first))
            put(a=left, b=f.at(t, right, f.mul(first, a["b_column"])), out=f.at(t, out, first), bias=bias, n=n)
            share("arrange_panels", above(n, TOGETHER * wide), 1)
            share("work", cut(n, GATHERED, GATHERED // 2, str(PIECES)), 1)
        f.do(f"call void {a['free']}(ptr {arranged})")
    with f.when(f.invert(large)):
        wanted = f.smaller(above(str(PIECES), a["batch"]), above(each, PIECE))
        units = f.mul(cut(a["n"], TALL, TALL // 2, wanted), a["batch"])
        used = f.mul(f.smaller(a["k"], gemm.DEPTH), a["b_row"])
        far = f.let(f"and i1 {f.less(str(NEAR), used)}, {f.less(str(3 * gemm.SLOT), a['m'])}")
        turned = f.let(f"icmp ne i64 {a['b_column']}, 1")
        arranges = f.let(f"or i1 {far}, {turned}")
        put(arranges=f.let(f"zext i1 {arranges} to i64"))
        alone = f.less(a["cost"], ALONE)
        with f.when(alone):
            f.do(f"call void @work(ptr %facts, i64 0, i64 {units})")
        with f.when(f.invert(alone)):
            share("work", units, larger(f.let(f"udiv i64 {f.mul(units, PIECE)}, {a['cost']}"), 1))
    return f.text(internal=True)


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
    t.require(t.let(f"or i1 {t.let(f'icmp ne i64 {batch}, 1')}, {t.let(f'xor i1 {vector}, true')}"))  # for which BLAS has functions
    bias = bias_argument(t, given[2], descr, n)
    each = t.let(f"mul i64 {t.let(f'mul i64 {m}, {n}')}, {k}")
    cost = t.let(f"mul i64 {batch}, {t.let(f'add i64 {each}, {BEGUN}')}")
    out = new_array(t, [*sizes, m, n], a.ndim, b.ndim, descr)
    values |= {
        "a": a.data, "b": b.data, "out": t.field(out, DATA, "ptr"), "bias": bias, "inner": sizes[1],
        "batch": batch, "cost": cost, "a_row": left["row"], "a_column": left["column"], "b_row": right["row"],
        "b_column": right["column"], "share": t.fact(SHARE, "ptr"), "state": t.fact(STATE, "ptr"), "take": t.fact(TAKE, "ptr"),
        "free": t.fact(FREE, "ptr"),
    }  # fmt: skip
    job = t.let(f"alloca [{len(order(JOB))} x i64]")
    for place, name in enumerate(GIVEN.split()):
        type_ = "ptr" if name.endswith("*") else "i64"
        t.do(f"store {type_} {values[name.strip('*')]}, ptr {t.let(f'getelementptr i64, ptr {job}, i64 {place}')}")
    t.branch(t.let(f"icmp slt i64 {cost}, {ALONE}"), "held", "unheld")
    t.lines.append("held:")
    t.do(f"call void @run(ptr {job})")
    t.do(f"ret ptr {out}")
    t.lines.append("unheld:")
    state = t.let(f"call ptr {t.fact(SAVE_THREAD, 'ptr')}()")
    t.do(f"call void @run(ptr {job})")
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


def bias_argument(t: Text, obj: str, descr: str, n: str) -> str:
    """Where the bias is, null for None."""
    memory = t.let("alloca ptr")
    t.do(f"store ptr null, ptr {memory}")
    t.branch(t.let(f"icmp eq ptr {obj}, {t.fact(NONE, 'ptr')}"), "no_bias", "some_bias")
    t.lines.append("some_bias:")
    t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
    t.require(t.let(f"icmp eq i64 {t.field(obj, DESCR, 'i64')}, {descr}"))
    flags = t.let(f"and i32 {t.field(obj, FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
    t.require(t.let(f"icmp eq i32 {t.field(obj, NDIM, 'i32')}, 1"))
    shape = t.field(obj, SHAPE, "ptr")
    t.require(t.let(f"icmp eq i64 {t.let(f'load i64, ptr {shape}')}, {n}"))
    t.do(f"store ptr {t.field(obj, DATA, 'ptr')}, ptr {memory}")
    t.do("br label %no_bias")
    t.lines.append("no_bias:")
    return t.let(f"load ptr, ptr {memory}")
