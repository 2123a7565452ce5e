"""The work of a built-in on large arrays, cut into chunks: what a job consists of, and the function that computes some of its chunks.

An entry (entry.py) describes the job; threads (workers.py) call the function for the chunks that fall to them.
"""

from __future__ import annotations

MOST = 8  # arguments of a built-in

# What a job consists of, in 64-bit words: the arrays' memory and the sizes of their elements come last.
JOB_LOOP, JOB_OUT, JOB_ITEM, JOB_COUNT, JOB_ROWS, JOB_CHUNK, JOB_SIZE, JOB_NUMBERS, JOB_WRONG, JOB_DATA = range(10)
JOB_ITEMS = JOB_DATA + MOST
JOB_WORDS = JOB_ITEMS + MOST


def chunks_text() -> str:
    """The function that computes the chunks of a job from one number to before another."""

    def word(register: str, place: int, type_: str = "i64") -> str:
        return f"%{register}_at = getelementptr i64, ptr %job, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"

    return f"""
define internal void @chunks(ptr %job, i64 %first, i64 %last) {{
entry:
  %here = alloca [{MOST} x ptr]
  {word("loop", JOB_LOOP, "ptr")}
  {word("out", JOB_OUT, "ptr")}
  {word("item", JOB_ITEM)}
  {word("count", JOB_COUNT)}
  {word("rows", JOB_ROWS)}
  {word("chunk", JOB_CHUNK)}
  {word("size", JOB_SIZE)}
  {word("numbers", JOB_NUMBERS, "ptr")}
  br label %next
next:
  %place = phi i64 [%first, %entry], [%place_next, %run]
  %wrong = phi i1 [false, %entry], [%wrong_next, %run]
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
  %bad = call i1 %loop(ptr %out_here, ptr %here, ptr %numbers, i64 %length)
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
  ret void
}}
"""
