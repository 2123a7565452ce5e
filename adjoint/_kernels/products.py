"""Matrix products: NumPy's own BLAS, called from compiled code, with the work shared among threads.

NumPy multiplies the matrices of a batch one after the other in one thread; here the threads of `workers.py` take a few at a time. A large
product is cut into blocks of rows or columns, each computed by one thread: BLAS, left to itself, uses threads of its own less well, and
would compete with ours. Tiny products are computed by a loop, in less time than a call takes. Matrices may be transposed and batches
strided, as views are, in up to two dimensions of batches. A bias is added to each block of rows while it is in the cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import calls, jit, objects, workers
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

TINY = 512  # multiplications up to which a loop is sooner done than a call of BLAS
SINGLE = 1 << 18  # multiplications up to which BLAS computes a product in the calling thread
HELD = 1 << 16  # multiplications that are computed while the GIL is held
ALONE = 1 << 17  # multiplications that one thread computes sooner than two
PIECE = 1 << 16  # multiplications that are handed to a thread at a time

TRUE, NONE, SHARE, STATE, GEMM32, GEMM64, GET_THREADS, SET_THREADS, USERS, THREADS = range(OWN, OWN + 10)

# Into how many blocks a large product is cut. More share the work more evenly, but BLAS arranges one operand anew for each of them. What
# is in four blocks each computed by BLAS in the calling thread anyway needs no word to BLAS about its threads.
CUTS = ((4 * SINGLE, 4), (1 << 22, 2), (1 << 27, 4), (1 << 62, 8))  # (multiplications up to, blocks)

# A job, in 64-bit words.
WORDS = (
    "gemm", "a", "b", "out", "inner", "a_outer", "a_inner", "b_outer", "b_inner", "m", "n", "k", "a_trans", "b_trans", "a_row", "a_column",
    "b_row", "b_column", "lda", "ldb", "bias", "pieces", "block", "by_rows",
)  # fmt: skip


@cache
def blas() -> dict[str, int]:
    """The addresses of NumPy's matrix products and of what sets its number of threads; empty where NumPy has another BLAS."""
    folders = [Path(np.__file__).parent.parent / "numpy.libs", Path(np.__file__).parent / ".dylibs"]
    for path in [path for folder in folders for path in folder.glob("libscipy_openblas64_*")]:
        library = ctypes.CDLL(str(path))
        names = {
            "f32": "scipy_cblas_sgemm64_", "f64": "scipy_cblas_dgemm64_", "get": "scipy_openblas_get_num_threads64_",
            "set": "scipy_openblas_set_num_threads64_",
        }  # fmt: skip
        if all(hasattr(library, name) for name in names.values()):
            return {key: objects.address(getattr(library, name)) for key, name in names.items()}
    return {}


@cache
def function() -> Callable[..., bool | None]:
    """`function()(out, a, b, bias)` writes the product into `out`, C-contiguous, and returns True; None where it cannot. `bias` is a vector
    or None."""
    if not jit.available() or not calls.supported() or not blas():
        return unable
    found = jit.load("products", text, ["products"])
    threads = workers.workers()
    facts = objects.table(unable, [id(True), id(None), threads.share, threads.address, *blas().values(), 0, 0])
    return objects.builtin("products", found["products"], facts, unable)


def unable(*args: Any) -> None:
    """The fallback."""


def multiply(a: Any, b: Any, bias: Any = None) -> Any:
    """The product of two matrices or batches of matrices; None where NumPy has to compute it."""
    if a.shape[:-2] == b.shape[:-2]:
        shape = (*a.shape[:-1], b.shape[-1])
    else:
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    out = np.empty(shape, a.dtype)
    return out if function()(out, a, b, bias) else None


# ---- text ---------------------------------------------------------------------------------------------------------------------------


def text() -> str:
    return "\n".join([work_text("f32"), work_text("f64"), entry_text()])


