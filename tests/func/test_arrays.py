"""Reverse mode on arrays: where nothing below a level is recorded, and where something is."""

import pytest

import adjoint as ad
from adjoint.func import _arrays, grad, vjp, vmap


@pytest.fixture
def served(monkeypatch):
    """How often a level was differentiated on arrays, and how often not."""
    answers = []
    real = _arrays.array_gradients

    def noted(*args):
        found = real(*args)
        answers.append(found is not None)
        return found

    monkeypatch.setattr("adjoint.func._grad.array_gradients", noted)
    return answers


def wave(x):
    return (ad.sin(x) * x.exp()).sum()


def test_ordinary_tensors_are_differentiated_on_arrays(served):
    x = ad.randn(4)
    leaf = x.clone().requires_grad_()
    wave(leaf).backward()
    assert ad.allclose(grad(wave)(x), leaf.grad) and served == [True]


def test_a_loss_that_keeps_notes_for_its_backward(served):
    x, y = ad.randn(6, 3), ad.tensor([0, 2, 1, 1, 0, 2])
    loss = ad.nn.functional.cross_entropy
    leaf = x.clone().requires_grad_()
    loss(leaf, y).backward()
    assert ad.allclose(grad(loss)(x, y), leaf.grad) and served == [True]


def test_what_requires_grad_below_keeps_its_history(served):
    x, w = ad.randn(4), ad.randn(4, requires_grad=True)
    grad(lambda x: (x * x * w).sum())(x).sum().backward()
    assert ad.allclose(w.grad, 2 * x) and served == [False]


def test_the_inner_of_two_levels_is_recorded(served):
    x = ad.tensor(0.5)
    assert ad.allclose(grad(grad(lambda x: x**4))(x), 12 * x**2) and served == [False, True]


def test_batches_are_seen_as_examples(served):
    x = ad.randn(5, 3)
    assert ad.allclose(vmap(grad(wave))(x), ad.stack([grad(wave)(row) for row in x])) and served[0] is False


def test_a_graph_that_is_kept_can_be_used_in_any_way_again(served):
    x, v = ad.randn(3), ad.ones(3)
    _, pull = vjp(lambda x: x**3, x)
    expected = 3 * x**2
    assert ad.allclose(pull(v)[0], expected)
    assert ad.allclose(vmap(lambda v: pull(v)[0])(ad.eye(3)), ad.diag(expected))
    assert ad.allclose(grad(lambda v: (pull(v)[0] * v).sum())(v), 2 * expected)
    assert ad.allclose(pull(v)[0], expected) and served[0] is served[-1] is True
