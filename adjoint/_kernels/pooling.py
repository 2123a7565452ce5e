"""Maxima over windows, with their positions.

The kernel trusts what it is told about sizes and windows: only `ops/_pool_windows.py` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from .blocks import Function, fields
from .code import TYPES
from .sharing import builtin
from .vectors import LANES, repeated

MAXIMA = "values*T! index*I?! source*T plan*I"
# What the plan (see pool_loops.py) has at its head: of three dimensions, a, b and c, the places, sizes, and the steps within windows.
# Along c, from place `first` to before `last`, windows have `taps` elements and begin at `origin` plus the place times `stride`.
HEAD = "counts_a counts_b counts_c size_a size_b size_c - - - step_a step_b step_c first last taps origin stride"


def maxima_text(kind: str) -> str:
    """A piece of work is a plane. Without an `index`, positions are not kept."""
    t, n = TYPES[kind], LANES[kind]
    f = Function(f"maxima_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, MAXIMA)
    names = HEAD.split()
    a |= {name: f.load("i64", a["plan"], str(place)) for place, name in enumerate(names) if name != "-"}
    begin = f.at("i64", a["plan"], str(len(names)))
    for name in "abc":
        for table in ("starts", "stops"):
            a[f"{table}_{name}"], begin = begin, f.at("i64", begin, a[f"counts_{name}"])
    out_plane, a["source_plane"] = (f.mul(f.mul(a[f"{what}_a"], a[f"{what}_b"]), a[f"{what}_c"]) for what in ("counts", "size"))
    a["kept"] = f.let(f"icmp ne ptr {a['index']}, null")
    vectors = f.invert(f.less(f.sub(a["last"], a["first"]), n))
    final = f.sub(a["last"], n)  # where the last vector begins; it may overlap the one before
    with f.loop("%last", "%first", n) as group:
        beyond = f.smaller(f.add(group, n), "%last")
        planes = [f.smaller(f.add(group, i), f.sub("%last", 1)) for i in range(n)]
        with f.loop(a["counts_a"]) as place_a, f.loop(a["counts_b"]) as place_b:
            row = f.mul(f.add(f.mul(place_a, a["counts_b"]), place_b), a["counts_c"])
            window = {
                "a": (f.load("i64", a["starts_a"], place_a), f.load("i64", a["stops_a"], place_a)),
                "b": (f.load("i64", a["starts_b"], place_b), f.load("i64", a["stops_b"], place_b)),
            }
            before = f.let(f"select i1 {vectors}, i64 {a['first']}, i64 {a['counts_c']}")
            after = f.let(f"select i1 {vectors}, i64 {a['last']}, i64 {a['counts_c']}")
            for start, stop in (("0", before), (after, a["counts_c"])):
                with f.loop(stop, start) as place:
                    targets = [f.add(f.mul(plane, out_plane), f.add(row, place)) for plane in planes]
                    maxima_of_planes(f, kind, a, planes, window, place, targets)
            with f.when(vectors), f.loop(beyond, group) as plane:
                source = f.at(t, a["source"], f.mul(plane, a["source_plane"]))
                target = f.add(f.mul(plane, out_plane), row)
                with f.loop(a["last"], a["first"], n) as place:
                    place = f.smaller(place, final)
                    vector_of_maxima(f, kind, a, source, window, place, f.add(target, place))
    wide = f"<{2 * n} x {t}>"
    return "\n".join([f"declare {wide} @llvm.masked.load.v{2 * n}{kind}.p0(ptr, i32, <{2 * n} x i1>, {wide})", f.text()])


def better(f: Function, type_: str, truth: str, values: str, best: str) -> str:
    """Where values beat the best so far: NaN beats all, and among equals the first wins."""
    more = f.let(f"fcmp ogt {type_} {values}, {best}")
    nan = f.let(f"fcmp uno {type_} {values}, {values}")
    return f.let(f"or {truth} {more}, {nan}")


LOWEST = "0xFFF0000000000000"


def maxima_of_planes(
    f: Function, kind: str, a: dict[str, str], planes: list[str], window: dict[str, tuple[str, str]], place: str, targets: list[str]
) -> None:
    """One maximum of each of as many planes as a vector has lanes: they do not wait for each other."""
    t, n = TYPES[kind], LANES[kind]
    v, integers = f"<{n} x {t}>", f"<{n} x i64>"
    start, stop = f.load("i64", a["starts_c"], place), f.load("i64", a["stops_c"], place)
    sources = [f.at(t, a["source"], f.mul(plane, a["source_plane"])) for plane in planes]
    best = f.variable(v, f"<{', '.join([f'{t} {LOWEST}'] * n)}>")
    corner = f.add(f.mul(window["a"][0], a["size_b"]), window["b"][0])
    found = f.variable(integers, repeated(f, "i64", n, f.add(f.mul(corner, a["size_c"]), start)))
    with rows_of(f, a, window) as row, f.loop(stop, start, a["step_c"]) as c:
        at = f.add(row, c)
        now, before = gathered(f, kind, [f.at(t, source, at) for source in sources]), best.get()
        wins = better(f, v, f"<{n} x i1>", now, before)
        best.set(f.let(f"select <{n} x i1> {wins}, {v} {now}, {v} {before}"))
        found.set(f.let(f"select <{n} x i1> {wins}, {integers} {repeated(f, 'i64', n, at)}, {integers} {found.get()}"))
    for lane, target in enumerate(targets):
        f.store(t, f.let(f"extractelement {v} {best.get()}, i64 {lane}"), f.at(t, a["values"], target))
    with f.when(a["kept"]):
        for lane, target in enumerate(targets):
            f.store("i64", f.let(f"extractelement {integers} {found.get()}, i64 {lane}"), f.at("i64", a["index"], target))


@contextmanager
def rows_of(f: Function, a: dict[str, str], window: dict[str, tuple[str, str]]) -> Iterator[str]:
    """A loop over the rows of a window: where in a plane they begin."""
    (start_a, stop_a), (start_b, stop_b) = window["a"], window["b"]
    with f.loop(stop_a, start_a, a["step_a"]) as place_a, f.loop(stop_b, start_b, a["step_b"]) as place_b:
        yield f.mul(f.add(f.mul(place_a, a["size_b"]), place_b), a["size_c"])


def vector_of_maxima(
    f: Function, kind: str, a: dict[str, str], source: str, window: dict[str, tuple[str, str]], place: str, target: str
) -> None:
    """As many maxima as a vector has lanes, side by side."""
    t, n = TYPES[kind], LANES[kind]
    v, integers = f"<{n} x {t}>", f"<{n} x i32>"
    size = 4 if kind == "f32" else 8
    ramp = f.let(f"mul {integers} <{', '.join(f'i32 {i}' for i in range(n))}>, {spread(f, n, a['stride'])}")
    begin = f.add(a["origin"], f.mul(place, a["stride"]))
    corner = f.add(f.mul(window["a"][0], a["size_b"]), window["b"][0])
    first = f.add(f.mul(corner, a["size_c"]), begin)
    best = f.variable(v, f"<{', '.join([f'{t} {LOWEST}'] * n)}>")
    found = f.variable(integers, f.let(f"add {integers} {ramp}, {spread(f, n, first)}"))
    single, double = f.equal(a["stride"], 1), f.equal(a["stride"], 2)
    other = f.invert(f.let(f"or i1 {single}, {double}"))
    value = f.variable(v, "zeroinitializer")
    with rows_of(f, a, window) as row, f.loop(a["taps"]) as tap:
        at = f.add(f.add(row, begin), f.mul(tap, a["step_c"]))
        where = f.at(t, source, at)
        with f.when(single):
            value.set(f.load(v, where, align=size))
        with f.when(double):
            # Every second of twice as many; the last of them is not needed and may not exist.
            wide, truth = f"<{2 * n} x {t}>", ", ".join(["i1 true"] * (2 * n - 1) + ["i1 false"])
            mask = f"<{2 * n} x i1> <{truth}>"
            both = f.let(f"call {wide} @llvm.masked.load.v{2 * n}{kind}.p0(ptr {where}, i32 {size}, {mask}, {wide} poison)")
            even = ", ".join(f"i32 {2 * i}" for i in range(n))
            value.set(f.let(f"shufflevector {wide} {both}, {wide} poison, {integers} <{even}>"))
        with f.when(other):
            value.set(gathered(f, kind, [f.at(t, where, f.mul(a["stride"], i)) for i in range(n)]))
        now, before = value.get(), best.get()
        wins = better(f, v, f"<{n} x i1>", now, before)
        best.set(f.let(f"select <{n} x i1> {wins}, {v} {now}, {v} {before}"))
        places = f.let(f"add {integers} {ramp}, {spread(f, n, at)}")
        found.set(f.let(f"select <{n} x i1> {wins}, {integers} {places}, {integers} {found.get()}"))
    f.store(v, best.get(), f.at(t, a["values"], target), size)
    with f.when(a["kept"]):
        longs = f.let(f"zext {integers} {found.get()} to <{n} x i64>")
        f.store(f"<{n} x i64>", longs, f.at("i64", a["index"], target), 8)


def gathered(f: Function, kind: str, places: list[str]) -> str:
    """The numbers at some places as a vector."""
    t, lanes = TYPES[kind], "poison"
    for i, place in enumerate(places):
        lanes = f.let(f"insertelement <{len(places)} x {t}> {lanes}, {t} {f.load(t, place)}, i64 {i}")
    return lanes


def spread(f: Function, n: int, number: str) -> str:
    """A 64-bit number in all lanes of a vector of 32-bit ones."""
    return repeated(f, "i32", n, f.let(f"trunc i64 {number} to i32"))


@cache
def maxima() -> Callable[..., bool | None]:
    return builtin("pooling", "maxima", MAXIMA, maxima_text)
