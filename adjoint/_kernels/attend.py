"""Attention without keeping the weights: a few queries at a time, whose weights never leave the second cache.

    arrange_keys   keys and values as panels (gemm.py), once for all queries
    attend         scores by tiles, their exponential functions (softmax_loops.py), sums by tiles, and these divided by those of weights

`attend_back.py` has the way back, for which the largest score of a row and the sum of its weights are kept.

Between rows of scores is room for what tiles write after the last key, and so much that rows do not compete for the same places of the
cache. The functions trust what they are told about sizes: only `ops/_attend.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from . import calls, gemm, jit, loop_code
from .blocks import Function, fields
from .code import TYPES
from .sharing import ROOMS, room
from .softmax_loops import attention_block
from .vectors import repeated

STEPS = "outer inner row column"  # of a batch of matrices: two of its dimensions, in bytes, and those of a matrix, in numbers
KEYS = " ".join(f"{name}_{step}" for name in ("key", "value") for step in STEPS.split())
ARRANGE = f"room*T! key*S value*S {KEYS} inner keys width breadth room_step value_room"
ATTEND = (
    f"out*T! levels*T! query*S room*T {ROOMS} {' '.join(f'query_{step}' for step in STEPS.split())} allowed*B? bias*T? scale*f softmax "
    "causal masks total inner queries keys width breadth room_step value_room height blocks deep step"
)


def matrix_at(f: Function, a: dict[str, str], name: str, number: str) -> str:
    """Where a matrix of a batch begins."""
    outer = f.quotient(number, a["inner"])
    inner = f.sub(number, f.mul(outer, a["inner"]))
    return f.at("i8", a[name], f.add(f.mul(outer, a[f"{name}_outer"]), f.mul(inner, a[f"{name}_inner"])))


def multiply(
    f: Function, kind: str, rows: str, columns: str, left: str, left_row: str | int, left_step: str | int, right: str,
    right_step: str | int, depth: str, base: str, base_step: str | int, out: str, out_step: str,
) -> None:  # fmt: skip
    """Some rows by a panel of columns."""
    t, tiles = TYPES[kind], f.quotient_up(rows, gemm.most_rows(gemm.VECTORS))
    low, more = gemm.heights(f, rows, tiles)
    family = f.at("ptr", "@tiles", f.pick(f.less(str(gemm.lanes(kind)), columns), "i64", (gemm.VECTORS - 1) * gemm.SLOT, 0))
    with f.loop(tiles) as tile:
        height = f.pick(f.less(tile, more), "i64", f.add(low, 1), low)
        row = f.add(f.mul(tile, low), f.smaller(tile, more))
        base_here, out_here = f.at(t, base, f.mul(row, base_step)), f.at(t, out, f.mul(row, out_step))
        f.do(
            f"call void {f.load('ptr', family, f.sub(height, 1))}(ptr {f.at(t, left, f.mul(row, left_row))}, i64 {left_row}, "
            f"i64 {left_step}, ptr {right}, i64 {right_step}, i64 {depth}, ptr {base_here}, i64 {base_step}, ptr {out_here}, "
            f"i64 {out_step})"
        )


def arrange_text(kind: str) -> str:
    """A piece of work is the keys, or the values, of one matrix."""
    t, wide = TYPES[kind], gemm.width(kind)
    f = Function("arrange_keys", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, ARRANGE)
    with f.loop("%last", "%first") as piece:
        number = f.quotient(piece, 2)
        target, of_keys = f.at(t, a["room"], f.mul(number, a["room_step"])), f.equal(piece, f.mul(number, 2))
        with f.when(of_keys):
            step, panels = f.mul(a["width"], wide), f.quotient_up(a["keys"], wide)
            source = matrix_at(f, a, "key", number)
            gemm.arrange(f, source, a["key_column"], a["key_row"], a["width"], a["keys"], target, wide, step, panels, wide)
        with f.when(f.invert(of_keys)):
            step, panels = f.mul(a["keys"], wide), f.quotient_up(a["breadth"], wide)
            source, target = matrix_at(f, a, "value", number), f.at(t, target, a["value_room"])
            gemm.arrange(f, source, a["value_row"], a["value_column"], a["keys"], a["breadth"], target, wide, step, panels, wide)
    return f.text()


def attend_text(kind: str) -> str:
    """A piece of work is a block of queries of one matrix."""
    t, n, wide, size = TYPES[kind], gemm.lanes(kind), gemm.width(kind), gemm.SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function("attend", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, ATTEND)
    causal = f.invert(f.equal(a["causal"], 0))
    softmax = f.let(f"inttoptr i64 {a['softmax']} to ptr")
    shares = f.at(t, a["levels"], a["total"])
    told = ["levels", shares, *"allowed bias scale causal keys step queries masks".split()]  # after where scores are
    arguments = f.room(f"[{len(told) + 3} x i64]")
    for place, name in enumerate(told, 1):
        f.store("ptr" if place < 6 else "i64", a.get(name, name), f.at("i64", arguments, place))
    with room(f, a) as scores:
        f.store("ptr", scores, arguments)
        with f.loop("%last", "%first") as piece:
            number = f.quotient(piece, a["blocks"])
            row = f.mul(f.sub(piece, f.mul(number, a["blocks"])), a["height"])
            rows = f.smaller(f.sub(a["queries"], row), a["height"])
            seen = f.pick(causal, "i64", f.smaller(a["keys"], f.add(row, rows)), a["keys"])
            query = f.at(t, matrix_at(f, a, "query", number), f.mul(row, a["query_row"]))
            keys = f.at(t, a["room"], f.mul(number, a["room_step"]))
            with f.loop(seen, 0, wide) as first:
                multiply(f, kind, rows, f.sub(a["keys"], first), query, a["query_row"], a["query_column"],
                         f.at(t, keys, f.mul(first, a["width"])), wide, a["width"], "@zeros", 0, f.at(t, scores, first),
                         a["step"])  # fmt: skip
            start = f.add(f.mul(number, a["queries"]), row)
            f.store("i64", start, f.at("i64", arguments, len(told) + 1))
            f.store("i64", seen, f.at("i64", arguments, len(told) + 2))
            f.do(f"call void {softmax}(ptr {arguments}, i64 {start}, i64 {f.add(start, rows)})")
            values, out = f.at(t, keys, a["value_room"]), f.at(t, a["out"], f.mul(start, a["breadth"]))
            with f.loop(seen, 0, a["deep"]) as first, f.loop(a["breadth"], 0, wide) as column:
                begins, here = f.equal(first, 0), f.at(t, out, column)
                right = f.at(t, values, f.add(f.mul(column, a["keys"]), f.mul(first, wide)))
                multiply(f, kind, rows, f.sub(a["breadth"], column), f.at(t, scores, first), a["step"], 1, right, wide,
                         f.smaller(f.sub(seen, first), a["deep"]), f.pick(begins, "ptr", "@zeros", here),
                         f.pick(begins, "i64", 0, a["breadth"]), here, a["breadth"])  # fmt: skip
            with f.loop(rows) as i:
                share, line = repeated(f, t, n, f.load(t, shares, f.add(start, i))), f.at(t, out, f.mul(i, a["breadth"]))
                with f.loop(a["breadth"], 0, n) as column:
                    here = f.at(t, line, column)
                    f.store(v, f.let(f"fmul {v} {f.load(v, here, align=size)}, {share}"), here, size)
    return f.text()


def text(kind: str) -> str:
    return "\n".join([gemm.text(kind), arrange_text(kind), attend_text(kind)])


@cache
def addresses(kind: str) -> dict[str, int]:
    return jit.load(f"attention {kind}", partial(text, kind), ["arrange_keys", "attend"], jit.FINISHED)


@cache
def function(name: str) -> Callable[..., bool | None]:
    """A kernel as a built-in (sharing.py)."""
    names = {"arrange_keys": ARRANGE, "attend": ATTEND}[name]
    marks = " ".join([*(kind or "i" for _, _, kind in (some.partition("*") for some in names.split())), "r"])
    return calls.Kernel(name, marks, lambda kind: addresses(kind)[name]).call


@cache
def softmax(kind: str) -> int:
    """The address of the loop that makes weights of scores."""
    return loop_code.load(attention_block, kind)
