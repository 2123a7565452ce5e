"""Initial values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


def test_constants():
    t = nn.Parameter(ad.empty(3, 2))
    assert nn.init.ones_(t) is t and t.tolist() == [[1, 1]] * 3
    assert nn.init.zeros_(t).abs().sum().item() == 0
    assert nn.init.constant_(t, 0.5).tolist() == [[0.5, 0.5]] * 3
    assert nn.init.eye_(t).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert t.requires_grad and t.is_leaf
    kernel = nn.init.dirac_(ad.empty(4, 2, 3), groups=2)
    assert kernel[:, :, 1].tolist() == [[1, 0], [0, 1]] * 2 and kernel.sum().item() == 4


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda t: nn.init.uniform_(t, -1, 1), math.sqrt(1 / 3)),
        (lambda t: nn.init.normal_(t, 0, 2), 2),
        (lambda t: nn.init.xavier_uniform_(t, gain=2), 2 * math.sqrt(2 / 300)),
        (nn.init.xavier_normal_, math.sqrt(2 / 300)),
        (lambda t: nn.init.kaiming_uniform_(t, a=1), math.sqrt(1 / 100)),
        (lambda t: nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda t: nn.init.trunc_normal_(t, std=1, a=-100, b=100), 1),
    ],
)
def test_spread(fill, std):
    values = fill(ad.empty(200, 100)).numpy()
    assert abs(values.std() / std - 1) < 0.05 and abs(values.mean()) < 0.05 * std


@pytest.mark.parametrize(("a", "b"), [(-0.5, 1.0), (1.5, 2.0)])
def test_truncated_normal_stays_within_its_bounds(a, b):
    values = nn.init.trunc_normal_(ad.empty(500), 0.0, 1.0, a, b).numpy()
    assert values.min() >= a and values.max() <= b and len(np.unique(values)) > 400


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 2)])
def test_orthogonal(shape):
    matrix = nn.init.orthogonal_(ad.empty(shape, dtype=ad.float64), gain=2).numpy().reshape(shape[0], -1)
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    assert np.allclose(small @ small.T, 4 * np.eye(len(small)))


def test_sparse():
    values = nn.init.sparse_(ad.empty(10, 4), 0.35).numpy()
    assert ((values == 0).sum(0) == 4).all()


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [("linear", None, 1), ("conv_transpose2d", None, 1), ("tanh", None, 5 / 3), ("relu", None, math.sqrt(2)),
     ("leaky_relu", 0.2, math.sqrt(2 / 1.04)), ("selu", None, 0.75)],
)  # fmt: skip
def test_gain(name, param, gain):
    assert nn.init.calculate_gain(name, param) == gain


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda: nn.init.eye_(ad.ones(2)), "Only tensors with 2 dimensions are supported"),
        (lambda: nn.init.dirac_(ad.ones(2)), "Only tensors with 3, 4, or 5 dimensions are supported"),
        (lambda: nn.init.dirac_(ad.ones(3, 2, 2), 2), "dim 0 must be divisible by groups"),
        (lambda: nn.init.xavier_uniform_(ad.ones(3)), "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
        (lambda: nn.init.kaiming_uniform_(ad.ones(3, 3), mode="x"), "Mode x not supported"),
        (lambda: nn.init.calculate_gain("x"), "Unsupported nonlinearity x"),
        (lambda: nn.init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
        (lambda: nn.init.orthogonal_(ad.ones(3)), "Only tensors with 2 or more dimensions are supported"),
        (lambda: nn.init.sparse_(ad.ones(3), 0.1), "Only tensors with 2 dimensions are supported"),
    ],
)
def test_errors(do, message):
    with pytest.raises(ValueError, match=message):
        do()


def test_warnings():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        nn.init.kaiming_uniform_(ad.ones(0, 3))
    with pytest.warns(FutureWarning, match="`nn.init.xavier_normal` is now deprecated in favor of `nn.init.xavier_normal_`"):
        nn.init.xavier_normal(ad.empty(2, 2))
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        nn.init.trunc_normal_(ad.empty(3), 10, 1, 0, 1)


def test_generator():
    a, b = (nn.init.normal_(ad.empty(5), generator=ad.Generator().manual_seed(3)) for _ in range(2))
    assert a.tolist() == b.tolist()
