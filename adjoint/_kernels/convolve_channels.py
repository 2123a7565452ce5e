"""The gradient of the kernels of a convolution whose images have many channels: vectors are of channels, not of places.

The channels of an image are laid out (`lay` in convolve.py) and transposed, so that at every position the numbers of some channels lie side
by side. If there are few channels, these lanes are also what neighbouring elements of the kernel read. Then for each of the other elements
of the kernel

    gradient[row, lane] = the sum over places of grad[row, place] * image[position of the place + offset of the element, lane]

is a product of matrices, whose sums stay in registers, where nothing has to be gathered and no lanes to be added. Where a place is in the
image and in the gradient is in a table; so neither gaps between lines nor the stride matter.

The functions trust what they are told about sizes and tables: only `ops/_direct_weight.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable

from .blocks import Function, fields
from .code import TYPES
from .convolve import lay_text
from .gemm import transposed
from .sharing import ROOMS, builtin, room
from .vectors import LANES, SIZES, fma, splat

VECTORS = 2  # of lanes in a tile
HIGH, LOW = 6, 4  # rows of a tile: twelve sums, two vectors and a number fit into sixteen registers; eight sums do not wait for each other
PLACES = 256  # places whose products are summed before the sum goes to memory: what they read is in the nearest cache


def lanes(kind: str) -> int:
    return VECTORS * LANES[kind]


def tile_text(rows: int, kind: str) -> str:
    """sums[row, lane] += the sum over places. Rows after the last are the last once more."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    numbers = "i64 %first", "i64 %last", "i64 %plane", "i64 %count"
    f = Function(f"tile{rows}_{kind}", "ptr %places", "ptr %image", "ptr %grad", "ptr %sums", *numbers)
    grads = [f.at(t, "%grad", f.mul(f.smaller(f.add("%first", i), "%last"), "%plane")) for i in range(rows)]
    sums = [[f.variable(v, "zeroinitializer") for _ in range(VECTORS)] for _ in range(rows)]
    with f.loop("%count") as k:
        entry = f.at("i64", "%places", f.mul(k, 2))
        position, place = f.at(t, "%image", f.load("i64", entry)), f.load("i64", entry, 1)
        right = [f.load(v, f.at(t, position, part * n), align=size) for part in range(VECTORS)]
        for grad, totals in zip(grads, sums, strict=True):
            left = splat(f, kind, f.load(t, grad, place))
            for part, total in enumerate(totals):
                fma(f, kind, left, right[part], total)
    for i, totals in enumerate(sums):
        for part, total in enumerate(totals):
            where = f.at(t, "%sums", (i * VECTORS + part) * n)
            f.store(v, f.let(f"fadd {v} {f.load(v, where, align=size)}, {total.get()}"), where, size)
    return f.text(internal=True, inline=False)


