"""`autograd.steps`: the engine, event by event."""

import ast
import gc
import inspect
import re
import warnings

import numpy as np
import pytest
from hypothesis import given

import adjoint as ad
from adjoint.autograd.stepping import TELLING, Follower, follow_stepwise
from tests.programs import Machine, gradient_of, gradients, programs, pure, views, writes


def machine(cls: type[Machine]) -> Machine:
    return cls(
        tensor=lambda data, grad: ad.tensor(data, dtype=ad.float64, requires_grad=grad),
        grad=lambda output, inputs, retain, create: ad.autograd.grad(
            output, inputs, retain_graph=retain, create_graph=create, allow_unused=True
        ),
        no_grad=ad.no_grad,
        array=lambda tensor: tensor.detach().numpy().copy(),
    )


class Stepping(Machine):
    """Takes every backward pass step by step, and goes back to the beginning and forward again at the end."""

    def backward(self, a: int, weighted: bool, retain_graph: bool) -> None:
        x = self.pick(a)
        if not x.requires_grad:
            return
        weights = None
        if weighted:
            weights = self.tensor(np.linspace(-1, 2, int(np.prod(x.shape, dtype=int))).reshape(x.shape), False)
        else:
            x = x.sum()
        seen = [self.gradients()]
        steps = ad.autograd.steps(x, weights, retain_graph=retain_graph)
        for _ in steps:
            seen.append(self.gradients())
        for before in seen[-2::-1]:
            steps.back()
            assert same(self.gradients(), before)
        for after in seen[1:]:
            next(steps)
            assert same(self.gradients(), after)
        self.log_gradients()

    def gradients(self) -> list:
        found = [gradient_of(x) for x in self.tensors]
        return [None if g is None else g.detach().numpy().copy() for g in found]


def same(a: list, b: list) -> bool:
    pairs = zip(a, b, strict=True)
    return all((x is None) == (y is None) and (x is None or np.array_equal(x, y, equal_nan=True)) for x, y in pairs)


@given(programs(pure, views, writes, gradients))
def test_random_programs_give_equal_bits(program):
    with warnings.catch_warnings(action="ignore"):
        assert same_log(machine(Machine).run(program).log, machine(Stepping).run(program).log)


def same_log(a: list, b: list) -> bool:
    texts = [[x for x in log if isinstance(x, str)] for log in (a, b)]
    return texts[0] == texts[1] and same([x for x in a if not isinstance(x, str)], [x for x in b if not isinstance(x, str)])


def kinds(steps):
    return [event.kind for event in steps]


def test_events_come_in_the_order_of_the_engine():
    x = ad.tensor(3.0, requires_grad=True)
    steps = ad.autograd.steps(x * x)
    assert kinds(steps) == ["delivered", "ready", "incoming", "applied", "delivered", "delivered", "ready", "accumulated"]
    assert [event.slot for event in steps.events if event.kind == "delivered"] == [0, 0, 1]
    assert steps.events[-1].gradient.item() == 6.0 and steps.events[-1].before is None


def test_a_leaf_is_complete_before_the_next_gradient_is_delivered():
    x, y = ad.tensor(3.0, requires_grad=True), ad.tensor(4.0, requires_grad=True)
    steps = ad.autograd.steps(x * y)
    found = [(event.kind, event.target is x) for event in steps if event.kind in ("delivered", "accumulated")][1:]
    assert found == [("delivered", True), ("accumulated", True), ("delivered", False), ("accumulated", False)]


def test_what_can_be_seen_between_steps_is_what_has_happened():
    x, y = ad.tensor(3.0, requires_grad=True), ad.tensor(4.0, requires_grad=True)
    for event in ad.autograd.steps(x * y):
        assert ad.is_grad_enabled() and (ad.ones(1, requires_grad=True) * 2).requires_grad  # the engine's modes stay inside
        if event.kind == "delivered" and event.target is y:
            assert x.grad.item() == 4.0 and y.grad is None


def test_slots_are_those_of_the_op():
    weight, bias = ad.randn(2, 3, requires_grad=True), ad.randn(2, requires_grad=True)
    x = ad.randn(4, 3, requires_grad=True)
    out = ad.nn.functional.linear(x, weight, bias)
    leaves = {event.slot: event.target for event in ad.autograd.steps(out.sum()) if event.kind == "delivered" and event.node is out.grad_fn}
    assert leaves[0] is x and leaves[1] is weight and leaves[2] is bias


def test_gradients_add_to_what_is_there_and_back_takes_them_away_again():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    held = x.grad
    steps = ad.autograd.steps((x * x).sum())
    steps.finish()
    assert held is x.grad and held.tolist() == [4.0, 8.0]
    event = steps.back()
    assert event.kind == "accumulated" and event.before.tolist() == [2.0, 4.0] and event.after.tolist() == [4.0, 8.0]
    assert held is x.grad and held.tolist() == [2.0, 4.0]
    assert str(event) == "leaf of shape [2]: .grad [2.0, 4.0] + [2.0, 4.0] = [4.0, 8.0]"


