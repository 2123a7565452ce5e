"""Reductions of whole numbers and truth values, which NumPy computes without a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

DTYPES = ["bool", "uint8", "int32", "int64"]
SHAPES = [(), (1,), (7,), (3, 5), (2, 0)]
AXES = [None, -1, 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", AXES)
def test_as_numpy(dtype: str, shape: tuple[int, ...], axis: int | None) -> None:
    data = np.asarray(np.random.default_rng(0).integers(0, 3, shape)).astype(dtype)
    x = ad.from_numpy(data.copy())
    at = axis if shape else None
    truth = np.dtype("uint8" if dtype == "uint8" else "bool")  # bytes stay bytes
    expected = {
        "sum": np.sum(data, axis=at, dtype=np.int64),
        "count_nonzero": np.sum(data != 0, axis=at, dtype=np.int64),
        "any": np.any(data, axis=at).astype(truth),
        "all": np.all(data, axis=at).astype(truth),
    }
    if data.size:
        expected |= {"amax": np.max(data, axis=at), "amin": np.min(data, axis=at)}
    for name, value in expected.items():
        got = getattr(x, name)() if axis is None else getattr(x, name)(axis)
        assert got.numpy().dtype == value.dtype, name
        np.testing.assert_array_equal(got.numpy(), value, err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_everything(dtype: str) -> None:
    x = ad.tensor([[0, 1], [1, 1]]).to(getattr(ad, dtype))
    assert (x.max().item(), x.min().item(), x.sum().item()) == (1, 0, 3)
    assert x.max().dtype is x.dtype
    assert x.sum(1, keepdim=True).tolist() == [[1], [2]]


def test_nothing_has_no_maximum() -> None:
    with pytest.raises(RuntimeError, match="max"):
        ad.zeros(0, dtype=ad.int64).max()
