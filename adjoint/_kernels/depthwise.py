"""Convolutions of one channel each with a kernel of its own: vectors are of channels, not of places.

The numbers of a few channels are transposed, so that those of a place lie side by side. Then no vector is filled in part only, however
short the lines of an image are, and what a place needs of its neighbours is found at a distance of whole vectors.

    turn       planes, transposed: every place goes to where a table says
    lines      the sums of some neighbouring places of a line stay in registers
    back       results, as planes again

The functions trust what they are told about sizes and tables: only `ops/_depthwise.py` calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .blocks import Function, fields
from .code import TYPES
from .gemm import transposed
from .sharing import ROOMS, builtin, room
from .vectors import LANES, SIZES, fma

PLACES = (14, 8, 7, 4, 1)  # whose sums are taken at once; with a number of the kernel they fit into sixteen registers


def turn_text(kind: str) -> str:
    """Places of up to as many channels as a vector has lanes. The last vectors may overlap; further lanes are the last channel."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    numbers = "i64 %plane", "i64 %channels", "i64 %count"
    f = Function(f"turn_{kind}", "ptr noalias %source", "ptr noalias %target", "ptr %table", *numbers)
    last = f.sub("%channels", 1)
    planes = [f.at(t, "%source", f.mul(f.smaller(str(lane), last), "%plane")) for lane in range(n)]

    def put(vector: str, place: str) -> None:
        f.store(v, vector, f.at(t, "%target", f.mul(f.load("i64", "%table", place), n)), size)

    short = f.less("%count", n)
    with f.when(f.invert(short)), f.loop("%count", 0, n) as begin:
        first = f.smaller(begin, f.sub("%count", n))
        for i, vector in enumerate(transposed(f, v, n, [f.load(v, f.at(t, plane, first), align=size) for plane in planes])):
            put(vector, f.add(first, i))
    with f.when(short), f.loop("%count") as place:
        vector = "poison"
        for lane, plane in enumerate(planes):
            vector = f.let(f"insertelement {v} {vector}, {t} {f.load(t, plane, place)}, i64 {lane}")
        put(vector, place)
    return f.text(internal=True, inline=False)


