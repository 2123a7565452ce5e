"""Convolution as matrix products that read the image directly.

A convolution is a product of the kernels (rows) with columns of the image, one column for each element of the kernel. The columns are never
made as a whole. All functions work on images whose places are one number apart (`lay` makes such images: padded, and split by the stride),
so an element of a column is at `image[offset of the column + offset of the place]`.

    lay        copy an image, row by row, into such an arrangement
    pack       arrange the kernels: a few rows side by side
    tiles      rows times columns for some places: a few thousand numbers are gathered, and used for all rows while they are in the cache
    lines      the same for up to three rows, which are not worth gathering for: lines of places are read where they are
    spread     put what was computed for every n-th element of the result there
    fold       add up what tiles gave for each element of a kernel that is spread over the result
    forward    all of these, sample by sample
    arrange    lay all images out, if there are so few that each is worked on by several threads

`winograd.py` has another way to multiply. The functions trust what they are told about sizes and tables: only `ops/_direct.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from . import winograd
from .blocks import Function, fields
from .code import TYPES
from .gemm import CALM
from .sharing import ROOMS, builtin, room
from .vectors import LANES, MULTIPLIER, ROWS, SIZES, VECTORS, fma, lanes_below, splat, width

DEPTH = 192  # how much of a column is gathered at a time, at most
HINTS = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 false}\n'  # of `CALM` loops
LINE_VECTORS = {1: 4, 2: 4, 3: 3}  # vectors of places that `lines` computes at a time, by the number of rows


# ---- lay and spread -----------------------------------------------------------------------------------------------------------------


def copy(f: Function, kind: str, source: str, target: str, count: str, reads: int = 1, writes: int = 1) -> None:
    """A short line, from every second number or to every second place of another. Vectors, the last of which may overlap the one before, or
    parts of a vector take less time than a call of `memcpy`. Nothing is read or written beyond the last number."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    short = f.less(count, n)

    def lanes(numbers: Iterable[int]) -> str:
        chosen = [*numbers]
        return f"<{len(chosen)} x i32> <{', '.join(f'i32 {lane}' for lane in chosen)}>"

    def piece(length: int, i: str) -> None:
        v = f"<{length} x {t}>"
        here, there = f.at(t, source, f.mul(i, reads)), f.at(t, target, f.mul(i, writes))
        numbers = f.load(v, here, align=size)
        if length > 1 and reads == 2:
            more = f.load(v, f.at(t, here, length - 1), align=size)
            both = lanes([*range(0, length, 2), *range(length + 1, 2 * length, 2)])
            numbers = f.let(f"shufflevector {v} {numbers}, {v} {more}, {both}")
        if length > 1 and writes == 2:
            # The first half goes between what is there, and so does the second, one place before the end of the first.
            places = there, f.at(t, there, length - 1)
            known = [f.load(v, place, align=size) for place in places]
            for first, (place, old) in enumerate(zip(places, known, strict=True)):
                mixed = lanes((lane // 2 + first * length // 2) if lane % 2 == first else length + lane for lane in range(length))
                f.store(v, f.let(f"shufflevector {v} {numbers}, {v} {old}, {mixed}"), place, size)
        else:
            f.store(v, numbers, there, size)

    with f.when(f.invert(short)), f.loop(count, 0, n) as begin:
        piece(n, f.smaller(begin, f.sub(count, n)))
    with f.when(short):
        length = n // 2
        while length:
            with f.when(f.let(f"icmp ne i64 {f.let(f'and i64 {count}, {length}')}, 0")):
                piece(length, f.let(f"and i64 {count}, {-2 * length}"))
            length //= 2


LAY = "source_plane target_plane rows row_table* runs run_table* step"


def lay_text(kind: str) -> str:
    """Rows of every channel, so many for each sample: `row_table` says where they are in source and target, `run_table` which elements of a
    row go where."""
    t = TYPES[kind]
    f = Function(f"lay_{kind}", "ptr %facts", "i64 %channels", "i64 %samples", "ptr noalias %source", "ptr noalias %target")
    a = fields(f, LAY)
    single, double = f.equal(a["step"], 1), f.equal(a["step"], 2)
    rows = f.mul("%samples", a["rows"])
    with f.loop("%channels") as c, f.loop(a["runs"]) as run:
        source = f.at(t, "%source", f.mul(c, a["source_plane"]))
        target = f.at(t, "%target", f.mul(c, a["target_plane"]))
        first, count, place = (f.load("i64", a["run_table"], f.add(f.mul(run, 3), i)) for i in range(3))
        here, there = f.at(t, source, first), f.at(t, target, place)

        def every_row(chosen: str, step: int, here: str = here, there: str = there, count: str = count) -> None:
            with f.when(chosen), f.loop(rows) as row:
                from_row, to_row = (f.load("i64", a["row_table"], f.add(f.mul(row, 2), i)) for i in range(2))
                given, taken = f.at(t, here, from_row), f.at(t, there, to_row)
                if step:
                    copy(f, kind, given, taken, count, step)
                else:
                    with f.loop(count, hints=CALM) as i:
                        f.store(t, f.load(t, given, f.mul(i, a["step"])), f.at(t, taken, i))

        every_row(single, 1)
        every_row(double, 2)
        every_row(f.invert(f.let(f"or i1 {single}, {double}")), 0)
    return f.text(internal=True, inline=False) + HINTS


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


SPREAD = "source source_plane source_line lines count target_plane step line_table*"


def spread_text(kind: str) -> str:
    """Lines of some rows, to where `line_table` says, `step` apart; a line that is at -1 does not exist."""
    t = TYPES[kind]
    f = Function(f"spread_{kind}", "ptr %facts", "ptr %scratch", "ptr %out", "i64 %first", "i64 %last", "i64 %first_row", "i64 %last_row")
    a = fields(f, SPREAD)
    single, double = f.equal(a["step"], 1), f.equal(a["step"], 2)
    begin = f.at(t, "%scratch", a["source"])
    with f.loop("%last_row", "%first_row") as row:
        source = f.at(t, begin, f.mul(row, a["source_plane"]))
        target = f.at(t, "%out", f.mul(row, a["target_plane"]))
        with f.loop("%last", "%first") as line:
            place = f.load("i64", a["line_table"], line)
            with f.when(f.invert(f.less(place, 0))):
                here, there = f.at(t, source, f.mul(line, a["source_line"])), f.at(t, target, place)
                with f.when(single):
                    copy(f, kind, here, there, a["count"])
                with f.when(double):
                    copy(f, kind, here, there, a["count"], writes=2)
                with f.when(f.invert(f.let(f"or i1 {single}, {double}"))), f.loop(a["count"], hints=CALM) as i:
                    f.store(t, f.load(t, here, i), f.at(t, there, f.mul(i, a["step"])))
    return f.text(internal=True, inline=False).replace("ptr %scratch, ptr %out", "ptr noalias %scratch, ptr noalias %out")


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
    blocks = f.quotient(f.add(a['rows'], ROWS - 1), ROWS)
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
                for i in range(ROWS):  # what the sums are added to is asked for in time
                    row = f.smaller(f.add(f.mul(block, ROWS), i), f.sub(a["rows"], 1))
                    target = f.at(t, "%out", f.add(f.mul(row, a["out_plane"]), place))
                    for end in (0, wide - 1):
                        f.do(f"call void @llvm.prefetch.p0(ptr {f.at(t, target, end)}, i32 1, i32 3, i32 1)")
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
        f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})",
        f"declare {v} @llvm.masked.load.v{n}{kind}.p0(ptr, i32, <{n} x i1>, {v})",
        f"declare void @llvm.masked.store.v{n}{kind}.p0({v}, ptr, i32, <{n} x i1>)",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    ]
    return "\n".join([*declared, f.text(internal=True, inline=False)])


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
    return "\n".join([f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})", f.text(internal=True, inline=False)])


