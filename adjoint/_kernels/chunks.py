"""The work of a built-in on large arrays, cut into chunks: what a job consists of, and the function that computes some of its chunks.

An entry (entry.py) describes the job; threads (workers.py) call the function for the chunks that fall to them.

A huge result leaves the caches before anybody reads it. So its chunks, which are small, are computed in a buffer and stored from there past
the caches, line by line: memory that is written as usual is read first, which takes a third of the time of an addition.
"""

from __future__ import annotations

from . import jit
from .memory import LINE

MOST = 8  # arguments of a built-in

# What a job consists of, in 64-bit words: the arrays' memory and the sizes of their elements come last.
JOB_LOOP, JOB_OUT, JOB_ITEM, JOB_COUNT, JOB_ROWS, JOB_CHUNK, JOB_SIZE, JOB_NUMBERS, JOB_WRONG, JOB_DATA = range(10)
JOB_ITEMS = JOB_DATA + MOST
JOB_WORDS = JOB_ITEMS + MOST

BUFFER = 1024  # bytes of a chunk that is stored past the caches: while it is on its way, the next one is computed


def stream_text() -> str:
    """The function that stores some bytes past the caches; those that share a line with others as usual."""
    lanes = jit.float_lanes()
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
declare i64 @llvm.umin.i64(i64, i64)
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
    where, store = "%out_here", ""
    if streams:
        where = "%near"
        store = """
  br i1 %fits, label %past, label %ran
past:
  %length_bytes = mul i64 %length, %item
  call void @stream(ptr %out_here, ptr %buffer, i64 %length_bytes)"""

    def word(register: str, place: int, type_: str = "i64") -> str:
        return f"%{register}_at = getelementptr i64, ptr %job, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"

    return f"""{stream_text() if streams else ""}
define internal void @chunks(ptr %job, i64 %first, i64 %last) {{
entry:
  %here = alloca [{MOST} x ptr]
  %buffer = alloca [{BUFFER if streams else 0} x i8], align {LINE}
  {word("loop", JOB_LOOP, "ptr")}
  {word("out", JOB_OUT, "ptr")}
  {word("item", JOB_ITEM)}
  {word("count", JOB_COUNT)}
  {word("rows", JOB_ROWS)}
  {word("chunk", JOB_CHUNK)}
  {word("size", JOB_SIZE)}
  {word("numbers", JOB_NUMBERS, "ptr")}
  %chunk_bytes = mul i64 %chunk, %item
  %fits = icmp ule i64 %chunk_bytes, {BUFFER}
  br label %next
next:
  %place = phi i64 [%first, %entry], [%place_next, %ran]
  %wrong = phi i1 [false, %entry], [%wrong_next, %ran]
  %more = icmp slt i64 %place, %last
  br i1 %more, label %pointers, label %done
pointers:
  %start = mul i64 %place, %chunk
  br label %pointer
pointer:
  %h = phi i64 [0, %pointers], [%h_next, %point]
  %all = icmp eq i64 %h, %count
  br i1 %all, label %run, label %point
point:
  %bit = lshr i64 %rows, %h
  %row = trunc i64 %bit to i1
  %data_place = add i64 %h, {JOB_DATA}
  %data_at = getelementptr ptr, ptr %job, i64 %data_place
  %data = load ptr, ptr %data_at
  %own_place = add i64 %h, {JOB_ITEMS}
  %own_at = getelementptr i64, ptr %job, i64 %own_place
  %own = load i64, ptr %own_at
  %bytes = mul i64 %start, %own
  %offset = select i1 %row, i64 0, i64 %bytes
  %pointed = getelementptr i8, ptr %data, i64 %offset
  %target = getelementptr ptr, ptr %here, i64 %h
  store ptr %pointed, ptr %target
  %h_next = add i64 %h, 1
  br label %pointer
run:
  %left = sub i64 %size, %start
  %whole = icmp slt i64 %chunk, %left
  %length = select i1 %whole, i64 %chunk, i64 %left
  %out_bytes = mul i64 %start, %item
  %out_here = getelementptr i8, ptr %out, i64 %out_bytes
  %near = select i1 %fits, ptr %buffer, ptr %out_here
  %bad = call i1 %loop(ptr {where}, ptr %here, ptr %numbers, i64 %length){store}
  br label %ran
ran:
  %wrong_next = or i1 %wrong, %bad
  %place_next = add i64 %place, 1
  br label %next
done:
  br i1 %wrong, label %mark, label %end
mark:
  %mark_at = getelementptr i64, ptr %job, i64 {JOB_WRONG}
  store i64 1, ptr %mark_at
  br label %end
end:
  {"fence seq_cst" if streams else ""}
  ret void
}}
"""
