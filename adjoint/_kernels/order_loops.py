"""Sorting rows: which elements come first, second and so on. Equal ones keep their order, and NaN counts as the largest number."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .axes import matrices, plan
from .copy_loops import LARGE, copy
from .loops import FLOATS, WHOLE, Floats, Ints, Out, bits, given, loop, part, select, template
from .reduce_loops import larger, smaller

PIECE = 2048  # elements of a piece of work, which has its own memory to sort in,
EFFORT = 16  # and takes so much longer than others
SPAN = 32  # elements that are passed over at once if none of them is among the first

INT64 = np.dtype("int64")
Shape = tuple[int, ...]
Pair = tuple[np.ndarray, np.ndarray]  # elements and their places

better = beats = hopeless = key = given

# ---- all of them --------------------------------------------------------------------------------------------------------------------


@part
def whole_key(x: Any, low: int, direction: int) -> Any:
    """The same of an int64: the complement comes before if the number comes after, and none overflows."""
    return select(direction < 0, -1 - x, x)


@part
def key_of(x: Any, low: int, direction: int) -> Any:
    """A whole number that compares as `x` does; `low` has all bits but that of the sign. The two zeros are equal."""
    pattern = bits(x)
    size = pattern & low
    key = select(size != pattern, -size, size)
    return select(x == x, key, low) * direction


@part
def merge(memory: Ints, n: int, source: int, target: int, begin: int, m: int) -> Any:
    """Two sorted runs of `m` elements become one. The smaller half is found from the front and the larger from the back, which needs no
    test for the end of a run and no branches."""
    middle = source + begin + m
    right = middle  # the next of the second run from the front; `i` elements have been taken from both
    left = middle - 1  # the next of the first run from the back
    front = target + begin
    back = front + 2 * m - 1
    for i in range(m):
        other = 2 * middle - m + i - right
        less = memory[right] < memory[other]
        place = select(less, right, other)
        memory[front + i] = memory[place]
        memory[front + i + n] = memory[place + n]
        right += select(less, 1, 0)
        other = 2 * middle + m - 2 - i - left
        more = memory[other] < memory[left]
        place = select(more, left, other)
        memory[back - i] = memory[place]
        memory[back - i + n] = memory[place + n]
        left -= select(more, 1, 0)
    return m


@part
def merge_rest(memory: Ints, n: int, source: int, target: int, begin: int, m: int) -> Any:
    """The same where the second run is shorter, or missing."""
    middle = source + min(begin + m, n)
    right = middle
    for i in range(begin, n):
        other = source + i + middle - right
        less = (right < source + n) & ((other == middle) | (memory[right] < memory[other]))
        place = select(less, right, other)
        memory[target + i] = memory[place]
        memory[target + i + n] = memory[place + n]
        right += select(less, 1, 0)
    return m


def sort_rows(
    result: Ints, values: Out, x: Floats, memory: Ints, n: int, rows: int, take: int, low: int, direction: int, units: range
) -> None:
    """Each unit sorts `take` rows, in memory for two copies of one row: keys, and where they come from."""
    for unit in units:
        first = unit * take
        base = unit * (4 * n + 2)
        for row in range(first, min(first + take, rows)):
            at = row * n
            for j in range(0, n, 2):  # pairs
                other = min(j + 1, n - 1)
                a = key(x[at + j], low, direction)
                b = key(x[at + other], low, direction)
                memory[base + other] = max(a, b)
                memory[base + j] = min(a, b)
                memory[base + n + other] = select(b < a, j, other)
                memory[base + n + j] = select(b < a, other, j)
            source = base
            target = base + 2 * n
            m = 2
            while m < n:
                pairs = n // (2 * m)
                for pair in range(pairs):
                    _ = merge(memory, n, source, target, pair * 2 * m, m)
                _ = merge_rest(memory, n, source, target, pairs * 2 * m, m)
                m = 2 * m
                source, target = target, source
            for j in range(n):
                place = memory[source + n + j]
                result[at + j] = place
                values[at + j] = x[at + place]


sort_floats = template()(sort_rows)("sort_floats", key=key_of)
sort_integers = template(kinds=("i64",))(sort_rows)("sort_integers", key=whole_key)


def sorted_places(x: np.ndarray, descending: bool) -> np.ndarray | None:
    """The indices that sort the rows of an array, or None where NumPy has to."""
    found = sorted_rows(x, descending)
    return None if found is None else found[1]


def sorted_rows(x: np.ndarray, descending: bool) -> Pair | None:
    """The rows of an array in order, and the indices where their elements were."""
    if x.__class__ is not np.ndarray or x.dtype.char not in "fdl" or not x.size or not x.shape:
        return None
    n = x.shape[-1]
    rows = x.size // n
    take = min(rows, max(1, PIECE // n))
    units = -(-rows // take)
    result, values = np.empty(x.shape, INT64), np.empty(x.shape, x.dtype)
    memory = np.empty((4 * n + 2) * units, INT64)
    low = (1 << (8 * x.itemsize - 1)) - 1
    kernel = sort_integers if x.dtype.kind == "i" else sort_floats
    served = kernel.run(result, values, x, memory, n, rows, take, low, -1 if descending else 1, units, EFFORT * take * n)
    return (values, result) if served else None


# ---- the first few ------------------------------------------------------------------------------------------------------------------


@part
def above(a: Any, b: Any) -> Any:
    return (a > b) | ((a != a) & (b == b))


@part
def below(a: Any, b: Any) -> Any:
    return (a < b) | ((b != b) & (a == a))


@part
def not_above(a: Any, b: Any) -> Any:
    return a <= b


@part
def not_below(a: Any, b: Any) -> Any:
    return a >= b


@template(kinds=(*FLOATS, "i64", "i32"))
def first_of_rows(result: Ints, best: Out, x: Floats, n: int, k: int, rows: range) -> None:
    """The first `k` in order. They are kept in order while the others are looked at, of which most are passed over."""
    for row in rows:
        at = row * k
        last = at + k - 1
        for begin in range(row * n, row * n + n, SPAN):
            end = min(begin + SPAN, row * n + n)
            top = x[begin]
            for j in range(begin, end):
                top = better(top, x[j])
            if begin < row * n + k or not hopeless(top, best[last]):
                for j in range(begin, end):
                    value = x[j]
                    if j < row * n + k or beats(value, best[last]):
                        place = at + min(j - row * n, k - 1)
                        while place > at and beats(value, best[place - 1]):
                            best[place] = best[place - 1]
                            result[place] = result[place - 1]
                            place -= 1
                        best[place] = value
                        result[place] = j - row * n


first_largest = first_of_rows("first_largest", better=larger, beats=above, hopeless=not_above)
first_smallest = first_of_rows("first_smallest", better=smaller, beats=below, hopeless=not_below)


def first_places(x: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """The indices of the `k` largest or smallest elements of each row, in order."""
    found = first_elements(x, k, largest)
    return None if found is None else found[1]


def first_elements(x: np.ndarray, k: int, largest: bool) -> Pair | None:
    """The `k` largest or smallest elements of each row, in order, and their indices."""
    if x.__class__ is not np.ndarray or not x.size or not x.shape or not 0 < k <= x.shape[-1]:
        return None
    n = x.shape[-1]
    if k > 8 and k * (k + 20) * (1 + math.log(n / k)) > 8 * n * math.log2(n):  # insertions against comparisons
        found = sorted_rows(x, largest)
        return None if found is None else (found[0][..., :k].copy(), found[1][..., :k].copy())
    shape = (*x.shape[:-1], k)
    result, best = np.empty(shape, INT64), np.empty(shape, x.dtype)
    kernel = first_largest if largest else first_smallest
    return (best, result) if kernel.run(result, best, x, n, k, x.size // n, n) else None


# ---- one of a rank ------------------------------------------------------------------------------------------------------------------

RANK, MEDIAN, NANMEDIAN = range(3)  # what is looked for: a given rank; the middle, or the first NaN; the middle of the others


@part
def part_off(memory: Ints, first: int, last: int, bound: int, below: int) -> Any:
    """Move what is below a bound, or else what equals it, to the front, without branches, and return where the rest begins."""
    place = first
    for j in range(first, last):
        number = memory[j]
        memory[j] = memory[place]
        memory[place] = number
        place += 1 if (number < bound if below else number == bound) else 0
    return place


def select_in_columns(
    result: Ints, values: Out, x: Floats, memory: Ints, n: int, inner: int, columns: int, take: int, low: int, what: int, rank: int,
    units: range,
) -> None:  # fmt: skip
    """The place of the element of a rank in each column: of several equal ones, that which has it if they keep their order."""
    for unit in units:
        base = unit * n
        for column in range(unit * take, min(unit * take + take, columns)):
            at = column // inner * n * inner + column % inner
            valid = 0
            for j in range(n):
                value = x[at + j * inner]
                memory[base + j] = key(value, low, 1)
                valid += 1 if value == value else 0
            wanted = rank
            if what == MEDIAN:
                wanted = valid if valid < n else (n - 1) // 2
            if what == NANMEDIAN:
                wanted = max(valid - 1, 0) // 2
            goal = base + wanted
            first = base
            last = base + n
            random = 1
            while last - first > 1:
                random = (random * 1103515245 + 12345) & 2147483647
                a = memory[first + random % (last - first)]
                b = memory[(first + last) // 2]
                c = memory[last - 1]
                pivot = max(min(a, b), min(max(a, b), c))
                rest = part_off(memory, first, last, pivot, 1)
                if goal < rest:
                    last = rest
                else:
                    first = part_off(memory, rest, last, pivot, 0)
                    if goal < first:  # it equals the pivot
                        first = goal
                        last = goal + 1
            found = memory[goal]
            before = 0
            for j in range(n):
                before += 1 if memory[base + j] < found else 0
            place = -1
            while before <= wanted:
                place += 1
                before += 1 if key(x[at + place * inner], low, 1) == found else 0
            result[column] = place
            values[column] = x[at + place * inner]


select_floats = template()(select_in_columns)("select_floats", key=key_of)
select_integers = template(kinds=("i64",))(select_in_columns)("select_integers", key=whole_key)


def of_rank(x: np.ndarray, axis: int | None, what: int, rank: int = 0, keepdim: bool = True) -> Pair | None:
    """The element of a rank along an axis, or of all; and its place."""
    if x.__class__ is not np.ndarray or x.dtype.char not in "fdl" or (found := plan_of_rank(x.shape, axis, keepdim)) is None:
        return None
    shape, n, inner, columns, take, units = found
    if axis is not None and inner > 1 and x.size >= LARGE:
        turned = of_rank(copy(x.swapaxes(axis, -1)), -1, what, rank)
        if turned is None:
            return None
        values, result = (copy(part.swapaxes(axis, -1)).reshape(shape) for part in turned)
        return values, result
    result, values, memory = np.empty(shape, INT64), np.empty(shape, x.dtype), np.empty(units * n, INT64)
    low = (1 << (8 * x.itemsize - 1)) - 1
    kernel = select_integers if x.dtype.kind == "i" else select_floats
    x = x if x.flags.c_contiguous else copy(x)
    served = kernel.run(result, values, x, memory, n, inner, columns, take, low, what, rank, units, EFFORT * take * n)
    return (values, result) if served else None


@lru_cache(1024)
def plan_of_rank(shape: Shape, axis: int | None, keepdim: bool) -> tuple[Shape, int, int, int, int, int] | None:
    """The shape of the result, the elements of a column, how many elements they are apart, the columns, those of a unit, and the units."""
    if 0 in shape or (found := matrices(shape, axis)) is None:
        return None
    outer, n, inner = found
    columns = outer * inner
    take = min(columns, max(1, PIECE // n))
    return plan(shape, axis, keepdim and axis is not None)[0], n, inner, columns, take, -(-columns // take)


# ---- the most frequent --------------------------------------------------------------------------------------------------------------


@loop(kinds=(*FLOATS, *WHOLE))
def longest_run(result: Ints, elements: Out, x: Floats, ordered: Floats, n: int, rows: range) -> None:
    """The last of the most frequent elements of rows, which are given in order too; NaN is frequent only if there is nothing else."""
    for row in rows:
        at = row * n
        length = 1
        most = 1
        end = at
        for j in range(at + 1, at + n):
            length = length + 1 if ordered[j] == ordered[j - 1] else 1
            end = j if length > most else end
            most = max(most, length)
        place = at + n - 1
        while place > at and x[place] != ordered[end]:
            place -= 1
        result[row] = place - at
        elements[row] = x[place]


def mode(x: np.ndarray, axis: int, keepdim: bool = True) -> Pair | None:
    """The most frequent element along an axis (the smallest one), and its last place."""
    if not x.size or not x.shape or x.dtype.kind not in "fiub":
        return None
    kept, across = plan(x.shape, axis, keepdim)[0], axis != -1 and axis != x.ndim - 1
    x = copy(x.swapaxes(axis, -1)) if across else np.ascontiguousarray(x)
    n, shape = x.shape[-1], (*x.shape[:-1], 1)
    result, elements = np.empty(shape, INT64), np.empty(shape, x.dtype)
    if not longest_run.run(result, elements, x, np.sort(x), n, x.size // n, EFFORT * n):
        return None
    elements, result = ((copy(part.swapaxes(axis, -1)) if across else part).reshape(kept) for part in (elements, result))
    return elements, result
