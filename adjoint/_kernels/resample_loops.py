"""Resampling: every element of the result is a weighted sum of elements of some rows and some columns of its plane.

`ops/resample.py` makes the tables. `table` begins with the numbers below; behind them are two lists, for rows and for columns of the
result, of the ones of the input that make them up: where the part of each begins, and then the numbers of all. `weight` has the weights of
rows, then those of columns, in the same order.

In a stretch of columns things repeat: `taps` columns make up each, and those of the next `period` columns are `step` further on, with the
same weights. It is computed by vectors, from rows that have been added up before.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, HALVES, WHOLE, Doubles, Floats, Ints, Out, given, loop, narrow, part, room, template

# Places in the table: rows and columns of the input and of the result, ...
ROWS_IN, ROWS_OUT, COLUMNS_IN, COLUMNS_OUT = 0, 1, 2, 3
ROW_BEGINS, ROW_NUMBERS, COLUMN_BEGINS, COLUMN_NUMBERS, COLUMN_WEIGHTS = 4, 5, 6, 7, 8  # ... where lists are, ...
FIRST, PERIODS, PERIOD, STEP, LEAST, SPAN = 9, 10, 11, 12, 13, 14  # ... and the stretch, whose first period reads SPAN from LEAST on
HEAD = 15
TILE = 2048  # columns of the input that are worked on together


@part
def add_rows(sums: Out, x: Floats, table: Ints, weight: Doubles, begin: int, end: int, start: int, width: int) -> Any:
    """The weighted sum of some rows, from a column on."""
    numbers, columns = table[ROW_NUMBERS], table[COLUMNS_IN]
    first = start + table[numbers + begin] * columns
    factor = narrow(weight[begin])
    if end - begin == 2:
        second = start + table[numbers + begin + 1] * columns
        other = narrow(weight[begin + 1])
        for k in range(width):
            sums[k] = factor * x[first + k] + other * x[second + k]
    else:
        for k in range(width):
            sums[k] = factor * x[first + k]
        for entry in range(begin + 1, end):
            source = start + table[numbers + entry] * columns
            more = narrow(weight[entry])
            for k in range(width):
                sums[k] += more * x[source + k]
    return end


@part
def add_repeating(out: Out, sums: Out, table: Ints, weight: Doubles, to: int, periods: int, taps: int, period: int, step: int) -> Any:
    """A stretch of columns; where the last three are constants, LLVM makes vectors of it."""
    begin, least = table[table[COLUMN_BEGINS] + table[FIRST]], table[LEAST]
    numbers, weights = table[COLUMN_NUMBERS] + begin, table[COLUMN_WEIGHTS] + begin
    for i in range(periods):
        for phase in range(period):
            entry = phase * taps
            total = narrow(weight[weights + entry]) * sums[table[numbers + entry] - least + i * step]
            for tap in range(1, taps):
                total += narrow(weight[weights + entry + tap]) * sums[table[numbers + entry + tap] - least + i * step]
            out[to + i * period + phase] = total
    return periods


@part
def add_columns(out: Out, row: Out, table: Ints, weight: Doubles, to: int, start: int, factor: Any) -> Any:
    """All columns of a result, from one row."""
    begins, numbers, weights = table[COLUMN_BEGINS], table[COLUMN_NUMBERS], table[COLUMN_WEIGHTS]
    for column in range(table[COLUMNS_OUT]):
        begin, end = table[begins + column], table[begins + column + 1]
        total = 0.0
        if begin < end:
            total = narrow(weight[weights + begin]) * row[start + table[numbers + begin]]
        for entry in range(begin + 1, end):
            total += narrow(weight[weights + entry]) * row[start + table[numbers + entry]]
        out[to + column] = factor * total
    return to


@part
def add_all(out: Out, x: Floats, table: Ints, weight: Doubles, to: int, plane: int, begin: int, end: int, first: int, last: int) -> Any:
    """Some columns of a result, from the rows that make it up."""
    rows, begins, numbers, weights = table[ROW_NUMBERS], table[COLUMN_BEGINS], table[COLUMN_NUMBERS], table[COLUMN_WEIGHTS]
    for column in range(first, last):
        total = 0.0
        for row in range(begin, end):
            source = plane + table[rows + row] * table[COLUMNS_IN]
            some = 0.0
            for entry in range(table[begins + column], table[begins + column + 1]):
                some += narrow(weight[weights + entry]) * x[source + table[numbers + entry]]
            total += narrow(weight[row]) * some
        out[to + column] = total
    return to


stretch = given  # computes a stretch of columns


@template(reorder=True, kinds=(*FLOATS, *HALVES))
def repeating(out: Out, x: Floats, table: Ints, weight: Doubles, units: range) -> None:
    """A unit is a row of the result, with a stretch."""
    rows, columns_in, columns_out = table[ROWS_OUT], table[COLUMNS_IN], table[COLUMNS_OUT]
    first, periods, period, step = table[FIRST], table[PERIODS], table[PERIOD], table[STEP]
    chunk = (TILE - table[SPAN]) // step
    sums = room(TILE)
    for u in units:
        to, plane = u * columns_out, u // rows * (table[ROWS_IN] * columns_in)
        begin = table[table[ROW_BEGINS] + u % rows]
        end = table[table[ROW_BEGINS] + u % rows + 1]
        if begin == end:
            for column in range(columns_out):
                out[to + column] = 0.0
            continue
        _ = add_all(out, x, table, weight, to, plane, begin, end, 0, first)
        for some in range(0, periods, chunk):
            count = min(chunk, periods - some)
            start = plane + table[LEAST] + some * step
            _ = add_rows(sums, x, table, weight, begin, end, start, (count - 1) * step + table[SPAN])
            _ = stretch(out, sums, table, weight, to + first + some * period, count)
        _ = add_all(out, x, table, weight, to, plane, begin, end, first + periods * period, columns_out)


@part
def once(out: Out, sums: Out, table: Ints, weight: Doubles, to: int, periods: int) -> Any:
    return add_repeating(out, sums, table, weight, to, periods, 1, 1, 1)


@part
def two_twice(out: Out, sums: Out, table: Ints, weight: Doubles, to: int, periods: int) -> Any:
    return add_repeating(out, sums, table, weight, to, periods, 2, 2, 1)


@part
def two_of_two(out: Out, sums: Out, table: Ints, weight: Doubles, to: int, periods: int) -> Any:
    return add_repeating(out, sums, table, weight, to, periods, 2, 1, 2)


@part
def four_of_two(out: Out, sums: Out, table: Ints, weight: Doubles, to: int, periods: int) -> Any:
    return add_repeating(out, sums, table, weight, to, periods, 4, 1, 2)


# By taps, period and step: what is padded, an image twice as large, and the ways back.
STRETCHES = {
    (1, 1, 1): repeating("resample_once", stretch=once),
    (2, 2, 1): repeating("resample_two_twice", stretch=two_twice),
    (2, 1, 2): repeating("resample_two_of_two", stretch=two_of_two),
    (4, 1, 2): repeating("resample_four_of_two", stretch=four_of_two),
}


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def resample(out: Out, x: Floats, table: Ints, weight: Doubles, units: range) -> None:
    """The same without a stretch."""
    rows, columns_in, columns_out = table[ROWS_OUT], table[COLUMNS_IN], table[COLUMNS_OUT]
    sums = room(TILE)
    for u in units:
        to, plane = u * columns_out, u // rows * (table[ROWS_IN] * columns_in)
        begin = table[table[ROW_BEGINS] + u % rows]
        end = table[table[ROW_BEGINS] + u % rows + 1]
        if end - begin == 1:
            _ = add_columns(out, x, table, weight, to, plane + table[table[ROW_NUMBERS] + begin] * columns_in, narrow(weight[begin]))
        elif begin < end and columns_in <= TILE:
            _ = add_rows(sums, x, table, weight, begin, end, plane, columns_in)
            _ = add_columns(out, sums, table, weight, to, 0, 1.0)
        else:
            _ = add_all(out, x, table, weight, to, plane, begin, end, 0, columns_out)


# ---- elements as they are -------------------------------------------------------------------------------------------------------------

EIGHT = 8


@part
def copy(out: Out, x: Out, to: int, source: int, count: int) -> Any:
    """Elements next to each other, eight at a time; the last eight may overlap those before."""
    if count >= EIGHT:
        for k in range(0, count - EIGHT, EIGHT):
            for i in range(EIGHT):
                out[to + k + i] = x[source + k + i]
        for i in range(EIGHT):
            out[to + count - EIGHT + i] = x[source + count - EIGHT + i]
    else:
        for k in range(count):
            out[to + k] = x[source + k]
    return count


FILLED = 4  # in a table for `pick`, which has one number for each row and column


@loop(kinds=(*FLOATS, *WHOLE))
def pick(out: Out, x: Floats, table: Ints, fill: Floats | None, units: range) -> None:
    """Every element is one of the input, or if the table says FILLED, `fill`: in rows with a negative number, and in columns outside the
    stretch. A unit is a row."""
    rows, columns_in, columns_out = table[ROWS_OUT], table[COLUMNS_IN], table[COLUMNS_OUT]
    row_numbers, column_numbers = table[ROW_NUMBERS], table[COLUMN_NUMBERS]
    first, periods, period = table[FIRST], table[PERIODS], table[PERIOD]
    for u in units:
        place, to = u % rows, u * columns_out
        row = table[row_numbers + place]
        source = (u // rows * table[ROWS_IN] + row) * columns_in
        if place and u > units.start and row == table[row_numbers + place - 1]:
            _ = copy(out, out, to, to - columns_out, columns_out)
            continue
        lower, count = first, periods
        if row < 0:
            lower, count = columns_out, 0
        upper, start = lower + count * period, source + table[LEAST]
        if period == 1:
            _ = copy(out, x, to + lower, start, count)
        else:
            for k in range(count):
                out[to + lower + 2 * k] = x[start + k]
                out[to + lower + 2 * k + 1] = x[start + k]
        for side in range(2):
            begin, end = side * upper, lower + side * (columns_out - lower)
            if table[FILLED] and fill is not None:
                for column in range(begin, end):
                    out[to + column] = fill[0]
            else:
                for column in range(begin, end):
                    out[to + column] = x[source + table[column_numbers + column]]


KERNELS = (resample, pick, *STRETCHES.values())
