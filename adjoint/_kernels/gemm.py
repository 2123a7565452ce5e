"""What matrix products are made of: tiles that fit into registers, and panels that fit into caches.

A tile is a few rows of the result times one or two vectors of columns, whose sums stay in registers: for every k it takes a column of the
left matrix, number by number, and a piece of a row of the right one.

    tile       base + the sum over k of left[row, k] * right[k, column]
    arrange    copy columns of a matrix so that what a tile reads for one k lies side by side, the next k following
    copy       a few rows, for tiles at the end of a row: a tile always writes whole vectors
    repeat     one number for each row of a tile, to which its sums are added

multiply.py makes products of them. The products of a block of k are summed in order, and the sums of blocks added, as BLAS does; blocks
depend on the number of k only. So the result is the same however it is cut, and however the matrices lie in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import target
from .blocks import Function
from .code import TYPES
from .vectors import repeated

SIZES = {"f32": 4, "f64": 8}  # bytes of a number
VECTORS = 2  # of a row in a tile, at most
SLOT = 8  # rows in a tile, at most
CHUNK = 8  # as many rows as the nearest cache can hold however far they are apart
DEPTH = 256  # a panel is half of the nearest cache
AHEAD = 8  # of k, whose numbers of the left matrix are asked for in time: they may be far apart
CALM = "!0"  # a loop that is not to be unrolled


def lanes(kind: str) -> int:
    """Numbers in a vector."""
    return target.current().float_lanes * 4 // SIZES[kind]


def most_rows(vectors: int) -> int:
    """Rows in a tile, at most. Twelve sums, two vectors and a number fit into sixteen registers."""
    return SLOT if vectors == 1 or target.current().vector_registers > 16 else 6


def width(kind: str) -> int:
    """Columns in a panel."""
    return VECTORS * lanes(kind)


def slot(kind: str) -> int:
    """Places for the numbers of a tile's rows for one k, if they are arranged. Whole vectors are written."""
    return max(SLOT, lanes(kind))


# ---- tiles --------------------------------------------------------------------------------------------------------------------------


def tile_text(kind: str, rows: int, vectors: int) -> str:
    t, n, size = TYPES[kind], lanes(kind), SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function(
        f"tile{rows}x{vectors}", "ptr noalias %a", "i64 %a_row", "i64 %a_step", "ptr noalias %b", "i64 %b_step", "i64 %depth", "ptr %base",
        "i64 %base_step", "ptr %out", "i64 %out_step",
    )  # fmt: skip

    def every(matrix: str) -> list[str]:
        return [f.at(t, f"%{matrix}", f.add(f.mul(f"%{matrix}_step", row), part * n)) for row in range(rows) for part in range(vectors)]

    sums = [f.variable(v, "zeroinitializer") for _ in range(rows * vectors)]
    starts = [f.at(t, "%a", f.mul("%a_row", row)) for row in range(rows)]
    place, line = f.variable("i64", "0"), f.variable("ptr", "%b")
    for goal in every("out")[::vectors]:  # where sums go is asked for in time, too
        f.do(f"call void @llvm.prefetch.p0(ptr {goal}, i32 1, i32 3, i32 1)")
    with f.loop("%depth", hints=CALM):
        here, right = place.get(), line.get()
        parts = [f.load(v, f.at(t, right, part * n), align=size) for part in range(vectors)]
        for i, total in enumerate(sums):
            if i % vectors == 0:
                one = f.let(f"insertelement {v} poison, {t} {f.load(t, starts[i // vectors], here)}, i64 0")
                one = f.let(f"shufflevector {v} {one}, {v} poison, <{n} x i32> zeroinitializer")
            total.set(f.let(f"call {v} @llvm.fmuladd.v{n}{kind}({v} {one}, {v} {parts[i % vectors]}, {v} {total.get()})"))
        f.do(f"call void @llvm.prefetch.p0(ptr {f.at(t, starts[0], f.add(here, f.mul('%a_step', AHEAD)))}, i32 0, i32 3, i32 1)")
        place.set(f.add(here, "%a_step"))
        line.set(f.at(t, right, "%b_step"))
    for base, goal, total in zip(every("base"), every("out"), sums, strict=True):
        f.store(v, f.let(f"fadd {v} {f.load(v, base, align=size)}, {total.get()}"), goal, size)
    return f.text(internal=True)


