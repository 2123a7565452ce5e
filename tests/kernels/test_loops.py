"""The language of loop kernels: what it computes, what it refuses, and that threads change nothing."""

import ctypes
import math
import os
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import expressions, loop_code, translate
from adjoint._kernels.loops import (
    LOOPS,
    Bools,
    Doubles,
    Floats,
    Ints,
    Mark,
    Out,
    Strided,
    Words,
    bits,
    c_cos,
    c_exp,
    c_lgamma,
    c_log,
    c_log1p,
    c_pow,
    c_sin,
    c_tan,
    exactly,
    exp,
    exp_negative,
    fortran,
    given,
    independent,
    index_room,
    larger,
    loop,
    narrow,
    of_bits,
    part,
    part_apart,
    precision,
    room,
    select,
    template,
    wide,
    wide_room,
)


@part
def clipped(x: Any, low: Any, high: Any):
    above = select(x < low, low, x)
    return select(above > high, high, above)


@loop
def everything(out: Out, x: Floats, index: Ints, mask: Bools, total: Doubles, bias: Floats | None, scale: float, width: int, rows: range):
    for i in rows:
        best = -1.0e30
        sums = wide(0.0)
        for j in range(width):
            at = i * width + j
            y = clipped(x[at], -1.0, 1.0)
            if bias is not None:
                y += bias[j]
            if mask[at] and not (j == 0 or j == width - 1):
                y = exp(y) * narrow(scale)
            elif j % 2 == 1:
                y = -y
            best = y if y > best else best
            sums += wide(y)
            out[at] = y
        k = 0
        while k < width:
            k += 1
            if out[i * width + k - 1] == best:
                break
        index[i] = k - 1
        total[i] = sums


def by_numpy(x, mask, bias, scale):
    y = np.clip(x, -1, 1) + (0 if bias is None else bias)
    inside = mask.copy()
    inside[:, [0, -1]] = False
    odd = np.arange(x.shape[1]) % 2 == 1
    return np.where(inside, np.exp(y) * x.dtype.type(scale), np.where(odd, -y, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 7, 3000])
def test_the_language_computes_what_python_would(dtype, with_bias, rows):
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, 33)).astype(dtype)
    mask, bias = random.random(x.shape) < 0.5, random.normal(size=33).astype(dtype) if with_bias else None
    out, index, total = np.empty_like(x), np.empty(rows, np.int64), np.empty(rows)
    assert everything.run(out, x, index, mask, total, bias, 0.5, 33, rows, 33)
    expected = by_numpy(x, mask, bias, 0.5)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_array_equal(index, out.argmax(1) if rows else [])
    np.testing.assert_allclose(total, out.sum(1, dtype=np.float64), rtol=1e-12, atol=1e-12)


@loop(reorder=True)
def row_sums(out: Out, x: Floats, width: int, rows: range):
    for i in rows:
        total = 0.0
        for j in range(width):
            total += x[i * width + j]
        out[i] = total


def test_results_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(0).normal(size=(4000, 501)).astype("float32")
    results = []
    for threads in (1, 2, 5, 2):
        before = ad.get_num_threads()
        ad.set_num_threads(threads)
        try:
            out = np.empty(len(x), "float32")
            assert row_sums.run(out, x, 501, len(x), 501)
        finally:
            ad.set_num_threads(before)
        results.append(out)
    assert all(np.array_equal(results[0], out) for out in results)
    np.testing.assert_allclose(results[0], x.sum(1, dtype=np.float64), rtol=1e-3, atol=1e-3)


