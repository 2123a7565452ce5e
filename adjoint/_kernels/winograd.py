"""Convolution with kernels of 3x3 by fewer multiplications (Winograd 1980; Lavin and Gray 2015).

Four neighbouring elements of the result depend on 4x4 elements of a channel. Both kernel and image are transformed so that multiplying them
element by element, 16 multiplications where the sum has 36, and transforming back gives the same four numbers:

    result = A' ((G kernel G') * (B' image B)) A

    B' = 1  0 -1  0      G = 1    0   0        A' = 1  1  1  0
         0  1  1  0          1/2  1/2 1/2           0  1 -1 -1
         0 -1  1  0          1/2 -1/2 1/2
         0  1  0 -1          0    0   1

The sums over channels are taken between the transforms, so they are sixteen matrix products. Rounding errors are about twice those of the
plain sum. An infinite number would become NaN and reach all four elements; so the caller is told that there is one, and computes the
sums in the plain way.

Images are laid out by `lay` for a stride of two: a place is one group of four elements, and its 16 numbers are at 16 offsets. The result is
a scratch of two planes for each row, the upper and the lower lines of the places, which `spread` brings in order. In three dimensions the
last two are treated like this: what a kernel reads at different depths counts as different channels.
"""

from __future__ import annotations

from collections.abc import Sequence

from .blocks import Function, Variable, fields
from .code import TYPES, constant
from .vectors import LANES, MULTIPLIER, ROWS, SIZES, VECTORS, fma, lanes_below, splat, width

TAPS = 16
DEPTH = 128  # channels that are transformed at a time, at most


def before(f: Function, type_: str, d: Sequence[str]) -> list[str]:
    """B' times four numbers."""
    pairs = (("fsub", 0, 2), ("fadd", 1, 2), ("fsub", 2, 1), ("fsub", 1, 3))
    return [f.let(f"{name} {type_} {d[i]}, {d[j]}") for name, i, j in pairs]


def after(f: Function, type_: str, m: Sequence[str]) -> list[str]:
    """A' times four numbers."""
    total, rest = f.let(f"fadd {type_} {m[1]}, {m[2]}"), f.let(f"fsub {type_} {m[1]}, {m[2]}")
    return [f.let(f"fadd {type_} {m[0]}, {total}"), f.let(f"fsub {type_} {rest}, {m[3]}")]


def kernel(f: Function, type_: str, half: str, g: Sequence[str]) -> list[str]:
    """G times three numbers."""
    ends = f.let(f"fmul {type_} {half}, {f.let(f'fadd {type_} {g[0]}, {g[2]}')}")
    middle = f.let(f"fmul {type_} {half}, {g[1]}")
    return [g[0], f.let(f"fadd {type_} {ends}, {middle}"), f.let(f"fsub {type_} {ends}, {middle}"), g[2]]


# ---- the kernels --------------------------------------------------------------------------------------------------------------------

PACK = "packed*T! weight*T start packed_step rows columns depth group_step row_step column_table* ordered"