# ---- folds --------------------------------------------------------------------------------------------------------------------------

FOLD = (
    "chunk taps lines band line source_plane size tap_table* line_table* samples sample_size target_sample target_plane spreads "
    "spread_table*"
)


def fold_text(kind: str) -> str:
    """Add up what each element of the kernel gives: lines of places, from where they are in the scratch to a plane for each row and sample.
    After the end of a line zeros are added."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    pointers = "ptr %facts", "ptr noalias %scratch", "ptr noalias %planes"
    f = Function(f"fold_{kind}", *pointers, "i64 %rows", "i64 %first", "i64 %last", "i64 %skipped")
    a = fields(f, FOLD)
    whole = f.let(f"and i64 {a['line']}, {-n}")
    mask, partial = lanes_below(f, kind, f.sub(a["line"], whole)), f.less(whole, a["line"])
    with f.loop("%rows") as row, f.loop(a["taps"]) as tap:
        here = f.at(t, "%scratch", f.sub(f.mul(f.add(f.mul(row, a["taps"]), tap), a["source_plane"]), "%skipped"))
        there = f.at(t, "%planes", f.add(f.mul(row, a["size"]), f.load("i64", a["tap_table"], tap)))
        with f.loop("%last", "%first") as line:
            given, taken = f.at(t, here, f.mul(line, a["line"])), f.at(t, there, f.load("i64", a["line_table"], line))
            with f.loop(whole, 0, n) as i:
                value, where = f.load(v, f.at(t, given, i), align=size), f.at(t, taken, i)
                f.store(v, f.let(f"fadd {v} {f.load(v, where, align=size)}, {value}"), where, size)
            with f.when(partial):
                value, where = f.load(v, f.at(t, given, whole), align=size), f.at(t, taken, whole)
                value = f.let(f"select <{n} x i1> {mask}, {v} {value}, {v} zeroinitializer")
                f.store(v, f.let(f"fadd {v} {f.load(v, where, align=size)}, {value}"), where, size)
    return f.text(internal=True, inline=False)


# ---- sample by sample ---------------------------------------------------------------------------------------------------------------

FORWARD = (
    f"out*T! image*T packed*T bias*T strange*I! {ROOMS} last_unit splits row_splits groups channels fold laid clear image_step image_room "
    "out_step rows scratch work lay* parts part_table*"
)
# A part of the result is computed as tiles or lines from `places` * n / `wide` on, where n goes from 0 to `count`: what can be split. So
# can its rows, in blocks. If it is folded, `spread_table` is what `fold` needs.
PART = "multiplier* packed packed_step count places wide spreads spread_table*"


@contextmanager
def units(f: Function, a: dict[str, str], kind: str) -> Iterator[dict[str, str]]:
    """A unit is a sample, a group of a sample, or several samples (`fold`), so that few places are left over for a last tile. An image that
    can be used as it is may be read a little beyond its end; the last one is laid out, because there is nothing after it."""
    t = TYPES[kind]
    laid = f.equal(a["laid"], 1)
    with room(f, a) as own:
        with f.loop(a["clear"]) as i:
            f.store(t, "0.0", f.at(t, own, i))
        with f.loop("%last", "%first") as piece:
            with_rows = f.quotient(piece, a["splits"])
            unit = f.quotient(with_rows, a["row_splits"])
            group = f.sub(unit, f.mul(f.quotient(unit, a["groups"]), a["groups"]))
            there = f.at(t, a["image"], f.mul(f.mul(unit, a["fold"]), a["image_step"]))
            source = f.variable("ptr", there)
            with f.when(f.let(f"or i1 {laid}, {f.equal(unit, a['last_unit'])}")):
                with f.loop(a["fold"]) as i:
                    given, taken = f.at(t, there, f.mul(i, a["image_step"])), f.at(t, own, f.mul(i, a["image_room"]))
                    f.do(f"call void @lay_{kind}(ptr {a['lay']}, i64 {a['channels']}, i64 1, ptr {given}, ptr {taken})")
                source.set(own)
            yield {
                "group": group, "share": f.sub(piece, f.mul(with_rows, a["splits"])),
                "row_share": f.sub(with_rows, f.mul(unit, a["row_splits"])), "image": source.get(),
                "out": f.at(t, a["out"], f.mul(unit, a["out_step"])), "bias": f.at(t, a["bias"], f.mul(group, a["rows"])),
                "scratch": f.at(t, own, a["scratch"]), "work": f.at(t, own, a["work"]),
            }  # fmt: skip


def cut(f: Function, count: str, number: str, parts: str) -> list[str]:
    """Where a share of so many begins and ends."""
    return [f.quotient(f.mul(count, limit), parts) for limit in (number, f.add(number, 1))]


def forward_text(name: str, kind: str) -> str:
    t = TYPES[kind]
    f = Function(f"forward_{name}_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, FORWARD)
    with units(f, a, kind) as u:
        first_block, last_block = cut(f, f.quotient_up(a["rows"], ROWS), u["row_share"], a["row_splits"])
        first_row, last_row = f.mul(first_block, ROWS), f.smaller(f.mul(last_block, ROWS), a["rows"])
        with f.loop(a["parts"]) as number:
            b = fields(f, PART, f.at("i64", a["part_table"], f.mul(number, len(PART.split()))))
            packed = f.at(t, a["packed"], f.add(b["packed"], f.mul(u["group"], b["packed_step"])))
            first, last = cut(f, b["count"], u["share"], a["splits"])
            begin, end = f.quotient(f.mul(first, b["places"]), b["wide"]), f.quotient_up(f.mul(last, b["places"]), b["wide"])
            target = f.pick(f.equal(b["spreads"], 0), "ptr", u["out"], u["scratch"])
            pointers = ", ".join(f"ptr {x}" for x in (b["multiplier"], u["image"], packed, target, u["bias"], u["work"], a["strange"]))
            f.do(f"call void @{name}_{kind}({pointers}, i64 {begin}, i64 {end}, i64 {first_block}, i64 {last_block})")
            with f.loop(b["spreads"]) as entry:
                entry = f.at("i64", b["spread_table"], f.mul(entry, len(SPREAD.split())))
                numbers = ", ".join(f"i64 {number}" for number in (first, last, first_row, last_row))
                f.do(f"call void @spread_{kind}(ptr {entry}, ptr {u['scratch']}, ptr {u['out']}, {numbers})")
    return "\n".join([lay_text(kind), spread_text(kind), MULTIPLIERS[name](kind), f.text()])


def forward_folds_text(kind: str) -> str:
    """A transposed convolution: the image is multiplied by each element of the kernel, for a few rows of the result and a band of lines at
    a time, and that is folded. After the biases there are zeros, which `tiles` adds."""
    t, wide = TYPES[kind], width(kind)
    f = Function(f"forward_folds_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, FORWARD)
    b = fields(f, PART, a["part_table"])
    c = fields(f, FOLD, b["spread_table"])
    zeros = f.at(t, a["bias"], f.mul(a["groups"], a["rows"]))
    with units(f, a, kind) as u:
        packed = f.at(t, a["packed"], f.mul(u["group"], b["packed_step"]))
        first, last = cut(f, f.quotient_up(a["rows"], c["chunk"]), u["row_share"], a["row_splits"])
        first, last = f.mul(first, c["chunk"]), f.smaller(f.mul(last, c["chunk"]), a["rows"])
        with f.loop(last, first, c["chunk"]) as row:
            rows = f.smaller(f.sub(last, row), c["chunk"])
            begin, end = f.mul(row, c["taps"]), f.mul(f.add(row, rows), c["taps"])
            blocks = f"i64 {f.let(f'udiv i64 {begin}, {ROWS}')}, i64 {f.quotient_up(end, ROWS)}"
            with f.loop(rows) as i:
                bias, plane = splat(f, kind, f.load(t, u["bias"], f.add(row, i))), f.at(t, u["work"], f.mul(i, c["size"]))
                with f.loop(c["size"], 0, LANES[kind], hints=CALM) as j:
                    f.store(f"<{LANES[kind]} x {t}>", bias, f.at(t, plane, j), SIZES[kind])
            with f.loop(c["lines"], 0, c["band"]) as line:
                stop = f.smaller(f.add(line, c["band"]), c["lines"])
                tile, last_tile = f.quotient(f.mul(line, c['line']), wide), f.quotient_up(f.mul(stop, c["line"]), wide)
                skipped = f.mul(tile, wide)
                before = f.sub("0", f.add(f.mul(begin, c["source_plane"]), skipped))
                target = f.let(f"getelementptr {t}, ptr {u['scratch']}, i64 {before}")
                pointers = ", ".join(f"ptr {x}" for x in (b["multiplier"], u["image"], packed, target, zeros, u["work"], a["strange"]))
                f.do(f"call void @tiles_{kind}({pointers}, i64 {tile}, i64 {last_tile}, {blocks})")
                numbers = f"i64 {rows}, i64 {line}, i64 {stop}, i64 {skipped}"
                f.do(f"call void @fold_{kind}(ptr {b['spread_table']}, ptr {u['scratch']}, ptr {u['work']}, {numbers})")
            with f.loop(rows) as i, f.loop(c["samples"]) as sample, f.loop(c["spreads"]) as entry:
                entry = f.at("i64", c["spread_table"], f.mul(entry, len(SPREAD.split())))
                plane = f.at(t, u["work"], f.add(f.mul(i, c["size"]), f.mul(sample, c["sample_size"])))
                out = f.at(t, u["out"], f.add(f.mul(f.add(row, i), c["target_plane"]), f.mul(sample, c["target_sample"])))
                lines = fields(f, SPREAD, entry)["lines"]
                f.do(f"call void @spread_{kind}(ptr {entry}, ptr {plane}, ptr {out}, i64 0, i64 {lines}, i64 0, i64 1)")
    return "\n".join([lay_text(kind), spread_text(kind), tiles_text(kind), fold_text(kind), f.text()])


# ---- functions ----------------------------------------------------------------------------------------------------------------------

MULTIPLIERS: dict[str, Callable[[str], str]] = {
    "tiles": tiles_text, "winograd": winograd.text, **{f"lines{rows}": partial(lines_text, rows) for rows in LINE_VECTORS},
}  # fmt: skip
TEXTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "arrange": (ARRANGE, arrange_text),
    **{f"forward_{name}": (FORWARD, partial(forward_text, name)) for name in MULTIPLIERS},
    "forward_folds": (FORWARD, forward_folds_text),
    **{f"pack{rows}": (PACK, partial(pack_text, rows)) for rows in (*LINE_VECTORS, ROWS)},
    "pack_winograd": (PACK, winograd.pack_text),
}


def function(name: str) -> Callable[..., bool | None]:
    """A kernel as a built-in."""
    return builtin("convolve", name, *TEXTS[name])