def work_text(kind: str) -> str:
    """The function that multiplies the matrices of a batch from one number to before another."""
    t, size, group = TYPES[kind], *((4, 0) if kind == "f32" else (8, 3))  # the number of the first piece of metadata
    loads = []
    for place, name in enumerate(WORDS):
        type_ = "ptr" if name in ("gemm", "a", "b", "out", "bias") else "i64"
        loads += [f"  %{name}_at = getelementptr i64, ptr %job, i64 {place}", f"  %{name} = load {type_}, ptr %{name}_at"]
    newline = "\n"
    widths = (8, 4) if kind == "f32" else (4, 2)
    operands = f"{t} 1.0, ptr %a_here, i64 %lda, ptr %b_here, i64 %ldb, {t} 0.0, ptr %out_here, i64 %n"
    return f"""
define internal void @work_{kind}(ptr noalias %job, i64 %first, i64 %last) {{
entry:
{newline.join(loads)}
  %mn = mul i64 %m, %n
  %mnk = mul i64 %mn, %k
  %tiny = icmp sle i64 %mnk, {TINY}
  %by_vectors = icmp eq i64 %b_column, 1
  %a_trans32 = trunc i64 %a_trans to i32
  %b_trans32 = trunc i64 %b_trans to i32
  br label %next
next:
  %u = phi i64 [%first, %entry], [%u_next, %finished]
  %more = icmp slt i64 %u, %last
  br i1 %more, label %begin, label %end
begin:
  %matrix = sdiv i64 %u, %pieces
  %piece = srem i64 %u, %pieces
  %outer_place = sdiv i64 %matrix, %inner
  %inner_place = srem i64 %matrix, %inner
  %start = mul i64 %piece, %block
  %rows_cut = icmp ne i64 %by_rows, 0
  %length = select i1 %rows_cut, i64 %m, i64 %n
  %left = sub i64 %length, %start
  %whole = icmp slt i64 %block, %left
  %taken = select i1 %whole, i64 %block, i64 %left
  %m_here = select i1 %rows_cut, i64 %taken, i64 %m
  %n_here = select i1 %rows_cut, i64 %n, i64 %taken
  %row_start = select i1 %rows_cut, i64 %start, i64 0
  %column_start = select i1 %rows_cut, i64 0, i64 %start
  %a_skip = mul i64 %row_start, %a_row
  %b_skip = mul i64 %column_start, %b_column
  %out_skip = mul i64 %row_start, %n
  %a_o = mul i64 %outer_place, %a_outer
  %a_i = mul i64 %inner_place, %a_inner
  %a_offset = add i64 %a_o, %a_i
  %a_matrix = getelementptr i8, ptr %a, i64 %a_offset
  %a_here = getelementptr {t}, ptr %a_matrix, i64 %a_skip
  %b_o = mul i64 %outer_place, %b_outer
  %b_i = mul i64 %inner_place, %b_inner
  %b_offset = add i64 %b_o, %b_i
  %b_matrix = getelementptr i8, ptr %b, i64 %b_offset
  %b_here = getelementptr {t}, ptr %b_matrix, i64 %b_skip
  %out_offset = mul i64 %matrix, %mn
  %out_rows = add i64 %out_offset, %out_skip
  %out_place = add i64 %out_rows, %column_start
  %out_here = getelementptr {t}, ptr %out, i64 %out_place
  br i1 %tiny, label %rows, label %call
call:
  call void %gemm(i32 101, i32 %a_trans32, i32 %b_trans32, i64 %m_here, i64 %n_here, i64 %k, {operands})
  br label %done
rows:
  %i = phi i64 [0, %begin], [%i_next, %row_done]
  %a_row_offset = mul i64 %i, %a_row
  %a_row_here = getelementptr {t}, ptr %a_here, i64 %a_row_offset
  %out_row_offset = mul i64 %i, %n
  %out_row = getelementptr {t}, ptr %out_here, i64 %out_row_offset
  br i1 %by_vectors, label %wide{widths[0]}, label %columns
{newline.join(vectors_text(kind, width, after) for width, after in zip(widths, [*widths[1:], 0], strict=True))}
wide0:
  %rest_done = icmp eq i64 %j{widths[-1]}, %n
  br i1 %rest_done, label %row_done, label %columns
columns:
  %j = phi i64 [0, %rows], [%j{widths[-1]}, %wide0], [%j_next, %column_done]
  %b_column_offset = mul i64 %j, %b_column
  %b_column_here = getelementptr {t}, ptr %b_here, i64 %b_column_offset
  br label %sum
sum:
  %p = phi i64 [0, %columns], [%p_next, %sum]
  %total = phi {t} [0.0, %columns], [%total_next, %sum]
  %x_offset = mul i64 %p, %a_column
  %x_at = getelementptr {t}, ptr %a_row_here, i64 %x_offset
  %x = load {t}, ptr %x_at, align {size}
  %y_offset = mul i64 %p, %b_row
  %y_at = getelementptr {t}, ptr %b_column_here, i64 %y_offset
  %y = load {t}, ptr %y_at, align {size}
  %xy = fmul contract {t} %x, %y
  %total_next = fadd contract {t} %total, %xy
  %p_next = add i64 %p, 1
  %p_more = icmp slt i64 %p_next, %k
  br i1 %p_more, label %sum, label %column_done
column_done:
  %target = getelementptr {t}, ptr %out_row, i64 %j
  store {t} %total_next, ptr %target, align {size}
  %j_next = add i64 %j, 1
  %j_more = icmp slt i64 %j_next, %n
  br i1 %j_more, label %columns, label %row_done
row_done:
  %i_next = add i64 %i, 1
  %i_more = icmp slt i64 %i_next, %m
  br i1 %i_more, label %rows, label %done
done:
  %has_bias = icmp ne ptr %bias, null
  br i1 %has_bias, label %bias_rows, label %finished
bias_rows:
  %bias_here = getelementptr {t}, ptr %bias, i64 %column_start
  br label %bias_row
bias_row:
  %r = phi i64 [0, %bias_rows], [%r_next, %bias_row_done]
  %r_offset = mul i64 %r, %n
  %r_here = getelementptr {t}, ptr %out_here, i64 %r_offset
  br label %bias_add
bias_add:
  %c = phi i64 [0, %bias_row], [%c_next, %bias_add]
  %c_at = getelementptr inbounds {t}, ptr %r_here, i64 %c
  %c_old = load {t}, ptr %c_at, align {size}, !llvm.access.group !{group}
  %c_bias_at = getelementptr inbounds {t}, ptr %bias_here, i64 %c
  %c_bias = load {t}, ptr %c_bias_at, align {size}, !llvm.access.group !{group}
  %c_new = fadd {t} %c_old, %c_bias
  store {t} %c_new, ptr %c_at, align {size}, !llvm.access.group !{group}
  %c_next = add nuw nsw i64 %c, 1
  %c_more = icmp slt i64 %c_next, %n_here
  br i1 %c_more, label %bias_add, label %bias_row_done, !llvm.loop !{group + 1}
bias_row_done:
  %r_next = add i64 %r, 1
  %r_more = icmp slt i64 %r_next, %m_here
  br i1 %r_more, label %bias_row, label %finished
finished:
  %u_next = add i64 %u, 1
  br label %next
end:
  ret void
}}
!{group} = distinct !{{}}
!{group + 1} = distinct !{{!{group + 1}, !{group + 2}}}
!{group + 2} = !{{!"llvm.loop.parallel_accesses", !{group}}}
"""


