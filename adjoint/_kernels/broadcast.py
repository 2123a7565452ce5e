"""Operands of a built-in that are broadcast or have gaps, and how they get to a loop that knows contiguous memory only.

    layout(args, kinds, count, tells, item, out_item, largest, job)     # the result's shape and strides, how to walk and to cut the work
    gather(job, k, row, column, count, buffer, kept, found)         # where so many elements of operand k are

The result lies in memory like the first operand whose strides tell (`_layout.memory_order` is the same rule), and is written in that order.
Dimensions along which all operands go on evenly are one, so a matrix and a column have two dimensions left, and an array and a number one.
A chunk of the work is some rows (of the last of these dimensions), or a part of a long row. What an operand has for it is found in its own
memory if it lies there in one piece, and is gathered in a buffer, small enough for the nearest cache, if it does not. A buffer that holds
the right numbers already is used again: for all parts of a row, if the operand is a column, and for all rows, if it is a row. Where rows
are long, one operand that stands still along them, such as a column, needs no buffer: there is a loop for it that reads it once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import chunks as job
from .blocks import Function, Variable
from .objects import DATA, NDIM, SHAPE, STRIDES
from .vectors import repeated

LONG = 128  # elements of a row that is worth a call of the loop
SHORT = 31  # elements of a row for which an operand is sooner repeated in a buffer than read once by a loop of its own
MANY = 4096  # elements of a result that is worth such a loop


def broadcast_text(new: bool, streams: bool) -> str:
    """The functions. With `new` the result's shape is whatever it turns out to be, otherwise that of the first argument; with `streams`
    the operands come after that, and chunks of the result go through a buffer."""
    return layout_text(new, streams) + gather_text() + move_text()


def layout_text(new: bool, streams: bool) -> str:
    return Layout(new, streams).text()


class Layout:
    """Writes the function `layout`: each method a part of it, in the order in which they run. What a part finds out are attributes."""

    def __init__(self, new: bool, streams: bool) -> None:
        self.new, self.streams = new, streams
        arguments = ("ptr %args", "ptr %kinds", "i64 %count", "i64 %tells", "i64 %item", "i64 %out_item", "i64 %largest", "ptr %job")
        self.f = Function("layout", *arguments)

    def text(self) -> str:
        self.find_extents()
        self.order_dimensions()
        self.join_axes()
        self.compare_operands()
        if not self.new:
            self.compare_target()
        self.put(job.AXES, self.f.pick(self.fits.get(), "i64", self.axes.get(), 0))
        self.cut_chunks()
        return self.f.text(internal=True, inline=False)

    def put(self, place: str | int, value: str) -> None:
        """Write a word of the job."""
        self.f.store("i64", value, self.f.at("i64", "%job", place))

    def field(self, array: str, offset: int, type_: str = "ptr") -> str:
        return self.f.load(type_, self.f.at("i8", array, offset))

    def dimensions(self, array: str) -> str:
        return self.f.let(f"sext i32 {self.field(array, NDIM, 'i32')} to i64")

    @contextmanager
    def each_operand(self, first: str = "0") -> Iterator[tuple[str, str, str]]:
        """For each operand: its number, the array, and where its steps are."""
        f = self.f
        with f.loop("%count") as place:
            k = place if first == "0" else f.let(f"urem i64 {f.add(place, first)}, %count")
            kind = f.load("i64", "%kinds", k)
            with f.when(f.invert(f.equal(kind, job.NUMBER))):
                array = f.load("ptr", "%args", f.add(k, int(self.streams)))
                yield k, array, f.at("i64", "%job", f.add(f.mul(k, job.DIMENSIONS), job.STEPS))

    def extent_of(self, array: str, d: str, keep: bool = False) -> tuple[str, str]:
        """The extent and the step of an array along a dimension, counted from the last; 1 and 0 where it has none. The step is 0 too where
        there is but one element, unless `keep` asks for it."""
        f = self.f
        extent, step = f.variable("i64", "1"), f.variable("i64", "0")
        ndim = self.dimensions(array)
        with f.when(f.less(d, ndim)):
            place = f.sub(f.sub(ndim, d), 1)
            extent.set(f.load("i64", self.field(array, SHAPE), place))
            with f.when("true" if keep else f.invert(f.equal(extent.get(), 1))):
                step.set(f.load("i64", self.field(array, STRIDES), place))
        return extent.get(), step.get()

    def whole_extent(self, d: str) -> str:
        """The extent of the result."""
        return self.f.load("i64", "%job", self.f.add(self.f.sub(self.ndim, d), job.EXTENTS - 1))

    def find_extents(self) -> None:
        """The shape of the result, and whether the operands broadcast to it."""
        f = self.f
        self.rank, self.size, self.axes = rank, size, _ = f.variable("i64", "0"), f.variable("i64", "1"), f.variable("i64", "0")
        with self.each_operand() as (_, array, _):
            rank.set(f.larger(rank.get(), self.dimensions(array)))
        self.fits = fits = f.variable("i1", f.less(rank.get(), job.DIMENSIONS + 1))
        self.ndim = ndim = f.pick(fits.get(), "i64", rank.get(), 0)
        self.put(job.RANK, ndim)
        with f.loop(ndim) as d:
            extent = f.variable("i64", "1")
            with self.each_operand() as (_, array, _):
                own, _ = self.extent_of(array, d)
                with f.when(f.invert(f.equal(own, 1))):
                    agrees = f.either(f.equal(extent.get(), 1), f.equal(extent.get(), own))
                    fits.set(f.both(fits.get(), agrees))
                    extent.set(own)
            self.put(f.add(f.sub(ndim, d), job.EXTENTS - 1), extent.get())
            size.set(f.mul(size.get(), extent.get()))

    def order_dimensions(self) -> None:
        """The dimensions, counted from the last: first the one that varies fastest. Those of a new result are sorted by the strides of the
        operands, and have strides of their own."""
        f, ndim = self.f, self.ndim
        self.order = order = f.room(f"[{job.DIMENSIONS} x i64]")
        with f.loop(ndim) as d:
            f.store("i64", d, f.at("i64", order, d))
        if not self.new:
            return
        with f.loop(ndim, 1) as i:
            at, moving = f.variable("i64", i), f.variable("i1", "true")
            with f.loop(i) as passed, f.when(moving.get()):
                before = f.sub(f.sub(i, passed), 1)
                inner, outer = f.load("i64", order, before), f.load("i64", order, at.get())
                verdict = self.verdict(inner, outer)
                with f.when(f.less("0", verdict.get())):
                    f.store("i64", outer, f.at("i64", order, before))
                    f.store("i64", inner, f.at("i64", order, at.get()))
                    at.set(before)
                moving.set(f.invert(f.less(verdict.get(), 0)))
        stride = f.variable("i64", "%out_item")
        with f.loop(ndim) as a:
            d = f.load("i64", order, a)
            self.put(f.add(f.sub(ndim, d), job.STRIDES - 1), stride.get())
            stride.set(f.mul(stride.get(), f.larger(self.whole_extent(d), 1)))

    def verdict(self, inner: str, outer: str) -> Variable:
        """Whether two dimensions change places: 1 if so, -1 if not, 0 if no operand tells."""
        f = self.f
        verdict = f.variable("i64", "0")
        with self.each_operand("%tells") as (_, array, _), f.when(f.equal(verdict.get(), 0)):
            steps_of = []
            for d in (inner, outer):
                own, step = self.extent_of(array, d, keep=True)
                repeated_there = f.both(f.equal(own, 1), f.invert(f.equal(self.whole_extent(d), 1)))
                steps_of.append(f.pick(repeated_there, "i64", 0, step))
            one, other = steps_of
            tells = f.invert(f.either(f.equal(one, 0), f.equal(other, 0)))
            falls = f.less(other, one)
            ties = f.both(f.equal(one, other), f.less(self.whole_extent(outer), self.whole_extent(inner)))
            said = f.pick(f.either(falls, ties), "i64", 1, f.pick(f.less(one, other), "i64", -1, 0))
            verdict.set(f.pick(tells, "i64", said, 0))
        return verdict

    def join_axes(self) -> None:
        """Walk the dimensions as few axes: neighbours along which all operands go on evenly are one."""
        f, axes = self.f, self.axes
        with f.loop(self.ndim) as turn:
            d = f.load("i64", self.order, turn)
            extent = f.variable("i64", self.whole_extent(d))
            with f.when(f.invert(f.equal(extent.get(), 1))):
                next_axis, before = axes.get(), f.larger(f.sub(axes.get(), 1), 0)
                here = f.at("i64", "%job", f.add(before, job.AXIS))
                joins = f.variable("i1", f.less("0", next_axis))
                with self.each_operand() as (_, array, steps):
                    _, step = self.extent_of(array, d)
                    f.store("i64", step, f.at("i64", steps, next_axis))
                    goes_on = f.equal(step, f.mul(f.load("i64", steps, before), f.load("i64", here)))
                    joins.set(f.both(joins.get(), goes_on))
                with f.when(joins.get()):
                    f.store("i64", f.mul(f.load("i64", here), extent.get()), here)
                with f.when(f.invert(joins.get())):
                    self.put(f.add(next_axis, job.AXIS), extent.get())
                    axes.set(f.add(next_axis, 1))
        with f.when(f.equal(axes.get(), 0)):  # a single element
            self.put(job.AXIS, "1")
            axes.set("1")
            with self.each_operand() as (_, _, steps):
                f.store("i64", "0", steps)

    def compare_operands(self) -> None:
        """Which operands lie in memory like the result, and which one stands still along the first axis. If the result is given, operands
        that do not lie like it have to be in C order, if there is none that does."""
        f = self.f
        self.row = row = f.larger(f.load("i64", "%job", job.AXIS), 1)
        long, may_stand = f.less(str(LONG - 1), row), f.both(f.less(str(SHORT), row), f.less(str(MANY), self.size.get()))
        gathered, still, buffered = f.variable("i64", "0"), f.variable("i64", "0"), f.variable("i1", "false")
        self.ordered, self.some_dense = ordered, some_dense = f.variable("i1", "true"), f.variable("i1", "false")
        with self.each_operand() as (k, array, steps):
            kind = f.load("i64", "%kinds", k)
            item = f.pick(f.equal(kind, job.TRUTH), "i64", 1, "%item")
            self.put(f.add(k, job.ITEMS), item)
            self.put(f.add(k, job.OPERANDS), self.field(array, DATA, "i64"))
            dense, like_result, last = f.variable("i64", item), f.variable("i1", "true"), f.variable("i64", "0")
            with f.loop(self.axes.get()) as a:
                step = f.load("i64", steps, a)
                like_result.set(f.both(like_result.get(), f.equal(step, dense.get())))
                dense.set(f.mul(dense.get(), f.load("i64", "%job", f.add(a, job.AXIS))))
                length = f.pick(f.less(step, 0), "i64", f.sub("0", step), step)
                with f.when(f.invert(f.equal(step, 0))):
                    ordered.set(f.both(ordered.get(), f.invert(f.less(length, last.get()))))
                    last.set(length)
            some_dense.set(f.either(some_dense.get(), like_result.get()))
            bit = f.let(f"shl i64 {f.let(f'zext i1 {f.invert(like_result.get())} to i64')}, {k}")
            gathered.set(f.let(f"or i64 {gathered.get()}, {bit}"))
            first_step = f.load("i64", steps)
            stands = f.both(f.both(may_stand, f.equal(still.get(), 0)), f.equal(first_step, 0))
            still.set(f.pick(stands, "i64", f.add(k, 1), still.get()))
            buffered.set(f.either(buffered.get(), f.invert(f.either(stands, f.equal(first_step, item)))))
        self.in_place = f.both(f.invert(buffered.get()), f.either(long, f.less("0", still.get())))
        self.by_row = f.either(self.in_place, long)  # otherwise a chunk may have several rows, in which nothing stands still
        self.put(job.GATHERED, gathered.get())
        self.put(job.STILL, f.pick(self.by_row, "i64", still.get(), 0))

    def compare_target(self) -> None:
        """A result that is given has the right shape, and lies in memory in an order that operands can be read in."""
        f, fits = self.f, self.fits
        fits.set(f.both(fits.get(), f.either(self.ordered.get(), self.some_dense.get())))
        target = f.load("ptr", "%args")
        fits.set(f.both(fits.get(), f.equal(self.dimensions(target), self.rank.get())))
        with f.when(fits.get()), f.loop(self.ndim) as d:
            same = f.equal(f.load("i64", self.field(target, SHAPE), d), f.load("i64", "%job", f.add(d, job.EXTENTS)))
            fits.set(f.both(fits.get(), same))

    def cut_chunks(self) -> None:
        f, row, size = self.f, self.row, self.size.get
        most = f.pick(self.in_place, "i64", "%largest", f.let(f"udiv i64 {job.ROOM}, %item"))
        if self.streams:
            most = f.smaller(most, f.let(f"udiv i64 {job.BUFFER}, %out_item"))
        rows = f.pick(self.by_row, "i64", 1, f.larger(f.quotient(most, row), 1))
        block = f.mul(row, rows)
        chunk = f.smaller(block, most)
        pieces = f.quotient_up(block, chunk)
        units = f.mul(f.quotient_up(size(), block), pieces)
        by_rows = f.let(f"zext i1 {f.both(f.both(self.in_place, f.equal(pieces, 1)), f.less('1', self.axes.get()))} to i64")
        for where, value in (
            (job.SIZE, size()), (job.ROWS, rows), (job.BLOCK, block), (job.CHUNK, chunk), (job.PIECES, pieces), (job.UNITS, units),
            (job.BY_ROWS, by_rows),
        ):  # fmt: skip
            self.put(where, value)


def gather_text() -> str:
    f = Function("gather", "ptr %job", "i64 %k", "i64 %row", "i64 %column", "i64 %count", "ptr %buffer", "ptr %kept", "ptr %found")
    axes, extent = f.load("i64", "%job", job.AXES), f.load("i64", "%job", job.AXIS)
    item, base = (f.load("i64", "%job", f.add("%k", place)) for place in (job.ITEMS, job.OPERANDS))
    steps = f.at("i64", "%job", f.add(f.mul("%k", job.DIMENSIONS), job.STEPS))
    step = f.load("i64", steps)
    steady = f.variable("i1", "true")  # whether all rows are the same

    def locate(row: str, column: str) -> tuple[str, str]:
        """Where an element is, and how many rows there are from it on before an axis ends that is not the next."""
        rest, place, left = f.variable("i64", row), f.variable("i64", f.add(base, f.mul(column, step))), f.variable("i64", "1")
        with f.loop(axes, 1) as a:
            length, own = f.load("i64", "%job", f.add(a, job.AXIS)), f.load("i64", steps, a)
            over = f.quotient(rest.get(), length)
            index = f.sub(rest.get(), f.mul(over, length))
            rest.set(over)
            place.set(f.add(place.get(), f.mul(index, own)))
            steady.set(f.both(steady.get(), f.equal(own, 0)))
            with f.when(f.equal(a, 1)):
                left.set(f.sub(length, index))
        return place.get(), left.get()

    source, further = locate("%row", "%column")
    within = f.invert(f.less(f.sub(extent, "%column"), "%count"))
    stands = f.equal(f.load("i64", "%job", job.STILL), f.add("%k", 1))
    in_place = f.both(within, f.either(stands, f.equal(step, item)))
    kept = f.at("[2 x i64]", "%kept", "%k")  # from where the buffer was filled, and how far
    kept_count = f.at("i64", kept, 1)
    next_step = f.variable("i64", "0")
    with f.when(f.less("1", axes)):
        next_step.set(f.load("i64", steps, 1))
    same_rows = f.both(f.equal(next_step.get(), 0), f.invert(f.less(f.mul(further, extent), "%count")))
    repeats = f.either(f.either(steady.get(), same_rows), f.both(within, f.equal(step, 0)))
    enough = f.both(f.equal(f.load("i64", kept), source), f.invert(f.less(f.load("i64", kept_count), "%count")))
    f.store("ptr", f.pick(in_place, "ptr", f.let(f"inttoptr i64 {source} to ptr"), "%buffer"), "%found")
    with f.when(f.invert(f.either(in_place, f.both(repeats, enough)))):
        f.store("i64", source, kept)
        f.store("i64", "%count", kept_count)
        row, column, left = f.variable("i64", "%row"), f.variable("i64", "%column"), f.variable("i64", "%count")
        target = f.variable("ptr", "%buffer")
        with f.positive(left):
            place, further = locate(row.get(), column.get())
            run = f.smaller(left.get(), f.sub(extent, column.get()))
            rows = f.smaller(further, f.larger(f.quotient(left.get(), extent), 1))
            rows = f.pick(f.equal(run, extent), "i64", rows, 1)
            moved = f.let(f"inttoptr i64 {place} to ptr"), item, step, run, rows, next_step.get()
            f.do("call void @move(ptr {}, ptr {}, i64 {}, i64 {}, i64 {}, i64 {}, i64 {})".format(target.get(), *moved))
            done = f.mul(run, rows)
            target.set(f.at("i8", target.get(), f.mul(done, item)))
            row.set(f.add(row.get(), rows))
            column.set("0")
            left.set(f.sub(left.get(), done))
    return f.text(internal=True, inline=False)


def move_text() -> str:
    """Some rows of elements, `step` bytes apart, to contiguous memory. A repeated element is written by whole vectors, beyond the end of a
    row: what comes there is written next."""
    f = Function("move", "ptr %to", "ptr %from", "i64 %item", "i64 %step", "i64 %run", "i64 %rows", "i64 %between")
    length = f.mul("%run", "%item")
    in_one_piece = f.equal("%step", "%item")

    def both_ends(row: str) -> tuple[str, str]:
        return f.at("i8", "%from", f.mul(row, "%between")), f.at("i8", "%to", f.mul(row, length))

    with f.when(in_one_piece), f.loop("%rows") as row:
        source, target = both_ends(row)
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {length}, i1 false)")
    for size in (1, 2, 4, 8, 16):
        type_, lanes, align = f"i{8 * size}", job.SPARE // size, min(size, 8)
        sized = f.equal("%item", size)
        with f.when(f.both(sized, f.equal("%step", 0))), f.loop("%rows") as row:
            source, target = both_ends(row)
            vector = repeated(f, type_, lanes, f.load(type_, source, align=align))
            with f.loop("%run", step=lanes) as i:
                f.store(f"<{lanes} x {type_}>", vector, f.at(type_, target, i), align=align)
        with f.when(f.both(sized, f.invert(f.either(in_one_piece, f.equal("%step", 0))))), f.loop("%rows") as row:
            source, target = both_ends(row)
            with f.loop("%run") as i:
                value = f.load(type_, f.at("i8", source, f.mul(i, "%step")), align=align)
                f.store(type_, value, f.at(type_, target, i), align=align)
    return f.text(internal=True, inline=False)
