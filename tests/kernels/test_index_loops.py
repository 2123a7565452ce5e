"""Kernels that copy, and that read and write by index: the same as NumPy, whatever the layout, and nothing out of bounds."""

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import copy_loops, index_loops

SHAPES = [(7,), (300,), (5, 3), (65, 129), (4, 130, 3)]


def normal(shape, dtype="float32"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


LAYOUTS = {
    "contiguous": lambda: normal((200, 200)),
    "transposed": lambda: normal((300, 213)).T,
    "reversed": lambda: normal((200, 201))[::-1],
    "reversed rows": lambda: normal((200, 201))[:, ::-1],
    "every second": lambda: normal((200, 402))[:, ::2],
    "repeated": lambda: np.broadcast_to(normal((1, 200)), (200, 200)),
    "tiled": lambda: np.broadcast_to(normal((1, 90, 1, 91)), (2, 90, 2, 91)),
    "channels last": lambda: normal((3, 17, 33, 34)).transpose(0, 2, 3, 1),
    "all dimensions turned": lambda: normal((20, 21, 22, 23)).transpose(3, 1, 0, 2),
    "short rows": lambda: normal((3, 9000, 2)).transpose(1, 0, 2),
    "five dimensions": lambda: normal((8, 9, 10, 11, 12)).transpose(4, 2, 0, 3, 1),
    "integers": lambda: np.arange(40000).reshape(200, 200).T,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_are_in_order_and_stay_within_their_place(layout):
    x = LAYOUTS[layout]()
    for given in (x, x.astype("float64") if layout != "repeated" else x):
        copy = copy_loops.copy(given)
        assert copy.flags.c_contiguous
        np.testing.assert_array_equal(copy, given)
    frame = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)
    copy_loops.assign(frame[..., 1:-2], x)
    np.testing.assert_array_equal(frame[..., 1:-2], x)
    assert not frame[..., 0].any() and not frame[..., -2:].any()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_joining_is_concatenation(dim):
    parts = [normal((130, 140)), normal((130, 140)).T.copy().T, np.broadcast_to(normal((1, 140)), (130, 140))]
    np.testing.assert_array_equal(copy_loops.join(parts, dim), np.concatenate(parts, axis=dim))


def test_joining_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="must match exactly"):
        copy_loops.join([normal((130, 140)), normal((130, 141))], 0)


@pytest.mark.parametrize("diagonal", [-300, -3, 0, 2, 300])
@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (3, 4, 4)])
def test_triangles(shape, diagonal):
    x = normal(shape)
    np.testing.assert_array_equal(copy_loops.lower(x, diagonal), np.tril(x, diagonal))
    np.testing.assert_array_equal(copy_loops.upper(x, diagonal), np.triu(x, diagonal))
    lower, upper = x.copy(), x.copy()
    assert copy_loops.cleared(lower, diagonal + 1, True) and copy_loops.cleared(upper, diagonal, False)
    np.testing.assert_array_equal(lower, np.tril(x, diagonal))
    np.testing.assert_array_equal(upper, np.triu(x, diagonal))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [0, -1])