def back_text(kind: str) -> str:
    """The way back: places one after the other, to the planes of so many channels."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    f = Function(f"back_{kind}", "ptr noalias %source", "ptr noalias %target", "i64 %plane", "i64 %channels", "i64 %count")
    planes = [f.at(t, "%target", f.mul("%plane", lane)) for lane in range(n)]
    exist = [f.less(str(lane), "%channels") for lane in range(n)]
    short = f.less("%count", n)
    with f.when(f.invert(short)), f.loop("%count", 0, n) as begin:
        first = f.smaller(begin, f.sub("%count", n))
        places = [f.load(v, f.at(t, "%source", f.mul(f.add(first, i), n)), align=size) for i in range(n)]
        for plane, there, vector in zip(planes, exist, transposed(f, v, n, places), strict=True):
            with f.when(there):
                f.store(v, vector, f.at(t, plane, first), size)
    with f.when(short), f.loop("%count") as place, f.loop("%channels") as channel:
        value = f.load(t, "%source", f.add(f.mul(place, n), channel))
        f.store(t, value, f.at(t, "%target", f.add(f.mul(channel, "%plane"), place)))
    return f.text(internal=True, inline=False)


# A line of places: where the results go and how far apart they are, how many there are, what the first reads, and its part of the table
# of taps, which has for each tap where it reads and which number of the kernel that is multiplied by. All in vectors.
LINE = "to apart count start first last"


def lines_text(places: int, kind: str) -> str:
    """So many places of a line at a time; the last of them may overlap those before."""
    t, n, size = TYPES[kind], LANES[kind], SIZES[kind]
    v = f"<{n} x {t}>"
    pointers = "ptr noalias %image", "ptr noalias %weights", "ptr noalias %results", "ptr %taps"
    f = Function(f"line{places}_{kind}", *pointers, "ptr %line", f"{v} %bias")
    a = fields(f, LINE, "%line")
    with f.loop(a["count"], 0, places) as begin:
        place = f.smaller(begin, f.sub(a["count"], places))
        here = f.at(v, "%image", f.add(a["start"], place))
        sums = [f.variable(v, "%bias") for _ in range(places)]
        with f.loop(a["last"], a["first"]) as tap:
            entry = f.at("i64", "%taps", f.mul(tap, 2))
            numbers, weight = f.at(v, here, f.load("i64", entry)), f.load(v, f.at(v, "%weights", f.load("i64", entry, 1)), align=size)
            for i, total in enumerate(sums):
                fma(f, kind, weight, f.load(v, f.at(v, numbers, i), align=size), total)
        for i, total in enumerate(sums):
            f.store(v, total.get(), f.at(v, "%results", f.add(a["to"], f.mul(f.add(place, i), a["apart"]))), size)
    return "\n".join([f"declare {v} @llvm.fmuladd.v{n}{kind}({v}, {v}, {v})", f.text(internal=True, inline=False)])


# A band of lines of the result: the places of a plane that it reads, those that it has, and its part of the table of lines.
BAND = "begin places out_begin out_places first last"
DEPTHWISE = (
    f"out*T! image*T weight*T bias*T {ROOMS} channels blocks bands plane out_plane volume clear weights results band_table* place_table* "
    "volume_table* line_table* tap_table*"
)


def text(places: int, kind: str) -> str:
    """A piece of work is a band of lines of a block of channels of a sample."""
    t, n = TYPES[kind], LANES[kind]
    v = f"<{n} x {t}>"
    f = Function(f"depthwise{places}_{kind}", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, DEPTHWISE)
    with room(f, a) as own:
        with f.loop(a["clear"]) as i:
            f.store(t, "0.0", f.at(t, own, i))
        weights, results = f.at(t, own, a["weights"]), f.at(t, own, a["results"])
        with f.loop("%last", "%first") as piece:
            block = f.quotient(piece, a["bands"])
            sample = f.quotient(block, a["blocks"])
            channel = f.mul(f.sub(block, f.mul(sample, a["blocks"])), n)
            count = f.smaller(f.sub(a["channels"], channel), n)
            band = fields(f, BAND, f.at("i64", a["band_table"], f.mul(f.sub(piece, f.mul(block, a["bands"])), len(BAND.split()))))
            number = f.add(f.mul(sample, a["channels"]), channel)
            image = f.at(t, a["image"], f.add(f.mul(number, a["plane"]), band["begin"]))
            out = f.at(t, a["out"], f.add(f.mul(number, a["out_plane"]), band["out_begin"]))
            kernel = f.at(t, a["weight"], f.mul(channel, a["volume"]))
            facts = f"ptr {a['volume_table']}, i64 {a['volume']}, i64 {count}, i64 {a['volume']}"
            f.do(f"call void @turn_{kind}(ptr {kernel}, ptr {weights}, {facts})")
            facts = f"ptr {a['place_table']}, i64 {a['plane']}, i64 {count}, i64 {band['places']}"
            f.do(f"call void @turn_{kind}(ptr {image}, ptr {own}, {facts})")
            bias = "poison"
            for lane in range(n):
                one = f.load(t, a["bias"], f.add(channel, f.smaller(str(lane), f.sub(count, 1))))
                bias = f.let(f"insertelement {v} {bias}, {t} {one}, i64 {lane}")
            with f.loop(band["last"], band["first"]) as line:
                entry = f.at("i64", a["line_table"], f.mul(line, len(LINE.split())))
                pointers = f"ptr {own}, ptr {weights}, ptr {results}, ptr {a['tap_table']}, ptr {entry}, {v} {bias}"
                f.do(f"call void @line{places}_{kind}({pointers})")
            f.do(f"call void @back_{kind}(ptr {results}, ptr {out}, i64 {a['out_plane']}, i64 {count}, i64 {band['out_places']})")
    return "\n".join([turn_text(kind), back_text(kind), lines_text(places, kind), f.text()])


TEXTS = {places: partial(text, places) for places in PLACES}


def function(places: int) -> Callable[..., bool | None]:
    """The kernel for so many places as a built-in."""
    return builtin("convolve", f"depthwise{places}", DEPTHWISE, TEXTS[places])