WRONG = {
    "an argument too few": lambda out, x: (out, x, 4, 3),
    "another dtype": lambda out, x: (out, x.astype("float64"), 4, 3, 4),
    "integers": lambda out, x: (out.astype(int), x.astype(int), 4, 3, 4),
    "not contiguous": lambda out, x: (out, x.T, 4, 3, 4),
    "a list": lambda out, x: (out, x.tolist(), 4, 3, 4),
    "a float for an int": lambda out, x: (out, x, 4.0, 3, 4),
    "no work": lambda out, x: (out, x, 4, 3, 0),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_kernel_takes_only_what_it_can_compute_with(wrong):
    out, x = np.zeros(3, "float32"), np.ones((3, 4), "float32")
    assert row_sums.run(out, x, 4, 3, 4)
    assert out.tolist() == [4, 4, 4]
    out[:] = 0
    assert row_sums.run(*WRONG[wrong](out, x)) is None
    assert out.tolist() == [0, 0, 0]


@loop
def copy_column(out: Strided, x: Strided, into: int, step: int, rows: range):
    for i in rows:
        out[i * into] = x[i * step]


def test_a_kernel_is_told_the_strides_of_strided_arrays():
    x, out = np.arange(12.0).reshape(3, 4), np.zeros((3, 2))
    assert copy_column.run(out[:, 1], x[::-1, 2], 2, -4, 3, 1)
    assert out.tolist() == [[0, 10], [0, 6], [0, 2]]
    assert copy_column.run(out[:, 1], x[:, 2].astype("float32"), 2, 1, 3, 1) is None


def test_a_kernel_does_not_write_into_what_is_read_only():
    out, x = np.zeros(3, "float32"), np.ones((3, 4), "float32")
    out.flags.writeable = False
    assert row_sums.run(out, x, 4, 3, 4) is None


@part
def doubled(x: Any):
    return x + x


@part
def pattern(x: Any):
    return bits(x)


change = given


@template()
def changed(out: Ints, x: Floats, rows: range):
    for i in rows:
        out[i] = int(change(x[i]))


@template(reorder=True)
def patterns(out: Ints, x: Floats, rows: range):
    for i in rows:
        out[i] = change(x[i])


def test_a_template_is_a_kernel_with_the_parts_that_it_is_given():
    x, out = np.array([1.5, -2.0], "float32"), np.empty(2, np.int64)
    assert changed("twice", change=doubled).run(out, x, 2, 1)
    assert out.tolist() == [3, -4]
    assert patterns("as bits", change=pattern).run(out, x, 2, 1)
    assert out.tolist() == [0x3FC00000, 0xC0000000]
    assert LOOPS[-1].flags
    assert LOOPS.pop().__name__ == "as bits"
    assert LOOPS.pop().__name__ == "twice"


def test_a_kernel_serves_from_the_first_call_on():
    @loop
    def fresh(out: Out, x: Floats, rows: range):
        for i in rows:
            out[i] = x[i]

    LOOPS.remove(fresh)
    out, x = np.zeros(3), np.arange(3.0)
    assert fresh.run == fresh.first and fresh.run(out, x, 3, 1)
    assert fresh.run.__class__ is type(len)
    assert out.tolist() == [0, 1, 2]


def test_what_is_not_in_the_language_is_named():
    @loop
    def strange(out: Out, x: Floats, rows: range):
        for i in rows:
            out[i] = x[i] ** 2

    LOOPS.remove(strange)
    with pytest.raises(expressions.UnsupportedError, match=r"strange, line 4: no such operation in the language \(x\[i\] \*\* 2\)"):
        translate.Module(strange.fn, "f32", "")


@loop
def scrambled(out: Out, words: Words, rows: range):
    for i in rows:
        words[i] = (words[i] << 7) ^ (words[i] >> 3)
        out[i] = words[i] * 1.0


def test_words_are_integers_of_32_bits():
    words, out = np.array([0, 1, 2**32 - 1, 2**31 + 5], np.uint32), np.empty(4)
    expected = (words << np.uint32(7)) ^ (words >> np.uint32(3))
    assert scrambled.run(out, words.view("int32"), 4, 1) is None
    assert scrambled.run(out, words, 4, 1)
    np.testing.assert_array_equal(words, expected)
    np.testing.assert_array_equal(out, expected)


@loop(reorder=True)
def shifted(out: Out, x: Floats, top: float, shift: float, rows: range):
    for i in rows:
        out[i] = exactly((x[i] - narrow(top)) - narrow(shift))


def test_what_is_said_to_be_exact_is_not_reordered():
    x = np.linspace(1e8 - 200, 1e8, 100, dtype="float32")
    out = np.empty_like(x)
    assert shifted.run(out, x, 1e8, 0.125, 100, 1)
    np.testing.assert_array_equal(out, (x - np.float32(1e8)) - np.float32(0.125))


@loop(reorder=True)
def tops(out: Out, x: Floats, width: int, rows: range):
    for i in rows:
        top = x[i * width]
        for j in range(width):
            top = larger(top, x[i * width + j])
        out[i] = top


def test_the_larger_of_numbers():
    x = np.random.default_rng(0).normal(size=(50, 77))
    x[3, 5], x[4] = np.inf, -np.inf
    out = np.empty(50)
    assert tops.run(out, x, 77, 50, 77)
    np.testing.assert_array_equal(out, x.max(1))


@loop
def decayed(out: Out, x: Floats, rows: range):
    for i in rows:
        out[i] = exp_negative(x[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_exponential_of_what_is_not_positive(dtype):
    lowest = np.log(np.finfo(dtype).tiny)
    x = np.concatenate([np.linspace(lowest + 0.01, 0, 4001), [-1e-30, 1.0, 3 * lowest, -np.inf, np.nan]]).astype(dtype)
    out = np.empty_like(x)
    assert decayed.run(out, x, x.size, 1)
    expected = np.where(x < 2 * lowest, 0, np.exp(x.astype(np.longdouble)))
    np.testing.assert_allclose(out, expected.astype(dtype), rtol=2 * np.finfo(dtype).eps)


def test_a_forked_child_computes_too():
    x, out = np.ones((4000, 500)), np.empty(4000)
    assert row_sums.run(out, x, 500, 4000, 500)
    child = os.fork()
    if child == 0:
        out[:] = 0
        good = row_sums.run(out, x, 500, 4000, 500) and (out == 500).all()
        ad.set_num_threads(2)
        out[:] = 0
        good = good and row_sums.run(out, x, 500, 4000, 500) and (out == 500).all()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


TABLE = (0.5, -1.25, 3.0)


@loop
def from_a_table(out: Out, units: range) -> None:
    for i in units:
        out[i] = narrow(TABLE[i]) * precision()


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2.0**-30), ("float64", 2.0**-54)])
def test_tuples_are_tables_and_the_precision_is_that_of_the_results(dtype, error):
    out = np.zeros(3, dtype)
    assert from_a_table.run(out, 3, 1)
    np.testing.assert_array_equal(out, np.multiply(TABLE, error))


