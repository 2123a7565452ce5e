"""The gradient of the kernels of a convolution: sums over places of products of a gradient and an image.

    dots       such sums for some places, for every few rows (of the gradient) and columns (of the image)
    backward   lay (convolve.py) and dots, some samples at a time

Samples are laid out one after the other within a channel, so that sums are long. The gradient is laid out like the image, with zeros in the
gaps between its lines.

The functions trust what they are told about sizes and tables: only `ops/_direct.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .blocks import Function, fields
from .code import TYPES
from .convolve import lay_text
from .sharing import ROOMS, builtin, room
from .vectors import LANES, SIZES, fma, lanes_below

CHUNK = 1024  # places whose products are summed before the sum goes to memory
SHAPES = {1: 9, 4: 3}  # rows and columns whose sums are taken at once; the first if there is only one row

DOTS = "rows columns grad_plane"


def dots_text(rows: int, kind: str) -> str:
    """out[row, column] += the sum over places of grad[row, place] * image[column offset + place]."""
    t, n, size, columns = TYPES[kind], LANES[kind], SIZES[kind], SHAPES[rows]
    v = f"<{n} x {t}>"
    pointers = "ptr %facts", "ptr %offsets", "ptr %image", "ptr %grad", "ptr %out"
    f = Function(f"dots{rows}_{kind}", *pointers, "i64 %count", "i64 %first", "i64 %last", "i64 %places")
    a = fields(f, DOTS)
    last_row, last_column = f.sub(a["rows"], 1), f.sub("%count", 1)
    whole = f.let(f"and i64 %places, {-n}")
    mask = lanes_below(f, kind, f.sub("%places", whole))

    def some(where: str) -> str:
        given = f"ptr {where}, i32 {size}, <{n} x i1> {mask}, {v} zeroinitializer"
        return f.let(f"call {v} @llvm.masked.load.v{n}{kind}.p0({given})")

    with f.loop("%last", "%first", rows) as row, f.loop("%count", 0, columns) as column:
        grads = [f.at(t, "%grad", f.mul(f.smaller(f.add(row, i), last_row), a["grad_plane"])) for i in range(rows)]
        offsets = [f.load("i64", "%offsets", f.smaller(f.add(column, j), last_column)) for j in range(columns)]
        images = [f.at(t, "%image", offset) for offset in offsets]
        sums = [[f.variable(v, "zeroinitializer") for _ in range(columns)] for _ in range(rows)]
        with f.loop(whole, 0, n) as place:
            right = [f.load(v, f.at(t, image, place), align=size) for image in images]
            for i in range(rows):
                left = f.load(v, f.at(t, grads[i], place), align=size)
                for j in range(columns):
                    fma(f, kind, left, right[j], sums[i][j])
        with f.when(f.less(whole, "%places")):
            right = [some(f.at(t, image, whole)) for image in images]
            for i in range(rows):
                left = some(f.at(t, grads[i], whole))
                for j in range(columns):
                    fma(f, kind, left, right[j], sums[i][j])
        masks = [lanes_below(f, kind, f.sub("%count", f.add(column, j)), 4) for j in range(0, columns, 4)]
        for i in range(rows):
            r = f.add(row, i)
            with f.when(f.less(r, "%last")):
                target = f.at(t, "%out", f.add(f.mul(r, a["columns"]), column))
                for four, mask in enumerate(masks):
                    some_sums = [total.get() for total in sums[i][4 * four : 4 * four + 4]]
                    totals = four_sums(f, kind, some_sums + ["zeroinitializer"] * (4 - len(some_sums)))
                    there = f"ptr {f.at(t, target, 4 * four)}, i32 {size}, <4 x i1> {limited(f, mask, len(some_sums))}"
                    known = f.let(f"call <4 x {t}> @llvm.masked.load.v4{kind}.p0({there}, <4 x {t}> zeroinitializer)")
                    total = f.let(f"fadd <4 x {t}> {known}, {totals}")
                    f.do(f"call void @llvm.masked.store.v4{kind}.p0(<4 x {t}> {total}, {there})")
    declared = [
        f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})",
        *(f"declare <{m} x {t}> @llvm.masked.load.v{m}{kind}.p0(ptr, i32, <{m} x i1>, <{m} x {t}>)" for m in {4, n}),
        f"declare void @llvm.masked.store.v4{kind}.p0(<4 x {t}>, ptr, i32, <4 x i1>)",
    ]
    return "\n".join([*declared, f.text(internal=True, inline=False)])


def limited(f: Function, mask: str, count: int) -> str:
    """The first lanes of a mask of four."""
    if count == 4:
        return mask
    return f.let(f"and <4 x i1> {mask}, <{', '.join('i1 true' if i < count else 'i1 false' for i in range(4))}>")


def four_sums(f: Function, kind: str, vectors: list[str]) -> str:
    """The sums of the lanes of four vectors, as one vector: neighbours are added, of two vectors at a time within each 16 bytes."""
    t, n = TYPES[kind], LANES[kind]

    def added(a: str, b: str, one: list[int], other: list[int]) -> str:
        parts = []
        for numbers in (one, other):
            mask = f"<{len(numbers)} x i32> <{', '.join(f'i32 {i}' for i in numbers)}>"
            parts.append(f.let(f"shufflevector <{n} x {t}> {a}, <{n} x {t}> {b}, {mask}"))
        return f.let(f"fadd <{len(one)} x {t}> {parts[0]}, {parts[1]}")

    half = n // 2
    evens = [which + start + i for start in (0, half) for which in (0, n) for i in range(0, half, 2)]
    odds = [i + 1 for i in evens]
    a, b, c, d = vectors
    ab, cd = added(a, b, evens, odds), added(c, d, evens, odds)
    if kind == "f64":
        return added(ab, cd, [0, 1, 4, 5], [2, 3, 6, 7])
    together = added(ab, cd, evens, odds)
    return added(together, together, [0, 1, 2, 3], [4, 5, 6, 7])


BACKWARD = (
    f"out*T! image*T grad*T {ROOMS} samples parts groups spans rows share shares out_part out_group image_group grad_group image_step "
    "grad_step laid clear grad_room image_source grad_source image_plane grad_plane channels batch sample length lay_image* lay_grad* "
    "dots* columns column_block column_table*"
)


def backward_text(rows: int, kind: str) -> str:
    """A piece of work is a part of the samples, a span of the groups and a share of the rows. Samples are taken in batches, and places in
    chunks. Parts have sums of their own."""
    t = TYPES[kind]
    f = Function(f"backward{rows}_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, BACKWARD)
    laid = f.equal(a["laid"], 1)

    def cut(count: str, number: str, parts: str) -> str:
        return f.let(f"udiv i64 {f.mul(count, number)}, {parts}")

    def remainder(number: str, by: str) -> tuple[str, str]:
        return f.let(f"udiv i64 {number}, {by}"), f.let(f"urem i64 {number}, {by}")

    with room(f, a) as own:
        with f.loop(a["clear"]) as i:
            f.store(t, "0.0", f.at(t, own, i))
        image_room, grad_room = own, f.at(t, own, a["grad_room"])
        with f.loop("%last", "%first") as piece:
            number, share = remainder(piece, a["shares"])
            part, span = remainder(number, a["spans"])
            first_row = f.mul(share, a["share"])
            last_row = f.smaller(f.add(first_row, a["share"]), a["rows"])
            start, stop = (cut(a["samples"], number, a["parts"]) for number in (part, f.add(part, 1)))
            first_group, last_group = (cut(a["groups"], number, a["spans"]) for number in (span, f.add(span, 1)))
            with f.loop(last_group, first_group) as group, f.loop(stop, start, a["batch"]) as sample:
                samples = f.smaller(f.sub(stop, sample), a["batch"])
                out = f.at(t, a["out"], f.add(f.mul(part, a["out_part"]), f.mul(group, a["out_group"])))
                places = {}
                for what, own_place, first, last in (("image", image_room, "0", a["channels"]), ("grad", grad_room, first_row, last_row)):
                    there = f.add(f.mul(sample, a[f"{what}_step"]), f.mul(group, a[f"{what}_group"]))
                    source = f.at(t, a[what], there)
                    with f.when(laid):
                        here, to = f.at(t, source, f.mul(first, a[f"{what}_source"])), f.at(t, own_place, f.mul(first, a[f"{what}_plane"]))
                        numbers = f"i64 {f.sub(last, first)}, i64 {samples}"
                        f.do(f"call void @lay_{kind}(ptr {a[f'lay_{what}']}, {numbers}, ptr {here}, ptr {to})")
                    places[what] = f.let(f"select i1 {laid}, ptr {own_place}, ptr {source}")
                length = f.add(f.mul(f.sub(samples, 1), a["sample"]), a["length"])
                with f.loop(length, 0, CHUNK) as begin, f.loop(a["columns"], 0, a["column_block"]) as block:
                    # Columns are taken in blocks that are in the cache while all rows are multiplied by them.
                    number = f.smaller(f.sub(length, begin), CHUNK)
                    count = f.smaller(f.sub(a["columns"], block), a["column_block"])
                    image, grad = (f.at(t, places[what], begin) for what in ("image", "grad"))
                    given = a["dots"], f.at("i64", a["column_table"], block), image, grad, f.at(t, out, block)
                    pointers = ", ".join(f"ptr {pointer}" for pointer in given)
                    numbers = ", ".join(f"i64 {value}" for value in (count, first_row, last_row, number))
                    f.do(f"call void @dots{rows}_{kind}({pointers}, {numbers})")
    return "\n".join([lay_text(kind), dots_text(rows, kind), f.text()])


TEXTS = {rows: partial(backward_text, rows) for rows in SHAPES}


def function(rows: int) -> Callable[..., bool | None]:
    """`backward` as a built-in."""
    return builtin("convolve", f"backward{rows}", BACKWARD, TEXTS[rows])
