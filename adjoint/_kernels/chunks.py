"""The work of a built-in on large arrays, cut into chunks: what a job consists of, and the function that computes some of its chunks.

An entry (entry.py) describes the job; threads (workers.py) call the function for the chunks that fall to them.

A huge result leaves the caches before anybody reads it. So its chunks, which are small, are computed in a buffer and stored from there past
the caches, line by line: memory that is written as usual is read first, which takes a third of the time of an addition.
"""

from __future__ import annotations

from . import target
from .blocks import Function
from .memory import LINE

MOST = 8  # arguments of a built-in
ARRAY, TRUTH, NUMBER = range(3)  # their kinds: an array of the type at hand, an array of truth values, a Python number
DIMENSIONS = 8  # of a result that operands are broadcast to, at most
ROOM = 8192  # bytes of an operand that are gathered in a buffer
SPARE = 32  # bytes behind them, for a vector that begins inside

# What a job consists of, in 64-bit words. A block of the result is cut into `PIECES` chunks, of which the last may be shorter. `GATHERED`
# has a bit for each operand that does not lie in memory like the result.
LOOP, OUT, OUT_ITEM, COUNT, GATHERED, CHUNK, BLOCK, PIECES, SIZE, NUMBERS, WRONG, OPERANDS = range(12)
ITEMS = OPERANDS + MOST
# If there are operands to gather: the rows in a block, and how many chunks there are; one more than the number of the operand that stands
# still while the loop runs, if there is one; whether each chunk is a row that every operand has in one piece; the result's shape and
# strides; the axes of the work, the innermost first; and how far apart, in bytes, the elements of the first operand are along each of
# these, then those of the others.
ROWS, UNITS, STILL, BY_ROWS, RANK = range(ITEMS + MOST, ITEMS + MOST + 5)
EXTENTS = RANK + 1
STRIDES = EXTENTS + DIMENSIONS
AXES = STRIDES + DIMENSIONS
AXIS = AXES + 1
STEPS = AXIS + DIMENSIONS
WORDS = STEPS + MOST * DIMENSIONS

BUFFER = 1024  # bytes of a chunk that is stored past the caches: while it is on its way, the next one is computed