def tiles_text(kind: str) -> str:
    """All tiles, and the table of them."""
    n, t = lanes(kind), TYPES[kind]
    v = f"<{n} x {t}>"
    shapes = [(rows, vectors) for vectors in range(1, VECTORS + 1) for rows in range(1, SLOT + 1)]
    made = [tile_text(kind, rows, vectors) for rows, vectors in shapes if rows <= most_rows(vectors)]
    names = [f"ptr @tile{rows}x{vectors}" if rows <= most_rows(vectors) else "ptr null" for rows, vectors in shapes]
    return "\n".join(
        [
            f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})",
            f"declare {v} @llvm.masked.load.v{n}{kind}.p0(ptr, i32, <{n} x i1>, {v})",
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            *made,
            f"@tiles = internal constant [{len(names)} x ptr] [{', '.join(names)}]",
            f"@zeros = internal constant [{width(kind)} x {t}] zeroinitializer, align 64",
            "!0 = distinct !{!0, !1, !2}",
            '!1 = !{!"llvm.loop.unroll.disable"}',
            '!2 = !{!"llvm.loop.vectorize.enable", i1 false}',
        ]
    )


def heights(f: Function, rows: str, count: str) -> tuple[str, str]:
    """The rows of each of `count` tiles, and how many have one more. (Dividing short numbers takes less time.)"""
    short = [f.let(f"trunc i64 {number} to i32") for number in (rows, count)]
    low = f.let(f"zext i32 {f.let(f'udiv i32 {short[0]}, {short[1]}')} to i64")
    return low, f.sub(rows, f.mul(low, count))


# ---- arranging ----------------------------------------------------------------------------------------------------------------------


def transposed(f: Function, v: str, n: int, rows: list[str]) -> list[str]:
    """The columns of as many vectors as they are long, by exchanging halves, quarters, ..."""
    half = n // 2
    while half:
        lower = [i if i & half == 0 else i - half + n for i in range(n)]
        masks = [", ".join(f"i32 {i + more}" for i in lower) for more in (0, half)]
        pairs = [(rows[i & ~half], rows[i | half], masks[i & half != 0]) for i in range(n)]
        rows = [f.let(f"shufflevector {v} {a}, {v} {b}, <{n} x i32> <{mask}>") for a, b, mask in pairs]
        half //= 2
    return rows


def arrange_text(kind: str) -> str:
    """For each k, `count` numbers that are `across` apart, the next k being `along` further, go to panels: the numbers of a panel side by
    side, the next k `wide` further, the next panel `step` further. A panel begins `low` numbers after the last, or one more for the first
    `more`, and takes as many as there are, up to `wide`. Whole vectors are written; what is behind the last number has no meaning."""
    t, n, size = TYPES[kind], lanes(kind), SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function(
        "arrange", "ptr noalias %source", "i64 %along", "i64 %across", "i64 %depth", "i64 %count", "ptr noalias %target", "i64 %wide",
        "i64 %step", "i64 %panels", "i64 %low", "i64 %more",
    )  # fmt: skip

    @contextmanager
    def vectors() -> Iterator[tuple[str, str, str]]:
        """Every vector: its first number, how many there are from there on, and where it goes."""
        with f.loop("%panels") as panel:
            first = f.add(f.mul(panel, "%low"), f.smaller(panel, "%more"))
            end = f.smaller("%wide", f.sub("%count", first))
            with f.loop(end, 0, n) as part:
                here = f.add(first, part)
                yield here, f.sub("%count", here), f.at(t, "%target", f.add(f.mul(panel, "%step"), part))

    side_by_side = f.equal("%across", 1)
    with f.when(side_by_side), f.loop("%depth", 0, CHUNK) as begin, vectors() as (first, left, target):
        end = f.smaller("%depth", f.add(begin, CHUNK))
        whole = f.invert(f.less(left, n))
        for all_exist in (True, False):
            with f.when(whole if all_exist else f.invert(whole)), f.loop(end, begin, hints=CALM) as k:
                here = f.at(t, "%source", f.add(f.mul(k, "%along"), first))
                line = f.load(v, here, align=size) if all_exist else load_some(f, kind, here, left)
                f.store(v, line, f.at(t, target, f.mul(k, "%wide")), size)
    with f.when(f.invert(side_by_side)), vectors() as (first, left, target):
        source = f.at(t, "%source", f.mul(first, "%across"))
        squares = f.pick(f.equal("%along", 1), "i64", f.let(f"and i64 %depth, {-n}"), 0)
        starts = [f.at(t, source, f.mul("%across", f.smaller(str(i), f.sub(left, 1)))) for i in range(n)]
        with f.loop(squares, 0, n, hints=CALM) as k:
            lines = [f.load(v, f.at(t, start, k), align=size) for start in starts]
            for i, line in enumerate(transposed(f, v, n, lines)):
                f.store(v, line, f.at(t, target, f.mul(f.add(k, i), "%wide")), size)
        with f.loop("%depth", squares, hints=CALM) as k, f.loop(f.smaller(left, n), hints=CALM) as lane:
            number = f.load(t, source, f.add(f.mul(k, "%along"), f.mul(lane, "%across")))
            f.store(t, number, f.at(t, target, f.add(f.mul(k, "%wide"), lane)))
    return f.text(internal=True)


