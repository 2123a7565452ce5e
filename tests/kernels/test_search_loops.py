"""Kernels that search, count and choose: the same as NumPy, for all types of elements, and nothing where they cannot serve."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import distance_loops, index_loops, mask_loops, order_loops, search_loops

DTYPES = ("float32", "float64", "float16", "int64", "int32", "uint8")
SHAPES = [(1,), (8, 4), (300,), (100, 200), (3, 50, 70), (2, 3, 4, 5)]


def numbers(shape, dtype="float32"):
    return (np.random.default_rng(0).normal(size=shape) * 20).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("which", ["some", "none", "all"])
def test_masks(shape, which):
    x = numbers(shape)
    mask = {"some": x > 5, "none": np.zeros(shape, bool), "all": np.ones(shape, bool)}[which]
    np.testing.assert_array_equal(mask_loops.places(mask), np.argwhere(mask))
    for dtype in DTYPES:
        given = x.astype(dtype)
        np.testing.assert_array_equal(mask_loops.places(given), np.argwhere(given))
        np.testing.assert_array_equal(mask_loops.taken(given, mask), given[mask])
    values = numbers(int(mask.sum()) + 1)
    written, expected = x.copy(), x.copy()
    expected[mask] = values[:-1]
    assert mask_loops.written(written, mask, values)
    np.testing.assert_array_equal(written, expected)
    if mask.any():
        np.testing.assert_array_equal(mask_loops.spread(values[:-1], mask), np.where(mask, expected, 0))
        assert mask_loops.written(written, mask, values[:-2]) is None
    assert mask_loops.filled(written, mask, 7.0)
    np.testing.assert_array_equal(written, np.where(mask, np.float32(7), x))


def test_masks_that_numpy_has_to_handle():
    x = numbers((20, 30))
    assert mask_loops.taken(x.T, x.T > 0) is None
    assert mask_loops.places(x[:0]) is None
    frozen = x.copy()
    frozen.flags.writeable = False
    assert mask_loops.filled(frozen, x > 0, 1.0) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 5, 300, 20000])
def test_searches(dtype, size):
    x = numbers(size, dtype)
    other = x.copy()
    assert search_loops.equal(x, other) is True
    other[size // 2] += 1
    assert search_loops.equal(x, other) is False
    for count in (1, 8, 100):
        among = np.sort(numbers(count, dtype))
        np.testing.assert_array_equal(search_loops.among(x, among[::-1].copy()), np.isin(x, among))
        for right in (False, True):
            np.testing.assert_array_equal(
                search_loops.insertion_places(among, x, right), np.searchsorted(among, x, "right" if right else "left")
            )


def test_nan_belongs_behind_everything():
    found = search_loops.insertion_places(np.array([1.0, 2.0]), np.array([np.nan, 1.5, np.inf]), False)
    np.testing.assert_array_equal(found, [2, 1, 2])


@pytest.mark.parametrize("bins", [1, 7, 97])
def test_histograms(bins):
    for x in (numbers(50000), np.round(numbers(300, "float64"))):
        np.testing.assert_array_equal(
            search_loops.histogram(x, bins, -20.0, 20.0), np.histogram(x.astype(float), bins, (-20, 20))[0]
        )
    whole = np.random.default_rng(0).integers(0, bins, 50000)
    np.testing.assert_array_equal(search_loops.frequencies(whole, bins + 2), np.bincount(whole, minlength=bins + 2))


def of_rank(*args):
    found = order_loops.of_rank(*args)
    assert found is not None
    return found


@pytest.mark.parametrize("size", [1, 2, 9, 1000, 5000])
@pytest.mark.parametrize("kind", ["normal", "equal", "sorted", "few", "nan"])
def test_ranks(size, kind):
    x = numbers((3, size), "float64")
    x = {"equal": x * 0, "sorted": np.sort(x), "few": np.round(x / 20), "nan": np.where(x > 10, np.nan, x)}.get(kind, x)
    order = np.argsort(x, axis=1, kind="stable")
    for rank in {0, size // 2, size - 1}:
        np.testing.assert_array_equal(of_rank(x, -1, order_loops.RANK, rank)[1], order[:, rank : rank + 1])
    if not np.isnan(x).any():
        np.testing.assert_array_equal(of_rank(x, -1, order_loops.MEDIAN)[1], order[:, [(size - 1) // 2]])


def test_sorting_whole_numbers():
    ends = [np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0, -1, 0]
    x = np.array([ends, ends[::-1]])
    for descending in (False, True):
        found = order_loops.sorted_rows(x, descending)
        assert found is not None
        values, places = found
        np.testing.assert_array_equal(values, np.sort(x)[:, ::-1] if descending else np.sort(x))
        np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)
        np.testing.assert_array_equal(places[0][values[0] == 0], [2, 4])


def test_several_indices_become_one():
    first, second = np.array([[0, -1], [2, 1]]), np.array([[3, -4], [0, 1]])
    joined = index_loops.join((first, second), (3, 4, 5))
    np.testing.assert_array_equal(joined, [[3, 8], [8, 5]])
    assert index_loops.join((first, second + 2), (3, 4, 5)) is None


def test_rows_marked_by_their_classes():
    np.testing.assert_array_equal(index_loops.marks(np.array([2, 0]), 3), [[0, 0, 1], [1, 0, 0]])
    assert index_loops.marks(np.array([3]), 3) is None
    assert index_loops.marks(np.array([-1]), 3) is None


@pytest.mark.parametrize("index", [[5, 5, 0, 39], [40], [-1, 3]])
def test_rows_added_to_zeros_and_to_a_copy(index):
    index, base = np.array(index), numbers((40, 3000))
    rows = numbers((len(index), 3000))
    zeros = index_loops.add.into_zeros(base.shape, 0, index, rows, negative=True)
    copy = index_loops.add.into_copy(base, 0, index, rows, 2.0)
    if index.max() >= 40:
        assert zeros is copy is None
        return
    expected = np.zeros_like(base)
    np.add.at(expected, index, rows)
    np.testing.assert_allclose(zeros, expected, rtol=1e-6)
    if index.min() < 0:
        assert copy is None
    else:
        np.testing.assert_allclose(copy, base + 2 * expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("part", [np.s_[:, 1:], np.s_[:, ::2], np.s_[::2, :], np.s_[:, ::-3], np.s_[1:, :, 5:], np.s_[:, :, ::2]])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, -1)])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "any"])
def test_reductions_of_large_parts(part, dim, name):
    x = numbers((60, 40, 50) if len(part) == 3 else (300, 500))[part]
    tensor = ad.from_numpy(x.base)[part] if min(x.strides) > 0 else ad.from_numpy(x[:, ::-1])[:, :]
    x = tensor.numpy()
    function = {"amax": np.max}.get(name) or getattr(np, name)
    given = {} if dim is None else {"dim": dim}
    for _ in range(2):
        found = getattr(ad, name)(tensor, **given).numpy()
        np.testing.assert_allclose(found, function(x.astype(float), axis=dim), rtol=1e-4, atol=1e-2)


def test_whole_numbers_become_floating_ones_by_one_rounding():
    rng = np.random.default_rng(0)
    ties = [(rng.integers(1 << 23, 1 << 24, 500) << (bits - 23)) + (1 << (bits - 24)) for bits in range(54, 63)]
    edges = np.concatenate([*ties, 1 << np.arange(63), [0, 2**63 - 1, -(2**63)], rng.integers(-(2**63), 2**63 - 1, 20000)])
    x = np.concatenate([edges, edges - 1, edges + 1, -edges])
    for dtype in (ad.float32, ad.float64):
        for _ in range(12):
            found = ad.from_numpy(x).to(dtype).numpy()
        np.testing.assert_array_equal(found, x.astype(found.dtype))


@pytest.mark.parametrize("shape", [(20000,), (100000,), (300, 400), (2, 100000), (3_000_000,)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_large_rows_are_reduced_by_the_built_in(shape, dtype):
    x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    tensor = ad.from_numpy(x)
    for dim in (None, -1):
        for name in ("sum", "amax", "count_nonzero"):
            given = {} if dim is None else {"dim": dim}
            function: Any = {"amax": np.max, "sum": np.sum, "count_nonzero": np.count_nonzero}[name]
            for _ in range(3):
                found = getattr(ad, name)(tensor, **given).numpy()
            expected = function(x.astype(float), axis=dim)
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(found, np.asarray(expected).astype(found.dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape", [(5, 7), (3, 40, 6), (130, 140)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_ranks_along_an_axis(shape, axis, dtype):
    x = np.round(numbers(shape, "float64") / 20).astype(dtype)
    if dtype == "int64":
        x[0, 0], x[1, 1:3] = np.iinfo(dtype).min, np.iinfo(dtype).max
    else:
        x[1, 1:4] = np.nan
    for given in (x, x[::-1], np.asfortranarray(x)):
        order = np.argsort(given, axis=axis, kind="stable")
        for rank in {0, 2, given.shape[axis] - 1}:
            values, places = of_rank(given, axis, order_loops.RANK, rank)
            expected = np.take(order, [rank], axis=axis)
            np.testing.assert_array_equal(places, expected)
            np.testing.assert_array_equal(values, np.take_along_axis(given, expected, axis))


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_runs(dtype):
    x = np.array([3, 3, 1, 0, 0, 0, 3, 3], dtype)
    found = search_loops.runs(x, True, True)
    assert found is not None
    firsts, numbers_, lengths = found
    ends = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    np.testing.assert_array_equal(firsts, x[ends])
    np.testing.assert_array_equal(np.repeat(np.arange(len(ends)), lengths), numbers_)
    assert search_loops.runs(x[:0], True, True) is None and search_loops.runs(x[::2], True, True) is None
    found = search_loops.runs(x, False, False)
    assert found is not None and found[1] is found[2] is None
    np.testing.assert_array_equal(found[0], x[ends])


def test_the_first_element_of_a_run_stands_for_it():
    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0])
    found = search_loops.runs(x, True, True)
    assert found is not None
    np.testing.assert_array_equal(np.signbit(found[0]), [False, False, True])


def test_each_nan_is_a_run_of_its_own():
    found = search_loops.runs(np.array([np.nan, np.nan, 1.0]), True, True)
    assert found is not None
    values, numbers_, lengths = found
    assert len(values) == 3 and numbers_.tolist() == [0, 1, 2] and lengths.tolist() == [1, 1, 1]


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("others", [7, 70])
@pytest.mark.parametrize("shape", [(5, 3), (130, 17), (2, 9, 1), (3, 140)])
def test_distances(shape, others, p):
    x, y = numbers(shape, "float64"), numbers((*shape[:-2], others, shape[-1]), "float64") * 0.5
    y[..., 0, :] = x[..., 0, :]
    expected = np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, -1)
    np.testing.assert_allclose(distance_loops.crossed(x, y, p), expected, rtol=1e-12)
    if len(shape) == 2:
        pairs = np.linalg.norm(x[:, None] - x, p, -1)[np.triu_indices(len(x), 1)]
        np.testing.assert_allclose(distance_loops.paired(x, p), pairs, rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("others", [7, 70])
@pytest.mark.parametrize("shape", [(5, 3), (130, 17), (2, 9, 1)])
def test_gradients_of_distances(monkeypatch, shape, others, p):
    x, y = numbers(shape, "float64"), numbers((*shape[:-2], others, shape[-1]), "float64") * 0.5
    y[..., 0, :] = x[..., 0, :]
    kernel = distance_loops.BACK.get(p, distance_loops.OTHERS_BACK)

    def gradients():
        a, b = ad.tensor(x).requires_grad_(), ad.tensor(y).requires_grad_()
        pairs = ad.nn.functional.pdist(a, p) if len(shape) == 2 else a
        total = (ad.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist") ** 2).sum() + (pairs**2).sum()
        return [grad.numpy() for grad in ad.autograd.grad(total, [a, b])]

    compiled = gradients()
    assert kernel.run != kernel.first
    monkeypatch.setattr(kernel, "run", lambda *args: None)
    for ours, theirs in zip(compiled, gradients(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_distances_by_products(monkeypatch):
    x, y = ad.tensor(numbers((2, 40, 5), "float64")), ad.tensor(numbers((2, 30, 5), "float64") * 0.5)
    compiled = ad.cdist(x, y)
    assert distance_loops.finish_products.run != distance_loops.finish_products.first
    monkeypatch.setattr(distance_loops.finish_products, "run", lambda *args: None)
    np.testing.assert_allclose(compiled.numpy(), ad.cdist(x, y).numpy(), rtol=1e-12)
    np.testing.assert_allclose(compiled.numpy(), ad.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").numpy(), rtol=1e-10)


def test_distances_that_numpy_has_to_compute():
    x = numbers((4, 3))
    assert distance_loops.paired(x[:1], 2.0) is None and distance_loops.paired(x[:, :0], 2.0) is None
    assert distance_loops.crossed(x, x.astype("float64"), 2.0) is None and distance_loops.crossed(x, x[None], 2.0) is None