def test_back_at_the_beginning():
    x = ad.tensor(1.0, requires_grad=True)
    with pytest.raises(IndexError, match="no event has happened yet"):
        ad.autograd.steps(x * 2).back()


def test_hooks_run_once_and_their_gradients_are_told():
    x = ad.tensor(3.0, requires_grad=True)
    y = x * 2
    calls = []
    y.register_hook(lambda g: calls.append(g.item()) or g * 10)
    x.register_hook(lambda g: g + 1)
    y.retain_grad()
    steps = ad.autograd.steps(y * 1)
    told = {event.kind: event.gradient.item() for event in steps if event.node is y.grad_fn and event.gradient is not None}
    assert told == {"ready": 1.0, "incoming": 10.0, "delivered": 20.0}
    assert steps.events[-1].gradient.item() == 21.0 == x.grad.item() and y.grad.item() == 10.0
    while steps.position:
        steps.back()
    assert y.grad is None and x.grad is None
    steps.finish()
    assert y.grad.item() == 10.0 and x.grad.item() == 21.0 and calls == [1.0]


def test_saved_tensors_come_back_and_are_freed_again():
    x = ad.tensor(3.0, requires_grad=True)
    y = x**2
    steps = ad.autograd.steps(y)
    steps.finish()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn._saved_self  # noqa: B018
    while steps.back().kind != "applied":
        pass
    assert y.grad_fn._saved_self.item() == 3.0
    steps.finish()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_retain_graph_and_create_graph():
    x = ad.tensor(3.0, requires_grad=True)
    y = x**3
    ad.autograd.steps(y, retain_graph=True).finish()
    with warnings.catch_warnings(action="ignore"):
        ad.autograd.steps(y, create_graph=True).finish()
    assert x.grad.item() == 54.0 and x.grad.grad_fn is not None
    (second,) = ad.autograd.grad(x.grad, x)
    assert second.item() == 18.0


def test_several_outputs_weights_and_inputs():
    x, y = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    a, b = x * y, (x + y).sum()
    ad.autograd.steps([a, b], [ad.tensor([1.0, 10.0]), None], inputs=[x]).finish()
    assert x.grad.tolist() == [4.0, 41.0] and y.grad is None


def test_a_node_with_several_outputs():
    x = ad.arange(4.0).requires_grad_()
    first, second = x.split(2)
    steps = ad.autograd.steps((first * 2 + second).sum())
    outputs = [event.output for event in steps if event.kind == "delivered" and isinstance(event.target, type(first.grad_fn))]
    assert sorted(outputs) == [0, 1] and x.grad.tolist() == [2.0, 2.0, 1.0, 1.0]


def test_results_that_were_asked_for_are_captured():
    x = ad.tensor(3.0, requires_grad=True)
    y = x * 2
    steps = ad.autograd.steps(y * y, inputs=[y])
    captured = [event for event in steps if event.kind == "captured"]
    assert [event.gradient.item() for event in captured] == [12.0] == [y.grad.item()] and x.grad is None


def test_errors_are_those_of_backward():
    x = ad.tensor(3.0, requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ad.autograd.steps(z).finish()
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        ad.autograd.steps(ad.ones(2, requires_grad=True) * 2)
    assert ad.is_grad_enabled()


def test_anomaly_mode_still_finds_nan():
    x = ad.tensor(0.0, requires_grad=True)
    with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        ad.autograd.steps(x.sqrt() * 0).finish()


def test_a_pass_that_is_dropped_halfway_leaves_nothing_behind():
    x = ad.tensor(3.0, requires_grad=True)
    steps = ad.autograd.steps(x * x)
    next(steps)
    del steps
    gc.collect()
    (x * x).backward()
    assert ad.is_grad_enabled() and x.grad.item() == 6.0


def test_the_generator_is_the_engine_itself():
    """All that the engine tells a Watch is yielded, and there is no other difference."""
    told = [name for name in vars(Follower) if not name.startswith("_")]
    assert {"begin", "arrive", "capture", "enter", "leave", "finish", "end"} <= set(told)
    follow_stepwise()
    engine = vars(ad.autograd.engine)
    for name in TELLING:
        assert engine[f"{name}_stepwise"].__code__.co_flags & inspect.CO_GENERATOR
        assert engine[f"{name}_stepwise"].__code__.co_varnames == engine[name].__code__.co_varnames
    source = inspect.getsource(ad.autograd.engine)
    functions = [part for part in ast.parse(source).body if isinstance(part, ast.FunctionDef)]
    assert {part.name for part in functions if re.search(r"\bwatch\.\w+\(", ast.unparse(part))} <= set(TELLING)


def test_back_undoes_a_leaf_once_though_nodes_run_after_it():
    x, y = (ad.tensor(value, requires_grad=True) for value in (2.0, 3.0))
    steps = ad.autograd.steps(x + y.exp())
    seen = [(x.grad, y.grad)]
    seen += [(x.grad, y.grad) for _ in steps]
    for before in seen[-2::-1]:
        steps.back()
        assert (x.grad, y.grad) == before
