"""Row kernels against the NumPy code they were traced from."""

from typing import Any

import numpy as np
import pytest

from adjoint._kernels import pool, rows
from adjoint._kernels.expr import Untraceable

LAST = {"axis": -1, "keepdims": True}


def softmax(x):
    e = np.exp(x - np.max(x, **LAST))
    return e / np.sum(e, **LAST)


def log_softmax(x):
    z = x - np.max(x, **LAST)
    return z - np.log(np.sum(np.exp(z), **LAST))


def softmax_rule(g, out):
    return out * (g - np.sum(g * out, **LAST))


def normalized(x, weight, bias, count, eps):
    centred = x - np.sum(x, **LAST) / count
    return centred / np.sqrt(np.sum(centred * centred, **LAST) / count + eps) * weight + bias


def scaled_by_column(x, column):
    return x * column + np.min(x, **LAST)


def logsumexp(x):
    top = np.max(x, **LAST)
    return top + np.log(np.sum(np.exp(x - top), **LAST))


CASES: dict[str, tuple[Any, str]] = {
    "softmax": (softmax, "T"),
    "log_softmax": (log_softmax, "T"),
    "softmax_rule": (softmax_rule, "TT"),
    "normalized": (normalized, "TRRSS"),
    "scaled_by_column": (scaled_by_column, "TC"),
    "logsumexp": (logsumexp, "T"),
}


@pytest.fixture(scope="module")
def kernels():
    return {name: rows.load(f"rows_{name}", fn, kinds) for name, (fn, kinds) in CASES.items()}


def arguments(kinds, shape, dtype):
    rng = np.random.default_rng(len(shape) + shape[-1])
    shapes = {"T": shape, "R": shape[-1:], "C": (*shape[:-1], 1)}
    numbers = iter([float(shape[-1]), 1e-5])
    return [next(numbers) if kind == "S" else rng.standard_normal(shapes[kind]).astype(dtype) for kind in kinds]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 1), (3, 33), (2, 3, 17), (4, rows.BLOCK + 5), (70, 2000)])
@pytest.mark.parametrize("name", CASES)
def test_equal_to_numpy(kernels, name, shape, dtype):
    fn, kinds = CASES[name]
    args = arguments(kinds, shape, dtype)
    result, expected = kernels[name](*args), fn(*args)
    assert result.shape == expected.shape and result.dtype == expected.dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(result, expected, rtol=100 * eps, atol=2000 * eps)


def test_it_is_the_kernel_that_computes(monkeypatch):
    calls = []

    def doubled(x):
        calls.append(x)
        return x / np.sum(x, **LAST)

    kernel = rows.load("rows_doubled", doubled, "T")
    calls.clear()
    kernel(np.ones((2, 3)))
    assert not calls
    kernel(np.ones((2, 6))[:, ::2])  # not contiguous: NumPy does it
    assert len(calls) == 1


@pytest.mark.parametrize("bad", [np.ones(3, int), np.float64(1), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 3), "float16")])
def test_unusual_arguments_go_to_numpy(kernels, bad):
    with np.errstate(all="ignore"):
        try:
            expected = softmax(bad)
        except (ValueError, TypeError, IndexError) as error:
            with pytest.raises(type(error)):
                kernels["softmax"](bad)
        else:
            np.testing.assert_array_equal(kernels["softmax"](bad), expected)


def test_nan_and_infinity_as_in_numpy(kernels):
    x = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 1.0], [-np.inf, 0.0, 1.0], [-np.inf] * 3])
    with np.errstate(all="ignore"):
        for name in ("softmax", "log_softmax", "logsumexp"):
            np.testing.assert_allclose(kernels[name](x), CASES[name][0](x), rtol=1e-14)


def test_the_number_of_threads_does_not_change_a_bit(kernels):
    x = np.random.default_rng(5).standard_normal((300, 1500)).astype("float32")
    before = pool.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            results.append(kernels["softmax"](x).tobytes())
        assert len(set(results)) == 1
    finally:
        pool.set_num_threads(before)


def test_other_reductions_are_refused():
    for fn in (lambda x: x - np.sum(x, axis=0, keepdims=True), lambda x: x - np.sum(x), lambda x: np.mean(x, **LAST)):
        with pytest.raises(Untraceable):
            rows.load("rows_refused", fn, "T")