def all_kernels():
    import importlib
    import pkgutil

    import adjoint

    for module in pkgutil.walk_packages(adjoint.__path__, "adjoint."):
        if module.name.endswith("_loops"):
            importlib.import_module(module.name)
    return [kernel for kernel in LOOPS if kernel.fn.__module__.startswith("adjoint.")]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_every_kernel_of_the_library_compiles(kind):
    for kernel in all_kernels():
        assert loop_code.load(kernel, kind if kind in kernel.kinds else kernel.kinds[0])


@part
def store_at(target: Out, place: int, value: float) -> int:
    target[place] = value
    return place


@part
def store_twice(target: Out, place: int, value: float) -> Any:
    return store_at(target, store_at(target, place, value), value)


@part
def clear(target: Out, place: int, value: float) -> None:
    if value < 0.0:
        target[place] = 0.0


@loop
def by_parts(out: Out, x: Floats, units: range) -> None:
    for i in units:
        last = store_twice(out, i, x[i])
        last += 1
        clear(out, i, x[i])


def test_a_part_may_return_nothing():
    out = np.empty(3)
    assert by_parts.run(out, np.array([1.0, -2.0, 3.0]), 3, 1)
    assert out.tolist() == [1.0, 0.0, 3.0]


def test_arrays_that_only_parts_write_to_have_to_be_writable():
    assert translate.parameter_kinds(by_parts) == "T! T r"


@part_apart
def raised(x: Floats, words: Words, start: int, stop: int, by: float) -> Any:
    """Add to a part of an array; the bits of the last sum."""
    pattern = 0
    for i in range(start, stop):
        x[i] = narrow(wide(x[i]) + by)
        pattern = bits(x[i])
    words[0] = words[0] + 1
    return pattern


@loop
def raised_twice(out: Out, x: Floats, words: Words, by: float, rows: range):
    for i in rows:
        raised(x, words, i, i + 1, by)
        out[i] = of_bits(raised(x, words, i, i + 1, by))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_part_that_is_apart_is_called(dtype):
    x, words = np.linspace(-3, 3, 70, dtype=dtype), np.zeros(1, np.uint32)
    out, expected = np.empty_like(x), (x + x.dtype.type(0.5)) + x.dtype.type(0.5)
    assert raised_twice.run(out, x, words, 0.5, 70, 1)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(x, expected)
    assert words[0] == 140


