"""Matrix products, cut into units that threads compute.

A unit is a block of the result. It takes `DEPTH` of k at a time, and for each panel of the right matrix, while it is in the nearest cache,
goes through its tiles. Sums wait for the next k in memory of the unit's own: rows of the result may be so far apart that they compete for
the same places of the cache. Rows are cut into tiles as evenly as possible, because a low tile waits for its sums.

    plan       cut a product, and have the parts computed
    arrange    a piece of both matrices, once for all units, where they are used often enough and would be read in small pieces otherwise
    work       the units from one number to before another

Otherwise panels are arranged as they are used if they have to be, and the left matrix is read where it is. A thread arranges about what it
uses later: what another has written comes slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from . import gemm
from .blocks import Function, fields, order
from .code import TYPES

# What a product takes is counted in multiplications.
ALONE = 1 << 16  # what one thread computes sooner than two, while it holds the GIL
PIECE = 1 << 16  # a unit, at least, and what is handed to a thread at a time
PIECES = 16  # units into which a product is cut, if they are large enough,
FINE = 48  # and if the right matrix is arranged first: then they may be narrow

TALL = 16  # tiles of a unit, at most: what a panel is multiplied with stays in the second cache
TALLER = 22  # if panels are arranged for it
LOW = 11  # tiles of a unit, at least, if it is not as low as the matrix
BROAD = 8  # panels of a unit, at most
NEAR = 6144  # numbers in the rows of the right matrix that are used together, if they are read where they are

LARGE = 1 << 25  # multiplications from which on the right matrix is arranged first
MANY = 256  # rows from which on it is
CONFLICT = 1024  # bytes; numbers that are a multiple of it apart compete for the same places of the cache. A left matrix is arranged
CONFLICTING = 1 << 22  # from so many multiplications on, if what it has for one k and the next is,
FREQUENT = 64  # and there are more columns than this
TOGETHER = 4  # panels or tiles that are arranged at a time
SPAN = 3072  # rows and columns that are arranged together, at most
ROOM = 1 << 24  # bytes for what is arranged; so many of k at a time, but at least `DEPTH`

GIVEN = (
    "a* b* out* bias* bias_row bias_column inner a_outer a_inner b_outer b_inner batch cost m n k a_row a_column b_row b_column share* "
    "state* take* free*"
)
CUT = "row_blocks column_blocks tall broad lines low more by_columns out_step out_size deep begins matrix"
ROOMS = "arranges room* room_step padded slots pieces panels"
JOB = f"{GIVEN} {CUT} {ROOMS}"


def text(kind: str) -> str:
    return "\n".join([gemm.text(kind), work_text(kind), arrange_text(kind), plan_text(kind)])


def first_row(f: Function, a: dict[str, str], line: str) -> str:
    """Where a line begins: a tile if they are arranged, otherwise a row. The first `more` have one row more than `low`."""
    return f.add(f.mul(line, a["low"]), f.smaller(line, a["more"]))


@contextmanager
def deep_blocks(f: Function, a: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Blocks of k: the first, and how many."""
    with f.loop(a["k"], 0, a["deep"]) as first:
        yield first, f.smaller(f.sub(a["k"], first), a["deep"])


def operands(f: Function, kind: str, a: dict[str, str], number: str) -> list[str]:
    """Where the matrices of a batch are that are multiplied, and their product."""
    matrix = f.add(a["matrix"], number)
    outer = f.quotient(matrix, a["inner"])
    inner = f.sub(matrix, f.mul(outer, a["inner"]))
    places = [f.at("i8", a[name], f.add(f.mul(outer, a[f"{name}_outer"]), f.mul(inner, a[f"{name}_inner"]))) for name in ("a", "b")]
    return [*places, f.at(TYPES[kind], a["out"], f.mul(matrix, a["out_size"]))]


def rooms(f: Function, kind: str, a: dict[str, str], number: str) -> tuple[str, str]:
    """Where the right and the left matrix have been arranged."""
    right = f.at(TYPES[kind], a["room"], f.mul(number, a["room_step"]))
    return right, f.at(TYPES[kind], right, f.mul(a["padded"], a["k"]))


# ---- units --------------------------------------------------------------------------------------------------------------------------


