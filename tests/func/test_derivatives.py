"""Partial derivatives of all kinds, against nested gradients of one point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.func import derivatives, grad, vmap
from adjoint.func._derivatives import plan_below, plan_of


def points(n: int, d: int) -> Any:
    return ad.from_numpy(np.random.default_rng(0).uniform(0.2, 0.9, (n, d)))


def u(p: Any) -> Any:
    x, y, z = p[:, 0], p[:, 1], p[:, -1]
    return ad.sin(x * y) * ad.exp(z * x) + y**4 * z


def one_by_one(index: tuple[int, ...], x: Any) -> Any:
    f: Any = lambda p: u(p[None])[0]  # noqa: E731
    for variable, times in enumerate(index):
        for _ in range(times):
            f = lambda p, f=f, variable=variable: grad(f)(p)[variable]  # noqa: E731
    return vmap(f)(x)


ORDERS = [
    [(1, 0, 0)],
    [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    [(2, 0, 0), (0, 2, 0), (0, 0, 2)],
    [(1, 1, 0)],
    [(0, 0, 0), (1, 1, 0), (1, 1, 0), (2, 0, 0)],
    [(2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 0, 0), (0, 0, 0)],
    [(1, 1, 1), (0, 4, 1), (2, 1, 0)],
    [(2, 2, 0), (4, 0, 0), (0, 4, 0)],
    [(0, 0, 0)],
]


@pytest.mark.parametrize("orders", ORDERS, ids=str)
def test_against_nested_gradients(orders: list[tuple[int, ...]]) -> None:
    x = points(5, 3)
    for ours, index in zip(derivatives(u, x, orders), orders, strict=True):
        assert ours.shape == (5,)
        np.testing.assert_allclose(ours.numpy(), one_by_one(index, x).numpy(), 1e-9, 1e-11, err_msg=str(index))


def test_one_variable() -> None:
    t = ad.linspace(0.1, 1.0, 4, dtype=ad.float64)
    value, first, fifth = derivatives(ad.sin, t, [0, 1, 5])
    np.testing.assert_allclose(value.numpy(), np.sin(t.numpy()))
    np.testing.assert_allclose(first.numpy(), np.cos(t.numpy()))
    np.testing.assert_allclose(fifth.numpy(), np.cos(t.numpy()))
    assert derivatives(lambda t: t**3, t.reshape(2, 2), [(2,)])[0].shape == (2, 2)


def test_several_results_for_each_point() -> None:
    x = points(4, 3)
    first = derivatives(lambda p: ad.stack([u(p), 2 * u(p)], 1), x, [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    for ours, index in zip(first, [(1, 0, 0), (0, 1, 0), (0, 0, 1)], strict=True):
        np.testing.assert_allclose(ours[:, 1].numpy(), 2 * one_by_one(index, x).numpy(), 1e-12)


@pytest.mark.parametrize("orders", [[(1, 0), (0, 2)], [(1, 1)], [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)], [(0, 3)]], ids=str)
def test_gradients_of_parameters(orders: list[tuple[int, int]]) -> None:
    """A loss made of derivatives trains the network."""
    model = ad.nn.Sequential(ad.nn.Linear(2, 6), ad.nn.Tanh(), ad.nn.Linear(6, 1)).double()
    weight, x = model[0].weight, points(3, 2)

    def loss() -> Any:
        return sum(d.square().sum() for d in derivatives(model, x, orders))

    (slope,) = ad.autograd.grad(loss(), weight)
    step = 1e-6
    with ad.no_grad():
        weight[0, 0] += step
        above = loss()
        weight[0, 0] -= 2 * step
        below = loss()
    assert slope[0, 0].item() == pytest.approx((above - below).item() / (2 * step), rel=1e-5)


@pytest.mark.parametrize("dimensions", [4, 6])
def test_reverse_mode_where_it_is_cheaper(dimensions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = [tuple(int(i == j) for j in range(dimensions)) for i in range(dimensions)]
    pairs = sorted({tuple(np.add(a, b).tolist()) for a in unit for b in unit})
    gradient, whole, laplacian = tuple(unit), tuple(pairs), tuple(tuple(2 * n for n in v) for v in unit)
    assert plan_below(gradient).cost < plan_of(gradient).cost
    assert plan_below(whole).cost < plan_of(whole).cost
    assert plan_below(laplacian).cost > plan_of(laplacian).cost
    x = points(3, dimensions)
    for ours, index in zip(derivatives(u, x, pairs), pairs, strict=True):
        np.testing.assert_allclose(ours.numpy(), one_by_one(index, x).numpy(), 1e-9, 1e-11, err_msg=str(index))


@pytest.mark.parametrize(
    ("needed", "directions"),
    [
        ([(2, 0), (1, 0), (0, 1)], 2),
        ([(1, 1)], 2),
        ([(2, 0), (1, 1), (0, 2)], 3),
        ([(2, 1)], 3),
        ([(4, 0), (2, 2), (0, 4)], 4),
        ([(1, 1, 1)], 4),
    ],
)
def test_few_directions(needed: list[tuple[int, ...]], directions: int) -> None:
    assert len(plan_of(tuple(sorted(needed))).orders) == directions


@pytest.mark.parametrize(
    ("x", "orders", "message"),
    [
        (points(3, 2), [(1, 0, 0)], "a number for each column"),
        (points(3, 2), [], "Expected orders to be a list"),
        (points(3, 2), [(-1, 0)], "Expected orders to be a list"),
        (ad.tensor([1]), [1], "floating-point"),
    ],
)
def test_errors(x: Any, orders: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        derivatives(lambda p: p.sum(-1), x, orders)
