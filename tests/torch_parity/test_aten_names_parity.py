"""Names that PyTorch has for its own use, and dtypes that `out=` may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(3)
X, Y, MASK = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 3, 4)), RNG.random((2, 3, 4)) > 0.5
IMAGE = RNG.standard_normal((1, 2, 5, 6))
PLACES = (np.array([[0], [4], [1]]), np.array([[3, 0, -1, 2]]))


def tensors(m: Any, *values: Any) -> list[Any]:
    return [m.tensor(value) for value in values]


def masked(m: Any) -> tuple[Any, Any, list[Any]]:
    rows, columns = tensors(m, *PLACES)
    return m.tensor(X[0]), (rows < 3) & (columns > 0), [rows, columns]


def pool_backward(m: Any) -> Any:
    image = m.tensor(IMAGE)
    out, places = m.nn.functional.max_pool2d(image, 2, 1, return_indices=True)
    return m.ops.aten.max_pool2d_with_indices_backward(out.sin(), image, [2, 2], [1, 1], [0, 0], [1, 1], False, places)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda m: m.ops.aten.slice.Tensor(m.tensor(X), 2, 0, None, 2),
    "native_dropout_backward": lambda m: m.ops.aten.native_dropout_backward(*tensors(m, X, MASK), 2.0),
    "_batch_norm_with_update": lambda m: m.ops.aten._batch_norm_with_update(
        *tensors(m, X), None, None, *tensors(m, np.zeros(3), np.ones(3)), 0.1, 1e-5
    ),
    "_native_batch_norm_legit": lambda m: m._native_batch_norm_legit(*tensors(m, X), None, None, True, 0.1, 1e-5),
    "max_pool2d_with_indices_backward": pool_backward,
    "_safe_softmax": lambda m: m.ops.aten._safe_softmax(m.tensor([[1.0, float("-inf")], [float("-inf"), float("-inf")]]), 1),
    "_chunk_cat": lambda m: m._chunk_cat(tensors(m, X, Y[:, :2]), 1, 2),
    "_unsafe_masked_index": lambda m: m._unsafe_masked_index(*masked(m), 7.0),
    "_unsafe_masked_index_put_accumulate": lambda m: m._unsafe_masked_index_put_accumulate(*masked(m), m.ones(3, 4, dtype=m.float64)),
    "transpose_copy": lambda m: m.transpose_copy(m.tensor(X), 0, 2),
    "diagonal_copy": lambda m: m.diagonal_copy(m.tensor(X), 0, 1, 2),
    "unfold_copy": lambda m: m.unfold_copy(m.tensor(X), 2, 2, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_strides(name: str) -> None:
    theirs, ours = (x if isinstance(x, tuple) else (x,) for x in (PROGRAMS[name](torch), PROGRAMS[name](ad)))
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape))
        assert name == "max_pool2d_with_indices_backward" or a.stride() == b.stride()
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-10, atol=1e-12)


def test_native_batch_norm_out() -> None:
    out = (ad.empty(2, 3, 4), ad.empty(3), ad.empty(3))
    results = ad.native_batch_norm(ad.tensor(X).float(), None, None, None, None, True, 0.1, 1e-5, out=out)
    assert all(result is target for result, target in zip(results, out, strict=True))
    np.testing.assert_allclose(out[1].numpy(), X.mean((0, 2)), rtol=1e-5)


# What half precision loses where PyTorch computes in single precision.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "program",
    [
        lambda m, x, y: m.gradient(x, spacing=2.1, dim=1)[0],
        lambda m, x, y: m._softmax_backward_data(x, y, 1, x.dtype),
        lambda m, x, y: m._log_softmax_backward_data(x, y, 1, x.dtype),
    ],
)
def test_half_precision_is_computed_in_single(program: Callable[..., Any], dtype: str) -> None:
    a, b = (program(m, *(x.to(getattr(m, dtype)) for x in tensors(m, X, Y))) for m in (torch, ad))
    assert str(a.dtype) == str(b.dtype)
    np.testing.assert_allclose(b.float().numpy(), a.float().numpy(), rtol=1e-3 if dtype == "float16" else 8e-3, atol=1e-3)


OUTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda m, x, out: m.gather(x, 1, m.zeros(2, 3, dtype=m.int64), out=out),
    "mm": lambda m, x, out: m.mm(x, x.T, out=out),
    "amax": lambda m, x, out: m.amax(x, 1, out=out),
    "argmax": lambda m, x, out: m.argmax(x, 1, out=out),
    "tril": lambda m, x, out: m.tril(x, out=out),
    "index_select": lambda m, x, out: m.index_select(x, 0, m.tensor([1]), out=out),
    "sum": lambda m, x, out: m.sum(x, 1, out=out),
    "std": lambda m, x, out: m.std(x, 1, out=out),
    "cumsum": lambda m, x, out: m.cumsum(x, 1, out=out),
    "addr": lambda m, x, out: m.addr(x, x[:, 0], x[0], out=out),
    "max": lambda m, x, out: m.max(x, out=out),
    "sin": lambda m, x, out: m.sin(x, out=out),
    "add": lambda m, x, out: m.add(x, x, out=out),
    "multinomial": lambda m, x, out: m.multinomial(x.exp(), 2, out=out),
}


@pytest.mark.parametrize("name", OUTS)
def test_dtype_of_out(name: str) -> None:
    outcomes = []
    for m in (torch, ad):
        try:
            OUTS[name](m, m.tensor(X[0, :2, :3]).float(), m.empty(0, dtype=m.float64))
            outcomes.append(None)
        except RuntimeError as error:
            outcomes.append(type(error))
    assert outcomes[0] is outcomes[1]


def test_words_for_a_wrong_dtype_of_out() -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        ad.gather(ad.ones(2, 2), 0, ad.zeros(2, 2, dtype=ad.int64), out=ad.empty(2, 2, dtype=ad.float64))
    with pytest.raises(RuntimeError, match="multinomial expects Long tensor out, got: Double"):
        ad.multinomial(ad.ones(3), 1, out=ad.empty(1, dtype=ad.float64))
    with pytest.raises(RuntimeError, match="number of categories cannot exceed 2\\^24"):
        ad.multinomial(ad.zeros((1 << 24) + 1), 1)
    with pytest.raises(RuntimeError, match="_chunk_cat expects positive num_chunks"):
        ad._chunk_cat([ad.ones(2)], 0, 0)