def pack_text(kind: str) -> str:
    """The transformed kernels: for each block of channels, for every few rows, for each of the 16 numbers, those of every channel. Rows
    that do not exist are zeros. A piece of work is a block of rows of a group; `columns` and `depth` count channels."""
    t = TYPES[kind]
    v = f"<{ROWS} x {t}>"
    f = Function(f"pack_winograd_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, PACK)
    blocks = f.let(f"udiv i64 {f.add(a['rows'], ROWS - 1)}, {ROWS}")
    last = f.sub(a["rows"], 1)
    half = f"<{', '.join([f'{t} {constant(0.5, kind)}'] * ROWS)}>"
    with f.loop("%last", "%first") as piece:
        group = f.let(f"udiv i64 {piece}, {blocks}")
        block = f.sub(piece, f.mul(group, blocks))
        weight = f.at(t, a["weight"], f.mul(group, a["group_step"]))
        packed = f.at(t, a["packed"], f.add(a["start"], f.mul(group, a["packed_step"])))
        rows = [f.add(f.mul(block, ROWS), i) for i in range(ROWS)]
        exist = "poison"
        for i, row in enumerate(rows):
            exist = f.let(f"insertelement <{ROWS} x i1> {exist}, i1 {f.less(row, a['rows'])}, i64 {i}")
        sources = [f.at(t, weight, f.mul(f.smaller(row, last), a["row_step"])) for row in rows]
        with f.loop(a["columns"], 0, a["depth"]) as first:
            depth = f.smaller(a["depth"], f.sub(a["columns"], first))
            target = f.at(t, packed, f.mul(f.add(f.mul(first, blocks), f.mul(block, depth)), ROWS * TAPS))
            with f.loop(depth) as k:
                numbers = []
                for tap in range(9):
                    offset = f.load("i64", a["column_table"], f.add(f.mul(f.add(first, k), 9), tap))
                    together = "zeroinitializer"
                    for i, source in enumerate(sources):
                        together = f.let(f"insertelement {v} {together}, {t} {f.load(t, source, offset)}, i64 {i}")
                    numbers.append(f.let(f"select <{ROWS} x i1> {exist}, {v} {together}, {v} zeroinitializer"))
                down = [kernel(f, v, half, numbers[column::3]) for column in range(3)]
                for i in range(4):
                    for j, number in enumerate(kernel(f, v, half, [column[i] for column in down])):
                        at = f.add(f.mul(depth, (4 * i + j) * ROWS), f.mul(k, ROWS))
                        f.store(v, number, f.at(t, target, at), SIZES[kind])
    return f.text()


# ---- the products -------------------------------------------------------------------------------------------------------------------

WINOGRAD = "channel_table* tap_table* split_table* rows channels depth out_plane lower sum_step"


def work_size(channels: int, rows: int, kind: str) -> int:
    """How many numbers the transformed image of one tile, and the products, take."""
    many = -(-rows // ROWS) if channels > DEPTH else 1
    return TAPS * width(kind) * (min(channels, DEPTH) + many * ROWS)


def text(kind: str) -> str:
    t, n, wide = TYPES[kind], LANES[kind], width(kind)
    v = f"<{n} x {t}>"
    f = Function(f"winograd_{kind}", *MULTIPLIER)
    a = fields(f, WINOGRAD)
    blocks = f.let(f"udiv i64 {f.add(a['rows'], ROWS - 1)}, {ROWS}")
    products = f.at(t, "%work", f.mul(a["depth"], TAPS * wide))
    taps = [f.load("i64", a["tap_table"], tap) for tap in range(TAPS)]
    zero = f.variable(v, "zeroinitializer")  # it is, unless there is an infinite number or NaN
    with f.loop("%last", "%first") as tile, f.loop(a["channels"], 0, a["depth"]) as first:
        depth = f.smaller(f.sub(a["channels"], first), a["depth"])
        with f.loop(VECTORS) as part:
            split = f.at("i64", a["split_table"], f.mul(f.add(f.mul(tile, VECTORS), part), 3))
            transform(f, kind, split, f.at("i64", a["channel_table"], first), taps, f.at(t, "%work", f.mul(part, n)), depth)
        begin, end = f.equal(first, 0), f.invert(f.less(f.add(first, depth), a["channels"]))
        with f.loop("%last_block", "%first_block") as block:
            sums_at = f.at(t, products, f.mul(block, a["sum_step"]))
            packed = f.at(t, "%packed", f.mul(f.add(f.mul(first, blocks), f.mul(block, depth)), ROWS * TAPS))
            with f.loop(TAPS) as tap:
                multiply(f, kind, f.at(t, "%work", f.mul(f.mul(tap, depth), wide)), f.at(t, packed, f.mul(f.mul(tap, depth), ROWS)),
                         f.at(t, sums_at, f.mul(tap, ROWS * wide)), depth, begin)  # fmt: skip
            with f.when(end), f.loop(ROWS) as i:
                row = f.add(f.mul(block, ROWS), i)
                with f.when(f.less(row, a["rows"])), f.loop(VECTORS) as part:
                    m = f.at(t, sums_at, f.add(f.mul(i, wide), f.mul(part, n)))
                    where = f.add(f.mul(row, a["out_plane"]), f.mul(f.add(f.mul(tile, wide), f.mul(part, n)), 2))
                    transform_back(f, kind, m, f.at(t, "%out", where), a["lower"], splat(f, kind, f.load(t, "%bias", row)), zero)
    strange = f.let(f"fcmp uno {v} {zero.get()}, zeroinitializer")
    with f.when(f.let(f"icmp ne i{n} {f.let(f'bitcast <{n} x i1> {strange} to i{n}')}, 0")):
        f.store("i64", "1", "%strange")
    return "\n".join([f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})", f.text(internal=True, inline=False)])


def transform(f: Function, kind: str, entry: str, channels: str, taps: list[str], target: str, depth: str) -> None:
    """B' image B for a vector of places, channel by channel. Where a line ends within the vector, two loads are blended."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    one, two, split = (f.load("i64", entry, i) for i in range(3))
    mask = lanes_below(f, kind, split)
    whole = f.equal(split, n)
    for blended in (False, True):
        with f.when(f.invert(whole) if blended else whole), f.loop(depth) as c:
            channel = f.at(t, "%image", f.load("i64", channels, c))
            here, there = f.at(t, channel, one), f.at(t, channel, two)
            d = []
            for tap in taps:
                value = f.load(v, f.at(t, here, tap), align=size)
                if blended:
                    other = f.load(v, f.at(t, there, tap), align=size)
                    value = f.let(f"select <{n} x i1> {mask}, {v} {value}, {v} {other}")
                d.append(value)
            down = [before(f, v, d[column::4]) for column in range(4)]
            for i in range(4):
                for j, value in enumerate(before(f, v, [column[i] for column in down])):
                    row = f.add(f.mul(depth, 4 * i + j), c)
                    f.store(v, value, f.at(t, target, f.mul(row, width(kind))), 32)


def multiply(f: Function, kind: str, image: str, packed: str, sums_at: str, depth: str, begin: str) -> None:
    """A few rows times a tile of places, added to what earlier channels gave."""
    t, n, wide = TYPES[kind], LANES[kind], width(kind)
    v = f"<{n} x {t}>"
    sums = [[f.variable(v, "zeroinitializer") for _ in range(VECTORS)] for _ in range(ROWS)]
    with f.loop(depth) as c:
        at = f.at(t, image, f.mul(c, wide))
        right = [f.load(v, f.at(t, at, part * n), align=32) for part in range(VECTORS)]
        left = f.at(t, packed, f.mul(c, ROWS))
        for i in range(ROWS):
            one = splat(f, kind, f.load(t, left, i))
            for part in range(VECTORS):
                fma(f, kind, one, right[part], sums[i][part])
    places = [[f.at(t, sums_at, i * wide + part * n) for part in range(VECTORS)] for i in range(ROWS)]
    with f.when(f.invert(begin)):
        for i in range(ROWS):
            for part in range(VECTORS):
                sums[i][part].set(f.let(f"fadd {v} {f.load(v, places[i][part], align=32)}, {sums[i][part].get()}"))
    for i in range(ROWS):
        for part in range(VECTORS):
            f.store(v, sums[i][part].get(), places[i][part], 32)


def transform_back(f: Function, kind: str, m: str, target: str, lower: str, bias: str, zero: Variable) -> None:
    """A' products A for a vector of places: twice as many numbers of the upper line, and of the lower line."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    numbers = [f.load(v, f.at(t, m, tap * ROWS * width(kind)), align=32) for tap in range(TAPS)]
    down = [after(f, v, numbers[column::4]) for column in range(4)]
    woven = ", ".join(f"i32 {i + side * n}" for i in range(n) for side in range(2))
    for i, line in enumerate((target, f.at(t, target, lower))):
        both = [f.let(f"fadd {v} {value}, {bias}") for value in after(f, v, [column[i] for column in down])]
        for value in both:
            zero.set(f.let(f"fadd {v} {zero.get()}, {f.let(f'fsub {v} {value}, {value}')}"))
        pair = f.let(f"shufflevector {v} {both[0]}, {v} {both[1]}, <{2 * n} x i32> <{woven}>")
        f.store(f"<{2 * n} x {t}>", pair, line, size)
