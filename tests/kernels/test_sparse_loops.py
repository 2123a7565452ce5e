"""Kernels of sparse products: the same as NumPy, whatever the order of the values, and as dense products."""

import numpy as np
import pytest

from adjoint._kernels import sparse_loops
from adjoint.sparse._ops import multiplied, sampled
from adjoint.sparse._pattern import Coo


def pattern(rows, columns, count, ordered):
    """Random places, some of them twice unless they are in order; some rows have none."""
    random = np.random.default_rng(0)
    places = np.stack([random.integers(0, rows, count), random.integers(0, columns, count)])
    return Coo(places[:, np.lexsort(places[::-1])] if ordered else places, (rows, columns), False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 16, 65])
@pytest.mark.parametrize("ordered", [True, False])
def test_products_are_numpys(dtype, width, ordered):
    random = np.random.default_rng(1)
    made = pattern(700, 300, 4000, ordered)
    values = random.standard_normal(4000).astype(dtype)
    whole = np.zeros(made.shape, dtype)
    np.add.at(whole, tuple(made.indices), values)
    for rows, dense in ((made.rows, whole), (made.rows.T, whole.T)):
        x = random.standard_normal((rows.shape[1], width)).astype(dtype)
        g = random.standard_normal((rows.shape[0], width)).astype(dtype)
        found = sparse_loops.product(values, x, rows)
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(found, multiplied(values, x, rows), **tolerance)
        np.testing.assert_allclose(found, dense @ x, **tolerance)
        of_values = sparse_loops.sampled(g, x, rows)
        np.testing.assert_allclose(of_values, sampled(g, x, rows), **tolerance)
        np.testing.assert_allclose(of_values, (g @ x.T)[rows_of(made, rows)], **tolerance)


def rows_of(made, rows):
    """Where each value is in the matrix, or the transposed one."""
    first, second = made.indices
    return (first, second) if rows.shape == made.shape else (second, first)


def test_equal_calls_give_equal_bits_whatever_the_number_of_threads():
    from adjoint._kernels import pool

    made = pattern(2000, 2000, 60_000, True)
    random = np.random.default_rng(2)
    values, x = random.standard_normal(60_000), random.standard_normal((2000, 40))
    before = pool.get_num_threads()
    found = []
    try:
        for count in (1, 2, 4):
            pool.set_num_threads(count)
            found.append(sparse_loops.product(values, x, made.rows))
    finally:
        pool.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found)


def test_numpy_serves_where_there_is_no_kernel():
    made = pattern(5, 4, 6, False)
    assert sparse_loops.product(np.ones(6, "complex64"), np.ones((4, 2), "complex64"), made.rows) is None
    assert sparse_loops.product(np.ones(6, "int64"), np.ones((4, 2), "int64"), made.rows) is None
    assert multiplied(np.ones(0), np.ones((4, 2)), Coo(np.zeros((2, 0), np.int64), (5, 4), True).rows).tolist() == [[0.0, 0.0]] * 5
