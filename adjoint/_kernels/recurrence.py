"""Recurrent layers: the loop over the steps of a sequence, forwards and backwards, as one function.

Samples do not depend on each other, so each thread takes some of them through all steps, and nobody waits. A step is a product of the
states with the recurrent weights, whose result goes to the gates of that step, and one pass over these gates. Backwards it is the pass
first, then the product. Of the weights, as many columns as two vectors hold lie side by side (a panel).

What the pass computes is a formula of NumPy code (`ops/_cells.py`), traced. Names say where its numbers are (`places_of`).

The functions trust their arguments, which are addresses: only `ops/_fused_recurrence.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from . import sharing
from .blocks import Function, Variable, fields
from .builtin import vector_hints
from .code import TYPES
from .emit import Emitter
from .expr import Expr
from .maths import definitions

LANES = {"f32": 8, "f64": 4}  # numbers in a vector
ROWS, VECTORS = 6, 2  # samples and vectors in one step of a product: twelve sums, two vectors and a number fit into sixteen registers
DEPTH = 256  # rows of a panel that are used for all samples before the next ones are read


def panel(kind: str) -> int:
    """Columns in a panel."""
    return VECTORS * LANES[kind]


class Pass(NamedTuple):
    """One pass over the gates: a formula with the names of what it reads, and the gates that take part in the product."""

    name: str
    formula: Callable[..., dict[str, Any]]
    reads: Sequence[str]
    gates: int
    input_gates: int  # so many have a product with the input
    offset: int  # the first gate that has a product with the state
    backward: bool


# ---- products -----------------------------------------------------------------------------------------------------------------------


def product_text(kind: str) -> str:
    """out[row, column] = base[row, column] + the sum over `depth` of left[row, k] * panels[k, column]."""
    t, wide = TYPES[kind], panel(kind)
    f = Function(
        "product", "ptr %left", "i64 %left_step", "ptr %panels", "i64 %depth", "ptr %base", "i64 %base_step", "ptr %out", "i64 %out_step",
        "i64 %columns", "i64 %rows",
    )  # fmt: skip
    with f.loop("%columns", 0, wide) as column:
        here = f.at(t, "%panels", f.mul(column, "%depth"))
        with f.loop("%depth", 0, DEPTH) as first:
            begin = f.equal(first, 0)
            base = f.let(f"select i1 {begin}, ptr %base, ptr %out")
            base_step = f.let(f"select i1 {begin}, i64 %base_step, i64 %out_step")
            with f.loop("%rows", 0, ROWS) as row:
                left = f.at(t, "%left", f.add(f.mul(row, "%left_step"), first))
                matrices = [
                    f"ptr {f.at(t, base, f.add(f.mul(row, base_step), column))}, i64 {base_step}",
                    f"ptr {f.at(t, '%out', f.add(f.mul(row, '%out_step'), column))}, i64 %out_step",
                ]
                count = f.smaller(f.sub("%depth", first), DEPTH)
                part = f.at(t, here, f.mul(first, wide))
                call_tile(f, "tile", f.sub("%rows", row), f"ptr {left}, i64 %left_step", part, count, matrices, f.sub("%columns", column))
    return f.text(internal=True)


def call_tile(f: Function, name: str, rows: str, left: str, panel_at: str, depth: str, matrices: list[str], columns: str) -> None:
    """The tile for as many rows as there are, at most `ROWS`."""
    for count in range(1, ROWS + 1):
        fits = f.equal(rows, count) if count < ROWS else f.invert(f.less(rows, count))
        with f.when(fits):
            f.do(f"call void @{name}{count}({left}, ptr {panel_at}, i64 {depth}, {', '.join(matrices)}, i64 {columns})")


def tile_text(kind: str, name: str, rows: int, turned: bool) -> str:
    """A product for a few rows and the columns of one panel, of which only the first `columns` may exist. If `turned`, the rows on the left
    are columns of a panel too."""
    t, n = TYPES[kind], LANES[kind]
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    f = Function(
        f"{name}{rows}", "ptr noalias %a", "i64 %a_step", "ptr noalias %b", "i64 %depth", "ptr %base", "i64 %base_step", "ptr %out",
        "i64 %out_step", "i64 %columns",
    )  # fmt: skip
    full = f.invert(f.less("%columns", panel(kind)))
    masks = [mask(f, n, f.sub("%columns", part * n)) for part in range(VECTORS)]
    sums = [[f.variable(v, "zeroinitializer") for _ in range(VECTORS)] for _ in range(rows)]

    def every(matrix: str) -> list[tuple[str, str, Variable]]:
        return [
            (f.at(t, f"%{matrix}", f.add(f.mul(f"%{matrix}_step", row), part * n)), masks[part], sums[row][part])
            for row in range(rows) for part in range(VECTORS)
        ]  # fmt: skip

    with f.when(full):
        for where, _, total in every("base"):
            total.set(f.load(v, where, align=size))
    with f.when(f.invert(full)):
        for where, known, total in every("base"):
            there = f"ptr {where}, i32 {size}, <{n} x i1> {known}"
            total.set(f.let(f"call {v} @llvm.masked.load.v{n}{kind}.p0({there}, {v} zeroinitializer)"))
    with f.loop("%depth") as k:
        line = f.mul(k, panel(kind))
        right = [f.load(v, f.at(t, "%b", f.add(line, part * n)), align=size) for part in range(VECTORS)]
        for row in range(rows):
            one = splat(f, kind, f.load(t, "%a", f.add(line, row) if turned else f.add(f.mul("%a_step", row), k)))
            for part in range(VECTORS):
                multiply_add(f, kind, sums[row][part], one, right[part])
    with f.when(full):
        for where, _, total in every("out"):
            f.store(v, total.get(), where, size)
    with f.when(f.invert(full)):
        for where, known, total in every("out"):
            f.do(f"call void @llvm.masked.store.v{n}{kind}.p0({v} {total.get()}, ptr {where}, i32 {size}, <{n} x i1> {known})")
    return f.text(internal=True)


def mask(f: Function, n: int, count: str) -> str:
    """Truth values: the first `count` are true."""
    limit = f.let(f"insertelement <{n} x i64> poison, i64 {count}, i64 0")
    limit = f.let(f"shufflevector <{n} x i64> {limit}, <{n} x i64> poison, <{n} x i32> zeroinitializer")
    return f.let(f"icmp slt <{n} x i64> <{', '.join(f'i64 {i}' for i in range(n))}>, {limit}")


def splat(f: Function, kind: str, value: str) -> str:
    t, n = TYPES[kind], LANES[kind]
    one = f.let(f"insertelement <{n} x {t}> poison, {t} {value}, i64 0")
    return f.let(f"shufflevector <{n} x {t}> {one}, <{n} x {t}> poison, <{n} x i32> zeroinitializer")


def multiply_add(f: Function, kind: str, total: Variable, a: str, b: str) -> None:
    v = f"<{LANES[kind]} x {TYPES[kind]}>"
    total.set(f.let(f"call {v} @llvm.fmuladd.v{LANES[kind]}{kind}({v} {a}, {v} {b}, {v} {total.get()})"))


def declarations(kind: str) -> list[str]:
    n, v = LANES[kind], f"<{LANES[kind]} x {TYPES[kind]}>"
    return [
        f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})",
        f"declare {v} @llvm.masked.load.v{n}{kind}.p0(ptr, i32, <{n} x i1>, {v})",
        f"declare void @llvm.masked.store.v{n}{kind}.p0({v}, ptr, i32, <{n} x i1>)",
    ]


# ---- the pass -----------------------------------------------------------------------------------------------------------------------


def pass_text(kind: str, work: Pass) -> tuple[str, list[str], set[str]]:
    """A function over the units of one sample at one step; the names of its arrays, in order; the intrinsics that it declares."""
    t = TYPES[kind]
    results = work.formula(*Expr.inputs(len(work.reads)))
    names = list(dict.fromkeys([*work.reads, *results]))
    f = Function("gate_pass", *(f"ptr noalias %{name}" for name in names), "i64 %width")
    with f.loop("%width", hints="!0") as unit:
        emitter = Emitter(kind, [f.load(t, f"%{name}", unit) for name in work.reads])
        values = {name: emitter.value(value) for name, value in results.items()}
        f.lines += emitter.lines
        for name, value in values.items():
            f.store(t, value, f.at(t, f"%{name}", unit))
    library, declared = definitions(emitter.maths)
    hints = vector_hints(kind == "f32" and "fpext" in library, bool(emitter.maths))
    return "\n".join([library, f.text(internal=True), hints]), names, declared | emitter.declared


# ---- the loop over steps ------------------------------------------------------------------------------------------------------------

# Step s has rows starts[s] + i * stride of all arrays by row, for the samples i < counts[s]; a call works on those from first to before
# last. (If stride is not 1, it is the number of steps, and all samples take part in all of them.) `state` and `cell` have a row for each
# sample: the states forwards, the gradients of the states backwards. `input` is the input, of `inputs` columns, that is multiplied
# forwards, or its gradient, to be made backwards, if there are `input_panels`. `base` is what these products begin with, the same for all
# rows.
# A unit is a part of the samples, so many to a part.
PARTS = "part samples"
STEPS = (
    "gates*T! slopes*T?! states*T! cells*T?! out*T?! grad*T? state*T! cell*T?! panels*T input*T? input_panels*T? base*T? starts*I counts*I "
    f"steps stride grad_stride width inputs {PARTS}"
)


def parts_of(f: Function, part: str, count: str) -> None:
    """Let a call work on whole parts: the numbers %first and %last, of those of the parts."""
    f.do(f"%first = mul i64 %first_part, {part}")
    f.do(f"%last = add i64 0, {f.smaller(f.mul('%last_part', part), count)}")


def steps_text(kind: str, work: Pass) -> str:
    t = TYPES[kind]
    text, names, declared = pass_text(kind, work)
    f = Function(f"{work.name}_{kind}", "ptr %facts", "i64 %first_part", "i64 %last_part")
    a = fields(f, STEPS)
    parts_of(f, a["part"], a["samples"])
    width, gates = a["width"], a["slopes" if work.backward else "gates"]
    gate_step = f.mul(width, work.gates)
    row_step = f.mul(a["stride"], gate_step)
    with_input, with_state = f.mul(width, work.input_gates), f.mul(width, work.gates - work.offset)
    state = f.at(t, a["state"], f.mul("%first", width))

    def rows_of(step: str) -> tuple[str, str]:
        """The first row of a step, and how many there are."""
        start = f.add(f.load("i64", a["starts"], step), f.mul("%first", a["stride"]))
        return start, f.sub(f.smaller(f.load("i64", a["counts"], step), "%last"), "%first")

    def multiply(left: str, left_step: str, panels: str, depth: str, base: str, base_step: str, out: str, out_step: str, columns: str,
                 rows: str) -> None:  # fmt: skip
        f.do(f"call void @product(ptr {left}, i64 {left_step}, ptr {panels}, i64 {depth}, ptr {base}, i64 {base_step}, ptr {out}, "
             f"i64 {out_step}, i64 {columns}, i64 {rows})")  # fmt: skip

    def multiply_input(start: str, rows: str) -> None:
        there, here = f.at(t, a["input"], f.mul(start, a["inputs"])), f.at(t, gates, f.mul(start, gate_step))
        if work.backward:
            multiply(here, gate_step, a["input_panels"], with_input, a["base"], "0", there, a["inputs"], a["inputs"], rows)
        else:
            multiply(there, a["inputs"], a["input_panels"], a["inputs"], a["base"], "0", here, gate_step, with_input, rows)

    def multiply_inputs() -> None:
        """Rows that lie next to each other at a time: those of a step, or those of a sample."""
        together = f.equal(a["stride"], 1)
        with f.when(f.let(f"icmp ne ptr {a['input_panels']}, null")):
            with f.when(together), f.loop(a["steps"]) as step:
                multiply_input(*rows_of(step))
            with f.when(f.invert(together)), f.loop("%last", "%first") as sample:
                multiply_input(f.mul(sample, a["stride"]), a["steps"])

    def multiply_state(start: str, rows: str) -> None:
        here = f.at(t, gates, f.add(f.mul(start, gate_step), f.mul(width, work.offset)))
        if work.backward:
            multiply(here, row_step, a["panels"], with_state, state, width, state, width, width, rows)
        else:
            multiply(state, width, a["panels"], width, here, row_step, here, row_step, with_state, rows)

    if not work.backward:
        multiply_inputs()
    with f.loop(a["steps"]) as number:
        start, rows = rows_of(f.sub(f.sub(a["steps"], 1), number) if work.backward else number)
        if not work.backward:
            multiply_state(start, rows)
        with f.loop(rows) as i:
            places = places_of(f, t, a, f.add("%first", i), f.add(start, f.mul(i, a["stride"])), work.gates)
            f.do(f"call void @gate_pass({', '.join(f'ptr {places[name]}' for name in names)}, i64 {width})")
        if work.backward:
            multiply_state(start, rows)
    if work.backward:
        multiply_inputs()
    tiles = [tile_text(kind, "tile", rows, turned=False) for rows in range(1, ROWS + 1)]
    return "\n".join([*sorted({*declarations(kind), *declared}), *tiles, product_text(kind), text, f.text()])


def places_of(f: Function, t: str, a: dict[str, str], sample: str, row: str, gates: int) -> dict[str, str]:
    """Where the numbers of a sample at a step are, by the names that formulas use."""
    width = a["width"]
    places = {name: f.at(t, a[name], f.mul(sample, width)) for name in ("state", "cell")}
    places |= {name: f.at(t, a[name], f.mul(row, width)) for name in ("states", "cells", "out")}
    places["grad"] = f.at(t, a["grad"], f.mul(f.mul(row, a["grad_stride"]), width))
    for gate in range(gates):
        for name in ("gate", "slope"):
            places[f"{name}{gate}"] = f.at(t, a[f"{name}s"], f.add(f.mul(f.mul(row, width), gates), f.mul(width, gate)))
    return places


@cache
def steps(work: Pass) -> Callable[..., bool | None]:
    """Takes what `STEPS` names, the number of parts, and how much there is to do for one."""
    return sharing.builtin("recurrence", work.name, STEPS, lambda kind: steps_text(kind, work))


# ---- the gradient of the weights ----------------------------------------------------------------------------------------------------

# out[i, j] is the sum over rows of left[row, begin + i] * right[row, j], and sums[i] that of left[row, begin + i]; a unit is a part of the
# panels of i. There must be room for one panel of the left, and all of the right, of `TURN` rows.
WEIGHTS = f"left*T right*T out*T! sums*T! rows left_step begin columns right_columns part panels {sharing.ROOMS}"
TURN = 128


def weights_text(kind: str) -> str:
    t, wide = TYPES[kind], panel(kind)
    f = Function(f"weights_{kind}", "ptr %facts", "i64 %first_part", "i64 %last_part")
    a = fields(f, WEIGHTS)
    parts_of(f, a["part"], a["panels"])
    with sharing.room(f, a) as one_left, f.loop(a["rows"], 0, TURN) as row:
        all_right = f.at(t, one_left, TURN * wide)
        rows = f.smaller(f.sub(a["rows"], row), TURN)
        with f.loop(a["right_columns"], 0, wide) as column:
            source = f.at(t, a["right"], f.add(f.mul(row, a["right_columns"]), column))
            put_panel(f, kind, source, a["right_columns"], f.at(t, all_right, f.mul(column, TURN)), rows, f.sub(a["right_columns"], column))
        with f.loop("%last", "%first") as number:
            first = f.mul(number, wide)
            source = f.at(t, a["left"], f.add(f.mul(row, a["left_step"]), f.add(a["begin"], first)))
            count = f.smaller(f.sub(a["columns"], first), wide)
            put_panel(f, kind, source, a["left_step"], one_left, rows, count)
            add_rows(f, kind, one_left, rows, f.at(t, a["sums"], first), count)
            with f.loop(a["right_columns"], 0, wide) as column, f.loop(count, 0, ROWS) as i:
                out = f.at(t, a["out"], f.add(f.mul(f.add(first, i), a["right_columns"]), column))
                left, right = f"ptr {f.at(t, one_left, i)}, i64 0", f.at(t, all_right, f.mul(column, TURN))
                matrices = [f"ptr {out}, i64 {a['right_columns']}"] * 2
                call_tile(f, "turned", f.sub(count, i), left, right, rows, matrices, f.sub(a["right_columns"], column))
    tiles = [tile_text(kind, "turned", rows, turned=True) for rows in range(1, ROWS + 1)]
    return "\n".join([*declarations(kind), *tiles, f.text()])


def put_panel(f: Function, kind: str, source: str, step: str, target: str, rows: str, columns: str) -> None:
    """Copy the columns of a panel, of which only the first `columns` may exist."""
    t, n, wide = TYPES[kind], LANES[kind], panel(kind)
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    full = f.invert(f.less(columns, wide))
    masks = [mask(f, n, f.sub(columns, part * n)) for part in range(VECTORS)]
    for condition, masked in ((full, False), (f.invert(full), True)):
        with f.when(condition), f.loop(rows) as row:
            for part in range(VECTORS):
                where = f.at(t, source, f.add(f.mul(row, step), part * n))
                there = f"ptr {where}, i32 {size}, <{n} x i1> {masks[part]}"
                load = f"call {v} @llvm.masked.load.v{n}{kind}.p0({there}, {v} zeroinitializer)"
                value = f.let(load) if masked else f.load(v, where, align=size)
                f.store(v, value, f.at(t, target, f.add(f.mul(row, wide), part * n)), size)


def add_rows(f: Function, kind: str, panel_at: str, rows: str, target: str, columns: str) -> None:
    """Add the rows of a panel to a row."""
    t, n, wide = TYPES[kind], LANES[kind], panel(kind)
    v, size = f"<{n} x {t}>", 4 if kind == "f32" else 8
    for part in range(VECTORS):
        total = f.variable(v, "zeroinitializer")
        with f.loop(rows) as row:
            value = f.load(v, f.at(t, panel_at, f.add(f.mul(row, wide), part * n)), align=size)
            total.set(f.let(f"fadd {v} {total.get()}, {value}"))
        there = f"ptr {f.at(t, target, part * n)}, i32 {size}, <{n} x i1> {mask(f, n, f.sub(columns, part * n))}"
        known = f.let(f"call {v} @llvm.masked.load.v{n}{kind}.p0({there}, {v} zeroinitializer)")
        f.do(f"call void @llvm.masked.store.v{n}{kind}.p0({v} {f.let(f'fadd {v} {known}, {total.get()}')}, {there})")


def weights() -> Callable[..., bool | None]:
    """Takes what `WEIGHTS` names, the number of parts, and how much there is to do for one."""
    return sharing.builtin("recurrence", "weights", WEIGHTS, weights_text)
