"""Maxima over windows with their positions, numbers added at positions, and resampling along a dimension.

The functions trust their arguments, which are addresses: only `ops/_pool_windows.py` and `ops/resample.py` call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .blocks import Function, Variable, fields, loaded
from .code import TYPES
from .vectors import LANES

# ---- maxima -------------------------------------------------------------------------------------------------------------------------

# Three dimensions, called a, b and c; windows begin at `starts`, end before `stops` and go in steps. Along c, from place `first` to before
# `last`, windows have `taps` elements and begin at `origin` plus the place times `stride`.
MAXIMA = (
    "source* values* index* planes source_plane counts_a counts_b counts_c size_b size_c starts_a* stops_a* step_a starts_b* stops_b* "
    "step_b starts_c* stops_c* step_c first last taps origin stride"
)


def maxima_text(kind: str) -> str:
    t, n = TYPES[kind], LANES[kind]
    f = Function(f"maxima_{kind}", "ptr %facts")
    a = fields(f, MAXIMA)
    out_plane = f.mul(f.mul(a["counts_a"], a["counts_b"]), a["counts_c"])
    vectors = f.invert(f.less(f.sub(a["last"], a["first"]), n))
    final = f.sub(a["last"], n)  # where the last vector begins; it may overlap the one before
    with f.loop(a["planes"]) as plane:
        source = f.at(t, a["source"], f.mul(plane, a["source_plane"]))
        with f.loop(a["counts_a"]) as place_a, f.loop(a["counts_b"]) as place_b:
            row = f.mul(f.add(f.mul(place_a, a["counts_b"]), place_b), a["counts_c"])
            row = f.add(row, f.mul(plane, out_plane))
            window = {
                "a": (f.load("i64", a["starts_a"], place_a), f.load("i64", a["stops_a"], place_a)),
                "b": (f.load("i64", a["starts_b"], place_b), f.load("i64", a["stops_b"], place_b)),
            }
            before = f.let(f"select i1 {vectors}, i64 {a['first']}, i64 {a['counts_c']}")
            after = f.let(f"select i1 {vectors}, i64 {a['last']}, i64 {a['counts_c']}")
            for start, stop in (("0", before), (after, a["counts_c"])):
                with f.loop(stop, start) as place:
                    one_maximum(f, kind, a, source, window, place, f.add(row, place))
            with f.when(vectors), f.loop(a["last"], a["first"], n) as place:
                place = f.smaller(place, final)
                vector_of_maxima(f, kind, a, source, window, place, f.add(row, place))
    wide = f"<{2 * n} x {t}>"
    return "\n".join([f"declare {wide} @llvm.masked.load.v{2 * n}{kind}.p0(ptr, i32, <{2 * n} x i1>, {wide})", f.text()])


def better(f: Function, type_: str, truth: str, values: str, best: str) -> str:
    """Where values beat the best so far: NaN beats all, and among equals the first wins."""
    more = f.let(f"fcmp ogt {type_} {values}, {best}")
    nan = f.let(f"fcmp uno {type_} {values}, {values}")
    return f.let(f"or {truth} {more}, {nan}")


LOWEST = "0xFFF0000000000000"


def one_maximum(
    f: Function, kind: str, a: dict[str, str], source: str, window: dict[str, tuple[str, str]], place: str, target: str
) -> None:
    t = TYPES[kind]
    start, stop = f.load("i64", a["starts_c"], place), f.load("i64", a["stops_c"], place)
    best = f.variable(t, LOWEST)
    corner = f.add(f.mul(window["a"][0], a["size_b"]), window["b"][0])
    found = f.variable("i64", f.add(f.mul(corner, a["size_c"]), start))
    with rows_of(f, a, window) as row, f.loop(stop, start, a["step_c"]) as c:
        at = f.add(row, c)
        value = f.load(t, source, at)
        wins = better(f, t, "i1", value, best.get())
        best.set(f.let(f"select i1 {wins}, {t} {value}, {t} {best.get()}"))
        found.set(f.let(f"select i1 {wins}, i64 {at}, i64 {found.get()}"))
    f.store(t, best.get(), f.at(t, a["values"], target))
    f.store("i64", found.get(), f.at("i64", a["index"], target))


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
            gather_lanes(f, kind, value, where, a["stride"])
        now, before = value.get(), best.get()
        wins = better(f, v, f"<{n} x i1>", now, before)
        best.set(f.let(f"select <{n} x i1> {wins}, {v} {now}, {v} {before}"))
        places = f.let(f"add {integers} {ramp}, {spread(f, n, at)}")
        found.set(f.let(f"select <{n} x i1> {wins}, {integers} {places}, {integers} {found.get()}"))
    f.store(v, best.get(), f.at(t, a["values"], target), size)
    longs = f.let(f"zext {integers} {found.get()} to <{n} x i64>")
    f.store(f"<{n} x i64>", longs, f.at("i64", a["index"], target), 8)


def gather_lanes(f: Function, kind: str, value: Variable, where: str, stride: str) -> None:
    t, n = TYPES[kind], LANES[kind]
    v, lanes = f"<{n} x {t}>", "poison"
    for i in range(n):
        number = f.load(t, where, f.mul(stride, i))
        lanes = f.let(f"insertelement {v} {lanes}, {t} {number}, i64 {i}")
    value.set(lanes)


def spread(f: Function, n: int, number: str) -> str:
    """A 64-bit number in all lanes of a vector of 32-bit ones."""
    short = f.let(f"trunc i64 {number} to i32")
    one = f.let(f"insertelement <{n} x i32> poison, i32 {short}, i64 0")
    return f.let(f"shufflevector <{n} x i32> {one}, <{n} x i32> poison, <{n} x i32> zeroinitializer")


# ---- numbers added at positions -----------------------------------------------------------------------------------------------------

PUT = "numbers* index* target* planes count plane"


def put_text(kind: str) -> str:
    """target[index] += number, plane by plane. The target is cleared first; an index outside it is passed over."""
    t = TYPES[kind]
    f = Function(f"put_{kind}", "ptr %facts")
    a = fields(f, PUT)
    with f.loop(a["planes"]) as p:
        base = f.mul(p, a["count"])
        numbers, index = f.at(t, a["numbers"], base), f.at("i64", a["index"], base)
        target = f.at(t, a["target"], f.mul(p, a["plane"]))
        with f.loop(a["plane"]) as i:
            f.store(t, "0.0", f.at(t, target, i))
        with f.loop(a["count"]) as i:
            place = f.load("i64", index, i)
            with f.when(f.let(f"icmp ult i64 {place}, {a['plane']}")):
                where = f.at(t, target, place)
                f.store(t, f.let(f"fadd {t} {f.load(t, where)}, {f.load(t, numbers, i)}"), where)
    return f.text()


# ---- resampling ---------------------------------------------------------------------------------------------------------------------

RESAMPLE = "source* target* outer count inner taps index* weight* source_plane target_plane"


def resample_text(kind: str) -> str:
    """target[place] = the sum over taps of weight[place, tap] * source[index[place, tap]], where elements are rows of `inner` numbers."""
    t = TYPES[kind]
    f = Function(f"resample_{kind}", "ptr %facts")
    a = fields(f, RESAMPLE)
    single = f.equal(a["inner"], 1)
    with f.loop(a["outer"]) as o:
        source = f.at(t, a["source"], f.mul(o, a["source_plane"]))
        target = f.at(t, a["target"], f.mul(o, a["target_plane"]))
        with f.when(single), f.loop(a["count"]) as place:
            entry = f.mul(place, a["taps"])
            total = f.variable(t, "0.0")
            with f.loop(a["taps"]) as tap:
                at = f.add(entry, tap)
                number = f.load(t, source, f.load("i64", a["index"], at))
                total.set(f.let(f"call {t} @llvm.fma.{kind}({t} {number}, {t} {f.load(t, a['weight'], at)}, {t} {total.get()})"))
            f.store(t, total.get(), f.at(t, target, place))
        with f.when(f.invert(single)), f.loop(a["count"]) as place:
            entry = f.mul(place, a["taps"])
            row = f.at(t, target, f.mul(place, a["inner"]))
            with f.loop(a["taps"]) as tap:
                at = f.add(entry, tap)
                weight = f.load(t, a["weight"], at)
                given = f.at(t, source, f.mul(f.load("i64", a["index"], at), a["inner"]))
                begin = f.equal(tap, 0)
                with f.when(begin), f.loop(a["inner"]) as i:
                    f.store(t, f.let(f"fmul {t} {f.load(t, given, i)}, {weight}"), f.at(t, row, i))
                with f.when(f.invert(begin)), f.loop(a["inner"]) as i:
                    here = f.at(t, row, i)
                    f.store(t, f.let(f"call {t} @llvm.fma.{kind}({t} {f.load(t, given, i)}, {t} {weight}, {t} {f.load(t, here)})"), here)
    return "\n".join([f"declare {t} @llvm.fma.{kind}({t}, {t}, {t})", f.text()])


def resample_back_text(kind: str) -> str:
    """The transpose: target[index[place, tap]] += weight[place, tap] * source[place]. The target is cleared first."""
    t = TYPES[kind]
    f = Function(f"resample_back_{kind}", "ptr %facts")
    a = fields(f, RESAMPLE)
    single = f.equal(a["inner"], 1)
    with f.loop(a["outer"]) as o:
        source = f.at(t, a["source"], f.mul(o, a["source_plane"]))
        target = f.at(t, a["target"], f.mul(o, a["target_plane"]))
        with f.loop(a["target_plane"]) as i:
            f.store(t, "0.0", f.at(t, target, i))
        with f.loop(a["count"]) as place, f.loop(a["taps"]) as tap:
            at = f.add(f.mul(place, a["taps"]), tap)
            weight, element = f.load(t, a["weight"], at), f.load("i64", a["index"], at)
            with f.when(single):
                where = f.at(t, target, element)
                given = f.load(t, source, place)
                f.store(t, f.let(f"call {t} @llvm.fma.{kind}({t} {given}, {t} {weight}, {t} {f.load(t, where)})"), where)
            with f.when(f.invert(single)):
                row, given = f.at(t, target, f.mul(element, a["inner"])), f.at(t, source, f.mul(place, a["inner"]))
                with f.loop(a["inner"]) as i:
                    here = f.at(t, row, i)
                    total = f.let(f"call {t} @llvm.fma.{kind}({t} {f.load(t, given, i)}, {t} {weight}, {t} {f.load(t, here)})")
                    f.store(t, total, here)
    return "\n".join([f"declare {t} @llvm.fma.{kind}({t}, {t}, {t})", f.text()])


# ---- functions ----------------------------------------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[str], str]] = {
    "maxima": maxima_text, "put": put_text, "resample": resample_text, "resample_back": resample_back_text,
}  # fmt: skip


def function(name: str, kind: str) -> Callable[[int], None]:
    """One of the functions for float32 or float64."""
    return loaded("pooling", name, kind, TEXTS[name])
