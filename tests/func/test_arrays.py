"""Reverse mode one level down: on arrays where nothing below a level is recorded, on tensors where something is."""

from types import SimpleNamespace

import pytest

import adjoint as ad
from adjoint.func import _arrays, grad, vjp, vmap


@pytest.fixture
def served(monkeypatch):
    """What each backward pass of a level ran on: arrays, the tensors below it, or those of the level itself."""
    answers = []
    real, real_run = _arrays.gradients_below, _arrays.engine.run

    def noted(*args):
        found = real(*args)
        if found is None:
            answers.append("level")
        return found

    def run(*args, as_tensors, **options):
        found = real_run(*args, as_tensors=as_tensors, **options)
        answers.append("tensors" if as_tensors else "arrays")
        return found

    monkeypatch.setattr("adjoint.func._grad.gradients_below", noted)
    monkeypatch.setattr(_arrays, "engine", SimpleNamespace(reachable=_arrays.engine.reachable, run=run))
    return answers


def wave(x):
    return (ad.sin(x) * x.exp()).sum()


def test_ordinary_tensors_are_differentiated_on_arrays(served):
    x = ad.randn(4)
    leaf = x.clone().requires_grad_()
    wave(leaf).backward()
    assert ad.allclose(grad(wave)(x), leaf.grad) and served == ["arrays"]


def test_a_loss_that_keeps_notes_for_its_backward(served):
    x, y = ad.randn(6, 3), ad.tensor([0, 2, 1, 1, 0, 2])
    loss = ad.nn.functional.cross_entropy
    leaf = x.clone().requires_grad_()
    loss(leaf, y).backward()
    assert ad.allclose(grad(loss)(x, y), leaf.grad) and served == ["arrays"]


def test_what_requires_grad_below_keeps_its_history(served):
    x, w = ad.randn(4), ad.randn(4, requires_grad=True)
    grad(lambda x: (x * x * w).sum())(x).sum().backward()
    assert ad.allclose(w.grad, 2 * x) and served == ["tensors"]


def test_what_was_written_over_is_differentiated_on_the_level(served):
    def overwritten(x):
        y = x * 2
        z = y.sin()
        y.mul_(2)
        return z.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        vmap(grad(overwritten))(ad.randn(2, 3))
    assert served == ["level"]


def test_several_tensors_are_joined_on_the_level(served):
    x = ad.randn(4, 3)
    found = vmap(grad(lambda x: (ad.cat([x, x * x]) ** 2).sum()))(x)
    assert ad.allclose(found, 2 * x + 4 * x**3) and served == ["level"]


def test_no_history_is_kept_below_without_need(served):
    x = ad.randn(4, 3, requires_grad=True)
    with ad.no_grad():
        assert not vmap(grad(wave))(x).requires_grad
    assert vmap(grad(wave))(x).requires_grad and served == ["tensors", "tensors"]


def test_the_inner_of_two_levels_is_recorded(served):
    x = ad.tensor(0.5)
    assert ad.allclose(grad(grad(lambda x: x**4))(x), 12 * x**2) and served == ["tensors", "arrays"]


def test_batches_are_seen_as_examples(served):
    x = ad.randn(5, 3)
    assert ad.allclose(vmap(grad(wave))(x), ad.stack([grad(wave)(row) for row in x])) and served[0] == "tensors"


def test_a_graph_that_is_kept_can_be_used_in_any_way_again(served):
    x, v = ad.randn(3), ad.ones(3)
    _, pull = vjp(lambda x: x**3, x)
    expected = 3 * x**2
    assert ad.allclose(pull(v)[0], expected)
    assert ad.allclose(vmap(lambda v: pull(v)[0])(ad.eye(3)), ad.diag(expected))
    assert ad.allclose(grad(lambda v: (pull(v)[0] * v).sum())(v), 2 * expected)
    assert ad.allclose(pull(v)[0], expected) and served[0] == served[-1] == "arrays"