def vectors_text(kind: str, width: int, after: int) -> str:
    """A part of the loop for tiny products: as many columns of a row at a time as are in a vector, where the columns lie side by side."""
    t, size = TYPES[kind], 4 if kind == "f32" else 8
    v = f"<{width} x {t}>"
    start = "[0, %rows]" if after else f"[%j{2 * width}, %wide{2 * width}]"
    return f"""
wide{width}:
  %j{width} = phi i64 {start}, [%j{width}_end, %stored{width}]
  %j{width}_end = add i64 %j{width}, {width}
  %fits{width} = icmp sle i64 %j{width}_end, %n
  br i1 %fits{width}, label %vectors{width}, label %wide{after}
vectors{width}:
  %b{width} = getelementptr {t}, ptr %b_here, i64 %j{width}
  br label %vector{width}
vector{width}:
  %p{width} = phi i64 [0, %vectors{width}], [%p{width}_next, %vector{width}]
  %total{width} = phi {v} [zeroinitializer, %vectors{width}], [%total{width}_next, %vector{width}]
  %x{width}_offset = mul i64 %p{width}, %a_column
  %x{width}_at = getelementptr {t}, ptr %a_row_here, i64 %x{width}_offset
  %x{width} = load {t}, ptr %x{width}_at, align {size}
  %x{width}_first = insertelement {v} poison, {t} %x{width}, i64 0
  %x{width}_all = shufflevector {v} %x{width}_first, {v} poison, <{width} x i32> zeroinitializer
  %y{width}_offset = mul i64 %p{width}, %b_row
  %y{width}_at = getelementptr {t}, ptr %b{width}, i64 %y{width}_offset
  %y{width} = load {v}, ptr %y{width}_at, align {size}
  %xy{width} = fmul contract {v} %x{width}_all, %y{width}
  %total{width}_next = fadd contract {v} %total{width}, %xy{width}
  %p{width}_next = add i64 %p{width}, 1
  %p{width}_more = icmp slt i64 %p{width}_next, %k
  br i1 %p{width}_more, label %vector{width}, label %stored{width}
stored{width}:
  %target{width} = getelementptr {t}, ptr %out_row, i64 %j{width}
  store {v} %total{width}_next, ptr %target{width}, align {size}
  br label %wide{width}"""


