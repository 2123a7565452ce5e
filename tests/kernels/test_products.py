"""Products of batches of matrices by compiled code: every layout against NumPy."""

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import products

SHAPES = [
    ((3, 2, 4), (3, 4, 5)), ((3, 1, 1), (3, 1, 1)), ((1, 7, 8), (6, 8, 9)), ((6, 7, 8), (1, 8, 9)), ((48, 64, 32), (48, 32, 64)),
    ((2, 3, 7, 8), (2, 3, 8, 9)), ((2, 1, 7, 8), (1, 3, 8, 9)), ((5, 7, 8), (2, 5, 8, 9)), ((300, 16, 16), (300, 16, 16)),
    ((2, 200, 100), (2, 100, 150)), ((2000, 4, 4), (2000, 4, 4)), ((7, 8), (3, 8, 9)), ((4, 1, 9), (4, 9, 1)), ((4, 9, 1), (4, 1, 9)),
]  # fmt: skip
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "batch inside": lambda x: np.ascontiguousarray(np.moveaxis(x, 0, -2)).swapaxes(0, -2) if x.ndim == 3 else x,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "part of a row": lambda x: np.concatenate([x, x], axis=-1)[..., : x.shape[-1]],
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_equal_to_numpy(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    expected = np.matmul(a, b)
    bias, served, tolerance = None, 0, 1e-5 if dtype == "float32" else 1e-12
    for left in LAYOUTS.values():
        for right in LAYOUTS.values():
            out = np.full_like(expected, np.nan)
            x, y = left(a), right(b)
            if products.function()(out, x, y, bias):
                served += 1
                np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
            else:
                assert np.isnan(out).all()
    assert served >= 9


BAD = {
    "inner sizes": lambda out, a, b: (out, a, b[:, :-1]),
    "result": lambda out, a, b: (out[:, :, :-1].copy(), a, b),
    "batches": lambda out, a, b: (out, a[:2], b),
    "dtype": lambda out, a, b: (out, a.astype("float64"), b),
    "integers": lambda out, a, b: (out.astype(int), a.astype(int), b.astype(int)),
    "result not contiguous": lambda out, a, b: (out[..., ::2], a, b[..., ::2]),
    "vectors": lambda out, a, b: (out[0, 0], a[0, 0], b[0]),
    "five dimensions": lambda out, a, b: (out[None, None], a[None, None], b[None, None]),
    "nothing": lambda out, a, b: (out[:, :0], a[:, :0], b),
    "too few": lambda out, a, b: (out, a),
    "bias too short": lambda out, a, b: (out, a, b, np.ones(7, "float32")),
    "bias of another dtype": lambda out, a, b: (out, a, b, np.ones(8)),
    "lists": lambda out, a, b: (out, a.tolist(), b),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_it_does_not_take_is_left_to_numpy(bad):
    a, b, out = np.ones((3, 4, 6), "float32"), np.ones((3, 6, 8), "float32"), np.zeros((3, 4, 8), "float32")
    assert products.function()(*(*BAD[bad](out, a, b), None)[:4]) is None
    assert not out.any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (5, 3, 7), (700, 130, 510), (64, 784, 256), (4096, 64, 64), (64, 64, 4100), (31, 2000, 33)])
def test_large_products_with_a_bias(m, k, n, dtype):
    rng = np.random.default_rng(0)
    a, b, bias = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype), rng.normal(size=n).astype(dtype)
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    for x in (a, np.asfortranarray(a)):
        for y in (b, np.asfortranarray(b)):
            for added in (bias, None):
                expected = a.astype("float64") @ b + (0 if added is None else added)
                np.testing.assert_allclose(products.multiply(x, y, added), expected, rtol=tolerance, atol=tolerance)


def test_blas_keeps_its_threads():
    import ctypes

    read = ctypes.CFUNCTYPE(ctypes.c_int)(products.blas()["get"])
    before = read()
    products.multiply(np.ones((500, 500)), np.ones((500, 500)))
    assert read() == before


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(48, 64, 32)), rng.normal(size=(48, 32, 64))
    before = ad.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        ad.set_num_threads(threads)
        results.append(products.multiply(a, b))
    ad.set_num_threads(before)
    assert all(np.array_equal(results[0], result) for result in results)
