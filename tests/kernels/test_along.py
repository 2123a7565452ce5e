"""Kernels along an axis (reductions, scans, searches, sorts) give what NumPy gives, for any axes, sizes and special numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import axes, order_loops, reduce_loops, scan_loops, select_loops, spread_loops
from adjoint._kernels.loops import LOOPS

SHAPES = [
    ((5,), None), ((5,), 0), ((40_000,), None), ((3, 20_000), 1), ((7, 33), 0), ((7, 33), 1), ((1000, 3), 0), ((300, 700), 0),
    ((4, 300, 5), 1), ((4, 3, 5, 6), (1, 2)), ((4, 3, 5, 6), (0, 2)), ((64, 32, 64), (0, 2)), ((2, 3, 4, 5, 6), (0, 2, 4)), ((3, 1, 2), -1),
    ((3, 1, 2), None),
]  # fmt: skip
ALONE = [(shape, axis) for shape, axis in SHAPES if axis is None or isinstance(axis, int)]  # one axis, or all
DTYPES = ["float32", "float64"]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 2.0]


def numbers(shape, dtype, special):
    random = np.random.default_rng(0)
    return (random.choice(SPECIAL, shape) if special else random.normal(size=shape)).astype(dtype)


def by_axis(axis):
    return {"axis": axis, "keepdims": True}


REDUCTIONS: dict[str, Any] = {
    "total": np.sum, "mean": np.mean, "product": np.prod, "largest": np.max, "smallest": np.min, "nan_total": np.nansum,
    "norm_1": lambda x, **k: np.sum(np.abs(x), **k),
    "norm_2": lambda x, **k: np.sqrt(np.sum(x * x, **k)), "norm_most": lambda x, **k: np.max(np.abs(x), **k),
    "norm_least": lambda x, **k: np.min(np.abs(x), **k),
}  # fmt: skip


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype, special):
    for shape, axis in SHAPES:
        x = numbers(shape, dtype, special)
        if name == "product":  # of many factors, which neither vanish nor overflow
            x = np.where(np.isfinite(x) & (x != 0), 1 + 0.01 * np.sign(x), x) if not special else x
        with np.errstate(all="ignore"):
            expected = REDUCTIONS[name](x.astype("float64"), **by_axis(axis))
        for keepdim in (True, False):
            wanted = expected if keepdim else np.squeeze(expected, axis=axis if axis is not None else tuple(range(x.ndim)))
            for _ in range(2):  # in Python first, then by the built-in
                got = getattr(reduce_loops, name).run(x, axis, keepdim)
                assert got.shape == wanted.shape and got.dtype == x.dtype, (shape, axis)
                scale = float(np.max(np.abs(x), where=np.isfinite(x), initial=1)) * np.sqrt(x.size)
                np.testing.assert_allclose(got, wanted, rtol=3e-6 if dtype == "float32" else 1e-12, atol=float(np.finfo(dtype).eps) * scale)


WHOLE = ["int64", "int32", "int16", "int8", "uint8", "bool"]
EXACT: dict[str, tuple[Any, str]] = {
    "total": (np.sum, "int64"), "product": (np.prod, "int64"), "largest": (np.max, "own"), "smallest": (np.min, "own"),
    "count": (np.count_nonzero, "int64"), "some": (np.any, "bool"), "every": (np.all, "bool"),
}  # fmt: skip


def reduced(function, x, axis, dtype):
    return np.prod(x, axis=axis, dtype=dtype) if function is np.prod else function(x, axis=axis)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", EXACT)
def test_reductions_of_whole_numbers(name, dtype):
    function, kind = EXACT[name]
    kind = dtype if kind == "own" or (kind == "bool" and dtype == "uint8") else kind
    random = np.random.default_rng(0)
    for shape, axis in SHAPES:
        numbers = random.integers(*(0, 2) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max), shape)
        for x in (numbers.astype(dtype), np.zeros(shape, dtype), np.ones(shape, dtype)):
            with np.errstate(all="ignore"):
                expected = np.asarray(reduced(function, x, axis, "int64"))
            for _ in range(2):
                got = getattr(reduce_loops, name).run(x, axis, False)
                assert got.dtype == kind
                np.testing.assert_array_equal(got, expected.astype(kind), err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("name", [*REDUCTIONS, "count", "some", "every"])
@pytest.mark.parametrize("dtype", [ad.float16, ad.bfloat16], ids=str)
def test_half_precision_is_reduced_in_single_and_rounded_once(name, dtype):
    for shape, axis in SHAPES:
        x = numbers(shape, "float32", False) * 0.01 + 1
        half = x.astype(dtype.numpy)
        if name in EXACT:
            expected = np.asarray(EXACT[name][0](half.astype("float32"), axis=axis))
        if name in REDUCTIONS:
            expected = getattr(reduce_loops, name).run(half.astype("float32"), axis, False).astype(dtype.numpy)
        for _ in range(2):
            got = getattr(reduce_loops, name).run(half, axis, False)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0)])
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 50, 60)])
def test_axes_in_another_order_than_memory(shape, order, axis):
    x = numbers(shape, "float64", False).transpose(order)
    for keepdim in (False, True):
        got = reduce_loops.total.run(x, axis, keepdim)
        assert got.flags.c_contiguous
        np.testing.assert_allclose(got, np.sum(x, axis=axis, keepdims=keepdim), 1e-10, 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_around_a_level(dtype):
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for shape, axis in SHAPES:
        x = numbers(shape, dtype, False)
        mean, top = (np.asarray(f(x, **by_axis(axis)), dtype) for f in (np.mean, np.max))
        for _ in range(2):
            variance = reduce_loops.variance.run(x, axis, True, 3.0, mean)
            log_sum = reduce_loops.log_sum.run(x, axis, True, 1, top)
            np.testing.assert_allclose(variance, np.sum((x - mean) ** 2, **by_axis(axis)) / 3, tolerance, tolerance)
            np.testing.assert_allclose(log_sum, np.log(np.sum(np.exp(x), **by_axis(axis))), tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["total", "mean"])
def test_complex_numbers_are_reduced_by_their_parts(name, dtype):
    family, tolerance = getattr(reduce_loops, name), 1e-4 if dtype == "complex64" else 1e-10
    for shape, axis in [*SHAPES, ((5, 1, 4), (0, 2)), ((20_000, 2), 0)]:
        x = numbers((2, *shape), "float64", False)
        x = (x[0] + 1j * x[1]).astype(dtype)
        for given in (x, x[..., ::-1], x.T if axis is None else x):
            for keepdim in (True, False, False):  # in Python first, then by the built-in
                got = family.run(given, axis, keepdim)
                assert got.dtype == x.dtype
                np.testing.assert_allclose(got, REDUCTIONS[name](given, axis=axis, keepdims=keepdim), tolerance, tolerance)
    assert family.run(np.zeros((0, 3), dtype), None, False) is None
    special = np.array([[complex(np.nan, 1), 2 + 3j], [complex(1, np.inf), 4 - 5j]], dtype)
    for axis in (None, 0, 1):
        for _ in range(2):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(family.run(special, axis, False), REDUCTIONS[name](special, axis=axis))


def test_complex64_sums_are_as_precise_as_pairwise_ones():
    x = np.random.default_rng(0).random((3000, 2000), "float32").view("complex64")
    for axis in (None, 0, 1):
        exact = x.sum(axis, dtype="complex128")
        assert np.max(np.abs(reduce_loops.total.run(x, axis, False) / exact - 1)) < 2**-22  # two units, whatever the number of lanes


def test_float32_sums_are_as_precise_as_pairwise_ones():
    x = np.random.default_rng(0).random((3000, 2000), "float32")
    for axis in (None, 0, 1):
        exact = x.sum(axis, dtype="float64")
        assert np.max(np.abs(reduce_loops.total.run(x, axis, False) / exact - 1)) < 2**-22  # two units, whatever the number of lanes


WRONG = {
    "unsigned numbers": lambda x: x.astype("uint32"),
    "complex numbers": lambda x: x.astype("complex64"),
    "another order of bytes": lambda x: x.astype(">f8"),
    "no elements": lambda x: x[:0],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_kernel_cannot_take_is_left_to_numpy(wrong):
    x = WRONG[wrong](np.ones((3, 4)))
    for family in (reduce_loops.largest, select_loops.argmax, scan_loops.sums):
        assert family.run(np.ones((3, 4)), 0, False) is not None
        assert family.run(x, 0, False) is None
    assert order_loops.sorted_places(x, False) is None


@pytest.mark.parametrize("shape", [(6, 8), (300, 400)])
def test_slices_are_copied(shape):
    whole = numbers(shape, "float64", False)
    for x in (whole[:, ::2], whole[::-1], whole[1:, 1:], whole.T):
        for axis in (0, 1):
            for _ in range(2):
                np.testing.assert_allclose(reduce_loops.total.run(x, axis, False), x.sum(axis), 1e-10, 1e-10)
                np.testing.assert_array_equal(select_loops.argmax.run(x, axis, False), x.argmax(axis))
                np.testing.assert_allclose(scan_loops.sums.run(x, axis, False), x.cumsum(axis), 1e-10, 1e-10)


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, 5)])
def test_axes_that_are_none_are_left_to_numpy(axis):
    for family in (reduce_loops.total, select_loops.argmax, scan_loops.sums):
        assert family.run(np.ones((3, 4)), axis, False) is None


def test_levels_of_another_size_are_refused():
    assert reduce_loops.variance.run(np.ones((3, 4)), 0, False, 1.0, np.zeros(4)) is not None
    assert reduce_loops.variance.run(np.ones((3, 4)), 0, False, 1.0, np.zeros(3)) is None


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "float16", "int64", "int32", "int8", "uint8"])
def test_places(dtype, special):
    whole = np.dtype(dtype).kind in "iu"
    for shape, axis in ALONE:
        x = np.random.default_rng(0).integers(0, 50, shape).astype(dtype) if whole else numbers(shape, dtype, special)
        cut = axes.matrices(shape, axis)
        if np.dtype(dtype).itemsize == 1 and cut is not None and cut[2] > 1:
            continue  # in which places cannot be counted
        for name in ("argmax", "argmin"):
            for keepdim in (True, False, False):
                got = getattr(select_loops, name).run(x, axis, keepdim)
                np.testing.assert_array_equal(got, getattr(np, name)(x, axis=axis, keepdims=keepdim), err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans(dtype):
    for shape, axis in [((9,), 0), ((5, 300), 1), ((300, 5), 0), ((2, 70, 600), 1), ((7, 3), -1)]:
        x = numbers(shape, dtype, False)
        for name, fn in (("sums", np.cumsum), ("products", np.cumprod), ("log_sums", np.logaddexp.accumulate)):
            for backwards in (False, True, False):
                wide = np.flip(x, axis).astype("float64") if backwards else x.astype("float64")
                expected = np.flip(fn(wide, axis), axis) if backwards else fn(wide, axis)
                tolerance = 2e-6 if dtype == "float32" else 1e-12
                np.testing.assert_allclose(getattr(scan_loops, name).run(x, axis, backwards), expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", WHOLE)
def test_scans_of_whole_numbers(dtype):
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, (5, 300)).astype(dtype)
    for name, fn in (("sums", np.cumsum), ("products", np.cumprod)):
        for _ in range(2):
            got = getattr(scan_loops, name).run(x, 1, False)
            assert got.dtype == np.int64
            np.testing.assert_array_equal(got, fn(x, 1, dtype=np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_found_is_taken_and_put_back(dtype):
    random = np.random.default_rng(0)
    for shape, axis, k in [((6,), 0, 1), ((5, 30), 1, 4), ((30, 5), 0, 1), ((30, 5), 0, 7), ((2, 7, 3), 1, 2)]:
        x = numbers(shape, dtype, False)
        index = random.integers(0, shape[axis], [k if d == axis else size for d, size in enumerate(shape)])
        np.testing.assert_array_equal(select_loops.taken(x, index, axis), np.take_along_axis(x, index, axis))
        g = numbers(index.shape, dtype, False)
        expected = np.zeros_like(x)
        np.add.at(expected, tuple(index if d == axis else grid for d, grid in enumerate(np.indices(index.shape))), g)
        np.testing.assert_allclose(select_loops.returned(g, index, axis, shape), expected, 1e-6)


def test_an_index_out_of_range_reaches_no_foreign_memory():
    index = np.array([[-5], [10**6]])
    assert select_loops.returned(np.ones((2, 1)), index, 1, (2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert select_loops.taken(np.arange(6.0).reshape(2, 3), index, 1).tolist() == [[0], [5]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorting(dtype):
    random = np.random.default_rng(0)
    for n in [*range(1, 40), 64, 100, 1000]:
        x = random.choice(SPECIAL, (6, n)).astype(dtype) if n % 3 else random.normal(size=(6, n)).astype(dtype)
        ascending = np.argsort(x, axis=-1, kind="stable")
        descending = n - 1 - np.argsort(x[:, ::-1], axis=-1, kind="stable")[:, ::-1]
        for turned, expected in ((False, ascending), (True, descending)):
            np.testing.assert_array_equal(order_loops.sorted_places(x, turned), expected)
            for k in {1, min(3, n), n}:
                np.testing.assert_array_equal(order_loops.first_places(x, k, turned), expected[:, :k])


def test_a_negative_nan_is_sorted_last_too():
    x = np.array([1.0, -np.nan, -1.0, np.copysign(np.nan, -1.0)] * 20)
    assert np.isnan(x[order_loops.sorted_places(x, False)][40:]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_spread(dtype):
    for shape, axis in SHAPES:
        x = numbers(shape, dtype, False)
        shares, levels = (numbers(np.sum(x, **by_axis(axis)).shape, dtype, False) for _ in range(2))
        np.testing.assert_array_equal(spread_loops.evenly(shape, axis, shares), np.broadcast_to(shares, shape))
        found = spread_loops.by_deviation(shape, axis, shares, x, levels)
        if axes.matrices(shape, axis) is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, (x - levels) * shares, 1e-5)


def run(name, arguments, x, dtype):
    tensor = ad.from_numpy(x.astype(dtype)).requires_grad_()
    result = getattr(ad, name)(tensor, **arguments)
    result = result[0] if isinstance(result, tuple) else result
    result.backward(ad.ones_like(result) * 1.5)
    return result.detach().numpy(), tensor.grad.numpy()


OPS = [
    *((name, {"dim": dim}) for name in ("sum", "mean", "amax", "amin", "var", "std", "norm", "logsumexp", "nansum") for dim in (0, 1, -1)),
    *((name, {"dim": dim}) for name in ("sum", "mean", "amax", "var", "norm", "logsumexp") for dim in ((0, 2), (1, 2))),
    *((name, {"dim": dim}) for name in ("prod", "cumsum", "cumprod", "logcumsumexp") for dim in (0, 1, 2)),
    *((name, {"dim": dim}) for name in ("max", "min", "cummax", "cummin", "sort", "median", "mode") for dim in (0, 1, 2)),
    *((name, {"k": 2, "dim": dim}) for name in ("topk", "kthvalue") for dim in (0, 2)),
    *(("norm", {"p": p, "dim": dim}) for p in (0, 1, 3, 0.5, float("inf"), -float("inf")) for dim in (0, 2, None)),
    *((name, {}) for name in ("sum", "mean", "amax", "amin", "max", "min", "var", "std", "norm", "prod", "nansum", "median")),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "arguments"), OPS, ids=str)
def test_ops_give_the_same_with_and_without_kernels(name, arguments, dtype, monkeypatch, without_builtins):
    x = np.random.default_rng(0).normal(size=(5, 6, 7))
    x[1, 2] = x[1, 3]  # equal elements share gradients
    compiled = [run(name, arguments, x, dtype) for _ in range(2)][1]
    without_builtins()
    for kernel in LOOPS:
        monkeypatch.setattr(kernel, "run", lambda *args: None)
    for got, expected in zip(compiled, run(name, arguments, x, dtype), strict=True):
        np.testing.assert_allclose(got, expected, *([2e-5, 1e-6] if dtype == "float32" else [1e-12, 1e-13]))


@pytest.mark.parametrize("dim", [2**63, -(2**63) - 1, 2**70])
@pytest.mark.parametrize("name", ["sum", "argmax", "cumsum", "softmax", "amax"])
def test_an_axis_that_no_integer_of_the_machine_holds(name, dim):
    x = ad.ones(4, 5)
    for _ in range(300):  # in Python first, then by the built-in
        getattr(x, name)(1)
    with pytest.raises(IndexError, match="Dimension out of range"):
        getattr(x, name)(dim)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 16, 63, 64, 65, 128, 130])
@pytest.mark.parametrize("height", [1, 3, 8, 31, 257, 2000])
def test_narrow_columns(height, width, dtype):
    x = (numbers((2, height, width), "float64", False) * 3).astype(dtype)
    exact = x.astype("float64") if x.dtype.kind == "f" else x.astype("int64")
    np.testing.assert_array_equal(reduce_loops.count.run(x, 1, False), np.count_nonzero(x, 1))
    np.testing.assert_array_equal(reduce_loops.some.run(x, 1, False), x.any(1))
    np.testing.assert_array_equal(reduce_loops.every.run(x, 1, False), x.all(1))
    np.testing.assert_array_equal(reduce_loops.largest.run(x, 1, False), x.max(1))
    found, tolerance = reduce_loops.total.run(x, 1, False), {"float32": 1e-6, "float16": 1e-3}.get(dtype, 1e-14)
    np.testing.assert_allclose(found, exact.sum(1), rtol=tolerance, atol=tolerance * float(np.abs(exact).sum(1).max()))


@pytest.mark.parametrize("width", [1, 3, 40, 130])
def test_columns_give_the_same_on_one_thread_and_on_two(width):
    x = ad.tensor(numbers((30_000, width), "float32", False))
    threads, found = ad.get_num_threads(), []
    try:
        for count in (1, 2):
            ad.set_num_threads(count)
            found.append([f(0).tolist() for f in (x.sum, x.mean, x.var, x.std, x.amax, x.logsumexp)])
    finally:
        ad.set_num_threads(threads)
    assert found[0] == found[1]
