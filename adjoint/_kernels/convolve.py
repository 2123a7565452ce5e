"""Convolution as matrix products that read the image directly.

A convolution is a product of the kernels (rows) with columns of the image, one column for each element of the kernel. The columns are never
made as a whole. All functions work on images whose places are one number apart (`lay` makes such images: padded, and split by the stride),
so an element of a column is at `image[offset of the column + offset of the place]`.

    lay        copy an image, row by row, into such an arrangement
    pack       arrange the kernels: a few rows side by side
    tiles      rows times columns for some places: a few thousand numbers are gathered, and used for all rows while they are in the cache
    lines      the same for up to three rows, which are not worth gathering for: lines of places are read where they are
    spread     put what was computed for every n-th element of the result there
    forward    all of these, sample by sample
    arrange    lay all images out, if there are so few that each is worked on by several threads

`winograd.py` has another way to multiply. The functions trust what they are told about sizes and tables: only `ops/_direct.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import winograd
from .blocks import Function, fields
from .code import TYPES
from .sharing import ROOMS, builtin, room
from .vectors import LANES, MULTIPLIER, ROWS, SIZES, VECTORS, fma, lanes_below, splat, width

DEPTH = 192  # how much of a column is gathered at a time, at most
LINE_VECTORS = {1: 4, 2: 4, 3: 3}  # vectors of places that `lines` computes at a time, by the number of rows


# ---- lay and spread -----------------------------------------------------------------------------------------------------------------

LAY = "source_plane target_plane rows row_table* runs run_table* step"


def lay_text(kind: str) -> str:
    """Rows of every channel, so many for each sample: `row_table` says where they are in source and target, `run_table` which elements of a
    row go where."""
    t, n = TYPES[kind], LANES[kind]
    v = f"<{n} x {t}>"
    f = Function(f"lay_{kind}", "ptr %facts", "i64 %channels", "i64 %samples", "ptr %source", "ptr %target")
    a = fields(f, LAY)
    single, double = f.equal(a["step"], 1), f.equal(a["step"], 2)
    with f.loop("%channels") as c:
        source = f.at(t, "%source", f.mul(c, a["source_plane"]))
        target = f.at(t, "%target", f.mul(c, a["target_plane"]))
        with f.loop(f.mul("%samples", a["rows"])) as row:
            entry = f.mul(row, 2)
            from_row = f.at(t, source, f.load("i64", a["row_table"], entry))
            to_row = f.at(t, target, f.load("i64", a["row_table"], f.add(entry, 1)))
            with f.loop(a["runs"]) as run:
                entry = f.mul(run, 3)
                first, count, place = (f.load("i64", a["run_table"], f.add(entry, i)) for i in range(3))
                here, there = f.at(t, from_row, first), f.at(t, to_row, place)
                # Runs are short: vectors, the last of which may overlap the one before, take less time than a call of `memcpy`.
                long = f.let(f"and i1 {single}, {f.invert(f.less(count, n))}")
                final = f.sub(count, n)
                with f.when(long), f.loop(count, 0, n) as begin:
                    i = f.smaller(begin, final)
                    f.store(v, f.load(v, f.at(t, here, i), align=SIZES[kind]), f.at(t, there, i), SIZES[kind])
                with f.when(double), f.loop(count) as i:
                    f.store(t, f.load(t, here, f.mul(i, 2)), f.at(t, there, i))
                with f.when(f.invert(f.let(f"or i1 {long}, {double}"))), f.loop(count) as i:
                    f.store(t, f.load(t, here, f.mul(i, a["step"])), f.at(t, there, i))
    return f.text(internal=True).replace("ptr %source, ptr %target", "ptr noalias %source, ptr noalias %target")


ARRANGE = "laid*T! image*T source_plane plane lay*"


def arrange_text(kind: str) -> str:
    """Lay images out. A piece of work is a channel of a sample."""
    t = TYPES[kind]
    f = Function(f"arrange_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, ARRANGE)
    with f.loop("%last", "%first") as piece:
        source, target = f.at(t, a["image"], f.mul(piece, a["source_plane"])), f.at(t, a["laid"], f.mul(piece, a["plane"]))
        with f.loop(a["plane"]) as i:
            f.store(t, "0.0", f.at(t, target, i))
        f.do(f"call void @lay_{kind}(ptr {a['lay']}, i64 1, i64 1, ptr {source}, ptr {target})")
    return "\n".join([lay_text(kind), f.text()])


SPREAD = "source source_plane source_line count target_plane step line_table*"


def spread_text(kind: str) -> str:
    """Lines of some rows, to where `line_table` says, `step` apart; a line that is at -1 does not exist."""
    t = TYPES[kind]
    f = Function(f"spread_{kind}", "ptr %facts", "ptr %scratch", "ptr %out", "i64 %first", "i64 %last", "i64 %first_row", "i64 %last_row")
    a = fields(f, SPREAD)
    single = f.equal(a["step"], 1)
    begin = f.at(t, "%scratch", a["source"])
    with f.loop("%last_row", "%first_row") as row:
        source = f.at(t, begin, f.mul(row, a["source_plane"]))
        target = f.at(t, "%out", f.mul(row, a["target_plane"]))
        with f.loop("%last", "%first") as line:
            place = f.load("i64", a["line_table"], line)
            with f.when(f.invert(f.less(place, 0))):
                here, there = f.at(t, source, f.mul(line, a["source_line"])), f.at(t, target, place)
                for case, step in ((single, "1"), (f.invert(single), a["step"])):
                    with f.when(case), f.loop(a["count"]) as i:
                        f.store(t, f.load(t, here, i), f.at(t, there, f.mul(i, step)))
    return f.text(internal=True).replace("ptr %scratch, ptr %out", "ptr noalias %scratch, ptr noalias %out")


# ---- pack ---------------------------------------------------------------------------------------------------------------------------

PACK = winograd.PACK


def pack_text(rows: int, kind: str) -> str:
    """For each block of columns, for every few rows: their numbers of every column. Rows that do not exist are zeros. A piece of work is a
    block of rows of a group."""
    t = TYPES[kind]
    f = Function(f"pack{rows}_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, PACK)
    blocks = f.let(f"udiv i64 {f.add(a['rows'], rows - 1)}, {rows}")
    last = f.sub(a["rows"], 1)
    ordered = f.equal(a["ordered"], 1)
    with f.loop("%last", "%first") as piece:
        group = f.let(f"udiv i64 {piece}, {blocks}")
        block = f.sub(piece, f.mul(group, blocks))
        weight = f.at(t, a["weight"], f.mul(group, a["group_step"]))
        packed = f.at(t, a["packed"], f.add(a["start"], f.mul(group, a["packed_step"])))
        numbers = [f.add(f.mul(block, rows), i) for i in range(rows)]
        there = [f.less(number, a["rows"]) for number in numbers]
        sources = [f.at(t, weight, f.mul(f.smaller(number, last), a["row_step"])) for number in numbers]
        with f.loop(a["columns"], 0, a["depth"]) as first:
            depth = f.smaller(a["depth"], f.sub(a["columns"], first))
            target = f.at(t, packed, f.mul(f.add(f.mul(first, blocks), f.mul(block, depth)), rows))
            for case in (True, False):
                with f.when(ordered if case else f.invert(ordered)), f.loop(depth) as k:
                    column = f.add(first, k)
                    offset = column if case else f.load("i64", a["column_table"], column)
                    for i, (source, exists) in enumerate(zip(sources, there, strict=True)):
                        value = f.let(f"select i1 {exists}, {t} {f.load(t, source, offset)}, {t} 0.0")
                        f.store(t, value, f.at(t, target, f.add(f.mul(k, rows), i)))
    return f.text()


# ---- tiles --------------------------------------------------------------------------------------------------------------------------

TILES = "column_table* split_table* place_table* rows places out_plane columns depth scattered"


def tiles_text(kind: str) -> str:
    t, n, wide, size = TYPES[kind], LANES[kind], width(kind), SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function(f"tiles_{kind}", *MULTIPLIER)
    a = fields(f, TILES)
    gathered = f.room(f"[{DEPTH * wide} x {t}]", 64)
    blocks = f.let(f"udiv i64 {f.add(a['rows'], ROWS - 1)}, {ROWS}")
    scattered = f.equal(a["scattered"], 1)
    with f.loop(a["columns"], 0, a["depth"]) as first:
        depth = f.smaller(f.sub(a["columns"], first), a["depth"])
        columns = f.at("i64", a["column_table"], first)
        begin = f.equal(first, 0)
        packed = f.at(t, "%packed", f.mul(first, f.mul(blocks, ROWS)))
        with f.loop("%last", "%first") as tile:
            place = f.mul(tile, wide)
            left = f.sub(a["places"], place)
            full = f.invert(f.less(left, wide))
            gather(f, kind, a, tile, place, depth, columns, gathered, scattered)
            masks = [lanes_below(f, kind, f.sub(left, part * n)) for part in range(VECTORS)]
            with f.loop("%last_block", "%first_block") as block:
                sums = [[f.variable(v, "zeroinitializer") for _ in range(VECTORS)] for _ in range(ROWS)]
                weights = f.at(t, packed, f.mul(block, f.mul(depth, ROWS)))
                with f.loop(depth) as k:
                    at = f.at(t, gathered, f.mul(k, wide))
                    right = [f.load(v, f.at(t, at, part * n), align=32) for part in range(VECTORS)]
                    left_at = f.at(t, weights, f.mul(k, ROWS))
                    for i in range(ROWS):
                        one = splat(f, kind, f.load(t, left_at, i))
                        for part in range(VECTORS):
                            fma(f, kind, one, right[part], sums[i][part])
                for i in range(ROWS):
                    row = f.add(f.mul(block, ROWS), i)
                    with f.when(f.less(row, a["rows"])):
                        target = f.at(t, "%out", f.add(f.mul(row, a["out_plane"]), place))
                        bias = splat(f, kind, f.load(t, "%bias", row))
                        parts = [(f.at(t, target, part * n), f"<{n} x i1> {masks[part]}", sums[i][part]) for part in range(VECTORS)]
                        with f.when(begin):
                            for _, _, total in parts:
                                total.set(f.let(f"fadd {v} {bias}, {total.get()}"))
                        with f.when(full):
                            with f.when(f.invert(begin)):
                                for where, _, total in parts:
                                    total.set(f.let(f"fadd {v} {f.load(v, where, align=size)}, {total.get()}"))
                            for where, _, total in parts:
                                f.store(v, total.get(), where, size)
                        with f.when(f.invert(full)):
                            with f.when(f.invert(begin)):
                                for where, mask, total in parts:
                                    there = f"ptr {where}, i32 {size}, {mask}"
                                    known = f.let(f"call {v} @llvm.masked.load.v{n}{kind}.p0({there}, {v} zeroinitializer)")
                                    total.set(f.let(f"fadd {v} {known}, {total.get()}"))
                            for where, mask, total in parts:
                                f.do(f"call void @llvm.masked.store.v{n}{kind}.p0({v} {total.get()}, ptr {where}, i32 {size}, {mask})")
    declared = [
        f"declare {v} @llvm.fma.v{n}{kind}({v}, {v}, {v})",
        f"declare {v} @llvm.masked.load.v{n}{kind}.p0(ptr, i32, <{n} x i1>, {v})",
        f"declare void @llvm.masked.store.v{n}{kind}.p0({v}, ptr, i32, <{n} x i1>)",
    ]
    return "\n".join([*declared, f.text(internal=True)])


def gather(
    f: Function, kind: str, a: dict[str, str], tile: str, place: str, depth: str, columns: str, gathered: str, scattered: str
) -> None:
    """The numbers of all columns at the places of a tile. Where places are next to each other but for one gap in each vector (the end of a
    row), two loads are blended; else every place has an offset of its own."""
    t, n, wide, size = TYPES[kind], LANES[kind], width(kind), SIZES[kind]
    v = f"<{n} x {t}>"
    with f.when(f.invert(scattered)):
        entry = f.at("i64", a["split_table"], f.mul(tile, 3 * VECTORS))
        bases, masks, whole = [], [], None
        for part in range(VECTORS):
            one, two, split = (f.load("i64", entry, 3 * part + i) for i in range(3))
            bases.append((f.at(t, "%image", one), f.at(t, "%image", two)))
            masks.append(lanes_below(f, kind, split))
            fits = f.equal(split, n)
            whole = fits if whole is None else f.let(f"and i1 {whole}, {fits}")
        assert whole is not None
        with f.when(whole), f.loop(depth) as k:
            offset = f.load("i64", columns, k)
            for part in range(VECTORS):
                value = f.load(v, f.at(t, bases[part][0], offset), align=size)
                f.store(v, value, f.at(t, gathered, f.add(f.mul(k, wide), part * n)), 32)
        with f.when(f.invert(whole)), f.loop(depth) as k:
            offset = f.load("i64", columns, k)
            for part in range(VECTORS):
                one, two = (f.load(v, f.at(t, base, offset), align=size) for base in bases[part])
                value = f.let(f"select <{n} x i1> {masks[part]}, {v} {one}, {v} {two}")
                f.store(v, value, f.at(t, gathered, f.add(f.mul(k, wide), part * n)), 32)
    with f.when(scattered):
        places = f.at("i64", a["place_table"], place)
        with f.loop(depth) as k:
            row = f.at(t, "%image", f.load("i64", columns, k))
            for lane in range(wide):
                value = f.load(t, row, f.load("i64", places, lane))
                f.store(t, value, f.at(t, gathered, f.add(f.mul(k, wide), lane)))


# ---- lines --------------------------------------------------------------------------------------------------------------------------

LINES = "column_table* line_table* columns line out_plane"


def lines_text(rows: int, kind: str) -> str:
    """Lines of places in vectors, the last of which ends where the line does and may overlap the one before. For a single row two lines are
    computed at a time, the last two of which may be the same: that makes enough sums that do not wait for each other."""
    t, n, size, vectors = TYPES[kind], LANES[kind], SIZES[kind], LINE_VECTORS[rows]
    v = f"<{n} x {t}>"
    f = Function(f"lines{rows}_{kind}", *MULTIPLIER)
    a = fields(f, LINES)
    final, last_line = f.sub(a["line"], n), f.sub("%last", 1)
    biases = [splat(f, kind, f.load(t, "%bias", i)) for i in range(rows)]
    at_once = 2 if rows == 1 else 1
    with f.loop("%last", "%first", at_once) as first, f.loop(a["line"], 0, vectors * n) as begin:
        lines = [first, f.smaller(f.add(first, 1), last_line)][:at_once]
        places = [f.smaller(f.add(begin, part * n), final) for part in range(vectors)]
        images = [f.at(t, "%image", f.load("i64", a["line_table"], line)) for line in lines]
        sums = [[[f.variable(v, bias) for _ in places] for bias in biases] for _ in lines]
        with f.loop(a["columns"]) as k:
            offset = f.load("i64", a["column_table"], k)
            numbers = [splat(f, kind, f.load(t, "%packed", f.add(f.mul(k, rows), i))) for i in range(rows)]
            for image, totals in zip(images, sums, strict=True):
                column = f.at(t, image, offset)
                right = [f.load(v, f.at(t, column, place), align=size) for place in places]
                for number, row in zip(numbers, totals, strict=True):
                    for part, total in enumerate(row):
                        fma(f, kind, number, right[part], total)
        for line, totals in zip(lines, sums, strict=True):
            target = f.at(t, "%out", f.mul(line, a["line"]))
            for i, row in enumerate(totals):
                for place, total in zip(places, row, strict=True):
                    f.store(v, total.get(), f.at(t, target, f.add(place, f.mul(a["out_plane"], i))), size)
    return "\n".join([f"declare {v} @llvm.fma.v{n}{kind}({v}, {v}, {v})", f.text(internal=True)])


# ---- sample by sample ---------------------------------------------------------------------------------------------------------------

FORWARD = (
    f"out*T! image*T packed*T bias*T strange*I! {ROOMS} last_unit splits row_splits groups channels fold laid clear image_step image_room "
    "out_step rows scratch work lay* parts part_table*"
)
# A part of the result is computed as tiles or lines from `places` * n / `wide` on, where n goes from 0 to `count`: what can be split. So
# can its rows, in blocks.
PART = "multiplier* packed packed_step count places wide spreads spread_table*"


def forward_text(name: str, kind: str) -> str:
    """A unit is a sample, a group of a sample, or several samples (`fold`), so that few places are left over for a last tile. An image that
    can be used as it is may be read a little beyond its end; the last one is laid out, because there is nothing after it."""
    t = TYPES[kind]
    f = Function(f"forward_{name}_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, FORWARD)
    laid = f.equal(a["laid"], 1)
    with room(f, a) as own:
        with f.loop(a["clear"]) as i:
            f.store(t, "0.0", f.at(t, own, i))
        scratch, rest = f.at(t, own, a["scratch"]), f.at(t, own, a["work"])
        with f.loop("%last", "%first") as piece:
            with_rows = f.let(f"udiv i64 {piece}, {a['splits']}")
            share = f.sub(piece, f.mul(with_rows, a["splits"]))
            unit = f.let(f"udiv i64 {with_rows}, {a['row_splits']}")
            row_share = f.sub(with_rows, f.mul(unit, a["row_splits"]))
            blocks = f.let(f"udiv i64 {f.add(a['rows'], ROWS - 1)}, {ROWS}")
            first_block, last_block = (
                f.let(f"udiv i64 {f.mul(blocks, limit)}, {a['row_splits']}") for limit in (row_share, f.add(row_share, 1))
            )
            first_row, last_row = f.mul(first_block, ROWS), f.smaller(f.mul(last_block, ROWS), a["rows"])
            group = f.let(f"urem i64 {unit}, {a['groups']}")
            there = f.at(t, a["image"], f.mul(f.mul(unit, a["fold"]), a["image_step"]))
            source = f.variable("ptr", there)
            with f.when(f.let(f"or i1 {laid}, {f.equal(unit, a['last_unit'])}")):
                with f.loop(a["fold"]) as i:
                    given, taken = f.at(t, there, f.mul(i, a["image_step"])), f.at(t, own, f.mul(i, a["image_room"]))
                    f.do(f"call void @lay_{kind}(ptr {a['lay']}, i64 {a['channels']}, i64 1, ptr {given}, ptr {taken})")
                source.set(own)
            image, out = source.get(), f.at(t, a["out"], f.mul(unit, a["out_step"]))
            bias = f.at(t, a["bias"], f.mul(group, a["rows"]))
            with f.loop(a["parts"]) as number:
                b = fields(f, PART, f.at("i64", a["part_table"], f.mul(number, len(PART.split()))))
                packed = f.at(t, a["packed"], f.add(b["packed"], f.mul(group, b["packed_step"])))
                first, last = (
                    f.let(f"udiv i64 {f.mul(b['count'], limit)}, {a['splits']}") for limit in (share, f.add(share, 1))
                )
                begin = f.let(f"udiv i64 {f.mul(first, b['places'])}, {b['wide']}")
                end = f.let(f"udiv i64 {f.add(f.mul(last, b['places']), f.sub(b['wide'], 1))}, {b['wide']}")
                target = f.let(f"select i1 {f.equal(b['spreads'], 0)}, ptr {out}, ptr {scratch}")
                pointers = ", ".join(f"ptr {value}" for value in (b["multiplier"], image, packed, target, bias, rest, a["strange"]))
                f.do(f"call void @{name}_{kind}({pointers}, i64 {begin}, i64 {end}, i64 {first_block}, i64 {last_block})")
                with f.loop(b["spreads"]) as entry:
                    entry = f.at("i64", b["spread_table"], f.mul(entry, len(SPREAD.split())))
                    numbers = ", ".join(f"i64 {number}" for number in (first, last, first_row, last_row))
                    f.do(f"call void @spread_{kind}(ptr {entry}, ptr {scratch}, ptr {out}, {numbers})")
    return "\n".join([lay_text(kind), spread_text(kind), MULTIPLIERS[name](kind), f.text()])


# ---- functions ----------------------------------------------------------------------------------------------------------------------

MULTIPLIERS: dict[str, Callable[[str], str]] = {
    "tiles": tiles_text, "winograd": winograd.text, **{f"lines{rows}": partial(lines_text, rows) for rows in LINE_VECTORS},
}  # fmt: skip
TEXTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "arrange": (ARRANGE, arrange_text),
    **{f"forward_{name}": (FORWARD, partial(forward_text, name)) for name in MULTIPLIERS},
    **{f"pack{rows}": (PACK, partial(pack_text, rows)) for rows in (*LINE_VECTORS, ROWS)},
    "pack_winograd": (PACK, winograd.pack_text),
}


def function(name: str) -> Callable[..., bool | None]:
    """A kernel as a built-in."""
    return builtin("convolve", name, *TEXTS[name])