def copy_text(kind: str) -> str:
    """Copy a few rows, each in whole vectors, then in halves of them, and so on. (The CPU's own way to store part of a vector is slow.)"""
    t, n, size = TYPES[kind], lanes(kind), SIZES[kind]
    f = Function("copy", "ptr noalias %source", "i64 %source_step", "ptr noalias %target", "i64 %target_step", "i64 %rows", "i64 %columns")
    place = f.variable("i64", "0")

    def piece(length: int) -> None:
        column, v = place.get(), f"<{length} x {t}>"
        with f.loop("%rows", hints=CALM) as row:
            source, target = (f.at(t, f"%{name}", f.add(f.mul(row, f"%{name}_step"), column)) for name in ("source", "target"))
            f.store(v, f.load(v, source, align=size), target, size)
        place.set(f.add(column, length))

    with f.loop(f.let(f"and i64 %columns, {-n}"), 0, n):
        piece(n)
    length = n // 2
    while length:
        with f.when(f.let(f"icmp ne i64 {f.let(f'and i64 %columns, {length}')}, 0")):
            piece(length)
        length //= 2
    return f.text(internal=True)


def repeat_text(kind: str) -> str:
    """Rows of a panel, each of one number."""
    t, n, size = TYPES[kind], lanes(kind), SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function("repeat", "ptr noalias %source", "ptr noalias %target", "i64 %rows")
    with f.loop("%rows", hints=CALM) as row:
        number, target = f.load(t, "%source", row), f.at(t, "%target", f.mul(row, width(kind)))
        for part in range(VECTORS):
            f.store(v, repeated(f, t, n, number), f.at(t, target, part * n), size)
    return f.text(internal=True)


def load_some(f: Function, kind: str, source: str, count: str) -> str:
    """A vector of which only the first numbers exist."""
    n = lanes(kind)
    v = f"<{n} x {TYPES[kind]}>"
    limit = f.let(f"insertelement <{n} x i64> poison, i64 {count}, i64 0")
    limit = f.let(f"shufflevector <{n} x i64> {limit}, <{n} x i64> poison, <{n} x i32> zeroinitializer")
    exist = f.let(f"icmp slt <{n} x i64> <{', '.join(f'i64 {i}' for i in range(n))}>, {limit}")
    return f.let(f"call {v} @llvm.masked.load.v{n}{kind}.p0(ptr {source}, i32 {SIZES[kind]}, <{n} x i1> {exist}, {v} zeroinitializer)")


def arrange(f: Function, source: str, along: str, across: str, depth: str, count: str, target: str, wide: int, step: str | int = 0,
            panels: str | int = 1, low: str | int = 0, more: str | int = 0) -> None:  # fmt: skip
    f.do(f"call void @arrange(ptr {source}, i64 {along}, i64 {across}, i64 {depth}, i64 {count}, ptr {target}, i64 {wide}, i64 {step}, "
         f"i64 {panels}, i64 {low}, i64 {more})")  # fmt: skip


def text(kind: str) -> str:
    functions = [arrange_text(kind), copy_text(kind), repeat_text(kind)]
    return "\n".join([tiles_text(kind), *(text.replace(") {", ") noinline {", 1) for text in functions)])
