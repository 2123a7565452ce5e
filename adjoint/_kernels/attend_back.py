"""The way back through attention, without the weights: they are computed again, for some queries and keys at a time, all of which stays in
the second cache.

For a block of keys, which are arranged as panels (gemm.py), block after block of queries:

    scores of the keys, gradients of the weights     queries and gradients, times keys and values
    weights, gradients of the scores                 softmax_loops.py
    what that adds to the gradients of values, keys and queries

A piece of work is a part of the keys of one matrix. If a matrix has several, each gives gradients of queries of its own. All arrays are
contiguous; the functions trust what they are told about sizes: only `ops/_attend.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from . import calls, gemm, jit, loop_code
from .attend import multiply
from .blocks import Function, fields
from .code import TYPES
from .sharing import ROOMS, room
from .softmax_loops import attention_slopes

BACK = (
    f"query_grad*T! key_grad*T! value_grad*T! levels*T query*T key*T value*T out*T grad*T {ROOMS} allowed*B? bias*T? scale*f slopes causal "
    "masks total matrices queries keys width breadth parts height broad step"
)


def back_text(kind: str) -> str:
    t, wide = TYPES[kind], gemm.width(kind)
    f = Function("attend_back", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, BACK)
    causal = f.invert(f.equal(a["causal"], 0))
    slopes = f.let(f"inttoptr i64 {a['slopes']} to ptr")
    shares = f.at(t, a["levels"], a["total"])
    told = ["levels", shares, *"out grad allowed bias scale causal keys step queries masks breadth".split()]  # after what is in the room
    arguments = f.room(f"[{len(told) + 5} x i64]")
    for place, name in enumerate(told, 2):
        f.store("ptr" if place < 9 else "i64", a.get(name, name), f.at("i64", arguments, place))

    def each_panel(columns: str, rows: str, left: str, left_row: str | int, left_step: str | int, right: str, right_step: str | int,
                   panel_step: str | int, depth: str, base: str, base_step: str | int, out: str, out_step: str) -> None:  # fmt: skip
        with f.loop(columns, 0, wide) as column:
            panel, here = f.at(t, right, f.mul(column, panel_step)), f.at(t, out, column)
            left_facts, right_facts = (left, left_row, left_step), (panel, right_step, depth)
            multiply(f, kind, rows, f.sub(columns, column), *left_facts, *right_facts, base or here, base_step, here, out_step)

    with room(f, a) as weights:
        scores = f.at(t, weights, f.mul(a["height"], a["step"]))
        key_panels = f.at(t, scores, f.mul(a["height"], a["step"]))
        value_panels = f.at(t, key_panels, f.mul(a["step"], a["width"]))
        f.store("ptr", weights, arguments)
        f.store("ptr", scores, f.at("i64", arguments, 1))
        with f.loop("%last", "%first") as piece:
            number = f.quotient(piece, a["parts"])
            part = f.sub(piece, f.mul(number, a["parts"]))
            begin, end = (f.quotient(f.mul(a["keys"], some), a["parts"]) for some in (part, f.add(part, 1)))
            queries = f.mul(number, a["queries"])
            query_grad = f.at(t, a["query_grad"], f.mul(f.mul(f.add(f.mul(part, a["matrices"]), number), a["queries"]), a["width"]))
            with f.loop(end, begin, a["broad"]) as key:
                count = f.smaller(f.sub(end, key), a["broad"])
                panels, at = f.quotient_up(count, wide), f.add(f.mul(number, a["keys"]), key)
                keys, key_grad = (f.at(t, a[name], f.mul(at, a["width"])) for name in ("key", "key_grad"))
                values, value_grad = (f.at(t, a[name], f.mul(at, a["breadth"])) for name in ("value", "value_grad"))
                for given, width, target in ((keys, a["width"], key_panels), (values, a["breadth"], value_panels)):
                    gemm.arrange(f, given, "1", width, width, count, target, wide, f.mul(width, wide), panels, wide)
                seeing = f.pick(causal, "i64", f.smaller(key, a["queries"]), "0")  # the first query that sees one of them
                with f.loop(a["queries"], seeing, a["height"]) as row:
                    rows, start = f.smaller(f.sub(a["queries"], row), a["height"]), f.add(queries, row)
                    query = f.at(t, a["query"], f.mul(start, a["width"]))
                    grad = f.at(t, a["grad"], f.mul(start, a["breadth"]))
                    for left, width, right, out in ((query, a["width"], key_panels, weights), (grad, a["breadth"], value_panels, scores)):
                        each_panel(count, rows, left, width, 1, right, wide, width, width, "@zeros", 0, out, a["step"])
                    for place, value in enumerate((start, key, count), len(told) + 2):
                        f.store("i64", value, f.at("i64", arguments, place))
                    f.do(f"call void {slopes}(ptr {arguments}, i64 {start}, i64 {f.add(start, rows)})")
                    for width, left, right, out in ((a["breadth"], weights, grad, value_grad), (a["width"], scores, query, key_grad)):
                        each_panel(width, count, left, 1, a["step"], right, width, 1, rows, "", width, out, width)
                    out = f.at(t, query_grad, f.mul(row, a["width"]))
                    each_panel(a["width"], rows, scores, a["step"], 1, keys, a["width"], 1, count, "", a["width"], out, a["width"])
    return f.text()


def text(kind: str) -> str:
    return "\n".join([gemm.text(kind), back_text(kind)])


@cache
def address(kind: str) -> int:
    return jit.load(f"attention back {kind}", partial(text, kind), ["attend_back"], jit.FINISHED)["attend_back"]


@cache
def function() -> Callable[..., bool | None]:
    """The kernel as a built-in (sharing.py)."""
    marks = " ".join([*(kind or "i" for _, _, kind in (some.partition("*") for some in BACK.split())), "r"])
    return calls.Kernel("attend_back", marks, address).call


@cache
def slopes(kind: str) -> int:
    """The address of the loop that makes weights and gradients of scores."""
    return loop_code.load(attention_slopes, kind)