def bias_at(f: Function, kind: str, a: dict[str, str], row: str, column: str) -> str:
    """Where the bias of a place of the result is."""
    return f.at(TYPES[kind], a["bias"], f.add(f.mul(row, a["bias_row"]), f.mul(column, a["bias_column"])))


class Unit(NamedTuple):
    """A block of the result: its lines and columns, and where its part of the matrices is."""

    line: str
    lines: str
    rows: str
    column: str
    columns: str
    left: str
    right: str
    arranged_left: str
    arranged_right: str
    bias: str
    out: str


def unit(f: Function, kind: str, a: dict[str, str], number: str) -> Unit:
    t, blocks = TYPES[kind], f.mul(a["row_blocks"], a["column_blocks"])
    by_columns = f.let(f"icmp ne i64 {a['by_columns']}, 0")
    matrix = f.quotient(number, blocks)
    block, breadth = f.sub(number, f.mul(matrix, blocks)), f.pick(by_columns, "i64", a["row_blocks"], a["column_blocks"])
    along = f.quotient(block, breadth)
    across = f.sub(block, f.mul(along, breadth))
    line = f.mul(f.pick(by_columns, "i64", across, along), a["tall"])
    column = f.mul(f.pick(by_columns, "i64", along, across), a["broad"])
    lines, row = f.smaller(f.sub(a["lines"], line), a["tall"]), first_row(f, a, line)
    left, right, out = operands(f, kind, a, matrix)
    arranged_right, arranged_left = rooms(f, kind, a, matrix)
    return Unit(
        line, lines, f.sub(first_row(f, a, f.add(line, lines)), row), column, f.smaller(f.sub(a["n"], column), a["broad"]),
        f.at(t, left, f.mul(row, a["a_row"])), f.at(t, right, f.mul(column, a["b_column"])), arranged_left, arranged_right,
        bias_at(f, kind, a, row, column), f.at(t, out, f.add(f.mul(row, a["out_step"]), column)),
    )  # fmt: skip


