"""The entry of all built-ins: it checks the arguments, finds or makes the result, and runs a loop over memory.

There are three, for the three places where a result may go; what they have to expect, and which loops there are, is in the table of the
built-in at hand. So an entry is compiled once for all formulas, and a formula is no more than its loops:

    i1 loop(result, arrays, numbers, n)     # whether a number was met that cannot be computed with
    i64 choose(table, objects, numbers, others)     # which of several loops; -1 for none

A loop that is not there yet is asked for: its place goes into the table, and the call to the fallback. So are the cases of a type of
elements that has not been met yet.

Arrays of one shape, one element after the other, are the usual case, and need nothing else to be known. If any array is another, it is
found out how it is broadcast, what the shape of the result is and how it lies in memory, and what has to be gathered (broadcast.py).

The loop runs over a chunk at a time; the chunks of large arrays are computed without the GIL, and shared among threads (workers.py).
"""

from __future__ import annotations

from . import chunks as job
from .broadcast import broadcast_text
from .chunks import MOST, NUMBER, TRUTH, chunks_text
from .emit_types import KINDS as TYPES
from .memory import HUGE
from .objects import (
    ALIGNED,
    BOOL,
    CONTIGUOUS_ALIGNED,
    DATA,
    DEC_REF,
    DESCR,
    ERR_CLEAR,
    ERR_OCCURRED,
    FALLBACK,
    FLAGS,
    FLOAT,
    INC_REF,
    INT,
    LONG_AS_DOUBLE,
    NDARRAY,
    NDIM,
    NEW_LIKE,
    OWN,
    RESTORE_THREAD,
    SAVE_THREAD,
    SHAPE,
    VECTORCALL,
    WRITEABLE,
)

LARGEST = 1 << 15  # elements that are computed while the GIL is held, at most; of more, half as many are computed at a time

# Places in the table of a built-in, after those that all have.
COUNT, LIKE, ASKED, ALONE, SHARE, STATE, NEW_ARRAY, APART, TELLS, KINDS = range(OWN, OWN + 10)  # the kinds are those of the arguments
RECORDS = KINDS + MOST  # one for each type of elements
# What is in a record: the dtype, the size of an element, whether the loops are known, the function that chooses among them, dtype and
# element size of the result, the range of numbers that may be given, and whether they have to be integers.
DTYPE, SIZE, READY, CHOOSE, RESULT, RESULT_SIZE, LEAST, GREATEST, WHOLE, RECORD = range(10)
# Loops of the first case for each type, then of the next; `APART` words later those for when the first operand stands still, then the next.
LOOPS = RECORDS + RECORD * len(TYPES)

UNKNOWN, KNOWN, REFUSED = range(3)  # whether there are loops for a type
MEMORY = 1  # what is asked for if it is not the place of a loop: memory for a huge result

# Where the result goes: to a new array, into the first argument, into an array that comes before the arguments.
NEW, FIRST, GIVEN = "new", "first", "given"


DECLARED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
"""


def text(into: str) -> str:
    """A module of its own for each place where a result may go: few programs need all three."""
    return DECLARED + chunks_text(streams=into == GIVEN) + broadcast_text(into == NEW, into == GIVEN) + entry_text(into)


def entry_text(into: str) -> str:
    """An entry, from its arguments to the result. Its parts are joined in the order in which they run."""
    shift = 1 if into == GIVEN else 0  # the arguments begin after the result
    result = new_result_text() if into == NEW else given_result_text()
    return "".join(
        [
            opening_text(into, shift), sizes_text(), arguments_text(shift), array_text(into), number_text(), next_argument_text(),
            choice_text(shift), unlike_text(), "looped:", result, at_once_text(shift), job_text(into, shift), sharing_text(),
            ending_text(into),
        ]
    )  # fmt: skip


# ---- what is read and written -------------------------------------------------------------------------------------------------------


def of_table(register: str, place: int | str, type_: str = "i64") -> str:
    """Read a word of the table."""
    return f"%{register}_at = getelementptr i64, ptr %table, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"


def of_record(register: str, place: int, type_: str = "i64") -> str:
    """Read a word of the record of the type."""
    return f"%{register}_at = getelementptr i64, ptr %record, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"


def of_object(register: str, of: str, offset: int, type_: str) -> str:
    """Read a field of an object."""
    return f"%{register}_at = getelementptr i8, ptr {of}, i64 {offset}\n  %{register} = load {type_}, ptr %{register}_at"


def of_job(register: str, place: int) -> str:
    """Read a word of the job."""
    return f"%{register}_at = getelementptr i64, ptr %job, i64 {place}\n  %{register} = load i64, ptr %{register}_at"


def to_job(value: str, place: int, type_: str = "i64") -> str:
    """Write a word of the job."""
    return f"%job{place} = getelementptr i64, ptr %job, i64 {place}\n  store {type_} {value}, ptr %job{place}"


# ---- the arguments ------------------------------------------------------------------------------------------------------------------


def opening_text(into: str, shift: int) -> str:
    """Count the arguments, and find the record of the type of elements."""
    return f"""
