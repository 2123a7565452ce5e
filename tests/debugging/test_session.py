"""The debugger without a front end: what it shows, and that it changes nothing that it was not told to change."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given

import adjoint as ad
from adjoint.autograd import engine
from adjoint.debugging import Session
from adjoint.debugging.session import DebuggerError
from tests.autograd.test_steps import machine, same, same_log
from tests.programs import Machine, gradient_of, gradients, programs, pure, views, writes


def session_of(loss, *breakpoints, **options):
    return Session(ad.autograd.steps(loss, **options), sys._getframe(1), breakpoints)


def walk(move):
    return list(iter(move, None))


class Debugged(Machine):
    """Takes every backward pass in the debugger: by nodes to the end, back to the beginning, by halves to the end again."""

    def backward(self, a: int, weighted: bool, retain_graph: bool) -> None:
        x = self.pick(a)
        if not x.requires_grad:
            return
        weights = None
        if weighted:
            weights = self.tensor(np.linspace(-1, 2, int(np.prod(x.shape, dtype=int))).reshape(x.shape), False)
        else:
            x = x.sum()
        before = self.gradients()
        session = Session(ad.autograd.steps(x, weights, retain_graph=retain_graph), sys._getframe())
        seen = [self.gradients() for _ in iter(session.next, None)]
        after = self.gradients()
        for earlier in seen[::-1]:
            session.back()
            assert same(self.gradients(), earlier)
        assert session.back() is None and same(self.gradients(), before)
        walk(session.step)
        assert session.ended and same(self.gradients(), after)
        self.log_gradients()

    def gradients(self) -> list:
        found = [gradient_of(x) for x in self.tensors]
        return [None if g is None else g.detach().numpy().copy() for g in found]


@given(programs(pure, views, writes, gradients))
def test_random_programs_give_equal_bits(program):
    with warnings.catch_warnings(action="ignore"):
        assert same_log(machine(Machine).run(program).log, machine(Debugged).run(program).log)


def model_and_loss(seed=0):
    ad.manual_seed(seed)
    model = ad.nn.Sequential(ad.nn.Linear(3, 4), ad.nn.Tanh(), ad.nn.Linear(4, 2))
    loss = ad.nn.functional.cross_entropy(model(ad.randn(5, 3)), ad.tensor([0, 1, 0, 1, 1]))
    return model, loss


def test_a_model_gets_the_gradients_of_backward_and_adds_to_those_that_are_there():
    model, loss = model_and_loss()
    plain, expected = model_and_loss()
    for parameter in (*model.parameters(), *plain.parameters()):
        parameter.grad = ad.ones_like(parameter)
    expected.backward()
    session = session_of(loss)
    walk(session.next)
    for a, b in zip(model.parameters(), plain.parameters(), strict=True):
        assert np.array_equal(a.grad.numpy(), b.grad.numpy())


def test_hooks_run_once_and_retained_gradients_come_and_go():
    x = ad.tensor(3.0, requires_grad=True)
    y = x * 2
    calls = []
    y.register_hook(lambda g: calls.append(g.item()) or g * 10)
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad.item()))
    y.retain_grad()
    session = session_of(y * 1)
    walk(session.next)
    assert y.grad.item() == 10.0 and x.grad.item() == 20.0
    while session.back() is not None:
        pass
    assert y.grad is None and x.grad is None
    session.finish()
    assert y.grad.item() == 10.0 and x.grad.item() == 20.0 and calls == [1.0, 20.0]


def test_create_graph_can_be_stepped_through_and_refuses_other_gradients():
    x = ad.tensor(3.0, requires_grad=True)
    with warnings.catch_warnings(action="ignore"):
        session = session_of(x**3, create_graph=True)
    assert session.next().node.name() == "PowBackward0"
    with pytest.raises(RuntimeError, match=r"under create_graph gradients have a history.*\n  fix: register a hook"):
        session.replace(1.0)
    session.finish()
    assert ad.autograd.grad(x.grad, x)[0].item() == 18.0
    x.grad = None


def test_the_order_of_the_plan_is_that_of_the_pass():
    model, loss = model_and_loss()
    session = session_of(loss)
    assert len(session.plan.leaves) == len(list(model.parameters()))
    stops = [event.node or event.target for event in walk(session.next)]
    assert stops == session.plan.places
    assert [session.plan.name_of(leaf) for leaf in stops if isinstance(leaf, ad.Tensor)] == [
        "model.2.weight", "model.2.bias", "model.0.weight", "model.0.bias",
    ]  # fmt: skip


def test_names_of_parameters_that_no_variable_of_the_frame_holds():
    def loss_of(model):
        return session_of(model(ad.ones(1, 3)).sum(), "param:0.bias")

    session = loss_of(ad.nn.Sequential(ad.nn.Linear(3, 2)))
    assert session.go_on().target.shape == (2,)
    session.undo()


def test_what_is_shown_at_a_node():
    x, w = ad.tensor([4.0, 9.0], requires_grad=True), ad.tensor([2.0, 3.0], requires_grad=True)
    session = session_of((x * w).sum())
    session.next()
    assert session.number == 1 and session.node.name() == "SumBackward0" and session.given[0].item() == 1.0
    session.next()
    assert session.gives == {} and session.inputs == ["self", "other"]
    assert {name: value.tolist() for name, value in session.saved.items()} == {"other": [2.0, 3.0], "self": [4.0, 9.0]}
    session.step()
    assert session.event.kind == "applied" and session.given[0].tolist() == [1.0, 1.0]
    assert {name: g.tolist() for name, g in session.gives.items()} == {"self": [2.0, 3.0], "other": [4.0, 9.0]}
    assert "self" in session.saved  # it is freed when the pass goes on
    leaf = session.next()
    assert leaf.target is x and x.grad is None
    with pytest.raises(DebuggerError, match="stands at a leaf"):
        _ = session.saved
    assert [number for number, _ in session.around(1)] == [2, 3, 4]
    session.undo()
    assert x.grad is None and w.grad is None


def test_what_a_rule_was_given_is_known_after_going_back():
    x = ad.tensor(3.0, requires_grad=True)
    session = session_of(x * 5 * 7 * 2)
    for move in (session.next, session.next, session.next, session.back, session.back, session.step):
        move()
    assert session.number == 1 and session.event.kind == "applied"
    assert session.given[0].item() == 1.0 and session.gives["self"].item() == 2.0
    session.undo()


def test_a_pass_that_is_undone_can_be_made_again():
    x = ad.tensor(3.0, requires_grad=True)
    loss = x**2
    session = session_of(loss)
    session.next()
    session.next()
    session.undo()
    loss.backward()
    assert x.grad.item() == 6.0


# ---- other gradients --------------------------------------------------------------------------------------------------------------------


def graph():
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    return x, w, y, (y * y).sum()


def replaced(kind, place, change, input=None):
    """The gradients after one was replaced at the event of this kind, of the node of y or the leaf."""
    x, w, y, loss = graph()
    session = session_of(loss)
    target = {"node": y.grad_fn, "leaf": x}[place]
    while not ((event := session.step()).kind == kind and (event.node or event.target) is target):
        pass
    now = session.gives[input] if input else session.given[0]
    session.replace(change(now), input)
    session.finish()
    return x.grad.tolist(), w.grad.tolist()


def test_a_gradient_that_a_rule_is_given_changes_what_flows_on_as_a_hook_before_the_node_would():
    x, w, y, loss = graph()
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 10,))
    loss.backward()
    assert replaced("incoming", "node", lambda g: g * 10) == (x.grad.tolist(), w.grad.tolist())


def test_a_gradient_that_a_rule_gave_changes_as_by_a_hook_after_the_node():
    x, w, y, loss = graph()
    y.grad_fn.register_hook(lambda given, _: (given[0], given[1] * 0))
    loss.backward()
    assert replaced("applied", "node", lambda g: g * 0, "other") == (x.grad.tolist(), w.grad.tolist())


def test_a_gradient_of_a_leaf_changes_as_by_a_hook_of_the_tensor():
    x, w, _, loss = graph()
    x.register_hook(lambda g: g.clamp(max=7.0))
    loss.backward()
    assert replaced("ready", "leaf", lambda g: g.clamp(max=7.0)) == (x.grad.tolist(), w.grad.tolist())


def test_the_other_gradient_is_a_copy_and_is_told_when_the_pass_comes_by_again():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    session = session_of(x.sum())
    session.next()
    session.next()
    mine = ad.tensor([5.0, 6.0])
    assert session.replace(mine).gradient.tolist() == [5.0, 6.0]
    session.finish()
    mine.zero_()
    assert x.grad.tolist() == [5.0, 6.0]
    assert session.back().gradient.tolist() == [5.0, 6.0] and x.grad is None
    session.finish()
    assert x.grad.tolist() == [5.0, 6.0]


def test_one_of_several_outputs():
    x = ad.arange(4.0).requires_grad_()
    first, second = x.split(2)
    session = session_of((first * 2 + second).sum(), "node:SplitBackward0")
    session.go_on()
    assert len(session.given) == 2
    with pytest.raises(DebuggerError, match="which of 2 gradients"):
        session.replace(0)
    session.replace(0, 1)
    session.finish()
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]


def test_gradients_that_cannot_be_replaced():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    session = session_of((x * x).sum())
    with pytest.raises(DebuggerError, match="the pass stands nowhere"):
        session.replace(1.0)
    session.next()
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        session.replace(ad.ones(3))
    session.finish()
    assert x.grad.tolist() == [2.0, 4.0]
    steps = ad.autograd.steps((x * x).sum())
    with pytest.raises(RuntimeError, match="no gradient is about to go on from here"):
        steps.replace(ad.ones(1))
    for event in steps:
        if event.kind == "applied":
            break
    steps.back()
    with pytest.raises(RuntimeError, match="the pass has gone on from here already"):
        steps.replace(ad.ones(()))


def test_a_gradient_that_was_passed_by_already():
    """The pass is made again up to there: other gradients before it stay, those after it are gone."""
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    x.grad = ad.tensor([100.0, 100.0])
    calls = []
    y = x * w
    y.register_hook(lambda g: calls.append(1))
    session = session_of((y * 2).sum())
    session.next()
    session.replace(10.0)
    session.next()
    session.next()
    session.replace(0.0)
    session.finish()
    assert x.grad.tolist() == [100.0, 100.0] and w.grad.tolist() == [0.0, 0.0]
    while session.back().node is None or session.node.name() != "MulBackward0" or session.number != 2:
        pass
    session.replace(session.given[0] + 1)
    assert session.begun == 2 and x.grad.tolist() == [100.0, 100.0] and w.grad is None
    session.finish()
    assert x.grad.tolist() == [100.0 + 3 * 22, 100.0 + 4 * 22] and w.grad.tolist() == [22.0, 44.0] and len(calls) == 2
    while session.back() is not None:
        pass
    assert x.grad.tolist() == [100.0, 100.0] and w.grad is None


def test_a_pass_that_is_not_kept_cannot_go_back():
    x = ad.tensor(3.0, requires_grad=True)
    session = session_of(x**2 * 2)
    session.steps.keep = False
    session.next()
    session.next()
    with pytest.raises(DebuggerError, match="keeps no gradients"):
        session.back()
    session.replace(1.0)
    assert session.step().gradients[0].item() == 6.0 and session.given[0].item() == 1.0 and session.steps.events == []
    session.finish()
    assert x.grad.item() == 6.0


def test_the_memory_for_going_back_is_estimated_before():
    x = ad.zeros(1000, requires_grad=True)
    session = session_of((x.exp() * x).sum())
    estimate, unknown = session.plan.bytes_kept
    assert unknown == 0
    session.finish()
    told = [g for event in session.steps.events for g in (event.gradient, *event.gradients, event.before, event.after) if g is not None]
    kept = sum(g._data.nbytes for g in {id(g): g for g in told}.values())
    assert 0.7 * kept <= estimate <= 1.4 * kept


def test_a_pass_through_nothing_but_a_leaf():
    x = ad.tensor(3.0, requires_grad=True)
    session = session_of(x)
    assert session.next().target is x and session.next() is None and x.grad.item() == 1.0


def test_who_does_not_use_it_pays_nothing():
    assert engine.run.__module__ == "adjoint.autograd.engine"