def work_text(kind: str) -> str:
    """Compute the units from `first` to before `last`."""
    t, n, wide = TYPES[kind], gemm.lanes(kind), gemm.width(kind)
    f = Function("work", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, JOB)
    panel, spare = f.room(f"[{gemm.DEPTH * wide} x {t}]", 64), f.room(f"[{gemm.SLOT * wide} x {t}]", 64)
    sums, sums_step = f.room(f"[{TALLER * gemm.most_rows(gemm.VECTORS) * BROAD * wide} x {t}]", 64), BROAD * wide
    gathered, known = f.less("0", a["slots"]), f.less("0", a["padded"])
    a_row, a_step = f.pick(gathered, "i64", 1, a["a_row"]), f.pick(gathered, "i64", gemm.slot(kind), a["a_column"])
    plain, continues = f.let(f"icmp eq ptr {a['bias']}, null"), f.equal(a["begins"], 0)
    one_a_row = f.both(f.equal(a["bias_column"], 0), f.invert(f.either(plain, continues)))
    with f.loop("%last", "%first") as number:
        u = unit(f, kind, a, number)
        with deep_blocks(f, a) as (first, depth), f.loop(u.columns, 0, wide) as column:
            columns = f.smaller(f.sub(u.columns, column), wide)
            two, partial = f.less(str(n), columns), f.let(f"icmp ne i64 {f.let(f'and i64 {columns}, {n - 1}')}, 0")
            source = f.at(t, u.right, f.add(f.mul(first, a["b_row"]), f.mul(column, a["b_column"])))
            ready = f.at(t, u.arranged_right, f.add(f.mul(first, a["padded"]), f.mul(f.add(u.column, column), depth)))
            arranges = f.both(f.either(f.let(f"icmp ne i64 {a['arranges']}, 0"), partial), f.invert(known))
            with f.when(arranges):
                gemm.arrange(f, source, a["b_row"], a["b_column"], depth, columns, panel, wide)
            right = f.pick(known, "ptr", ready, f.pick(arranges, "ptr", panel, source))
            right_step = f.pick(f.either(known, arranges), "i64", wide, a["b_row"])
            # What a tile adds its sums to: nothing, the bias or what is there at first, then those of the k before.
            begins, ends = f.equal(first, 0), f.equal(f.add(first, depth), a["k"])
            kept, out = f.at(t, sums, column), f.at(t, u.out, column)
            start = f.pick(continues, "ptr", out, f.pick(plain, "ptr", "@zeros", f.at(t, u.bias, f.mul(column, a["bias_column"]))))
            start_step = f.pick(continues, "i64", a["out_step"], a["bias_row"])
            base, base_step = f.pick(begins, "ptr", start, kept), f.pick(begins, "i64", start_step, sums_step)
            target, target_step = f.pick(ends, "ptr", out, kept), f.pick(ends, "i64", a["out_step"], sums_step)
            copies, spares = f.both(f.both(partial, begins), f.let(f"icmp ne ptr {base}, @zeros")), f.both(partial, ends)
            spreads = f.both(begins, one_a_row)
            copies = f.both(copies, f.invert(spreads))
            family = f.at("ptr", "@tiles", f.pick(two, "i64", (gemm.VECTORS - 1) * gemm.SLOT, 0))
            slot = f.mul(depth, gemm.slot(kind))
            arranged = f.at(t, u.arranged_left, f.add(f.mul(f.mul(first, a["slots"]), gemm.slot(kind)), f.mul(u.line, slot)))
            left = f.pick(gathered, "ptr", arranged, f.at(t, u.left, f.mul(first, a["a_column"])))
            spare_base = f.either(copies, spreads)
            steps = f.pick(spare_base, "i64", wide, base_step), f.pick(spares, "i64", wide, target_step)
            most = f.pick(two, "i64", gemm.most_rows(gemm.VECTORS), gemm.most_rows(1))
            tiles = f.pick(gathered, "i64", u.lines, f.quotient_up(u.rows, most))
            low, more = gemm.heights(f, u.rows, tiles)
            with f.loop(tiles) as tile:
                height = f.pick(f.less(tile, more), "i64", f.add(low, 1), low)
                row = f.add(f.mul(tile, low), f.smaller(tile, more))
                left_here = f.at(t, left, f.pick(gathered, "i64", f.mul(tile, slot), f.mul(row, a["a_row"])))
                base_here, target_here = f.at(t, base, f.mul(row, base_step)), f.at(t, target, f.mul(row, target_step))
                with f.when(copies):
                    f.do(f"call void @copy(ptr {base_here}, i64 {base_step}, ptr {spare}, i64 {wide}, i64 {height}, i64 {columns})")
                with f.when(spreads):
                    f.do(f"call void @repeat(ptr {base_here}, ptr {spare}, i64 {height})")
                f.do(
                    f"call void {f.load('ptr', family, f.sub(height, 1))}(ptr {left_here}, i64 {a_row}, i64 {a_step}, ptr {right}, "
                    f"i64 {right_step}, i64 {depth}, ptr {f.pick(spare_base, 'ptr', spare, base_here)}, i64 {steps[0]}, "
                    f"ptr {f.pick(spares, 'ptr', spare, target_here)}, i64 {steps[1]})"
                )
                with f.when(spares):
                    f.do(f"call void @copy(ptr {spare}, i64 {wide}, ptr {target_here}, i64 {target_step}, i64 {height}, i64 {columns})")
    return f.text(internal=True)