@loop
def halved(out: Out, x: Floats, odd: Mark, by: int, rows: range):
    for i in rows:
        out[i] = x[i] / by
        if x[i] == 3.0:
            odd[0] = 1


@pytest.mark.parametrize("count", [5, 200_000])
def test_a_kernel_can_say_that_its_results_are_not_to_be_used(count):
    x, run = np.zeros(count), halved.run
    assert run(np.empty_like(x), x, 2, count, 1) is True
    x[-1] = 3
    assert run(np.empty_like(x), x, 2, count, 1) is False
    assert run(np.empty_like(x), x, np.zeros(1, np.int64), 2, count, 1) is None  # a mark is not given
    assert run(np.empty_like(x), x[::-1], 2, count, 1) is None


@loop
def of_the_c_library(out: Out, x: Floats, rows: range):
    for i in rows:
        value = wide(x[i])
        total = c_exp(value) + c_log(value) + c_log1p(value) + c_sin(value) + c_cos(value) + c_tan(value)
        out[i] = narrow(total + c_pow(value, value) + c_lgamma(value))


def test_functions_of_the_c_library_are_exact():
    x = np.linspace(0.1, 20, 200)
    out = np.empty_like(x)
    assert of_the_c_library.run(out, x, 200, 1)
    lgamma = ctypes.CDLL(None).lgamma
    lgamma.restype, lgamma.argtypes = ctypes.c_double, [ctypes.c_double]
    functions = [math.exp, math.log, math.log1p, math.sin, math.cos, math.tan]
    expected = [sum(f(v) for f in functions) + v**v + lgamma(v) for v in x.tolist()]
    np.testing.assert_array_equal(out, expected)


@loop
def by_way_of_rooms(out: Out, x: Floats, count: int, rows: range):
    places = index_room(8)
    sums = wide_room(8)
    kept = room(8)
    for i in rows:
        total = wide(0.0)
        for j in range(count):
            places[j] = count - 1 - j
            total += wide(x[i * count + j])
            sums[j] = total
            kept[j] = x[i * count + j]
        for j in range(count):
            out[i * count + j] = kept[places[j]] + narrow(sums[places[j]] - sums[count - 1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rooms_hold_numbers_of_the_kernel_doubles_and_places(dtype):
    x = np.array([[1e8, 1, 2, 3, -1e8, 1e-3], [0, 1, -1, 7, 2, 5]], dtype)
    out = np.empty_like(x)
    assert by_way_of_rooms.run(out, x, 6, 2, 6)
    sums = np.cumsum(x.astype(float), axis=1)  # single precision would lose the small ones
    np.testing.assert_array_equal(out, x[:, ::-1] + (sums[:, ::-1] - sums[:, -1:]).astype(dtype))


@loop
def call_for_each(x: Floats, sums: Floats, function: int, width: int, rows: range):
    for i in rows:
        fortran(function, width, 2 * i, x[i * width], sums[i])


def test_functions_of_libraries_take_places():
    seen = []

    @ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_int64)] * 2, *[ctypes.POINTER(ctypes.c_double)] * 2)
    def add_up(width, number, x, total):
        seen.append(number[0])
        total[0] = sum(x[k] for k in range(width[0]))

    x, sums = np.arange(12.0).reshape(3, 4), np.zeros(3)
    address = ctypes.cast(add_up, ctypes.c_void_p).value
    assert call_for_each.run(x, sums, address, 4, 3, 4)
    np.testing.assert_array_equal(sums, x.sum(1))
    assert seen == [0, 2, 4]
    sums.flags.writeable = False  # what a function is given, it may write to
    assert call_for_each.run(x, sums, address, 4, 3, 4) is None


@loop(unroll=False)
def exchange_quarters(x: Floats, n: int, once: range):
    for _ in once:
        for k in independent(range(n)):
            x[k], x[n + k], x[2 * n + k], x[3 * n + k] = x[3 * n + k], x[2 * n + k], x[n + k], x[k]


@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_independent_turns(n):
    x = np.random.default_rng(0).normal(size=(4, n))
    expected = x[::-1].copy()
    assert exchange_quarters.run(x, n, 1, n)
    np.testing.assert_array_equal(x, expected)
    assert "llvm.loop.parallel_accesses" in translate.Module(exchange_quarters.fn, "f64", "").text