class Matrices:
    """What the entry finds out about an argument."""

    def __init__(self, t: Text, obj: str, descr: str) -> None:
        self.t = t
        t.require(t.let(f"icmp eq i64 {t.field(obj, 8, 'i64')}, {t.fact(NDARRAY)}"))
        t.require(t.let(f"icmp eq i64 {t.field(obj, DESCR, 'i64')}, {descr}"))
        flags = t.let(f"and i32 {t.field(obj, FLAGS, 'i32')}, {ALIGNED}")
        t.require(t.let(f"icmp eq i32 {flags}, {ALIGNED}"))
        self.ndim = t.let(f"sext i32 {t.field(obj, NDIM, 'i32')} to i64")
        self.data = t.field(obj, DATA, "ptr")
        self.shape, self.strides = t.field(obj, SHAPE, "ptr"), t.field(obj, STRIDES, "ptr")

    def last(self, of: str, back: int) -> str:
        """The size or stride of a dimension, counted from the end."""
        place = self.t.let(f"sub i64 {self.ndim}, {back}")
        return self.t.let(f"load i64, ptr {self.t.let(f'getelementptr i64, ptr {of}, i64 {place}')}")

    def matrix(self, item: str) -> dict[str, str]:
        """Rows, columns, the steps between them in elements, whether BLAS is told that it is transposed, and its leading dimension."""
        t = self.t
        rows, columns = self.last(self.shape, 2), self.last(self.shape, 1)
        for size in (rows, columns):
            t.require(t.let(f"icmp sgt i64 {size}, 0"))
        steps = []
        for back in (2, 1):
            stride = self.last(self.strides, back)
            t.require(t.let(f"icmp eq i64 {t.let(f'srem i64 {stride}, {item}')}, 0"))
            steps.append(t.let(f"sdiv i64 {stride}, {item}"))
        row, column = steps
        one_row, one_column = t.let(f"icmp eq i64 {rows}, 1"), t.let(f"icmp eq i64 {columns}, 1")
        plain = t.let(f"or i1 {t.let(f'icmp eq i64 {column}, 1')}, {one_column}")
        long = t.let(f"icmp sge i64 {row}, {columns}")
        plain = t.let(f"and i1 {plain}, {t.let(f'or i1 {one_row}, {long}')}")
        turned = t.let(f"or i1 {t.let(f'icmp eq i64 {row}, 1')}, {one_row}")
        long = t.let(f"icmp sge i64 {column}, {rows}")
        turned = t.let(f"and i1 {turned}, {t.let(f'or i1 {one_column}, {long}')}")
        t.require(t.let(f"or i1 {plain}, {turned}"))
        step = t.let(f"select i1 {plain}, i64 {row}, i64 {column}")
        least = t.let(f"select i1 {plain}, i64 {columns}, i64 {rows}")
        leading = t.let(f"select i1 {t.let(f'icmp sgt i64 {step}, {least}')}, i64 {step}, i64 {least}")
        trans = t.let(f"select i1 {plain}, i64 111, i64 112")
        return {"rows": rows, "columns": columns, "row": row, "column": column, "trans": trans, "leading": leading}

    def batch(self, back: int, target: str) -> str:
        """The stride along a dimension of batches, 0 if it is repeated or there is none; `target` is its size in the result."""
        t = self.t
        t.count += 1
        mark = t.count
        zero = t.let("alloca i64")
        t.do(f"store i64 0, ptr {zero}")
        t.branch(t.let(f"icmp sge i64 {self.ndim}, {back}"), f"has{mark}", f"known{mark}")
        t.lines.append(f"has{mark}:")
        size = self.last(self.shape, back)
        t.branch(t.let(f"icmp eq i64 {size}, 1"), f"known{mark}", f"full{mark}")
        t.lines.append(f"full{mark}:")
        t.require(t.let(f"icmp eq i64 {size}, {target}"))
        t.do(f"store i64 {self.last(self.strides, back)}, ptr {zero}")
        t.do(f"br label %known{mark}")
        t.lines.append(f"known{mark}:")
        return t.let(f"load i64, ptr {zero}")