def arrange_text(kind: str) -> str:
    """Arrange pieces of both matrices, from `first` to before `last`: some panels of the right one, some tiles of the left one."""
    t, wide = TYPES[kind], gemm.width(kind)
    f = Function("arrange_pieces", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, JOB)
    with f.loop("%last", "%first") as unit:
        matrix = f.quotient(unit, a["pieces"])
        piece = f.sub(unit, f.mul(matrix, a["pieces"]))
        left, right, _ = operands(f, kind, a, matrix)
        right_room, left_room = rooms(f, kind, a, matrix)

        def share(of: str) -> tuple[str, str]:
            """The first of so many in this piece, and how many."""
            begin, end = (f.let(f"udiv i64 {f.mul(of, number)}, {a['pieces']}") for number in (piece, f.add(piece, 1)))
            return begin, f.sub(end, begin)

        (panel, panels), (tile, tiles) = share(a["panels"]), share(a["slots"])
        column, row = f.mul(panel, wide), first_row(f, a, tile)
        columns = f.smaller(f.sub(a["n"], column), f.mul(panels, wide))
        rows = f.sub(first_row(f, a, f.add(tile, tiles)), row)
        with deep_blocks(f, a) as (first, depth):
            source = f.at(t, right, f.add(f.mul(first, a["b_row"]), f.mul(column, a["b_column"])))
            target = f.at(t, right_room, f.add(f.mul(first, a["padded"]), f.mul(column, depth)))
            gemm.arrange(f, source, a["b_row"], a["b_column"], depth, columns, target, wide, f.mul(depth, wide), panels, wide)
            source = f.at(t, left, f.add(f.mul(first, a["a_column"]), f.mul(row, a["a_row"])))
            slot = f.mul(depth, gemm.slot(kind))
            target = f.at(t, left_room, f.add(f.mul(f.mul(first, a["slots"]), gemm.slot(kind)), f.mul(tile, slot)))
            more = f.sub(rows, f.mul(tiles, a["low"]))
            gemm.arrange(f, source, a["a_column"], a["a_row"], depth, rows, target, gemm.slot(kind), slot, tiles, a["low"], more)
    return f.text(internal=True)


# ---- the plan -----------------------------------------------------------------------------------------------------------------------


