"""The steps of a Fourier transform, each of which goes once over its numbers.

A transform of n = r·m numbers is one of r, for every m-th number, then a multiplication by roots of unity, and one of m (Cooley and Tukey):

    target[p, k] = exp(-2πi·p·k/n) · Σⱼ source[j, p] · exp(-2πi·j·k/r)          for j, k < r and p < m

The next step does the same with r smaller ones. What this calls an element is a row of numbers that are transformed alike: those of
several lines, and of the indices k of all steps before. So rows get longer, vectors are loaded from them and stored to them, and the
results come out in order (Stockham). Places of steps:

    first    of a single line, where rows are single numbers: vectors are of neighbouring p, and transposed on their way to memory
    middle   as above
    last     m = 1: instead of roots there is a scale
    turning  a last one whose results are multiplied by a table of numbers too: there are more transforms to come

A `mirror` goes from the transform of a real line, neighbours in which were taken for the two parts of one number, to that line's own, or
back: both consist of pairs of numbers k from either end. `mirrors` do that for rows, vectors of which are then loaded and stored as usual.

Numbers are in `PAIRS`, as in complex arrays; in `LINES`, where neighbours in a row are some distance apart; or, between steps, in
`PLANES`: real parts, and in a second array imaginary ones. Vectors of these need no shuffles. An inverse transform has the two parts
swapped in planes. `ROWS` are such of a real array: one has the real parts, and the next the imaginary ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from . import calls, jit
from .blocks import Function, fields
from .butterflies import Complex, Lanes, dft
from .code import TYPES
from .vectors import SIZES, repeated

FIRST, MIDDLE, LAST, TURNING, MIRROR, MIRRORS = "first", "middle", "last", "turning", "mirror", "mirrors"
PAIRS, LINES, PLANES, ROWS = "pairs", "lines", "planes", "rows"

# What a step is told: for how many p, for how many parts of a row of which width. How far apart numbers are, in complex ones, whose index
# j or k, p, or part is the next; and where lines are the neighbours in a row, how far those are apart. Between planes, that is how far.
SIZES_OF_STEP = (
    "turns rows width source_radix source_turn source_row source_far target_radix target_turn target_row target_far"  # in this order
)


class Vectors:
    """A step in the making, with vectors of so many lanes."""

    def __init__(self, kind: str, lanes: int, f: Function | None = None) -> None:
        self.f = f or Function("step", "ptr %source", "ptr %target", "ptr %roots", "ptr %sizes", "double %scale")
        self.kind, self.lanes, self.type = kind, lanes, TYPES[kind]
        self.pair = f"<2 x {self.type}>"
        self.sizes = fields(self.f, SIZES_OF_STEP, "%sizes")

    def vector(self, register: str) -> Lanes:
        return Lanes(self.f, self.kind, self.lanes, register)

    def splat(self, register: str) -> Lanes:
        return self.vector(repeated(self.f, self.type, self.lanes, register))

    def loaded(self, pointer: str, index: str | int = 0, lanes: int = 0) -> str:
        return self.f.load(f"<{lanes or self.lanes} x {self.type}>", self.f.at(self.type, pointer, index), 0, SIZES[self.kind])

    def put(self, pointer: str, register: str, lanes: int = 0) -> None:
        self.f.store(f"<{lanes or self.lanes} x {self.type}>", register, pointer, SIZES[self.kind])

    def picked(self, a: str, b: str, lanes: int, places: Iterable[int]) -> str:
        """Some of the numbers in two vectors."""
        v, chosen = f"<{lanes} x {self.type}>", [f"i32 {place}" for place in places]
        return self.f.let(f"shufflevector {v} {a}, {v} {b}, <{len(chosen)} x i32> <{', '.join(chosen)}>")

    def load(self, form: str, pointer: str, index: str, far: str) -> Complex:
        f, n = self.f, self.lanes
        if form in (PLANES, ROWS):
            at = f.at(self.type, pointer, index)
            return Complex(self.vector(self.loaded(at)), self.vector(self.loaded(at, far)))
        if form == PAIRS:
            both = self.loaded(f.at(self.pair, pointer, index), 0, 2 * n)
        else:
            some, width = [self.loaded(at, 0, 2) for at in self.lines(pointer, index, far)], 2
            while len(some) > 1:
                some = [self.picked(a, b, width, range(2 * width)) for a, b in zip(some[::2], some[1::2], strict=True)]
                width *= 2
            (both,) = some
        return Complex(*[self.vector(self.picked(both, "poison", 2 * n, range(part, 2 * n, 2))) for part in (0, 1)])

    def lines(self, pointer: str, index: str, far: str) -> list[str]:
        """Where the numbers of all lanes are."""
        return [self.f.at(self.pair, pointer, self.f.add(index, self.f.mul(far, lane))) for lane in range(self.lanes)]

    def reversed(self, value: Complex) -> Complex:
        return Complex(*[self.vector(self.picked(part.register, "poison", self.lanes, range(self.lanes)[::-1])) for part in value])

    def store(self, form: str, value: Complex, pointer: str, index: str, far: str) -> None:
        f, n = self.f, self.lanes
        if form in (PLANES, ROWS):
            at = f.at(self.type, pointer, index)
            self.put(at, value.re.register)
            self.put(f.at(self.type, at, far), value.im.register)
            return
        both = self.picked(value.re.register, value.im.register, n, [place for lane in range(n) for place in (lane, lane + n)])
        if form == PAIRS:
            self.put(f.at(self.pair, pointer, index), both, 2 * n)
        else:
            for lane, at in enumerate(self.lines(pointer, index, far)):
                self.put(at, self.picked(both, "poison", 2 * n, (2 * lane, 2 * lane + 1)), 2)

    def store_transposed(self, vectors: Sequence[Lanes], pointer: str, index: str) -> None:
        """The first numbers of all vectors one after the other, then the second ones, and so on."""
        f, n = self.f, self.lanes
        for first in range(0, len(vectors), n):
            some = [vector.register for vector in vectors[first : first + n]]
            rows = some + ["poison"] * (n - len(some))
            width = 1
            while width < n:  # exchange squares of this width beside the diagonal
                low = [place + other for block in range(0, n, 2 * width) for other in (0, n) for place in range(block, block + width)]
                for i in range(n):
                    if not i & width:
                        a, b = rows[i], rows[i + width]
                        rows[i], rows[i + width] = self.picked(a, b, n, low), self.picked(a, b, n, [place + width for place in low])
                width *= 2
            for lane, row in enumerate(rows):
                at = f.at(self.type, pointer, f.add(index, lane * len(vectors) + first))
                self.put(at, self.picked(row, "poison", n, range(len(some))), len(some))

    def root(self, place: str, k: int, turn: str, i: str, count: int) -> tuple[Lanes, Lanes]:
        """The k-th of the roots, `count` for each p: in a first step there is one for each lane, and all p of a k are neighbours."""
        f = self.f
        if place == FIRST:
            at = f.at(self.type, "%roots", f.add(f.mul(self.sizes["width"], 2 * k), i))
            return self.vector(self.loaded(at)), self.vector(self.loaded(at, self.sizes["width"]))
        at = f.at(self.pair, "%roots", f.add(f.mul(turn, count), k))
        return self.splat(f.load(self.type, at)), self.splat(f.load(self.type, f.at(self.type, at, 1)))


# ---- steps --------------------------------------------------------------------------------------------------------------------------


def step_text(kind: str, lanes: int, radix: int, place: str, source: str, target: str, inverse: bool) -> str:
    """Less than a vector at the end of a row is computed together with numbers before it, once more."""
    v = Vectors(kind, lanes)
    f, a = v.f, v.sizes
    scale = v.splat(f.let("fptrunc double %scale to float") if kind == "f32" else "%scale")
    with f.loop(a["turns"]) as turn, f.loop(a["rows"]) as row, f.loop(a["width"], step=lanes) as number:
        i = f.smaller(number, f.sub(a["width"], lanes))

        def places(side: str, form: str) -> list[str]:
            start = f.add(f.mul(turn, a[f"{side}_turn"]), f.mul(row, a[f"{side}_row"]))
            start = f.add(start, f.mul(i, a[f"{side}_far"]) if form == LINES else i)
            return [f.add(start, f.mul(a[f"{side}_radix"], j)) for j in range(radix)]

        x = [v.load(source, "%source", at, a["source_far"]) for at in places("source", source)]
        y = dft([one.swapped() for one in x] if inverse and source != PLANES else x)
        if place in (FIRST, MIDDLE):
            y[1:] = [one.times(*v.root(place, k, turn, i, radix - 1)) for k, one in enumerate(y[1:])]
        else:
            y = [one.scaled(scale) for one in y]
        if place == FIRST:
            v.store_transposed([one.re for one in y], "%target", f.mul(i, radix))
            v.store_transposed([one.im for one in y], f.at(v.type, "%target", a["target_far"]), f.mul(i, radix))
            y = []
        for one, at in zip(y, places("target", target), strict=False):
            one = one.swapped() if inverse and target != PLANES else one
            one = one.times(*v.load(PAIRS, "%roots", at, "")) if place == TURNING else one
            v.store(target, one, "%target", at, a["target_far"])
    return f.text()


def mirror_text(kind: str, lanes: int, source: str, target: str, inverse: bool, rows: bool) -> str:
    """From m numbers to m + 1, or (inverse) back. With A the k-th number, B the conjugate of the k-th from the end and u a root, the
    results there are A + B + u·(A - B) and the conjugate of A + B - u·(A - B). They are twice what they should be, on the way there."""
    v = Vectors(kind, lanes)
    f, a = v.f, v.sizes
    m, half = a["turns"], f.quotient(a["turns"], 2)

    def place(side: str, form: str, k: str, i: str) -> str:
        return f.add(f.mul(k, a[f"{side}_turn"]), f.mul(i, a[f"{side}_far"]) if form == LINES else i)

    def load(v: Vectors, k: str, i: str = "0") -> Complex:
        return v.load(source, "%source", place("source", source, k, i), a["source_far"])

    def store(v: Vectors, value: Complex, k: str, i: str = "0") -> None:
        value = value.swapped() if inverse and target == PLANES else value
        v.store(target, value, "%target", place("target", target, k, i), a["target_far"])

    def ends(v: Vectors, i: str = "0") -> None:
        """What is at either end is real, and its two numbers are the parts of one."""
        re, im = load(v, "0", i)
        if inverse:
            im = load(v, m, i).re
            store(v, Complex(re + im, re - im), "0", i)
        else:
            zero = v.vector("zeroinitializer")
            store(v, Complex((re + im) * 2.0, zero), "0", i)
            store(v, Complex((re - im) * 2.0, zero), m, i)

    def mirrored(k_th: Complex, from_end: Complex, root: tuple[Lanes, Lanes]) -> tuple[Complex, Complex]:
        total, turned = k_th.plus(from_end.conjugate()), k_th.minus(from_end.conjugate()).times(*root)
        return total.plus(turned), total.minus(turned).conjugate()

    if rows:
        with f.loop(a["width"], step=lanes) as number:
            ends(v, f.smaller(number, f.sub(a["width"], lanes)))
        with f.loop(f.add(half, 1), 1) as k:
            from_end, at = f.sub(m, k), f.at(v.type, "%roots", f.sub(k, 1))
            root = v.splat(f.load(v.type, at)), v.splat(f.load(v.type, f.at(v.type, at, half)))
            with f.loop(a["width"], step=lanes) as number:
                i = f.smaller(number, f.sub(a["width"], lanes))
                one, other = mirrored(load(v, k, i), load(v, from_end, i), root)
                store(v, one, k, i)
                store(v, other, from_end, i)
    else:
        ends(Vectors(kind, 1, f))
        with f.loop(half, step=lanes) as number:
            i = f.smaller(number, f.sub(half, lanes))
            k, from_end, at = f.add(i, 1), f.sub(f.sub(m, lanes), i), f.at(v.type, "%roots", i)
            root = v.vector(v.loaded(at)), v.vector(v.loaded(at, half))
            one, other = mirrored(load(v, k), v.reversed(load(v, from_end)), root)
            store(v, one, k)
            store(v, v.reversed(other), from_end)
    return f.text()


@cache
def step(kind: str, lanes: int, radix: int, place: str, source: str, target: str, inverse: bool) -> int:
    """The address of a step."""

    def text() -> str:
        if place in (MIRROR, MIRRORS):
            return mirror_text(kind, lanes, source, target, inverse, place == MIRRORS)
        return step_text(kind, lanes, radix, place, source, target, inverse)

    name = f"fourier {kind} {lanes} {radix} {place} {source} {target} {inverse}"
    return jit.load(name, text, ["step"], jit.FINISHED)["step"]


# ---- all steps ----------------------------------------------------------------------------------------------------------------------

TRANSFORM = "R! T I! I I f i i r"  # the kinds of parameters (translate.py): out, x, room, roots, program, scale, take, units, pieces
# A program begins with the number of steps, how much room a piece of work needs, and of units, of which several have one `outer` place,
# where they are: all in bytes. What remains at the end, less than a unit, is computed with numbers before it.
HEAD = "steps room blocks inner width source_outer source_inner target_outer target_inner"
STEP = "function* source target roots roots_inner"  # where the numbers are: 0 and 1 are arrays, 2 and 3 the two halves of the room


def transform_text() -> str:
    """All steps of one unit after the other. `take` units are a piece."""
    f = Function("transform", "ptr %facts", "i64 %first", "i64 %last")
    a = fields(f, "out* x* memory* roots* program* scale take units")
    scale = f.let(f"bitcast i64 {a['scale']} to double")
    a |= fields(f, HEAD, a["program"])
    begin, size = f.at("i64", a["program"], len(HEAD.split())), len((STEP + " " + SIZES_OF_STEP).split())
    where = f.room("[4 x ptr]")
    address = f.let(f"ptrtoint ptr {a['memory']} to i64")
    unaligned = f.let(f"and i64 {f.sub('0', address)}, 63")
    with f.loop("%last", "%first") as piece:
        room = f.at("i8", f.at("i8", a["memory"], unaligned), f.mul(piece, a["room"]))
        f.store("ptr", room, f.at("ptr", where, 2))
        f.store("ptr", f.at("i8", room, f.quotient(a["room"], 2)), f.at("ptr", where, 3))
        start = f.mul(piece, a["take"])
        with f.loop(f.smaller(f.add(start, a["take"]), a["units"]), start) as unit:
            outer = f.quotient(unit, a["blocks"])
            inner = f.mul(f.sub(unit, f.mul(outer, a["blocks"])), a["width"])
            inner = f.smaller(inner, f.sub(a["inner"], a["width"]))
            for place, (array, side) in enumerate((("x", "source"), ("out", "target"))):
                offset = f.add(f.mul(outer, a[f"{side}_outer"]), f.mul(inner, a[f"{side}_inner"]))
                f.store("ptr", f.at("i8", a[array], offset), f.at("ptr", where, place))
            with f.loop(a["steps"]) as number:
                at = f.at("i64", begin, f.mul(number, size))
                step = fields(f, STEP, at)
                source, target = (f.load("ptr", where, step[side]) for side in ("source", "target"))
                roots = f.at("i8", a["roots"], f.add(step["roots"], f.mul(inner, step["roots_inner"])))
                sizes = f.at("i64", at, len(STEP.split()))
                f.do(f"call void {step['function']}(ptr {source}, ptr {target}, ptr {roots}, ptr {sizes}, double {scale})")
    return f.text()


@cache
def transformer() -> Callable[..., bool | None]:
    """The built-in that runs programs, whatever the kinds of numbers."""

    def load(*kinds: str) -> int:
        return jit.load("fourier transform", transform_text, ["transform"], jit.FINISHED)["transform"]

    return calls.Kernel("transform", TRANSFORM, load, ("f32", "f64", "c64", "c128")).call
