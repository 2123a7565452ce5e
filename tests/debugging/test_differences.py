"""Nodes compared with finite differences."""

import sys

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.functional as F
from adjoint.autograd.engine import reachable
from adjoint.debugging import Session
from adjoint.debugging.differences import CannotCompareError
from adjoint.debugging.values import Values
from tests.debugging.test_session import session_of


def leaf(*shape):
    return ad.rand(*shape).add(0.2).requires_grad_()


LOSSES = {
    "polynomial": lambda: (leaf(3) ** 3 * 2 + leaf(3) - 1).sum(),
    "functions": lambda: (leaf(4).exp().sin().tanh().sigmoid().log() / leaf(4).sqrt()).mean(),
    "after a constant was added": lambda: ((leaf(4) * 2 + 1).sigmoid() + (leaf(4) - 3).exp()).relu().sum(),
    "matrices": lambda: (leaf(2, 3) @ leaf(3, 2)).T.softmax(0).amax(1).sum(),
    "broadcast": lambda: (leaf(2, 3) * leaf(3) + leaf(2, 1)).std(),
    "shapes": lambda: leaf(2, 3, 4).transpose(0, 2)[1:, 0].reshape(-1).cumsum(0).unsqueeze(0).expand(2, 6).sum(1).prod(),
    "several": lambda: ad.cat([a * 2 for a in leaf(4, 2).split(1)]).sum() + ad.stack([leaf(2), leaf(2)]).norm(),
    "layers": lambda: ad.nn.Sequential(ad.nn.Linear(3, 5), ad.nn.GELU(), ad.nn.LayerNorm(5), ad.nn.Linear(5, 2))(leaf(4, 3)).abs().sum(),
    "without bias": lambda: F.linear(leaf(4, 3), leaf(2, 3)).tanh().sum(),
    "a frozen bias": lambda: F.linear(leaf(4, 3), leaf(2, 3), ad.rand(2)).tanh().sum(),
    "images": lambda: F.max_pool2d(F.relu(F.conv2d(leaf(1, 2, 6, 6), leaf(3, 2, 3, 3), leaf(3), padding=1)), 2).mean(),
    "losses": lambda: F.cross_entropy(leaf(4, 3), ad.tensor([0, 1, 2, 1])) + F.mse_loss(leaf(3), ad.rand(3)),
    "double": lambda: (ad.rand(3, dtype=ad.float64) + 0.2).requires_grad_().lgamma().sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_ordinary_nodes_agree(name):
    ad.manual_seed(1)
    session = session_of(LOSSES[name]())
    nodes = 0
    while (event := session.step()) is not None:
        if event.node is not None:
            found = session.check()  # before the rule has run, and after
            assert found.agrees, (event.node.name(), found)
            assert found.inputs
            nodes += 1
    assert nodes >= 2 * len(session.plan.nodes)


def test_a_wrong_gradient_is_found():
    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    session = session_of((x**2).sum(), "node:PowBackward0")
    session.go_on()
    session.step()
    session.replace(ad.tensor([2.0, 4.5, 6.0]))
    found = session.check()
    (one,) = found.inputs
    assert not found.agrees and one.index == (1,) and one.rule == 4.5 and one.measured == pytest.approx(4.0) and one.sides is None
    session.undo()


def test_a_kink_is_told():
    x = ad.tensor([1.0, 0.0], requires_grad=True)
    session = session_of((x.relu() * 2).sum(), "node:ReluBackward0")
    session.go_on()
    (one,) = session.check().inputs
    assert not one.agrees and one.index == (1,) and one.sides == (pytest.approx(0.0), pytest.approx(2.0))
    session.undo()


def test_a_node_that_is_given_an_infinity_is_compared_with_ones():
    x = ad.tensor([0.0, 1.0], requires_grad=True)
    session = session_of((x * x).sqrt().sum(), "node:MulBackward0")
    session.go_on()
    assert session.check().agrees
    session.step()
    assert np.isnan(session.gives["self"].tolist()[0]) and session.check().agrees
    session.undo()


def test_many_elements_are_sampled():
    x = ad.rand(100, 100).requires_grad_()
    session = session_of(x.exp().sum(), "node:ExpBackward0")
    session.go_on()
    (one,) = session.check().inputs
    assert one.agrees and 32 < one.compared <= 64 and one.of == 10_000
    session.undo()


class Square(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_custom_functions_are_left_to_gradcheck():
    x = ad.tensor(3.0, requires_grad=True)
    session = session_of(Square.apply(x))
    session.next()
    assert session.saved["saved_tensors[0]"].item() == 3.0
    with pytest.raises(CannotCompareError, match=r"fix: ad.autograd.gradcheck\(Square.apply, inputs\)"):
        session.check()
    session.finish()
    assert x.grad.item() == 6.0


def test_random_ops_and_complex_gradients_are_refused():
    z = ad.tensor([1 + 1j], requires_grad=True)
    session = session_of((z * z).abs().sum(), "node:MulBackward0")
    session.go_on()
    with pytest.raises(CannotCompareError, match="complex"):
        session.check()
    session.undo()


def test_values_are_those_of_the_forward_pass():
    ad.manual_seed(0)
    x, w = ad.rand(4, 3, requires_grad=True), ad.rand(3, 2, requires_grad=True)
    a = x @ w
    b = a.tanh()
    c = b * 2
    d = c.sum(1)
    known = Values(reachable([d.exp().grad_fn])).known
    for tensor in (a, b, c, d):
        assert np.allclose(known[tensor.grad_fn, 0], tensor.detach().numpy())


def test_a_value_that_was_overwritten_is_not_known():
    x = ad.rand(3, requires_grad=True)
    loss = (x + x).sum()
    with ad.no_grad():
        x.zero_()
    node = loss.grad_fn.next[0]
    assert (node, 0) not in Values(reachable([loss.grad_fn])).known


def test_looking_at_values_changes_nothing():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    session = Session(ad.autograd.steps(x.exp().sum() * 2), sys._getframe())
    while session.next() is not None:
        pass
    before, events = x.grad.tolist(), session.steps.position
    assert session.values.known and x.grad.tolist() == before and session.steps.position == events
