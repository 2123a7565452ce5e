"""Ops inside `vmap` and `jvp` whose rules do not follow from the declaration alone: the same program in both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated", "ignore:There is a performance drop")

X = np.linspace(-2.0, 2.5, 24).reshape(2, 3, 4)
ROWS = np.array([[0, 2, 1], [3, 3, 0]])
Program = Callable[[Any], list[Any]]


def tensors(m: Any, *values: Any) -> list[Any]:
    return [m.tensor(value, dtype=m.float64) for value in values]


def with_gradient(m: Any, function: Callable[[Any], Any], values: Any) -> list[Any]:
    """The results of `vmap` and the gradient of their sum, weighted."""
    x = m.tensor(values, dtype=m.float64).requires_grad_()
    out = m.vmap(function)(x)
    weights = m.arange(out.numel(), dtype=m.float64).reshape(out.shape)
    return [out, *m.autograd.grad((out * weights).sum(), x)]


def pushed(m: Any, function: Callable[..., Any], *values: Any) -> list[Any]:
    """The result of `jvp` and its tangent."""
    primals = tuple(tensors(m, *values))
    return list(m.func.jvp(function, primals, tuple(x.cos() for x in primals)))


def running(m: Any, norm: Callable[..., Any]) -> list[Any]:
    """Running statistics move inside a transform too."""
    mean, var = m.zeros(3, dtype=m.float64), m.ones(3, dtype=m.float64)
    result = m.func.jvp(lambda x: norm(x, mean, var), tuple(tensors(m, X)), tuple(tensors(m, X * 2)))
    return [*result, mean, var]


PROGRAMS: dict[str, Program] = {
    "flip of no dimension": lambda m: with_gradient(m, lambda x: m.flip(x, ()), X),
    "flip": lambda m: with_gradient(m, lambda x: m.flip(x, (0, -1)), X),
    "gather from a scalar": lambda m: with_gradient(m, lambda x: m.gather(x, 0, m.tensor([0])), X[0, 0]),
    "gather with a scalar": lambda m: with_gradient(m, lambda x: m.gather(x, 0, m.tensor(1)), X[0]),
    "squeeze a scalar": lambda m: with_gradient(m, lambda x: x.squeeze((0,)), X[0, 0]),
    "as_strided": lambda m: with_gradient(m, lambda x: x.as_strided((2, 2), (1, 2), 1), X),
    "as_strided, pushed": lambda m: pushed(m, lambda x: x.as_strided((2, 2), (1, 2), 1), X),
    "take_along_dim from the end": lambda m: [
        m.vmap(lambda i: m.take_along_dim(*tensors(m, X[0]), i, 1))(m.tensor([[[0], [-1], [2]], [[-4], [1], [-2]]]))
    ],
    "isin": lambda m: [m.vmap(lambda x: m.isin(x, m.tensor([1, 3])))(m.tensor(ROWS))],
    "isin, inverted": lambda m: [m.vmap(lambda x: m.isin(m.tensor([0, 1, 5]), x, invert=True))(m.tensor(ROWS))],
    "one_hot": lambda m: [m.vmap(lambda x: m.nn.functional.one_hot(x, 4))(m.tensor(ROWS))],
    "embedding with padding": lambda m: with_gradient(
        m, lambda w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w, padding_idx=2), X
    ),
    "embedding by frequency": lambda m: with_gradient(
        m, lambda w: m.nn.functional.embedding(m.tensor([[0, 2], [2, 1]]), w, scale_grad_by_freq=True), X
    ),
    "embedding of batched indices": lambda m: [
        m.vmap(m.nn.functional.embedding)(m.tensor(ROWS) % 3, *tensors(m, X))
    ],
    "embedding with limited norms": lambda m: with_gradient(
        m, lambda w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w * 1, max_norm=1.0), X
    ),
    "embedding with limited norms, pushed": lambda m: pushed(
        m, lambda w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w, max_norm=1.0), X[0]
    ),
    "to channels_last": lambda m: pushed(m, lambda x: x.to(memory_format=m.channels_last) * 2, X[None]),
    "batch_norm": lambda m: running(m, lambda x, *stats: m.nn.functional.batch_norm(x, *stats, training=True)),
    "instance_norm": lambda m: running(m, lambda x, *stats: m.nn.functional.instance_norm(x, *stats)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transform_of_op(name: str) -> None:
    theirs, ours = PROGRAMS[name](torch), PROGRAMS[name](ad)
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_rrelu_in_training_inside_jvp() -> None:
    x = ad.tensor([-2.0, -1.0, 0.5])
    out, slope = ad.func.jvp(lambda x: ad.nn.functional.rrelu(x, 0.25, 0.5, training=True), (x,), (ad.ones(3),))
    np.testing.assert_allclose((out / x).numpy(), slope.numpy(), rtol=1e-6)
    assert slope[2] == 1
    assert bool(((slope[:2] >= 0.25) & (slope[:2] <= 0.5)).all())


def test_batches_of_values_that_pytorch_mixes_up() -> None:
    """PyTorch 2.13 gives all examples the value of the last one, and counts gradients several times."""
    x = ad.zeros(3, 3)
    filled = ad.vmap(lambda v: ad.index_fill(x, 0, ad.tensor([1]), v))(ad.tensor([1.0, 2.0]))
    assert filled[:, 1].tolist() == [[1.0] * 3, [2.0] * 3]
    rows = ad.ones(2, 3, requires_grad=True)
    ad.vmap(lambda row: ad.select_scatter(x, row, 0, 1))(rows).sum().backward()
    assert rows.grad.tolist() == [[1.0] * 3] * 2