def test_rows(shape, dim, dtype):
    x, axis = normal(shape, dtype), dim % len(shape)
    size = shape[axis]
    index = np.random.default_rng(1).integers(-size, size, (5, 8))
    np.testing.assert_array_equal(index_loops.take(x, index, dim, negative=True), np.take(x, index, axis=axis))
    rows = (slice(None),) * axis + (index.reshape(-1),)
    source = normal((*shape[:axis], 40, *shape[axis + 1 :]), dtype)
    added, put = x.copy(), x.copy()
    assert index_loops.add.at_rows(added, dim, index, source, negative=True)
    assert index_loops.put.at_rows(put, dim, index, source, negative=True)
    expected = x.copy()
    np.add.at(expected, rows, source)
    np.testing.assert_array_equal(added, expected)
    expected = x.copy()
    expected[rows] = source
    np.testing.assert_array_equal(put, expected)
    skipping = x.copy()
    assert index_loops.add.at_rows(skipping, dim, index, source, skipped=0, negative=True)
    np.testing.assert_array_equal(np.take(skipping, 0, axis), np.take(x, 0, axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [0, -1])
def test_elements(shape, dim, dtype):
    x, axis = normal(shape, dtype), dim % len(shape)
    index = np.random.default_rng(1).integers(0, shape[axis], (*shape[:axis], 40, *shape[axis + 1 :]))
    np.testing.assert_array_equal(index_loops.gather(x, index, dim), np.take_along_axis(x, index, axis))
    places = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    places[axis] = index
    for ufunc, writing in index_loops.BY_UFUNC.items():
        written, expected = x.copy(), x.copy()
        assert writing.along(written, dim, index, normal(index.shape, dtype))
        ufunc.at(expected, tuple(places), normal(index.shape, dtype))
        np.testing.assert_array_equal(written, expected)


@pytest.mark.parametrize("wrong", [-1, 9, 2**62, -(2**62)])
@pytest.mark.parametrize("shape", [(9,), (9, 4), (3, 9)])
def test_an_index_out_of_bounds_is_noticed(shape, wrong):
    x = normal(shape)
    dim = shape.index(9)
    line = np.array([0, wrong, 8])
    assert index_loops.take(x, line, dim) is None
    index = np.zeros_like(x, np.int64)
    index.reshape(-1)[-1] = wrong
    assert index_loops.gather(x, index, dim) is None
    assert not index_loops.add.along(x.copy(), dim, index, x)
    assert not index_loops.add.at_rows(x.copy(), dim, line, np.take(x, [0, 0, 0], dim))
    assert index_loops.within(line, 0, 9, x) is False
    assert index_loops.within(np.array([0, 8]), 0, 9, x) is True


def test_an_array_in_place_is_not_touched_before_indices_are_checked():
    x = ad.zeros(300, 300)
    index = ad.zeros(300, 300, dtype=ad.int64)
    index[299, 299] = 300
    with pytest.raises(RuntimeError, match="index 300 is out of bounds"):
        x.scatter_add_(0, index, ad.ones(300, 300))
    with pytest.raises(RuntimeError, match="index 300 is out of bounds"):
        x.index_add_(0, index[299], ad.ones(300, 300))
    assert not x.any()


def test_sums_do_not_depend_on_the_number_of_threads():
    source, index = normal((2000, 300)), np.random.default_rng(1).integers(0, 50, (2000, 300))
    results = []
    before = ad.get_num_threads()
    for threads in (1, 2, 5):
        ad.set_num_threads(threads)
        try:
            scattered, added = np.zeros((50, 300), "float32"), np.zeros((50, 300), "float32")
            assert index_loops.add.along(scattered, 0, index, source)
            assert index_loops.add.at_rows(added, 0, index[:, 0].copy(), source)
        finally:
            ad.set_num_threads(before)
        results.append((scattered, added))
    assert all(np.array_equal(a, b) for result in results for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("shape", [(8, 4), (40, 300), (300, 200)])
@pytest.mark.parametrize("dim", [0, 1])
def test_nothing_is_written_if_an_index_is_out_of_bounds(shape, dim):
    x, source = normal(shape), normal(shape)
    index = np.zeros(shape, np.int64)
    index[-1, -1] = shape[dim]
    for write in (index_loops.add.along, index_loops.put.along):
        target = x.copy()
        assert not write(target, dim, index, source)
        np.testing.assert_array_equal(target, x)
    target = x.copy()
    assert not index_loops.filled_along(target, dim, index, 1.0)
    np.testing.assert_array_equal(target, x)


def test_whole_numbers_are_scattered():
    target, index = np.zeros((5, 3), np.int64), np.array([[0, 4, 0], [0, 1, 2]])
    assert index_loops.add.along(target, 0, index, np.array([[1 << 60, 2, 3], [1, 5, 6]]))
    assert target.tolist() == [[(1 << 60) + 1, 0, 3], [0, 5, 0], [0, 0, 6], [0, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_repeats(count, dim):
    x = normal((3, 4, 5))
    np.testing.assert_array_equal(copy_loops.repeat(x, count, dim), np.repeat(x, count, axis=dim))
    assert copy_loops.repeat(x, 0, dim) is None
