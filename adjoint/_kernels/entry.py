"""The entry of all built-ins: it checks the arguments, finds or makes the result, and runs a loop over memory.

There are three, for the three places where a result may go; what they have to expect, and which loops there are, is in the table of the
built-in at hand. So an entry is compiled once for all formulas, and a formula is no more than its loops:

    i1 loop(result, arrays, numbers, n)     # whether a number was met that cannot be computed with
    i64 choose(table, objects, numbers, others)     # which of several loops; -1 for none

A loop that is not there yet is asked for: its place goes into the table, and the call to the fallback. So are the cases of a type of
elements that has not been met yet.

The result has the shape of the first array, or of a later one that is larger. Others may be broadcast against it if they repeat as a
whole: a bias along rows, a mask for a batch, a single number, a row that was expanded. A short one is copied several times over, and the
loop run from one end of the copies to the other, again and again. The loop runs over a chunk at a time; the chunks of large arrays are
computed without the GIL, and shared among threads (workers.py).
"""

from __future__ import annotations

from .chunks import (
    BUFFER,
    JOB_CHUNK,
    JOB_COUNT,
    JOB_DATA,
    JOB_ITEM,
    JOB_ITEMS,
    JOB_LOOP,
    JOB_NUMBERS,
    JOB_OUT,
    JOB_ROWS,
    JOB_SIZE,
    JOB_WORDS,
    JOB_WRONG,
    MOST,
    chunks_text,
)
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
    STRIDES,
    VECTORCALL,
    WRITEABLE,
)

LARGEST = 1 << 15  # elements that are computed while the GIL is held, at most; of more, half as many are computed at a time
TILE = 512  # elements to which an array that is broadcast is extended by repetition

# Places in the table of a built-in, after those that all have.
COUNT, LIKE, ASKED, ALONE, SHARE, STATE, OUT_KIND, KINDS = range(OWN, OWN + 8)  # the kinds are those of the result and of the arguments
RECORDS = KINDS + MOST  # one for each type of elements
# What is in a record: the dtype, the size of an element, whether the loops are known, the function that chooses among them, dtype and
# element size of the result, the range of numbers that may be given, and whether they have to be integers.
DTYPE, SIZE, READY, CHOOSE, RESULT, RESULT_SIZE, LEAST, GREATEST, WHOLE, RECORD = range(10)
LOOPS = RECORDS + RECORD * len(TYPES)  # of the first case for each type, then of the next

ARRAY, TRUTH, NUMBER = range(3)  # kinds: an array of the type at hand, an array of truth values, a Python number
UNKNOWN, KNOWN, REFUSED = range(3)  # whether there are loops for a type

# Where the result goes: to a new array, into the first argument, into an array that comes before the arguments.
NEW, FIRST, GIVEN = "new", "first", "given"

def text(into: str) -> str:
    """A module of its own for each place where a result may go: few programs need all three."""
    return "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + chunks_text(streams=into == GIVEN) + entry_text(into)