def stream_text() -> str:
    """The function that stores some bytes past the caches; those that share a line with others as usual."""
    lanes = target.current().float_lanes
    vector, size = f"<{lanes} x float>", 4 * lanes
    stores = "".join(
        f"""
  %source{part} = getelementptr i8, ptr %source, i64 {part * size}
  %target{part} = getelementptr i8, ptr %target, i64 {part * size}
  %value{part} = load {vector}, ptr %source{part}, align 4
  store {vector} %value{part}, ptr %target{part}, align {size}, !nontemporal !0"""
        for part in range(LINE // size)
    )
    return f"""
define internal void @stream(ptr noalias %to, ptr noalias %from, i64 %bytes) {{
entry:
  %address = ptrtoint ptr %to to i64
  %before = sub i64 0, %address
  %gap = and i64 %before, {LINE - 1}
  %head = call i64 @llvm.umin.i64(i64 %gap, i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %head, i1 false)
  %rest = sub i64 %bytes, %head
  %whole = and i64 %rest, -{LINE}
  %end = add i64 %head, %whole
  %some = icmp ne i64 %whole, 0
  br i1 %some, label %line, label %tail
line:
  %place = phi i64 [%head, %entry], [%next, %line]
  %source = getelementptr i8, ptr %from, i64 %place
  %target = getelementptr i8, ptr %to, i64 %place{stores}
  %next = add i64 %place, {LINE}
  %more = icmp ult i64 %next, %end
  br i1 %more, label %line, label %tail
tail:
  %tail_from = getelementptr i8, ptr %from, i64 %end
  %tail_to = getelementptr i8, ptr %to, i64 %end
  %left = sub i64 %bytes, %end
  call void @llvm.memcpy.p0.p0.i64(ptr %tail_to, ptr %tail_from, i64 %left, i1 false)
  ret void
}}
!0 = !{{i32 1}}
"""


def chunks_text(streams: bool) -> str:
    """The function that computes the chunks of a job from one number to before another; with `streams`, past the caches if they fit into
    the buffer."""
    f = Function("chunks", "ptr %job", "i64 %first", "i64 %last")

    def word(place: str | int, type_: str = "i64") -> str:
        return f.load(type_, f.at("i64", "%job", place))

    buffer = f"[{ROOM + SPARE} x i8]"
    here, kept, buffers = f.room(f"[{MOST} x ptr]"), f.room(f"[{2 * MOST} x i64]"), f.room(f"[{MOST} x {buffer}]", align=LINE)
    loop, out, numbers = word(LOOP, "ptr"), word(OUT, "ptr"), word(NUMBERS, "ptr")
    item, count, gathered, size = word(OUT_ITEM), word(COUNT), word(GATHERED), word(SIZE)
    chunk, block, rows, pieces = word(CHUNK), word(BLOCK), word(ROWS), word(PIECES)
    near = f.room(f"[{BUFFER} x i8]", align=LINE) if streams else ""
    fits = f.let(f"icmp ule i64 {f.mul(chunk, item)}, {BUFFER}")
    f.do(f"call void @llvm.memset.p0.i64(ptr {kept}, i8 0, i64 {16 * MOST}, i1 false)")
    wrong, left = f.variable("i1", "false"), f.variable("i64", f.sub("%last", "%first"))

    def compute(start: str, length: str) -> None:
        """Run the loop over what `here` points to."""
        far = f.at("i8", out, f.mul(start, item))
        where = f.pick(fits, "ptr", near, far) if streams else far
        bad = f.let(f"call i1 {loop}(ptr {where}, ptr {here}, ptr {numbers}, i64 {length})")
        wrong.set(f.either(wrong.get(), bad))
        if streams:
            with f.when(fits):
                f.do(f"call void @stream(ptr {far}, ptr {near}, i64 {f.mul(length, item)})")

    with f.positive(left):
        unit = f.sub("%last", left.get())
        number = f.quotient(unit, pieces)
        column = f.mul(f.sub(unit, f.mul(number, pieces)), chunk)
        start = f.add(f.mul(number, block), column)
        length = f.smaller(chunk, f.smaller(f.sub(block, column), f.sub(size, start)))
        with f.loop(count) as k:
            place = f.at("ptr", here, k)
            gathers = f.let(f"trunc i64 {f.let(f'lshr i64 {gathered}, {k}')} to i1")
            with f.when(gathers):
                given = f"i64 {k}, i64 {f.mul(number, rows)}, i64 {column}, i64 {length}"
                f.do(f"call void @gather(ptr %job, {given}, ptr {f.at(buffer, buffers, k)}, ptr {kept}, ptr {place})")
            with f.when(f.invert(gathers)):
                offset = f.mul(start, word(f.add(k, ITEMS)))
                f.store("ptr", f.at("i8", word(f.add(k, OPERANDS), "ptr"), offset), place)
        compute(start, length)
        left.set(f.sub(left.get(), 1))
        with f.when(f.less("0", word(BY_ROWS))):  # those after the first, until the next axis ends, are found by a step
            axis = word(AXIS + 1)
            following = f.smaller(left.get(), f.sub(f.sub(axis, 1), f.let(f"urem i64 {unit}, {axis}")))
            with f.loop(following) as row:
                with f.loop(count) as k:
                    place = f.at("ptr", here, k)
                    step = word(f.add(f.mul(k, DIMENSIONS), STEPS + 1))
                    f.store("ptr", f.at("i8", f.load("ptr", place), step), place)
                compute(f.add(start, f.mul(f.add(row, 1), length)), length)
            left.set(f.sub(left.get(), following))
    with f.when(wrong.get()):
        f.store("i64", "1", f.at("i64", "%job", WRONG))
    if streams:
        f.do("fence seq_cst")
    return (stream_text() if streams else "") + f.text(internal=True)