define ptr @entry_{into}(ptr %self, ptr %args, i64 %n) {{
entry:
  %data = alloca [{MOST + 1} x ptr]
  %numbers = alloca [{MOST} x double]
  %job = alloca [{job.WORDS} x i64]
  {of_object("table", "%self", DATA, "ptr")}
  {of_table("count", COUNT)}
  %expected = add i64 %count, {shift}
  %right_count = icmp eq i64 %n, %expected
  br i1 %right_count, label %counted, label %slow
counted:
  {of_table("like_place", LIKE)}
  %like_argument = add i64 %like_place, {shift}
  %like_slot = getelementptr ptr, ptr %args, i64 %like_argument
  %like = load ptr, ptr %like_slot
  {of_object("like_type", "%like", 8, "i64")}
  {of_table("ndarray", NDARRAY)}
  %like_is_array = icmp eq i64 %like_type, %ndarray
  br i1 %like_is_array, label %typed, label %slow
typed:
  {of_object("descr", "%like", DESCR, "i64")}
  {of_table("truth", BOOL)}
  {of_object("ndim32", "%like", NDIM, "i32")}
  %ndim = sext i32 %ndim32 to i64
  {of_object("shape", "%like", SHAPE, "ptr")}
  br label %search
search:
  %type_number = phi i64 [0, %typed], [%type_next, %compare]
  %no_type = icmp eq i64 %type_number, {len(TYPES)}
  br i1 %no_type, label %slow, label %compare
compare:
  %records_before = mul i64 %type_number, {RECORD}
  %record_place = add i64 %records_before, {RECORDS}
  %record = getelementptr i64, ptr %table, i64 %record_place
  {of_record("candidate", DTYPE)}
  %found_type = icmp eq i64 %candidate, %descr
  %type_next = add i64 %type_number, 1
  br i1 %found_type, label %recorded, label %search
recorded:
  {of_record("item", SIZE)}
  {of_record("ready", READY)}
  {of_record("choose", CHOOSE, "ptr")}
  {of_record("result_descr", RESULT)}
  {of_record("out_item", RESULT_SIZE)}
  {of_record("least", LEAST, "double")}
  {of_record("greatest", GREATEST, "double")}
  {of_record("whole_only", WHOLE)}
  %not_whole_only = icmp eq i64 %whole_only, 0
  %known = icmp eq i64 %ready, {KNOWN}
  br i1 %known, label %sizes, label %not_ready
not_ready:
  %unknown = icmp eq i64 %ready, {UNKNOWN}
  %ready_place = add i64 %record_place, {READY}
  br i1 %unknown, label %ask, label %slow
"""


def sizes_text() -> str:
    """How many elements the array has that the others are compared with."""
    return """sizes:
  %d = phi i64 [0, %recorded], [%d_next, %size_step]
  %usual_size = phi i64 [1, %recorded], [%size_next, %size_step]
  %all_sizes = icmp eq i64 %d, %ndim
  br i1 %all_sizes, label %arguments, label %size_step
size_step:
  %extent_at = getelementptr i64, ptr %shape, i64 %d
  %extent = load i64, ptr %extent_at
  %size_next = mul i64 %usual_size, %extent
  %d_next = add i64 %d, 1
  br label %sizes
"""


def arguments_text(shift: int) -> str:
    """For each argument: an array, or a number."""
    return f"""arguments:
  %i = phi i64 [{-shift}, %sizes], [%i_next, %argument_done]
  %others = phi i64 [0, %sizes], [%others_next, %argument_done]
  %usual = phi i1 [true, %sizes], [%usual_next, %argument_done]
  %all_arguments = icmp eq i64 %i, %count
  br i1 %all_arguments, label %accepted, label %argument
argument:
  %place = add i64 %i, {shift}
  %slot = getelementptr ptr, ptr %args, i64 %place
  %object = load ptr, ptr %slot
  {of_object("type", "%object", 8, "i64")}
  %kind_place = add i64 %i, {KINDS}
  {of_table("kind", "%kind_place")}
  %is_number = icmp eq i64 %kind, {NUMBER}
  br i1 %is_number, label %number, label %array

"""


def array_text(into: str) -> str:
    """An array of the right type; `usual` if it has the shape of the others and lies in C order."""
    return f"""array:
  %is_array = icmp eq i64 %type, %ndarray
  br i1 %is_array, label %array_facts, label %slow
array_facts:
  %is_truth = icmp eq i64 %kind, {TRUTH}
  %of_operand = select i1 %is_truth, i64 %truth, i64 %descr
  %is_result = icmp slt i64 %i, 0
  %wanted = select i1 %is_result, i64 %result_descr, i64 %of_operand
  {of_object("own_descr", "%object", DESCR, "i64")}
  %same_descr = icmp eq i64 %own_descr, %wanted
  {of_object("own_ndim32", "%object", NDIM, "i32")}
  %same_ndim = icmp eq i32 %own_ndim32, %ndim32
  {of_object("flags", "%object", FLAGS, "i32")}
  %dense_bits = and i32 %flags, {CONTIGUOUS_ALIGNED}
  %dense = icmp eq i32 %dense_bits, {CONTIGUOUS_ALIGNED}
  %writeable_bits = and i32 %flags, {WRITEABLE}
  %writeable = icmp ne i32 %writeable_bits, 0
  %is_read = icmp ne i64 %place, 0
  %may_write = or i1 %writeable, {"true" if into == NEW else "%is_read"}
  %suits = and i1 %same_descr, %may_write
  {of_object("own_shape", "%object", SHAPE, "ptr")}
  br i1 %suits, label %layout, label %slow
layout:
  %comparable = and i1 %dense, %same_ndim
  br i1 %comparable, label %extents, label %unusual
extents:
  %e = phi i64 [0, %layout], [%e_next, %extent_same]
  %all_extents = icmp eq i64 %e, %ndim
  br i1 %all_extents, label %array_suits, label %extent_step
extent_step:
  %one_at = getelementptr i64, ptr %shape, i64 %e
  %one = load i64, ptr %one_at
  %other_at = getelementptr i64, ptr %own_shape, i64 %e
  %other = load i64, ptr %other_at
  %same_extent = icmp eq i64 %one, %other
  br i1 %same_extent, label %extent_same, label %unusual
extent_same:
  %e_next = add i64 %e, 1
  br label %extents
unusual:
  %aligned_bits = and i32 %flags, {ALIGNED}
  %aligned = icmp ne i32 %aligned_bits, 0
  %dense_enough = or i1 %dense, {"true" if into == NEW else "%is_read"}
  %may_be_walked = and i1 %aligned, %dense_enough
  br i1 %may_be_walked, label %array_suits, label %slow
array_suits:
  %own_usual = phi i1 [true, %extents], [false, %unusual]
  {of_object("memory", "%object", DATA, "ptr")}
  %data_slot = getelementptr ptr, ptr %data, i64 %place
  store ptr %memory, ptr %data_slot
  br label %argument_done

"""


def number_text() -> str:
    """A number, in double precision; what is none gets a bit in `others`, for who chooses the loop."""
    return f"""number:
  {of_table("float_type", FLOAT)}
  %is_python_float = icmp eq i64 %type, %float_type
  br i1 %is_python_float, label %python_float, label %not_float
python_float:
  {of_object("float_value", "%object", 16, "double")}
  br i1 %not_whole_only, label %number_done, label %slow
not_float:
  {of_table("int_type", INT)}
  %is_int = icmp eq i64 %type, %int_type
  br i1 %is_int, label %python_int, label %other_object
python_int:
  {of_table("as_double", LONG_AS_DOUBLE, "ptr")}
  %int_value = call double %as_double(ptr %object)
  %suspicious = fcmp oeq double %int_value, -1.0
  br i1 %suspicious, label %perhaps_error, label %int_fine
perhaps_error:
  {of_table("error_occurred", ERR_OCCURRED, "ptr")}
  %error_type = call ptr %error_occurred()
  %no_error = icmp eq ptr %error_type, null
  br i1 %no_error, label %int_fine, label %too_large
too_large:
  {of_table("error_clear", ERR_CLEAR, "ptr")}
  call void %error_clear()
  br label %slow
int_fine:
  %too_low = fcmp olt double %int_value, %least
  %too_high = fcmp ogt double %int_value, %greatest
  %out_of_range = or i1 %too_low, %too_high
  br i1 %out_of_range, label %slow, label %number_done
other_object:
  %own_bit = shl i64 1, %i
  br label %number_done
number_done:
  %number_value = phi double [%float_value, %python_float], [%int_value, %int_fine], [0.0, %other_object]
  %other_bit = phi i64 [0, %python_float], [0, %int_fine], [%own_bit, %other_object]
  %number_slot = getelementptr double, ptr %numbers, i64 %i
  store double %number_value, ptr %number_slot
  br label %argument_done

"""


def next_argument_text() -> str:
    """What is known of all arguments so far."""
    return """argument_done:
  %more_others = phi i64 [0, %array_suits], [%other_bit, %number_done]
  %also_usual = phi i1 [%own_usual, %array_suits], [true, %number_done]
  %others_next = or i64 %others, %more_others
  %usual_next = and i1 %usual, %also_usual
  %i_next = add i64 %i, 1
  br label %arguments

"""


# ---- the loop -----------------------------------------------------------------------------------------------------------------------


def choice_text(shift: int) -> str:
    """Which of several loops it is, and how many elements it is given at a time."""
    return f"""accepted:
  %has_choice = icmp ne ptr %choose, null
  br i1 %has_choice, label %choice, label %no_choice
no_choice:
  %numbers_only = icmp eq i64 %others, 0
  br i1 %numbers_only, label %chosen, label %slow
choice:
  %objects = getelementptr ptr, ptr %args, i64 {shift}
  %picked = call i64 %choose(ptr %table, ptr %objects, ptr %numbers, i64 %others)
  %none = icmp slt i64 %picked, 0
  br i1 %none, label %slow, label %chosen
chosen:
  %case = phi i64 [0, %no_choice], [%picked, %choice]
  %case_place = mul i64 %case, {len(TYPES)}
  %typed_place = add i64 %case_place, %type_number
  %usual_place = add i64 %typed_place, {LOOPS}
  {of_table("alone", ALONE)}
  %costly = icmp slt i64 %alone, {LARGEST}
  %held_most = select i1 %costly, i64 %alone, i64 {LARGEST}
  %own_chunk = lshr i64 %held_most, 1
  br i1 %usual, label %decided, label %unlike
"""


def unlike_text() -> str:
    """Find out how unlike arrays are walked, and read the loop's address; ask for it if there is none."""
    return f"""unlike:
  %kinds = getelementptr i64, ptr %table, i64 {KINDS}
  {of_table("tells", TELLS)}
  call void @layout(ptr %args, ptr %kinds, i64 %count, i64 %tells, i64 %item, i64 %out_item, i64 %own_chunk, ptr %job)
  {of_job("axes", job.AXES)}
  {of_job("unlike_size", job.SIZE)}
  {of_job("unlike_chunk", job.CHUNK)}
  {of_job("unlike_units", job.UNITS)}
  {of_job("still", job.STILL)}
  {of_table("apart", APART)}
  %places_before = mul i64 %still, %apart
  %unlike_place = add i64 %usual_place, %places_before
  %cannot = icmp eq i64 %axes, 0
  br i1 %cannot, label %slow, label %decided
decided:
  %size = phi i64 [%usual_size, %chosen], [%unlike_size, %unlike]
  %loop_place = phi i64 [%usual_place, %chosen], [%unlike_place, %unlike]
  %given_chunk = phi i64 [0, %chosen], [%unlike_chunk, %unlike]
  %given_units = phi i64 [0, %chosen], [%unlike_units, %unlike]
  {of_table("loop", "%loop_place", "ptr")}
  %missing = icmp eq ptr %loop, null
  br i1 %missing, label %ask, label %looped
"""


# ---- the result ---------------------------------------------------------------------------------------------------------------------


def new_result_text() -> str:
    """A new array; memory for a huge one is asked for."""
    return f"""
  %bytes = mul i64 %size, %out_item
  %fits = icmp slt i64 %bytes, {HUGE}
  br i1 %fits, label %make, label %ask
make:
  {of_record("result_type", RESULT, "ptr")}
  %same_type_results = icmp eq i64 %result_descr, %descr
  %known_type = and i1 %same_type_results, %usual
  br i1 %known_type, label %values, label %other_type
other_type:
  {of_table("keep_type", INC_REF, "ptr")}
  call void %keep_type(ptr %result_type)
  br label %values
values:
  %new_type = phi ptr [%result_type, %other_type], [null, %make]
  br i1 %usual, label %new_like, label %new_shape
new_like:
  {of_table("like_maker", NEW_LIKE, "ptr")}
  %made_like = call ptr %like_maker(ptr %like, i32 0, ptr %new_type, i32 0)
  br label %tried
new_shape:
  {of_table("maker", NEW_ARRAY, "ptr")}
  {of_table("array_type", NDARRAY, "ptr")}
  %rank_at = getelementptr i64, ptr %job, i64 {job.RANK}
  %rank = load i32, ptr %rank_at
  %new_extents = getelementptr i64, ptr %job, i64 {job.EXTENTS}
  %new_strides = getelementptr i64, ptr %job, i64 {job.STRIDES}
  %made_shape = call ptr %maker(ptr %array_type, ptr %new_type, i32 %rank, ptr %new_extents, ptr %new_strides, ptr null, i32 0, ptr null)
  br label %tried
tried:
  %result = phi ptr [%made_like, %new_like], [%made_shape, %new_shape]
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %error, label %made
error:
  ret ptr null
made:
  {of_object("out", "%result", DATA, "ptr")}"""


def given_result_text() -> str:
    """The first argument."""
    return f"""
  %result = load ptr, ptr %args
  {of_table("keep", INC_REF, "ptr")}
  call void %keep(ptr %result)
  %out = load ptr, ptr %data"""


# ---- the work -----------------------------------------------------------------------------------------------------------------------


def at_once_text(shift: int) -> str:
    """Few elements of usual arrays are one call of the loop."""
    return f"""
  %small = icmp sle i64 %size, %held_most
  %usual_small = and i1 %small, %usual
  %nothing = icmp eq i64 %size, 0
  %direct = or i1 %usual_small, %nothing
  br i1 %direct, label %at_once, label %prepare
at_once:
  %arrays = getelementptr ptr, ptr %data, i64 {shift}
  %once_wrong = call i1 %loop(ptr %out, ptr %arrays, ptr %numbers, i64 %size)
  br label %finished
"""


def job_text(into: str, shift: int) -> str:
    """Describe the job, of which the layout has done its part where arrays are unlike."""
    return f"""prepare:
  {to_job("%loop", job.LOOP, "ptr")}
  {to_job("%out", job.OUT, "ptr")}
  {to_job("%out_item", job.OUT_ITEM)}
  {to_job("%count", job.COUNT)}
  {to_job("%numbers", job.NUMBERS, "ptr")}
  {to_job("0", job.WRONG)}
  br i1 %usual, label %one_block, label %cut
one_block:
  %stream_chunk = sdiv i64 {job.BUFFER}, %out_item
  %usual_chunk = select i1 {"true" if into == GIVEN else "false"}, i64 %stream_chunk, i64 %own_chunk
  %up = add i64 %size, %usual_chunk
  %up_less = sub i64 %up, 1
  %usual_units = sdiv i64 %up_less, %usual_chunk
  {to_job("0", job.GATHERED)}
  {to_job("0", job.BY_ROWS)}
  {to_job("%usual_chunk", job.CHUNK)}
  {to_job("%size", job.BLOCK)}
  {to_job("%usual_units", job.PIECES)}
  {to_job("%size", job.SIZE)}
  br label %describe
describe:
  %k = phi i64 [0, %one_block], [%k_next, %described]
  %all_described = icmp eq i64 %k, %count
  br i1 %all_described, label %cut, label %described
described:
  %k_argument = add i64 %k, {shift}
  %k_from = getelementptr ptr, ptr %data, i64 %k_argument
  %k_data = load ptr, ptr %k_from
  %k_data_place = add i64 %k, {job.OPERANDS}
  %k_data_at = getelementptr ptr, ptr %job, i64 %k_data_place
  store ptr %k_data, ptr %k_data_at
  %k_kind_place = add i64 %k, {KINDS}
  {of_table("k_kind", "%k_kind_place")}
  %k_truth = icmp eq i64 %k_kind, {TRUTH}
  %k_item = select i1 %k_truth, i64 1, i64 %item
  %k_item_place = add i64 %k, {job.ITEMS}
  %k_item_at = getelementptr i64, ptr %job, i64 %k_item_place
  store i64 %k_item, ptr %k_item_at
  %k_next = add i64 %k, 1
  br label %describe
"""


def sharing_text() -> str:
    """Compute the chunks: holding the GIL, without it, or with other threads."""
    return f"""cut:
  %chunk = phi i64 [%given_chunk, %prepare], [%usual_chunk, %describe]
  %units = phi i64 [%given_units, %prepare], [%usual_units, %describe]
  br i1 %small, label %held, label %unheld
held:
  call void @chunks(ptr %job, i64 0, i64 %units)
  br label %computed
unheld:
  {of_table("save", SAVE_THREAD, "ptr")}
  %thread = call ptr %save()
  {of_table("share", SHARE, "ptr")}
  %few = icmp sle i64 %size, %alone
  %nobody = icmp eq ptr %share, null
  %by_itself = or i1 %few, %nobody
  br i1 %by_itself, label %itself, label %together
itself:
  call void @chunks(ptr %job, i64 0, i64 %units)
  br label %back
together:
  {of_table("state", STATE, "ptr")}
  %wished = sdiv i64 %own_chunk, %chunk
  %several = icmp sgt i64 %wished, 1
  %step = select i1 %several, i64 %wished, i64 1
  call void %share(ptr %state, ptr @chunks, ptr %job, i64 %units, i64 %step)
  br label %back
back:
  {of_table("restore", RESTORE_THREAD, "ptr")}
  call void %restore(ptr %thread)
  br label %computed
computed:
  %job_result = load i64, ptr %job{job.WRONG}
  %job_bad = icmp ne i64 %job_result, 0
  br label %finished
finished:
  %wrong = phi i1 [%once_wrong, %at_once], [%job_bad, %computed]"""


def ending_text(into: str) -> str:
    """Return the result, or let the fallback compute it."""
    huge = f", [{MEMORY}, %looped]" if into == NEW else ""
    return f"""
  br i1 %wrong, label %outside, label %done
outside:
  {of_table("drop", DEC_REF, "ptr")}
  call void %drop(ptr %result)
  br label %slow
done:
  ret ptr %result

ask:
  %asked_place = phi i64 [%ready_place, %not_ready], [%loop_place, %decided]{huge}
  %asked = getelementptr i64, ptr %table, i64 {ASKED}
  store i64 %asked_place, ptr %asked
  br label %slow
slow:
  {of_table("vectorcall", VECTORCALL, "ptr")}
  {of_table("fallback", FALLBACK, "ptr")}
  %passed = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %n, ptr null)
  ret ptr %passed
}}
"""
