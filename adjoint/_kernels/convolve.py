"""Convolution as matrix products that read the image directly.

A convolution is a product of the kernels (rows) with columns of the image, one column for each place of the kernel. The columns are never
made as a whole: a few thousand numbers at a time are gathered next to each other, used for all rows while they are in the cache, and
forgotten. All functions work on images whose places are one number apart (`lay` makes such images: padded, and split by the stride), so an
element of a column is at `x[offset of the row + offset of the place]`.

    lay        copy an image, row by row, into such an arrangement
    pack       arrange the kernels: a few rows side by side
    tiles      rows times columns, for some places
    forward    lay and tiles, sample by sample
    dots       the gradient of the kernels: sums over places of products of a gradient and an image
    backward   lay and dots, some samples at a time

The functions trust their arguments, which are addresses: only `ops/_direct.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable

from .blocks import Function, fields, loaded
from .code import TYPES

LANES = {"f32": 8, "f64": 4}  # numbers in a vector
ROWS, VECTORS = 4, 3  # of the kernels and of places in one step: twelve sums, three vectors and a number fit into sixteen registers
DEPTH = 192  # how much of a column is gathered at a time, at most
DOT_ROWS, DOT_COLUMNS = 4, 3


def width(kind: str) -> int:
    """Places in a tile."""
    return VECTORS * LANES[kind]


def splat(f: Function, kind: str, value: str) -> str:
    t, n = TYPES[kind], LANES[kind]
    one = f.let(f"insertelement <{n} x {t}> poison, {t} {value}, i64 0")
    return f.let(f"shufflevector <{n} x {t}> {one}, <{n} x {t}> poison, <{n} x i32> zeroinitializer")


# ---- lay ----------------------------------------------------------------------------------------------------------------------------

LAY = "source* target* channels source_plane target_plane rows row_table* runs run_table* step"


def lay_text(kind: str) -> str:
    """Rows of every channel: `row_table` says where they are in source and target, `run_table` which elements of a row go where."""
    t = TYPES[kind]
    f = Function(f"lay_{kind}", "ptr %facts")
    a = fields(f, LAY)
    single = f.equal(a["step"], 1)
    with f.loop(a["channels"]) as c:
        source = f.at(t, a["source"], f.mul(c, a["source_plane"]))
        target = f.at(t, a["target"], f.mul(c, a["target_plane"]))
        with f.loop(a["rows"]) as row:
            entry = f.mul(row, 2)
            from_row = f.at(t, source, f.load("i64", a["row_table"], entry))
            to_row = f.at(t, target, f.load("i64", a["row_table"], f.add(entry, 1)))
            with f.loop(a["runs"]) as run:
                entry = f.mul(run, 3)
                first, count, place = (f.load("i64", a["run_table"], f.add(entry, i)) for i in range(3))
                here, there = f.at(t, from_row, first), f.at(t, to_row, place)
                with f.when(single), f.loop(count) as i:
                    f.store(t, f.load(t, here, i), f.at(t, there, i))
                with f.when(f.invert(single)), f.loop(count) as i:
                    f.store(t, f.load(t, here, f.mul(i, a["step"])), f.at(t, there, i))
    return f.text()


# ---- pack ---------------------------------------------------------------------------------------------------------------------------

PACK = "weight* packed* groups rows columns depth group_step row_step column_table*"


def pack_text(kind: str) -> str:
    """For each block of columns, for every few rows: their numbers of every column. Rows that do not exist are zeros."""
    t = TYPES[kind]
    f = Function(f"pack_{kind}", "ptr %facts")
    a = fields(f, PACK)
    target = f.variable("ptr", a["packed"])
    last = f.sub(a["rows"], 1)
    with f.loop(a["groups"]) as group, f.loop(a["columns"], 0, a["depth"]) as first:
        weight = f.at(t, a["weight"], f.mul(group, a["group_step"]))
        stop = f.smaller(f.add(first, a["depth"]), a["columns"])
        with f.loop(a["rows"], 0, ROWS) as row:
            rows = [f.add(row, i) for i in range(ROWS)]
            there = [f.less(r, a["rows"]) for r in rows]
            sources = [f.at(t, weight, f.mul(f.smaller(r, last), a["row_step"])) for r in rows]
            with f.loop(stop, first) as column:
                offset = f.load("i64", a["column_table"], column)
                place = target.get()
                for i, (source, exists) in enumerate(zip(sources, there, strict=True)):
                    value = f.let(f"select i1 {exists}, {t} {f.load(t, source, offset)}, {t} 0.0")
                    f.store(t, value, f.at(t, place, i))
                target.set(f.at(t, place, ROWS))
    return f.text()


# ---- tiles --------------------------------------------------------------------------------------------------------------------------

TILES = "image* packed* out* bias* column_table* split_table* place_table* rows places columns depth first last scattered"


def tiles_text(kind: str) -> str:
    t, n, wide = TYPES[kind], LANES[kind], width(kind)
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    f = Function(f"tiles_{kind}", "ptr %facts")
    a = fields(f, TILES)
    gathered = f.room(f"[{DEPTH * wide} x {t}]", 64)
    blocks = f.let(f"udiv i64 {f.add(a['rows'], ROWS - 1)}, {ROWS}")
    scattered = f.equal(a["scattered"], 1)
    numbers = ", ".join(f"i64 {i}" for i in range(n))
    with f.loop(a["columns"], 0, a["depth"]) as first:
        depth = f.smaller(f.sub(a["columns"], first), a["depth"])
        columns = f.at("i64", a["column_table"], first)
        begin = f.equal(first, 0)
        packed = f.at(t, a["packed"], f.mul(first, f.mul(blocks, ROWS)))
        with f.loop(a["last"], a["first"]) as tile:
            place = f.mul(tile, wide)
            left = f.sub(a["places"], place)
            full = f.invert(f.less(left, wide))
            gather(f, kind, a, tile, place, depth, columns, gathered, scattered)
            masks = []
            for part in range(VECTORS):
                limit = f.let(f"insertelement <{n} x i64> poison, i64 {f.sub(left, part * n)}, i64 0")
                limit = f.let(f"shufflevector <{n} x i64> {limit}, <{n} x i64> poison, <{n} x i32> zeroinitializer")
                masks.append(f.let(f"icmp slt <{n} x i64> <{numbers}>, {limit}"))
            with f.loop(blocks) as block:
                sums = [[f.variable(v, "zeroinitializer") for _ in range(VECTORS)] for _ in range(ROWS)]
                weights = f.at(t, packed, f.mul(block, f.mul(depth, ROWS)))
                with f.loop(depth) as k:
                    at = f.at(t, gathered, f.mul(k, wide))
                    right = [f.load(v, f.at(t, at, part * n), align=32) for part in range(VECTORS)]
                    left_at = f.at(t, weights, f.mul(k, ROWS))
                    for i in range(ROWS):
                        one = splat(f, kind, f.load(t, left_at, i))
                        for part in range(VECTORS):
                            total = sums[i][part]
                            total.set(f.let(f"call {v} @llvm.fma.v{n}{kind}({v} {one}, {v} {right[part]}, {v} {total.get()})"))
                for i in range(ROWS):
                    row = f.add(f.mul(block, ROWS), i)
                    with f.when(f.less(row, a["rows"])):
                        target = f.at(t, a["out"], f.add(f.mul(row, a["places"]), place))
                        bias = splat(f, kind, f.load(t, a["bias"], row))
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
    return "\n".join([*declared, f.text()])


def gather(
    f: Function, kind: str, a: dict[str, str], tile: str, place: str, depth: str, columns: str, gathered: str, scattered: str
) -> None:
    """The numbers of all columns at the places of a tile. Where places are next to each other but for one gap in each vector (the end of a
    row), two loads are blended; else every place has an offset of its own."""
    t, n, wide = TYPES[kind], LANES[kind], width(kind)
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    numbers = ", ".join(f"i64 {i}" for i in range(n))
    with f.when(f.invert(scattered)):
        entry = f.at("i64", a["split_table"], f.mul(tile, 3 * VECTORS))
        bases, masks, whole = [], [], None
        for part in range(VECTORS):
            one, two, split = (f.load("i64", entry, 3 * part + i) for i in range(3))
            bases.append((f.at(t, a["image"], one), f.at(t, a["image"], two)))
            limit = f.let(f"insertelement <{n} x i64> poison, i64 {split}, i64 0")
            limit = f.let(f"shufflevector <{n} x i64> {limit}, <{n} x i64> poison, <{n} x i32> zeroinitializer")
            masks.append(f.let(f"icmp slt <{n} x i64> <{numbers}>, {limit}"))
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
            row = f.at(t, a["image"], f.load("i64", columns, k))
            for lane in range(wide):
                value = f.load(t, row, f.load("i64", places, lane))
                f.store(t, value, f.at(t, gathered, f.add(f.mul(k, wide), lane)))


# ---- dots ---------------------------------------------------------------------------------------------------------------------------

DOTS = "image* grad* out* column_table* rows columns first last samples image_step grad_step grad_plane start stop"


def dots_text(kind: str) -> str:
    """out[row, column] += the sum over samples and places, in whole vectors, of grad[row, place] * image[column offset + place]."""
    t, n = TYPES[kind], LANES[kind]
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    f = Function(f"dots_{kind}", "ptr %facts")
    a = fields(f, DOTS)
    last_row, last_column = f.sub(a["rows"], 1), f.sub(a["columns"], 1)
    with f.loop(a["last"], a["first"], DOT_ROWS) as row, f.loop(a["columns"], 0, DOT_COLUMNS) as column:
        grads = [f.at(t, a["grad"], f.mul(f.smaller(f.add(row, i), last_row), a["grad_plane"])) for i in range(DOT_ROWS)]
        offsets = [f.load("i64", a["column_table"], f.smaller(f.add(column, j), last_column)) for j in range(DOT_COLUMNS)]
        images = [f.at(t, a["image"], offset) for offset in offsets]
        sums = [[f.variable(v, "zeroinitializer") for _ in range(DOT_COLUMNS)] for _ in range(DOT_ROWS)]
        with f.loop(a["samples"]) as sample:
            image_at, grad_at = f.mul(sample, a["image_step"]), f.mul(sample, a["grad_step"])
            with f.loop(a["stop"], a["start"], n) as place:
                there, here = f.add(image_at, place), f.add(grad_at, place)
                right = [f.load(v, f.at(t, image, there), align=size) for image in images]
                for i in range(DOT_ROWS):
                    left = f.load(v, f.at(t, grads[i], here), align=size)
                    for j in range(DOT_COLUMNS):
                        total = sums[i][j]
                        total.set(f.let(f"call {v} @llvm.fma.v{n}{kind}({v} {left}, {v} {right[j]}, {v} {total.get()})"))
        for i in range(DOT_ROWS):
            for j in range(DOT_COLUMNS):
                r, c = f.add(row, i), f.add(column, j)
                there = f.let(f"and i1 {f.less(r, a['last'])}, {f.less(c, a['columns'])}")
                sum_ = f.let(f"call reassoc {t} @llvm.vector.reduce.fadd.v{n}{kind}({t} 0.0, {v} {sums[i][j].get()})")
                with f.when(there):
                    target = f.at(t, a["out"], f.add(f.mul(r, a["columns"]), c))
                    f.store(t, f.let(f"fadd {t} {f.load(t, target)}, {sum_}"), target)
    declared = [
        f"declare {v} @llvm.fma.v{n}{kind}({v}, {v}, {v})",
        f"declare {t} @llvm.vector.reduce.fadd.v{n}{kind}({t}, {v})",
    ]
    return "\n".join([*declared, f.text()])


# ---- sample by sample ---------------------------------------------------------------------------------------------------------------

FORWARD = "units group groups laid lay* tiles* image_step out_step packed* packed_step bias* bias_step"


def forward_text(kind: str) -> str:
    """`lay`, unless the image can be used as it is, and `tiles` for one group of one sample after the other: addresses move on."""
    f = Function(f"forward_{kind}", "ptr %facts")
    a = fields(f, FORWARD)
    laid = f.equal(a["laid"], 1)
    group = f.variable("i64", a["group"])
    with f.loop(a["units"]):
        with f.when(laid):
            f.do(f"call void @lay_{kind}(ptr {a['lay']})")
            advance(f, a["lay"], LAY, "source", a["image_step"])
        for what in ("packed", "bias"):
            where = f.at("i8", a[what], f.mul(group.get(), a[f"{what}_step"]))
            assign(f, a["tiles"], TILES, what, f.let(f"ptrtoint ptr {where} to i64"))
        f.do(f"call void @tiles_{kind}(ptr {a['tiles']})")
        with f.when(f.invert(laid)):
            advance(f, a["tiles"], TILES, "image", a["image_step"])
        advance(f, a["tiles"], TILES, "out", a["out_step"])
        after = f.add(group.get(), 1)
        group.set(f.let(f"select i1 {f.equal(after, a['groups'])}, i64 0, i64 {after}"))
    return "\n".join([lay_text(kind), tiles_text(kind), f.text()])


BACKWARD = (
    "image grad out groups image_group grad_group out_group samples batch laid lay_image* lay_grad* dots* image_step grad_step "
    "image_place grad_place image_room grad_room length chunk"
)


def backward_text(kind: str) -> str:
    """The same with `dots`, group by group, for a batch of samples at a time, and for chunks of places that fit into the cache."""
    f = Function(f"backward_{kind}", "ptr %facts")
    a = fields(f, BACKWARD)
    laid = f.equal(a["laid"], 1)
    with f.loop(a["groups"]) as group:
        image, grad, out = (f.add(a[what], f.mul(group, a[f"{what}_group"])) for what in ("image", "grad", "out"))
        for what, source in (("image", image), ("grad", grad)):
            with f.when(laid):
                assign(f, a[f"lay_{what}"], LAY, "source", source)
            with f.when(f.invert(laid)):
                assign(f, a["dots"], DOTS, what, source)
        assign(f, a["dots"], DOTS, "out", out)
        with f.loop(a["samples"], 0, a["batch"]) as first:
            samples = f.smaller(f.sub(a["samples"], first), a["batch"])
            with f.when(laid):
                assign(f, a["lay_image"], LAY, "target", a["image_room"])
                assign(f, a["lay_grad"], LAY, "target", a["grad_room"])
                with f.loop(samples):
                    for what in ("image", "grad"):
                        f.do(f"call void @lay_{kind}(ptr {a[f'lay_{what}']})")
                        advance(f, a[f"lay_{what}"], LAY, "source", a[f"{what}_step"])
                        advance(f, a[f"lay_{what}"], LAY, "target", a[f"{what}_place"])
            assign(f, a["dots"], DOTS, "samples", samples)
            with f.loop(a["length"], 0, a["chunk"]) as start:
                assign(f, a["dots"], DOTS, "start", start)
                assign(f, a["dots"], DOTS, "stop", f.smaller(f.add(start, a["chunk"]), a["length"]))
                f.do(f"call void @dots_{kind}(ptr {a['dots']})")
            with f.when(f.invert(laid)):
                advance(f, a["dots"], DOTS, "image", f.mul(a["image_step"], samples))
                advance(f, a["dots"], DOTS, "grad", f.mul(a["grad_step"], samples))
    return "\n".join([lay_text(kind), dots_text(kind), f.text()])


def assign(f: Function, table: str, names: str, name: str, value: str) -> None:
    place = [other.strip("*") for other in names.split()].index(name)
    f.store("i64", value, f.at("i64", table, place))


def advance(f: Function, table: str, names: str, name: str, by: str) -> None:
    place = [other.strip("*") for other in names.split()].index(name)
    assign(f, table, names, name, f.add(f.load("i64", f.at("i64", table, place)), by))


# ---- functions ----------------------------------------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[str], str]] = {"pack": pack_text, "forward": forward_text, "backward": backward_text}


def function(name: str, kind: str) -> Callable[[int], None]:
    """`pack`, `forward` or `backward` for float32 or float64."""
    return loaded("convolve", name, kind, TEXTS[name])
