"""A chain of a million operations: no step of its life may recurse."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

import adjoint as ad

DEEP = 1_000_000
FAIRLY_DEEP = 50_000  # far beyond any recursion limit, where a million would only take longer


@pytest.fixture(autouse=True)
def low_recursion_limit():
    """What recurses fails early instead of overflowing the stack of a thread."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(before)


def chain(x, length):
    for _ in range(length):
        x = x + 1.0
    return x


def test_a_million_operations_forward_backward_and_freed():
    x = ad.zeros(1, requires_grad=True)
    y = chain(x, DEEP)
    assert y.item() == DEEP
    y.backward()
    assert x.grad.item() == 1.0
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None  # by reference counting, at once


def test_freed_without_backward():
    x = ad.zeros(1, requires_grad=True)
    y = chain(x, FAIRLY_DEEP) * 2
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None


def test_chain_that_saves_tensors():
    x = ad.ones(1, requires_grad=True)
    y = x
    for _ in range(FAIRLY_DEEP):
        y = y * 1.0
        y = y * x
    y.backward()
    assert x.grad.item() == FAIRLY_DEEP + 1
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None


def test_chain_of_views():
    x = ad.zeros(2, 2, requires_grad=True)
    y = x * 1
    for _ in range(FAIRLY_DEEP):
        y = y.t()
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0]] * 2
    del y
    gc.collect()


def test_chain_of_inplace_writes():
    x = ad.zeros(2, requires_grad=True)
    y = x * 1
    for _ in range(FAIRLY_DEEP // 10):
        y += 1
        y[0] += 1
    y.sum().backward()
    assert y.tolist() == [2.0 * (FAIRLY_DEEP // 10), 1.0 * (FAIRLY_DEEP // 10)]
    assert x.grad.tolist() == [1.0, 1.0]
    del y
    gc.collect()


def test_chain_of_custom_functions():
    class Next(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = y = ad.zeros(1, requires_grad=True)
    for _ in range(FAIRLY_DEEP // 5):
        y = Next.apply(y)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    gc.collect()


def test_double_backward_through_a_deep_chain():
    x = ad.tensor(1.0, dtype=ad.float64, requires_grad=True)
    y = x
    for _ in range(FAIRLY_DEEP // 10):
        y = y * 1.0
    (g,) = ad.autograd.grad(y * y, x, create_graph=True)
    (h,) = ad.autograd.grad(g, x)
    assert (g.item(), h.item()) == (2.0, 2.0)
    del y, g
    gc.collect()


def test_grad_with_respect_to_the_middle():
    x = ad.zeros(1, requires_grad=True)
    middle = chain(x, FAIRLY_DEEP)
    end = chain(middle, FAIRLY_DEEP)
    (g,) = ad.autograd.grad(end, middle)
    assert g.item() == 1.0


def test_wide_graph():
    x = ad.zeros(1, requires_grad=True)
    total = sum((x * float(i) for i in range(FAIRLY_DEEP)), ad.zeros(1))
    total.backward()
    assert x.grad.item() == pytest.approx(FAIRLY_DEEP * (FAIRLY_DEEP - 1) / 2, rel=1e-3)


def test_repr_and_walk_of_a_deep_graph():
    y = chain(ad.zeros(1, requires_grad=True), FAIRLY_DEEP)
    assert repr(y) == f"tensor([{FAIRLY_DEEP}.], grad_fn=<AddBackward0>)"
    node, steps = y.grad_fn, 0
    while node is not None and node.next_functions:
        node, steps = node.next_functions[0][0], steps + 1
    assert steps == FAIRLY_DEEP


def test_graph_left_in_a_cycle_is_collected():
    x = ad.zeros(1, requires_grad=True)
    y = chain(x, FAIRLY_DEEP)
    holder = {"y": y}
    holder["self"] = holder
    alive = weakref.ref(y.grad_fn)
    del y, holder
    gc.collect()
    assert alive() is None