def entry_text() -> str:
    t = Text()
    t.require(t.let("icmp eq i64 %n, 4"))
    given = [t.let(f"load ptr, ptr {t.let(f'getelementptr ptr, ptr %args, i64 {place}')}") for place in range(4)]
    t.require(t.let(f"icmp eq i64 {t.field(given[0], 8, 'i64')}, {t.fact(NDARRAY)}"))
    descr = t.field(given[0], DESCR, "i64")
    is32 = t.let(f"icmp eq i64 {descr}, {t.fact(F32)}")
    t.require(t.let(f"or i1 {is32}, {t.let(f'icmp eq i64 {descr}, {t.fact(F64)}')}"))
    item = t.let(f"select i1 {is32}, i64 4, i64 8")
    out, a, b = (Matrices(t, obj, descr) for obj in given[:3])
    flags = t.let(f"and i32 {t.field(given[0], FLAGS, 'i32')}, {CONTIGUOUS_ALIGNED}")
    t.require(t.let(f"icmp eq i32 {flags}, {CONTIGUOUS_ALIGNED}"))
    for operand in (out, a, b):
        t.require(t.let(f"icmp sge i64 {operand.ndim}, 2"))
        t.require(t.let(f"icmp sle i64 {operand.ndim}, {out.ndim}"))
    t.require(t.let(f"icmp sle i64 {out.ndim}, 4"))
    left, right = a.matrix(item), b.matrix(item)
    m, n, k = left["rows"], right["columns"], left["columns"]
    t.require(t.let(f"icmp eq i64 {right['rows']}, {k}"))
    t.require(t.let(f"icmp eq i64 {out.last(out.shape, 2)}, {m}"))
    t.require(t.let(f"icmp eq i64 {out.last(out.shape, 1)}, {n}"))
    sizes = []
    for back in (3, 4):  # the inner and the outer dimension of batches
        t.count += 1
        mark = t.count
        one = t.let("alloca i64")
        t.do(f"store i64 1, ptr {one}")
        t.branch(t.let(f"icmp sge i64 {out.ndim}, {back}"), f"has{mark}", f"known{mark}")
        t.lines.append(f"has{mark}:")
        t.do(f"store i64 {out.last(out.shape, back)}, ptr {one}")
        t.do(f"br label %known{mark}")
        t.lines.append(f"known{mark}:")
        sizes.append(t.let(f"load i64, ptr {one}"))
    inner, outer = sizes
    bias = bias_argument(t, given[3], descr, n)
    batch = t.let(f"mul i64 {inner}, {outer}")
    each = t.let(f"mul i64 {t.let(f'mul i64 {m}, {n}')}, {k}")
    # A large product is cut along its rows or columns, whichever are more, unless the batch is pieces enough.
    cut = t.let(f"and i1 {t.let(f'icmp sgt i64 {each}, {SINGLE}')}, {t.let(f'icmp slt i64 {batch}, 4')}")
    most = t.let(f"select i1 {cut}, i64 {4 * SINGLE}, i64 {SINGLE}")
    large = t.let(f"icmp sgt i64 {each}, {most}")
    by_rows = t.let(f"icmp sge i64 {m}, {n}")
    length = t.let(f"select i1 {by_rows}, i64 {m}, i64 {n}")
    blocks = "1"
    for limit, count in reversed(CUTS):
        blocks = t.let(f"select i1 {t.let(f'icmp sle i64 {each}, {limit}')}, i64 {count}, i64 {blocks}")
    above = t.let(f"sub i64 {t.let(f'add i64 {length}, {blocks}')}, 1")
    block = t.let(f"sdiv i64 {above}, {blocks}")
    block = t.let(f"and i64 {t.let(f'add i64 {block}, 7')}, -8")
    block = t.let(f"select i1 {cut}, i64 {block}, i64 {length}")
    last = t.let(f"sub i64 {t.let(f'add i64 {length}, {block}')}, 1")
    pieces = t.let(f"sdiv i64 {last}, {block}")
    values = {
        "gemm": t.let(f"select i1 {is32}, i64 {t.fact(GEMM32)}, i64 {t.fact(GEMM64)}"), "a": a.data, "b": b.data, "out": out.data,
        "inner": inner, "a_outer": a.batch(4, outer), "a_inner": a.batch(3, inner),
        "b_outer": b.batch(4, outer), "b_inner": b.batch(3, inner), "m": m, "n": n, "k": k,
        "a_trans": left["trans"], "b_trans": right["trans"], "a_row": left["row"], "a_column": left["column"], "b_row": right["row"],
        "b_column": right["column"], "lda": left["leading"], "ldb": right["leading"], "bias": bias,
        "pieces": pieces, "block": block, "by_rows": t.let(f"zext i1 {by_rows} to i64"),
    }  # fmt: skip
    job = t.let(f"alloca [{len(WORDS)} x i64]")
    for place, name in enumerate(WORDS):
        type_ = "ptr" if name in ("a", "b", "out", "bias") else "i64"
        t.do(f"store {type_} {values[name]}, ptr {t.let(f'getelementptr i64, ptr {job}, i64 {place}')}")
    units = t.let(f"mul i64 {batch}, {pieces}")
    total = t.let(f"mul i64 {each}, {batch}")
    work = t.let(f"select i1 {is32}, ptr @work_f32, ptr @work_f64")
    t.branch(t.let(f"icmp sle i64 {total}, {HELD}"), "held", "unheld")
    t.lines.append("held:")
    t.do(f"call void {work}(ptr {job}, i64 0, i64 {units})")
    t.do("br label %done")
    t.lines.append("unheld:")
    begin_single(t, large)
    state = t.let(f"call ptr {t.fact(SAVE_THREAD, 'ptr')}()")
    t.branch(t.let(f"icmp sgt i64 {total}, {ALONE}"), "together", "alone")
    t.lines.append("alone:")
    t.do(f"call void {work}(ptr {job}, i64 0, i64 {units})")
    t.do("br label %back")
    t.lines.append("together:")
    step = t.let(f"sdiv i64 {PIECE}, {each}")
    step = t.let(f"select i1 {t.let(f'icmp sgt i64 {step}, 1')}, i64 {step}, i64 1")
    t.do(f"call void {t.fact(SHARE, 'ptr')}(ptr {t.fact(STATE, 'ptr')}, ptr {work}, ptr {job}, i64 {units}, i64 {step})")
    t.do("br label %back")
    t.lines.append("back:")
    t.do(f"call void {t.fact(RESTORE_THREAD, 'ptr')}(ptr {state})")
    end_single(t, large)
    t.do("br label %done")
    t.lines.append("done:")
    true = t.fact(TRUE, "ptr")
    t.do(f"call void {t.fact(INC_REF, 'ptr')}(ptr {true})")
    t.do(f"ret ptr {true}")
    return t.function("products")


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