def plan_text(kind: str) -> str:
    """Decide what is arranged, and go through the parts of the product for which there is room at a time; mostly that is one."""
    t, wide, size = TYPES[kind], gemm.width(kind), gemm.SIZES[kind]
    height = gemm.most_rows(gemm.VECTORS)
    f = Function("plan", "ptr %facts")
    a = fields(f, JOB)

    def put(**values: str | int) -> None:
        for name, value in values.items():
            f.store("ptr" if f"{name}*" in JOB.split() else "i64", str(value), f.at("i64", "%facts", order(JOB).index(name)))

    def share(work: str, units: str, step: str | int) -> None:
        f.do(f"call void {a['share']}(ptr {a['state']}, ptr @{work}, ptr %facts, i64 {units}, i64 {step})")

    def wide_if(condition: str) -> str:
        return f.let(f"zext i1 {condition} to i64")

    each = f.mul(f.mul(a["m"], a["n"]), a["k"])
    deep = f.quotient_up(a["k"], f.quotient_up(a["k"], gemm.DEPTH))
    knows = f.both(f.less(str(LARGE), each), f.less(str(MANY), a["m"]))
    conflict = f.equal(f.let(f"and i64 {a['a_column']}, {CONFLICT // size - 1}"), 0)
    gathers = f.both(f.both(conflict, f.less(str(CONFLICTING), a["cost"])), f.less(str(FREQUENT), a["n"]))
    rows, columns, depth = (f.variable("i64", a[name]) for name in "mnk")
    matrices, room_step = f.variable("i64", a["batch"]), f.variable("i64", "0")
    memory = f.variable("ptr", "null")
    with f.when(f.either(knows, gathers)):
        columns.set(f.pick(knows, "i64", f.smaller(a["n"], SPAN), a["n"]))
        rows.set(f.pick(gathers, "i64", f.smaller(a["m"], SPAN), a["m"]))
        padded = f.pick(knows, "i64", f.mul(f.quotient_up(columns.get(), wide), wide), 0)
        line = f.add(padded, f.pick(gathers, "i64", f.mul(f.quotient_up(rows.get(), height), gemm.slot(kind)), 0))
        blocks = f.let(f"udiv i64 {ROOM // size}, {f.mul(line, deep)}")
        depth.set(f.smaller(a["k"], f.mul(f.larger(blocks, 1), deep)))
        room_step.set(f.mul(line, depth.get()))
        fit = f.larger(f.let(f"udiv i64 {ROOM // size}, {room_step.get()}"), 1)
        matrices.set(f.smaller(a["batch"], fit))
        memory.set(f.let(f"call ptr {a['take']}(i64 {f.add(f.mul(f.mul(room_step.get(), matrices.get()), size), 64)})"))
    taken = memory.get()
    some = f.let(f"icmp ne ptr {taken}, null")
    knows, gathers = f.both(knows, some), f.both(gathers, some)
    address = f.let(f"ptrtoint ptr {taken} to i64")
    room = f.let(f"inttoptr i64 {f.let(f'and i64 {f.add(address, 63)}, -64')} to ptr")
    far = f.both(f.less(str(NEAR), f.mul(f.smaller(a["k"], gemm.DEPTH), a["b_row"])), f.less(str(3 * gemm.SLOT), a["m"]))
    arranges = f.both(f.either(far, f.let(f"icmp ne i64 {a['b_column']}, 1")), f.invert(knows))
    put(
        room=room, room_step=room_step.get(), out_step=a["n"], out_size=f.mul(a["m"], a["n"]), deep=deep,
        arranges=wide_if(arranges),
        by_columns=wide_if(f.both(f.both(knows, f.less(str(gemm.DEPTH), a["k"])), f.invert(f.both(gathers, f.less(a["n"], a["m"]))))),
    )  # fmt: skip
    count, many = matrices.get(), columns.get()
    tall, deepest = rows.get(), depth.get()
    with (
        f.loop(a["batch"], 0, count) as matrix, f.loop(a["n"], 0, many) as column, f.loop(a["k"], 0, deepest) as first,
        f.loop(a["m"], 0, tall) as row,
    ):  # fmt: skip
        m, n, k = f.smaller(f.sub(a["m"], row), tall), f.smaller(f.sub(a["n"], column), many), f.smaller(f.sub(a["k"], first), deepest)
        together = f.smaller(f.sub(a["batch"], matrix), count)
        tiles, panels = f.quotient_up(m, height), f.quotient_up(n, wide)
        lines = f.pick(gathers, "i64", tiles, m)
        low = f.let(f"udiv i64 {m}, {lines}")
        put(
            a=f.at(t, a["a"], f.add(f.mul(row, a["a_row"]), f.mul(first, a["a_column"]))),
            b=f.at(t, a["b"], f.add(f.mul(first, a["b_row"]), f.mul(column, a["b_column"]))),
            out=f.at(t, a["out"], f.add(f.mul(row, a["n"]), column)), m=m, n=n, k=k, matrix=matrix,
            bias=f.pick(f.let(f"icmp eq ptr {a['bias']}, null"), "ptr", "null", bias_at(f, kind, a, row, column)),
            begins=wide_if(f.equal(first, 0)), lines=lines, low=low, more=f.sub(m, f.mul(lines, low)),
            slots=f.pick(gathers, "i64", tiles, 0), padded=f.pick(knows, "i64", f.mul(panels, wide), 0),
        )  # fmt: skip
        with f.when(some):
            pieces = f.quotient_up(f.larger(panels, tiles), TOGETHER)
            put(pieces=pieces, panels=f.pick(f.both(knows, f.equal(row, 0)), "i64", panels, 0))
            share("arrange_pieces", f.mul(pieces, together), 1)
        wanted = f.smaller(f.quotient_up(f.pick(knows, "i64", FINE, PIECES), together), f.quotient_up(each, PIECE))
        row_blocks = f.quotient_up(tiles, f.pick(arranges, "i64", TALLER, TALL))
        column_blocks = f.larger(f.quotient_up(panels, BROAD), f.smaller(panels, f.quotient_up(wanted, row_blocks)))
        row_blocks = f.larger(row_blocks, f.smaller(f.quotient_up(tiles, LOW), f.quotient_up(wanted, column_blocks)))
        height_of_unit, broad = f.quotient_up(lines, row_blocks), f.mul(f.quotient_up(panels, column_blocks), wide)
        row_blocks, column_blocks = f.quotient_up(lines, height_of_unit), f.quotient_up(n, broad)
        put(tall=height_of_unit, broad=broad, row_blocks=row_blocks, column_blocks=column_blocks)
        units = f.mul(f.mul(row_blocks, column_blocks), together)
        alone = f.less(a["cost"], ALONE)
        with f.when(alone):
            f.do(f"call void @work(ptr %facts, i64 0, i64 {units})")
        with f.when(f.invert(alone)):
            share("work", units, f.larger(f.let(f"udiv i64 {f.mul(units, PIECE)}, {a['cost']}"), 1))
    f.do(f"call void {a['free']}(ptr {taken})")
    return f.text(internal=True)
