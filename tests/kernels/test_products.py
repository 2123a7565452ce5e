"""Matrix products by compiled code: every size and layout against NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint._kernels import multiply as plan
from adjoint._kernels import products, target
from adjoint.ops import matmul

DTYPES = {"f32": "float32", "f64": "float64"}
EXACT = {"float32": 2e-6, "float64": 8e-15}  # errors, relative to the products of absolute values


def multiply(a, b, bias=None):
    return products.function({"f": "f32", "d": "f64"}[a.dtype.char])(a, b, bias)


def check(a, b, bias=None):
    result = multiply(a, b, bias)
    assert result is not None
    added = 0 if bias is None else bias.astype("float64")
    exact = np.matmul(a.astype("float64"), b.astype("float64")) + added
    scale = np.matmul(np.abs(a).astype("float64"), np.abs(b).astype("float64")) + np.abs(added)
    assert result.shape == exact.shape and result.dtype == a.dtype and result.flags.c_contiguous and result.flags.owndata
    assert (np.abs(result - exact) <= EXACT[a.dtype.name] * scale).all()
    return result


LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "batch inside": lambda x: np.ascontiguousarray(np.moveaxis(x, 0, -2)).swapaxes(0, -2) if x.ndim == 3 else x,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=-2)[..., ::2, :],
    "part of a row": lambda x: np.concatenate([x, x], axis=-1)[..., : x.shape[-1]],
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "columns backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "one row": lambda x: np.broadcast_to(x[..., :1, :], x.shape),
    "off the lines": lambda x: np.concatenate([x.ravel()[:1], x.ravel()])[1:].reshape(x.shape),
}

sizes = st.one_of(st.integers(1, 20), st.integers(20, 70))
deep = st.one_of(st.integers(1, 40), st.sampled_from([255, 256, 257, 511, 600]))
batches = st.sampled_from(
    [((), ()), ((3,), (3,)), ((1,), (5,)), ((5,), (1,)), ((), (4,)), ((2, 3), (2, 3)), ((2, 1), (1, 3)), ((3,), (2, 3))]
)


@pytest.mark.parametrize("dtype", DTYPES.values())
@given(m=sizes, n=sizes, k=deep, batch=batches, left=st.sampled_from([*LAYOUTS]), right=st.sampled_from([*LAYOUTS]),
       bias=st.sampled_from(["none", "vector", "matrix", "one a row"]))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_equal_to_numpy(dtype, m, n, k, batch, left, right, bias):
    rng = np.random.default_rng(m + 100 * n + 10000 * k)
    a, b = rng.normal(size=(*batch[0], m, k)).astype(dtype), rng.normal(size=(*batch[1], k, n)).astype(dtype)
    if batch == ((), ()) and 1 in (m, n) and m * n * k > products.SHORT:
        assert multiply(LAYOUTS[left](a), LAYOUTS[right](b)) is None  # BLAS has functions for vectors
    else:
        shape = {"vector": n, "matrix": (m, n), "one a row": (m, 1)}.get(bias)
        check(LAYOUTS[left](a), LAYOUTS[right](b), None if shape is None else rng.normal(size=shape).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES.values())
@pytest.mark.parametrize(
    "shape",
    [
        (700, 130, 510),
        (64, 784, 256),
        (4096, 64, 64),
        (64, 64, 4100),
        (31, 2000, 33),
        (401, 301, 403),
        (40, 1000, 1100),
        (300, 30000, 20),
        (512, 600, 300),
        (256, 300, 520),
    ],
)
def test_large_products(shape, dtype):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b, bias = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype), rng.normal(size=n).astype(dtype)
    results = [check(x, y, bias) for x in (a, np.asfortranarray(a)) for y in (b, np.asfortranarray(b))]
    assert all(np.array_equal(results[0], result) for result in results)  # the layout decides about the way, not about the numbers


def test_large_products_in_parts(monkeypatch, tmp_path):
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(plan, "ROOM", 1 << 18)
    monkeypatch.setattr(plan, "SPAN", 128)
    multiply_in_parts = products.function.__wrapped__("f32")
    rng = np.random.default_rng(0)
    a, b, *biases = (rng.normal(size=shape).astype("float32") for shape in ((2, 512, 610), (610, 405), 405, (512, 405), (512, 1)))
    for left in (a, LAYOUTS["transposed"](a)):  # the second is arranged too
        for bias in biases:
            assert np.array_equal(multiply_in_parts(left, b, bias), check(left, b, bias))


@pytest.mark.parametrize("lanes", [4, 16])
def test_other_vectors(lanes, monkeypatch, tmp_path):
    """What a CPU with shorter or longer vectors gets."""
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    other = replace(target.current(), float_lanes=lanes, vector_registers=2 * lanes)
    monkeypatch.setattr(target, "current", lambda: other)
    made = products.function.__wrapped__("f32")
    monkeypatch.setattr(products, "function", lambda kind: made)
    rng = np.random.default_rng(0)
    for m, k, n in ((3, 4, 5), (7, 300, 33), (17, 9, 64), (330, 310, 405), (512, 70, 300)):
        a, b = rng.normal(size=(m, k)).astype("float32"), rng.normal(size=(k, n)).astype("float32")
        for x in (a, np.asfortranarray(a)):
            for y in (b, np.asfortranarray(b)):
                check(x, y)


@pytest.mark.parametrize("k", [3, 300])
def test_infinite_numbers_and_nan_stay_in_their_rows_and_columns(k):
    a, b = np.ones((13, k), "float32"), np.ones((k, 19), "float32")
    a[5, k - 1], b[0, 7] = np.inf, np.nan
    result, expected = multiply(a, b), np.full((13, 19), k, "float32")
    expected[5], expected[:, 7] = np.inf, np.nan
    np.testing.assert_array_equal(result, expected)


BAD = {
    "inner sizes": lambda a, b: (a, b[:, :-1], None),
    "batches": lambda a, b: (a[:2], b, None),
    "dtype": lambda a, b: (a.astype("float64"), b, None),
    "integers": lambda a, b: (a.astype(int), b.astype(int), None),
    "byte order": lambda a, b: (a.astype(">f4"), b.astype(">f4"), None),
    "not aligned": lambda a, b: (np.frombuffer(b"x" + a.tobytes(), "u1")[1:].view("float32").reshape(a.shape), b, None),
    "vectors": lambda a, b: (a[0, 0], b[0], None),
    "five dimensions": lambda a, b: (a[None, None], b[None, None], None),
    "nothing": lambda a, b: (a[:, :0], b, None),
    "nothing to sum": lambda a, b: (a[:, :, :0], b[:, :0], None),
    "no matrices": lambda a, b: (a[:0], b[:0], None),
    "too few": lambda a, b: (a, b),
    "bias too short": lambda a, b: (a, b, np.ones(7, "float32")),
    "bias of another dtype": lambda a, b: (a, b, np.ones(8)),
    "bias of two dimensions": lambda a, b: (a, b, np.ones((1, 8), "float32")),
    "bias of fewer rows": lambda a, b: (a, b, np.ones((3, 1), "float32")),
    "bias of three dimensions": lambda a, b: (a, b, np.ones((1, 4, 8), "float32")),
    "bias not contiguous": lambda a, b: (a, b, np.ones(16, "float32")[::2]),
    "lists": lambda a, b: (a.tolist(), b, None),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_it_does_not_take_is_left_to_numpy(bad):
    a, b = np.ones((3, 4, 6), "float32"), np.ones((3, 6, 8), "float32")
    assert products.function("f32")(*BAD[bad](a, b)) is None


@pytest.mark.parametrize("layout", ["plain", "transposed"])
@pytest.mark.parametrize(
    "shapes", [((48, 64, 32), (48, 32, 64)), ((500, 300), (300, 400)), ((300, 64), (64, 30)), ((3, 512, 300), (3, 300, 400))]
)
def test_threads_change_nothing(shapes, layout):
    rng = np.random.default_rng(0)
    a, b = (LAYOUTS[layout](rng.normal(size=shape)) for shape in shapes)
    before = ad.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        ad.set_num_threads(threads)
        results.append(multiply(a, b))
    ad.set_num_threads(before)
    assert all(np.array_equal(results[0], result) for result in results)


def test_memory_of_results_is_freed():
    import sys

    a = np.ones((600, 500), "float32")
    dtype, before = a.dtype, sys.getrefcount(a.dtype)
    for _ in range(20):
        result = multiply(a, a.T)
    assert sys.getrefcount(result) == 2
    del result
    assert sys.getrefcount(dtype) == before


def test_compiled_at_the_first_call(monkeypatch):
    monkeypatch.setattr(matmul, "KERNELS", {})
    x = ad.ones(2, 2)
    assert ad.mm(x, x).tolist() == [[2.0, 2.0], [2.0, 2.0]] and len(matmul.KERNELS) == 1
    large = ad.ones(128, 128, dtype=ad.float64)
    assert (large @ large).sum().item() == 128**3
    assert len(matmul.KERNELS) == 2