# While large products are shared, BLAS uses the calling thread only. Its number of threads is one for all, so the first to come takes it
# down and the last to go restores it; both hold the GIL.


def begin_single(t: Text, large: str) -> None:
    t.branch(large, "count", "counted")
    t.lines.append("count:")
    users_at = t.let(f"getelementptr i64, ptr {t.facts}, i64 {USERS}")
    users = t.let(f"load i64, ptr {users_at}")
    t.do(f"store i64 {t.let(f'add i64 {users}, 1')}, ptr {users_at}")
    t.branch(t.let(f"icmp eq i64 {users}, 0"), "lower", "counted")
    t.lines.append("lower:")
    threads = t.let(f"call i32 {t.fact(GET_THREADS, 'ptr')}()")
    t.do(f"store i64 {t.let(f'sext i32 {threads} to i64')}, ptr {t.let(f'getelementptr i64, ptr {t.facts}, i64 {THREADS}')}")
    t.do(f"call void {t.fact(SET_THREADS, 'ptr')}(i32 1)")
    t.do("br label %counted")
    t.lines.append("counted:")


def end_single(t: Text, large: str) -> None:
    t.branch(large, "discount", "discounted")
    t.lines.append("discount:")
    users_at = t.let(f"getelementptr i64, ptr {t.facts}, i64 {USERS}")
    users = t.let(f"sub i64 {t.let(f'load i64, ptr {users_at}')}, 1")
    t.do(f"store i64 {users}, ptr {users_at}")
    t.branch(t.let(f"icmp eq i64 {users}, 0"), "raise", "discounted")
    t.lines.append("raise:")
    t.do(f"call void {t.fact(SET_THREADS, 'ptr')}(i32 {t.let(f'trunc i64 {t.fact(THREADS)} to i32')})")
    t.do("br label %discounted")
    t.lines.append("discounted:")
