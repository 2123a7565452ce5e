"""Vectors in kernels that are written by hand, of 32 bytes each, and tiles of them."""

from __future__ import annotations

from .blocks import Function, Variable
from .code import TYPES

LANES = {"f32": 8, "f64": 4}  # numbers in a vector
SIZES = {"f32": 4, "f64": 8}  # bytes of a number

# A tile: rows of a matrix and vectors of columns whose products are summed at once. Twelve sums, three vectors and a number fit into
# sixteen registers.
ROWS, VECTORS = 4, 3

# The arguments of a function that multiplies the kernels of a convolution, which are the rows, by the columns of an image. If it is not
# made for infinite numbers and NaN, it says in `strange` that there are some. It computes some tiles (or lines) of some blocks of rows.
MULTIPLIER = (
    "ptr %facts", "ptr %image", "ptr %packed", "ptr %out", "ptr %bias", "ptr %work", "ptr %strange", "i64 %first", "i64 %last",
    "i64 %first_block", "i64 %last_block",
)  # fmt: skip


def width(kind: str) -> int:
    """Places in a tile."""
    return VECTORS * LANES[kind]


def repeated(f: Function, type_: str, n: int, value: str) -> str:
    """A number in all lanes of a vector."""
    one = f.let(f"insertelement <{n} x {type_}> poison, {type_} {value}, i64 0")
    return f.let(f"shufflevector <{n} x {type_}> {one}, <{n} x {type_}> poison, <{n} x i32> zeroinitializer")


def splat(f: Function, kind: str, value: str) -> str:
    """A floating number in all lanes of a vector."""
    return repeated(f, TYPES[kind], LANES[kind], value)


def fma(f: Function, kind: str, a: str, b: str, total: Variable) -> None:
    """total += a * b. The caller declares the function."""
    v = f"<{LANES[kind]} x {TYPES[kind]}>"
    total.set(f.let(f"call {v} @llvm.fmuladd.v{LANES[kind]}{kind}({v} {a}, {v} {b}, {v} {total.get()})"))


def lanes_below(f: Function, kind: str, limit: str, n: int = 0) -> str:
    """A mask of the lanes whose numbers are smaller than `limit`; of a whole vector, if `n` does not say of how many."""
    n = n or LANES[kind]
    numbers = ", ".join(f"i64 {i}" for i in range(n))
    return f.let(f"icmp slt <{n} x i64> <{numbers}>, {repeated(f, 'i64', n, limit)}")