def transpose_text(kind: str) -> str:
    """Numbers of the lanes of a tile, which begin at the offsets in `lane_table`, at positions from `first` on: those of a position side by
    side. No vector begins after position `final`."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    pointers = "ptr %lane_table", "ptr noalias %source", "ptr noalias %target"
    f = Function(f"transpose_{kind}", *pointers, "i64 %first", "i64 %last", "i64 %final")
    for part in range(VECTORS):
        starts = [f.at(t, "%source", f.load("i64", "%lane_table", part * n + i)) for i in range(n)]
        with f.loop("%last", "%first", n) as begin:
            position = f.smaller(begin, "%final")
            lines = [f.load(v, f.at(t, start, position), align=size) for start in starts]
            for i, line in enumerate(transposed(f, v, n, lines)):
                f.store(v, line, f.at(t, "%target", f.add(f.mul(f.add(position, i), lanes(kind)), part * n)), size)
    return f.text(internal=True, inline=False)


# A block is of the lanes of a few tiles: the first of its channels, how many there are, how many lanes exist; then where each lane begins,
# and where it goes in the result.
BLOCK = "first_channel channels lanes"

BACKWARD = (
    f"out*T! image*T grad*T {ROOMS} samples parts groups blocks shares rows tiles high batch places plane out_part out_group columns "
    "image_group image_step grad_group grad_step source_plane laid clear turned sums sums_size segments segment segment_step final "
    "together turned_step elements element_step lay* block_table* place_table* limit_table* element_table*"
)


def backward_text(kind: str) -> str:
    """A piece of work is a part of the samples, a group, a block of lanes and a share of the tiles of rows. The first `high` tiles have
    more rows than the others."""
    t, wide = TYPES[kind], lanes(kind)
    tile = HIGH * wide
    f = Function(f"backward_channels_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, BACKWARD)
    laid = f.equal(a["laid"], 1)
    last_row, all_elements = f.sub(a["rows"], 1), f.mul(a["elements"], a["together"])

    def cut(count: str, number: str, parts: str) -> list[str]:
        return [f.let(f"udiv i64 {f.mul(count, limit)}, {parts}") for limit in (number, f.add(number, 1))]

    def remainder(number: str, by: str) -> tuple[str, str]:
        return f.let(f"udiv i64 {number}, {by}"), f.let(f"urem i64 {number}, {by}")

    def row_of(number: str) -> tuple[str, str]:
        """The first row of a tile, and whether it is a high one."""
        return f.add(f.mul(number, LOW), f.mul(f.smaller(number, a["high"]), HIGH - LOW)), f.less(number, a["high"])

    with room(f, a) as own:
        with f.loop(a["clear"]) as i:
            f.store(t, "0.0", f.at(t, own, i))
        turned, sums = f.at(t, own, a["turned"]), f.at(t, own, a["sums"])
        with f.loop("%last", "%first") as piece:
            rest, share = remainder(piece, a["shares"])
            rest, number = remainder(rest, a["blocks"])
            part, group = remainder(rest, a["groups"])
            start, stop = cut(a["samples"], part, a["parts"])
            first_tile, last_tile = cut(a["tiles"], share, a["shares"])
            most = f.mul(a["together"], wide)
            entry = f.at("i64", a["block_table"], f.mul(number, f.add(f.mul(most, 2), 3)))
            block, lane_table = fields(f, BLOCK, entry), f.at("i64", entry, 3)
            target_table = f.at("i64", lane_table, most)
            with f.loop(a["sums_size"]) as i:
                f.store(t, "0.0", f.at(t, sums, i))
            with f.loop(stop, start, a["batch"]) as sample:
                samples = f.smaller(f.sub(stop, sample), a["batch"])
                image = f.at(t, a["image"], f.add(f.mul(sample, a["image_step"]), f.mul(group, a["image_group"])))
                image = f.at(t, image, f.mul(block["first_channel"], a["source_plane"]))
                grad = f.at(t, a["grad"], f.add(f.mul(sample, a["grad_step"]), f.mul(group, a["grad_group"])))
                with f.when(laid):
                    f.do(f"call void @lay_{kind}(ptr {a['lay']}, i64 {block['channels']}, i64 {samples}, ptr {image}, ptr {own})")
                image = f.pick(laid, "ptr", own, image)
                count, done = f.mul(samples, a["places"]), f.variable("i64", "0")
                with f.loop(count, 0, PLACES) as begin:
                    # Positions are transposed when they are about to be used.
                    first, limit = done.get(), f.load("i64", a["limit_table"], f.let(f"udiv i64 {begin}, {PLACES}"))
                    done.set(limit)
                    with f.loop(a["together"]) as which, f.loop(a["segments"]) as i:
                        given, starts = f.at(t, image, f.mul(i, a["segment_step"])), f.at("i64", lane_table, f.mul(which, wide))
                        taken = f.at(t, turned, f.add(f.mul(which, a["turned_step"]), f.mul(f.mul(i, a["segment"]), wide)))
                        numbers = f"i64 {first}, i64 {limit}, i64 {a['final']}"
                        f.do(f"call void @transpose_{kind}(ptr {starts}, ptr {given}, ptr {taken}, {numbers})")
                    with f.loop(last_tile, first_tile) as n, f.loop(all_elements) as element:
                        row, high = row_of(n)
                        sums_here = f.at(t, sums, f.mul(f.add(f.mul(f.sub(n, first_tile), all_elements), element), tile))
                        places = f.at("i64", a["place_table"], f.mul(begin, 2))
                        position = f.at(t, turned, f.load("i64", a["element_table"], element))
                        number = f.smaller(f.sub(count, begin), PLACES)
                        pointers = f"ptr {places}, ptr {position}, ptr {grad}, ptr {sums_here}"
                        for rows, chosen in ((HIGH, high), (LOW, f.invert(high))):
                            with f.when(chosen):
                                f.do(f"call void @tile{rows}_{kind}({pointers}, i64 {row}, i64 {last_row}, i64 {a['plane']}, i64 {number})")
            out = f.at(t, a["out"], f.add(f.mul(part, a["out_part"]), f.mul(group, a["out_group"])))
            with f.loop(last_tile, first_tile) as n:
                row, high = row_of(n)
                sums_here = f.at(t, sums, f.mul(f.mul(f.sub(n, first_tile), all_elements), tile))
                with f.loop(f.smaller(f.pick(high, "i64", HIGH, LOW), f.sub(a["rows"], row))) as i, f.loop(block["lanes"]) as lane:
                    target = f.at(t, out, f.add(f.mul(f.add(row, i), a["columns"]), f.load("i64", target_table, lane)))
                    which, within = remainder(lane, str(wide))
                    source = f.at(t, sums_here, f.add(f.mul(f.mul(which, a["elements"]), tile), f.add(f.mul(i, wide), within)))
                    with f.loop(a["elements"]) as element:
                        f.store(t, f.load(t, source, f.mul(element, tile)), f.at(t, target, f.mul(element, a["element_step"])))
    v = f"<{LANES[kind]} x {t}>"
    declared = f"declare {v} @llvm.fmuladd.v{LANES[kind]}{kind}({v}, {v}, {v})"
    return "\n".join([declared, lay_text(kind), tile_text(HIGH, kind), tile_text(LOW, kind), transpose_text(kind), f.text()])


def function() -> Callable[..., bool | None]:
    """`backward` as a built-in."""
    return builtin("convolve", "backward_channels", BACKWARD, backward_text)