def entry_text(into: str) -> str:
    shift = 1 if into == GIVEN else 0  # the arguments begin after the result

    def entry(register: str, place: int | str, type_: str = "i64") -> str:
        """Read an entry of the table."""
        return f"%{register}_at = getelementptr i64, ptr %table, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"

    def put(register: str, place: int, type_: str = "i64") -> str:
        """Write a word of the job."""
        return f"%job_{register} = getelementptr i64, ptr %job, i64 {place}\n  store {type_} %{register}, ptr %job_{register}"

    def field(register: str, of: str, offset: int, type_: str) -> str:
        """Read a field of an object."""
        return f"%{register}_at = getelementptr i8, ptr {of}, i64 {offset}\n  %{register} = load {type_}, ptr %{register}_at"

    huge = "br label %arguments"
    if into == NEW:
        huge = f"%bytes = mul i64 %size, %out_item\n  %fits = icmp slt i64 %bytes, {HUGE}\n  br i1 %fits, label %arguments, label %slow"

    def part(register: str, place: int, type_: str = "i64") -> str:
        """Read a word of the record of the type."""
        return f"%{register}_at = getelementptr i64, ptr %record, i64 {place}\n  %{register} = load {type_}, ptr %{register}_at"

    new_result = f"""
  {entry("new_like", NEW_LIKE, "ptr")}
  {part("result_type", RESULT, "ptr")}
  %same_type_results = icmp eq i64 %result_descr, %descr
  br i1 %same_type_results, label %values, label %other_type
other_type:
  {entry("keep_type", INC_REF, "ptr")}
  call void %keep_type(ptr %result_type)
  br label %values
values:
  %new_type = phi ptr [%result_type, %other_type], [null, %looped]
  %result = call ptr %new_like(ptr %like, i32 0, ptr %new_type, i32 0)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %error, label %made
error:
  ret ptr null
made:
  {field("out", "%result", DATA, "ptr")}"""
    given_result = f"""
  %result = load ptr, ptr %args
  {entry("keep", INC_REF, "ptr")}
  call void %keep(ptr %result)
  %out = load ptr, ptr %data"""

    # What happens to an array of another shape than the result's.
    other_shape = f"""
other_shape:
  %lead = sub i64 %ndim, %own_ndim
  %shorter = icmp sge i64 %lead, 0
  %is_operand = icmp sge i64 %i, 0
  %may_repeat = and i1 %shorter, %is_operand
  br i1 %may_repeat, label %suffix, label %larger
suffix:
  %s = phi i64 [0, %other_shape], [%s_next, %suffix_fits]
  %started = phi i1 [false, %other_shape], [%started_next, %suffix_fits]
  %suffix_period = phi i64 [1, %other_shape], [%period_next, %suffix_fits]
  %all_suffix = icmp eq i64 %s, %own_ndim
  br i1 %all_suffix, label %repeats, label %suffix_step
suffix_step:
  %own_extent_at = getelementptr i64, ptr %own_shape, i64 %s
  %own_extent = load i64, ptr %own_extent_at
  %their_place = add i64 %lead, %s
  %their_extent_at = getelementptr i64, ptr %shape, i64 %their_place
  %their_extent = load i64, ptr %their_extent_at
  %equal_extent = icmp eq i64 %own_extent, %their_extent
  %is_one = icmp eq i64 %own_extent, 1
  %leading_one = select i1 %started, i1 false, i1 %is_one
  %extent_fits = or i1 %equal_extent, %leading_one
  br i1 %extent_fits, label %suffix_fits, label %larger
suffix_fits:
  %not_one = xor i1 %is_one, true
  %started_next = or i1 %started, %not_one
  %period_next = mul i64 %suffix_period, %own_extent
  %s_next = add i64 %s, 1
  br label %suffix
repeats:
  %own_period = phi i64 [%suffix_period, %suffix], [%dense_part, %expanded]
  %first_period = icmp eq i64 %period, 0
  %same_period = icmp eq i64 %period, %own_period
  %period_fits = or i1 %first_period, %same_period
  %row_bit = shl i64 1, %i
  br i1 %period_fits, label %array_suits, label %slow
larger:
  %is_first_try = icmp eq i64 %tries, 0
  %is_of_type = icmp eq i64 %kind, {ARRAY}
  %may_be_like = and i1 %is_operand, {"false" if into == FIRST else "%is_of_type"}
  %tries_again = and i1 %is_first_try, %may_be_like
  br i1 %tries_again, label %typed, label %slow"""

    # An array of the result's shape that is not contiguous: its last dimensions have to be, and it repeats along the others.
    expanded = f"""
not_dense:
  %aligned_bits = and i32 %flags, {ALIGNED}
  %aligned = icmp ne i32 %aligned_bits, 0
  %may_be_expanded = and i1 %aligned, {"true" if into == NEW else "%is_read"}
  %is_candidate = and i1 %may_be_expanded, %same_ndim
  {field("own_strides", "%object", STRIDES, "ptr")}
  %own_size = select i1 %is_truth, i64 1, i64 %item
  br i1 %is_candidate, label %expanded, label %slow
expanded:
  %from = phi i64 [%ndim, %not_dense], [%axis, %expanded_fits]
  %dense_part = phi i64 [1, %not_dense], [%dense_next, %expanded_fits]
  %ended = phi i1 [false, %not_dense], [%ended_next, %expanded_fits]
  %all_axes = icmp eq i64 %from, 0
  br i1 %all_axes, label %repeats, label %expanded_step
expanded_step:
  %axis = sub i64 %from, 1
  %axis_extent_at = getelementptr i64, ptr %own_shape, i64 %axis
  %axis_extent = load i64, ptr %axis_extent_at
  %like_extent_at = getelementptr i64, ptr %shape, i64 %axis
  %like_extent = load i64, ptr %like_extent_at
  %stride_at = getelementptr i64, ptr %own_strides, i64 %axis
  %stride = load i64, ptr %stride_at
  %dense_stride = mul i64 %dense_part, %own_size
  %continues = icmp eq i64 %stride, %dense_stride
  %still = select i1 %ended, i1 false, i1 %continues
  %stands = icmp eq i64 %stride, 0
  %is_flat = icmp eq i64 %axis_extent, 1
  %any_stride = or i1 %stands, %is_flat
  %stride_fits = or i1 %any_stride, %still
  %same_axis = icmp eq i64 %axis_extent, %like_extent
  %axis_fits = and i1 %stride_fits, %same_axis
  br i1 %axis_fits, label %expanded_fits, label %slow
expanded_fits:
  %factor = select i1 %still, i64 %axis_extent, i64 1
  %dense_next = mul i64 %dense_part, %factor
  %repeats_here = select i1 %is_flat, i1 false, i1 %stands
  %ended_next = or i1 %ended, %repeats_here
  br label %expanded"""

    # What is broadcast is repeated to the length of a chunk, if it is short.
    repeated = f"""
  %nothing = icmp eq i64 %size, 0
  %no_rows = icmp eq i64 %rows, 0
  %plainly = or i1 %no_rows, %nothing
  br i1 %plainly, label %compute, label %tiles
tiles:
  %short = icmp ule i64 %period, {TILE // 2}
  %fitting = udiv i64 {TILE}, %period
  %times = select i1 %short, i64 %fitting, i64 1
  %tiled = mul i64 %period, %times
  br label %tile_each
tile_each:
  %t = phi i64 [0, %tiles], [%t_next, %tile_next]
  %all_tiles = icmp eq i64 %t, %count
  br i1 %all_tiles, label %compute, label %tile_one
tile_one:
  %t_bit = lshr i64 %rows, %t
  %t_odd = trunc i64 %t_bit to i1
  %t_copies = and i1 %t_odd, %short
  %t_place = add i64 %t, {shift}
  %t_slot = getelementptr ptr, ptr %data, i64 %t_place
  %t_source = load ptr, ptr %t_slot
  %t_kind_place = add i64 %t, {KINDS}
  {entry("t_kind", "%t_kind_place")}
  %t_truth = icmp eq i64 %t_kind, {TRUTH}
  %t_size = select i1 %t_truth, i64 1, i64 %item
  %t_bytes = mul i64 %period, %t_size
  %t_buffer = getelementptr [{2 * TILE} x double], ptr %buffers, i64 %t
  br i1 %t_copies, label %tile_copy, label %tile_next
tile_copy:
  %c = phi i64 [0, %tile_one], [%c_next, %tile_copy]
  %c_offset = mul i64 %c, %t_bytes
  %c_target = getelementptr i8, ptr %t_buffer, i64 %c_offset
  call void @llvm.memcpy.p0.p0.i64(ptr %c_target, ptr %t_source, i64 %t_bytes, i1 false)
  %c_next = add i64 %c, 1
  %c_more = icmp ult i64 %c_next, %times
  br i1 %c_more, label %tile_copy, label %tile_copied
tile_copied:
  store ptr %t_buffer, ptr %t_slot
  br label %tile_next
tile_next:
  %t_next = add i64 %t, 1
  br label %tile_each
compute:
  %given_chunk = phi i64 [0, %{"made" if into == NEW else "looped"}], [%tiled, %tile_each]
  %plain = phi i1 [true, %{"made" if into == NEW else "looped"}], [false, %tile_each]
  {entry("alone", ALONE)}
  %costly = icmp slt i64 %alone, {LARGEST}
  %held_most = select i1 %costly, i64 %alone, i64 {LARGEST}
  %own_chunk = lshr i64 %held_most, 1
  %stream_chunk = sdiv i64 {BUFFER}, %out_item
  %chunk = select i1 %plain, i64 {"%stream_chunk" if into == GIVEN else "%own_chunk"}, i64 %given_chunk
  %small = icmp sle i64 %size, %held_most
  %single = icmp sle i64 %size, %chunk
  %plain_small = and i1 %small, %plain
  %direct = or i1 %plain_small, %single
  %arrays = getelementptr ptr, ptr %data, i64 {shift}
  br i1 %direct, label %at_once, label %prepare
at_once:
  %once_wrong = call i1 %loop(ptr %out, ptr %arrays, ptr %numbers, i64 %size)
  br label %finished
prepare:
  {put("loop", JOB_LOOP, "ptr")}
  {put("out", JOB_OUT, "ptr")}
  {put("out_item", JOB_ITEM)}
  {put("count", JOB_COUNT)}
  {put("rows", JOB_ROWS)}
  {put("chunk", JOB_CHUNK)}
  {put("size", JOB_SIZE)}
  {put("numbers", JOB_NUMBERS, "ptr")}
  %job_wrong = getelementptr i64, ptr %job, i64 {JOB_WRONG}
  store i64 0, ptr %job_wrong
  br label %describe
describe:
  %k = phi i64 [0, %prepare], [%k_next, %described]
  %all_described = icmp eq i64 %k, %count
  br i1 %all_described, label %cut, label %described
described:
  %k_from = getelementptr ptr, ptr %arrays, i64 %k
  %k_data = load ptr, ptr %k_from
  %k_data_place = add i64 %k, {JOB_DATA}
  %k_data_at = getelementptr ptr, ptr %job, i64 %k_data_place
  store ptr %k_data, ptr %k_data_at
  %k_kind_place = add i64 %k, {KINDS}
  {entry("k_kind", "%k_kind_place")}
  %k_truth = icmp eq i64 %k_kind, {TRUTH}
  %k_item = select i1 %k_truth, i64 1, i64 %item
  %k_item_place = add i64 %k, {JOB_ITEMS}
  %k_item_at = getelementptr i64, ptr %job, i64 %k_item_place
  store i64 %k_item, ptr %k_item_at
  %k_next = add i64 %k, 1
  br label %describe
cut:
  %up = add i64 %size, %chunk
  %up_less = sub i64 %up, 1
  %units = sdiv i64 %up_less, %chunk
  br i1 %small, label %held, label %unheld
held:
  call void @chunks(ptr %job, i64 0, i64 %units)
  br label %computed
unheld:
  {entry("save", SAVE_THREAD, "ptr")}
  %thread = call ptr %save()
  {entry("share", SHARE, "ptr")}
  %few = icmp sle i64 %size, %alone
  %nobody = icmp eq ptr %share, null
  %by_itself = or i1 %few, %nobody
  br i1 %by_itself, label %itself, label %together
itself:
  call void @chunks(ptr %job, i64 0, i64 %units)
  br label %back
together:
  {entry("state", STATE, "ptr")}
  %wished = sdiv i64 %own_chunk, %chunk
  %several = icmp sgt i64 %wished, 1
  %step = select i1 %several, i64 %wished, i64 1
  call void %share(ptr %state, ptr @chunks, ptr %job, i64 %units, i64 %step)
  br label %back
back:
  {entry("restore", RESTORE_THREAD, "ptr")}
  call void %restore(ptr %thread)
  br label %computed
computed:
  %job_result = load i64, ptr %job_wrong
  %job_bad = icmp ne i64 %job_result, 0
  br label %finished
finished:
  %wrong = phi i1 [%once_wrong, %at_once], [%job_bad, %computed]"""

    return f"""
define ptr @entry_{into}(ptr %self, ptr %args, i64 %n) {{
entry:
  %data = alloca [{MOST + 1} x ptr]
  %numbers = alloca [{MOST} x double]
  %buffers = alloca [{MOST} x [{2 * TILE} x double]]
  %job = alloca [{JOB_WORDS} x i64]
  {field("table", "%self", DATA, "ptr")}
  {entry("count", COUNT)}
  %expected = add i64 %count, {shift}
  %right_count = icmp eq i64 %n, %expected
  br i1 %right_count, label %counted, label %slow
counted:
  {entry("like_place", LIKE)}
  %like_argument = add i64 %like_place, {shift}
  %like_slot = getelementptr ptr, ptr %args, i64 %like_argument
  %first_like = load ptr, ptr %like_slot
  {field("like_type", "%first_like", 8, "i64")}
  {entry("ndarray", NDARRAY)}
  %like_is_array = icmp eq i64 %like_type, %ndarray
  br i1 %like_is_array, label %typed, label %slow
typed:
  %like = phi ptr [%first_like, %counted], [%object, %larger]
  %tries = phi i64 [0, %counted], [1, %larger]
  {field("descr", "%like", DESCR, "i64")}
  {entry("truth", BOOL)}
  {field("ndim32", "%like", NDIM, "i32")}
  %ndim = sext i32 %ndim32 to i64
  {field("shape", "%like", SHAPE, "ptr")}
  br label %search
search:
  %type_number = phi i64 [0, %typed], [%type_next, %compare]
  %no_type = icmp eq i64 %type_number, {len(TYPES)}
  br i1 %no_type, label %slow, label %compare
compare:
  %records_before = mul i64 %type_number, {RECORD}
  %record_place = add i64 %records_before, {RECORDS}
  %record = getelementptr i64, ptr %table, i64 %record_place
  {part("candidate", DTYPE)}
  %found_type = icmp eq i64 %candidate, %descr
  %type_next = add i64 %type_number, 1
  br i1 %found_type, label %recorded, label %search
recorded:
  {part("item", SIZE)}
  {part("ready", READY)}
  {part("choose", CHOOSE, "ptr")}
  {part("result_descr", RESULT)}
  {part("out_item", RESULT_SIZE)}
  {part("least", LEAST, "double")}
  {part("greatest", GREATEST, "double")}
  {part("whole_only", WHOLE)}
  %not_whole_only = icmp eq i64 %whole_only, 0
  %known = icmp eq i64 %ready, {KNOWN}
  br i1 %known, label %sizes, label %not_ready
not_ready:
  %unknown = icmp eq i64 %ready, {UNKNOWN}
  %ready_place = add i64 %record_place, {READY}
  br i1 %unknown, label %ask, label %slow
sizes:
  %d = phi i64 [0, %recorded], [%d_next, %size_step]
  %size = phi i64 [1, %recorded], [%size_next, %size_step]
  %all_sizes = icmp eq i64 %d, %ndim
  br i1 %all_sizes, label %sized, label %size_step
size_step:
  %extent_at = getelementptr i64, ptr %shape, i64 %d
  %extent = load i64, ptr %extent_at
  %size_next = mul i64 %size, %extent
  %d_next = add i64 %d, 1
  br label %sizes
sized:
  {huge}
arguments:
  %i = phi i64 [{-shift}, %sized], [%i_next, %argument_done]
  %others = phi i64 [0, %sized], [%others_next, %argument_done]
  %rows = phi i64 [0, %sized], [%rows_next, %argument_done]
  %period = phi i64 [0, %sized], [%common_period, %argument_done]
  %all_arguments = icmp eq i64 %i, %count
  br i1 %all_arguments, label %accepted, label %argument
argument:
  %place = add i64 %i, {shift}
  %slot = getelementptr ptr, ptr %args, i64 %place
  %object = load ptr, ptr %slot
  {field("type", "%object", 8, "i64")}
  %kind_place = add i64 %i, {KINDS}
  {entry("kind", "%kind_place")}
  %is_number = icmp eq i64 %kind, {NUMBER}
  br i1 %is_number, label %number, label %array

array:
  %is_array = icmp eq i64 %type, %ndarray
  br i1 %is_array, label %array_facts, label %slow
array_facts:
  %is_truth = icmp eq i64 %kind, {TRUTH}
  %of_operand = select i1 %is_truth, i64 %truth, i64 %descr
  %is_result = icmp slt i64 %i, 0
  %wanted = select i1 %is_result, i64 %result_descr, i64 %of_operand
  {field("own_descr", "%object", DESCR, "i64")}
  %same_descr = icmp eq i64 %own_descr, %wanted
  {field("own_ndim32", "%object", NDIM, "i32")}
  %own_ndim = sext i32 %own_ndim32 to i64
  %same_ndim = icmp eq i32 %own_ndim32, %ndim32
  {field("flags", "%object", FLAGS, "i32")}
  %dense_bits = and i32 %flags, {CONTIGUOUS_ALIGNED}
  %dense = icmp eq i32 %dense_bits, {CONTIGUOUS_ALIGNED}
  %writeable_bits = and i32 %flags, {WRITEABLE}
  %writeable = icmp ne i32 %writeable_bits, 0
  %is_read = icmp ne i64 %place, 0
  %may_write = or i1 %writeable, {"true" if into == NEW else "%is_read"}
  %suits = and i1 %same_descr, %may_write
  {field("own_shape", "%object", SHAPE, "ptr")}
  br i1 %suits, label %layout, label %slow
layout:
  br i1 %dense, label %dimensions, label %not_dense
dimensions:
  br i1 %same_ndim, label %extents, label %other_shape
extents:
  %e = phi i64 [0, %dimensions], [%e_next, %extent_same]
  %all_extents = icmp eq i64 %e, %ndim
  br i1 %all_extents, label %array_suits, label %extent_step
extent_step:
  %one_at = getelementptr i64, ptr %shape, i64 %e
  %one = load i64, ptr %one_at
  %other_at = getelementptr i64, ptr %own_shape, i64 %e
  %other = load i64, ptr %other_at
  %same_extent = icmp eq i64 %one, %other
  br i1 %same_extent, label %extent_same, label %other_shape
extent_same:
  %e_next = add i64 %e, 1
  br label %extents{other_shape}{expanded}
array_suits:
  %own_row = phi i64 [0, %extents], [%row_bit, %repeats]
  %new_period = phi i64 [%period, %extents], [%own_period, %repeats]
  {field("memory", "%object", DATA, "ptr")}
  %data_slot = getelementptr ptr, ptr %data, i64 %place
  store ptr %memory, ptr %data_slot
  br label %argument_done

number:
  {entry("float_type", FLOAT)}
  %is_python_float = icmp eq i64 %type, %float_type
  br i1 %is_python_float, label %python_float, label %not_float
python_float:
  {field("float_value", "%object", 16, "double")}
  br i1 %not_whole_only, label %number_done, label %slow
not_float:
  {entry("int_type", INT)}
  %is_int = icmp eq i64 %type, %int_type
  br i1 %is_int, label %python_int, label %other_object
python_int:
  {entry("as_double", LONG_AS_DOUBLE, "ptr")}
  %int_value = call double %as_double(ptr %object)
  %suspicious = fcmp oeq double %int_value, -1.0
  br i1 %suspicious, label %perhaps_error, label %int_fine
perhaps_error:
  {entry("error_occurred", ERR_OCCURRED, "ptr")}
  %error_type = call ptr %error_occurred()
  %no_error = icmp eq ptr %error_type, null
  br i1 %no_error, label %int_fine, label %too_large
too_large:
  {entry("error_clear", ERR_CLEAR, "ptr")}
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

argument_done:
  %more_others = phi i64 [0, %array_suits], [%other_bit, %number_done]
  %more_rows = phi i64 [%own_row, %array_suits], [0, %number_done]
  %common_period = phi i64 [%new_period, %array_suits], [%period, %number_done]
  %others_next = or i64 %others, %more_others
  %rows_next = or i64 %rows, %more_rows
  %i_next = add i64 %i, 1
  br label %arguments

accepted:
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
  %loop_place = add i64 %typed_place, {LOOPS}
  {entry("loop", "%loop_place", "ptr")}
  %missing = icmp eq ptr %loop, null
  br i1 %missing, label %ask, label %looped
ask:
  %asked_place = phi i64 [%ready_place, %not_ready], [%loop_place, %chosen]
  %asked = getelementptr i64, ptr %table, i64 {ASKED}
  store i64 %asked_place, ptr %asked
  br label %slow
looped:{new_result if into == NEW else given_result}{repeated}
  br i1 %wrong, label %outside, label %done
outside:
  {entry("drop", DEC_REF, "ptr")}
  call void %drop(ptr %result)
  br label %slow
done:
  ret ptr %result

slow:
  {entry("vectorcall", VECTORCALL, "ptr")}
  {entry("fallback", FALLBACK, "ptr")}
  %passed = call ptr %vectorcall(ptr %fallback, ptr %args, i64 %n, ptr null)
  ret ptr %passed
}}
"""
