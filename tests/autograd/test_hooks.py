"""Hooks on tensors and nodes: when they run, in which order, what they may change, and how they go away."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import adjoint as ad


def leaf(*values):
    return ad.tensor(values, requires_grad=True)


# ----- Tensor.register_hook -----


def test_hook_sees_the_gradient_and_may_return_nothing():
    x = leaf(1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 3).sum().backward()
    assert seen == [[3.0, 3.0]]
    assert x.grad.tolist() == [3.0, 3.0]


def test_hook_replaces_the_gradient_of_a_leaf():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 10)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


def test_hook_replaces_the_gradient_of_a_result_upstream():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g + 1)
    (y * 2).sum().backward()
    assert x.grad.tolist() == [9.0, 9.0]


def test_hooks_run_in_order_of_registration():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert x.grad.tolist() == [30.0]


def test_hook_runs_once_for_all_paths():
    x = leaf(1.0)
    calls: list[Any] = []
    y = x * 2
    y.register_hook(calls.append)
    (y + y * y + y).sum().backward()
    assert len(calls) == 1
    assert calls[0].tolist() == [1 + 4 + 1]


def test_hook_runs_in_every_backward():
    x = leaf(1.0)
    calls = []
    x.register_hook(lambda g: calls.append(g.item()))
    for factor in (1, 2, 3):
        (x * factor).sum().backward()
    assert calls == [1.0, 2.0, 3.0]


def test_hook_is_not_called_when_nothing_arrives():
    x, y = leaf(1.0), leaf(2.0)
    y.register_hook(lambda g: pytest.fail("called"))
    (x * 2).sum().backward()


def test_hook_in_autograd_grad():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    assert ad.autograd.grad(y.sum(), x)[0].tolist() == [2000.0]


def test_hook_on_a_captured_result():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    assert ad.autograd.grad((y * 3).sum(), y)[0].tolist() == [300.0]


def test_remove():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 10)
    handle.remove()
    handle.remove()  # twice is harmless
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_remove_one_of_several():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 3)
    middle = x.register_hook(lambda g: g * 1000)
    x.register_hook(lambda g: g * 5)
    middle.remove()
    x.sum().backward()
    assert x.grad.tolist() == [15.0]


def test_handle_is_a_context_manager():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 10):
        x.sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [11.0]


def test_hook_that_removes_itself():
    x = leaf(1.0)

    def once(g):
        handle.remove()
        return g * 10

    handle = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [11.0]


def test_hook_registered_during_backward_runs_next_time():
    x = leaf(1.0)

    def first(g):
        x.register_hook(lambda g: g * 10)

    handle = x.register_hook(first)
    x.sum().backward()
    assert x.grad.tolist() == [1.0]
    handle.remove()
    x.sum().backward()
    assert x.grad.tolist() == [11.0]


def test_each_output_of_a_function_has_its_own_hooks():
    x = leaf(1.0, 2.0)
    a, b = (x * 1).unbind()
    a.register_hook(lambda g: g * 10)
    b.register_hook(lambda g: g * 100)
    (a + b).backward()
    assert x.grad.tolist() == [10.0, 100.0]


def test_hooks_under_create_graph_are_recorded():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (first,) = ad.autograd.grad(y.sum(), x, create_graph=True)  # 2x² instead of 2x
    assert first.tolist() == [18.0]
    assert ad.autograd.grad(first.sum(), x)[0].tolist() == [12.0]


def test_hook_and_retain_grad_together():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)  # registered later, and yet before the gradient is kept
    (y * 3).sum().backward()
    assert y.grad.tolist() == [30.0]
    assert x.grad.tolist() == [60.0]


# ----- and in-place writes -----


def test_hook_before_a_write_sees_the_gradient_of_the_old_value():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("old", g.item())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("new", g.item())))
    (y * 3).sum().backward()
    assert seen == [("new", 3.0), ("old", 15.0)]


def test_retain_grad_before_a_write_keeps_the_gradient_of_the_new_value():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0]


def test_retain_grad_of_a_base_follows_a_write_to_its_view():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y[0].mul_(5)
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [30.0, 6.0]


def test_retain_grad_of_a_view_follows_a_write_to_its_base():
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y[0:1]
    v.retain_grad()
    y.mul_(5)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3.0]


def test_hook_on_a_view_and_its_base():
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y[0]
    v.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g * 100)
    v.backward()
    assert x.grad.tolist() == [2000.0, 0.0]


# ----- retain_grad -----


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()  # twice is harmless
    assert y.retains_grad
    for times in (1, 2):
        (y * 3).sum().backward(retain_graph=True)
        assert y.grad.tolist() == [3.0 * times]


def test_retain_grad_of_a_leaf_does_nothing():
    x = leaf(1.0)
    x.retain_grad()
    assert not x.retains_grad
    x.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_retain_grad_in_autograd_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    ad.autograd.grad((y * 3).sum(), x)
    assert y.grad.tolist() == [3.0]
    assert x.grad is None


def test_retained_gradient_is_a_copy():
    x = leaf(1.0)
    y = x * 1
    y.retain_grad()
    y.sum().backward()
    y.grad.mul_(100)
    assert x.grad.tolist() == [1.0]


def test_retain_grad_of_one_of_several_outputs():
    x = leaf(1.0, 2.0)
    a, b = (x * 1).unbind()
    b.retain_grad()
    (a * 2 + b * 3).backward()
    assert b.grad.item() == 3.0


# ----- post-accumulate hooks -----


def test_post_accumulate_grad_hook():
    x = leaf(1.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    x.sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    x.sum().backward()
    assert seen == [(True, 1.0), (True, 3.0)]


def test_post_accumulate_hook_may_step_and_clear():
    x = leaf(1.0)

    def step(t):
        with ad.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.tolist() == [0.0]
    assert x.grad is None


def test_post_accumulate_hook_runs_after_the_tensor_hook_and_not_in_grad():
    x = leaf(1.0)
    order = []
    x.register_post_accumulate_grad_hook(lambda t: order.append(t.grad.item()))
    x.register_hook(lambda g: order.append("hook"))
    x.sum().backward()
    ad.autograd.grad(x.sum(), x)
    assert order == ["hook", 1.0, "hook"]


# ----- hooks of nodes -----


def test_node_hook_sees_inputs_and_outputs():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    seen = []
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append(([g.item() for g in inputs], [g.item() for g in outputs])))
    z.backward()
    assert seen == [([3.0, 2.0], [1.0])]


def test_node_hook_replaces_the_gradients_of_the_inputs():
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1] * 100))
    z.backward()
    assert (x.grad.item(), y.grad.item()) == (30.0, 200.0)


def test_node_hook_has_none_where_no_gradient_is_needed():
    x = leaf(2.0)
    z = x * ad.tensor([3.0])
    seen = []
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append([g is None for g in inputs]))
    z.backward()
    assert seen == [[False, True]]


def test_node_prehook_replaces_the_gradients_of_the_outputs():
    x = leaf(2.0)
    z = x * 3
    z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    z.backward()
    assert x.grad.item() == 30.0


def test_node_hooks_can_be_removed():
    x = leaf(2.0)
    z = x * 3
    z.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,)).remove()
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, None)).remove()
    z.backward()
    assert x.grad.item() == 3.0


def test_order_of_all_hooks():
    x = leaf(2.0)
    z = x * 3
    order = []
    z.grad_fn.register_prehook(lambda outputs: order.append("node before"))
    z.grad_fn.register_hook(lambda inputs, outputs: order.append("node after"))
    z.register_hook(lambda g: order.append("tensor"))
    x.register_hook(lambda g: order.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    z.backward()
    assert order == ["tensor", "node before", "node after", "leaf", "accumulated"]


def test_accumulate_grad_node_has_hooks_too():
    x = leaf(2.0)
    order = []
    node = (x * 3).grad_fn.next_functions[0][0]
    assert node.variable is x
    node.register_prehook(lambda outputs: order.append(outputs[0].item()))
    node.register_hook(lambda inputs, outputs: order.append((inputs, outputs[0].item())))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    (x * 3).backward()
    assert order == [3.0, "accumulated", ((), 3.0)]


def test_node_metadata_belongs_to_the_user():
    z = leaf(2.0) * 3
    z.grad_fn.metadata["note"] = 1
    assert z.grad_fn.metadata == {"note": 1}


# ----- register_multi_grad_hook -----


def test_multi_grad_hook_all():
    x, y, unused = leaf(2.0), leaf(3.0), leaf(4.0)
    seen = []
    handle = ad.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append([g.item() for g in grads]))
    (x * y).backward()
    (x * y * 2).backward()
    handle.remove()
    (x * y).backward()
    assert seen == [[3.0, 2.0], [6.0, 4.0]]
    assert unused.grad is None


def test_multi_grad_hook_any():
    x, y = leaf(2.0), leaf(3.0)
    calls = []
    with ad.autograd.graph.register_multi_grad_hook((x, y), lambda grad: calls.append(grad.item()), mode="any"):
        (x * y).backward()
        (x * y).backward()
    assert len(calls) == 2


# ----- lifetime -----


def test_hooks_of_a_leaf_die_with_it():
    class Marker:
        def __call__(self, g):
            return None

    hook = Marker()
    alive = weakref.ref(hook)
    x = leaf(1.0)
    handle = x.register_hook(hook)
    del hook, x
    gc.collect()
    assert alive() is None
    handle.remove()  # of nothing


def test_hook_that_refers_to_its_tensor_is_collectable():
    def use():
        x = leaf(1.0)
        x.register_hook(lambda g: g * x.detach())
        (x * 2).backward()
        return weakref.ref(x)

    alive = use()
    gc.collect()
    assert alive() is None


def test_inputs_of_backward_and_hooks():
    x, y = leaf(2.0), leaf(3.0)
    order = []
    x.register_hook(lambda g: order.append("x"))
    y.register_hook(lambda g: order.append("y"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("x accumulated"))
    (x * y).backward(inputs=[x])
    assert order == ["x", "x accumulated"]


def test_the_table_of_hooks_can_be_read_and_replaced():
    x = ad.ones(2, requires_grad=True)
    y = x * 2
    assert x._backward_hooks is None and y._backward_hooks is None and ad.ones(1)._backward_hooks is None
    handle = y.register_hook(lambda g: g * 10)
    assert list(y._backward_hooks) == [handle.id]
    y._backward_hooks = None
    x._backward_hooks = {0: lambda g: g + 1}
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        ad.ones(1)._backward_hooks = {0: print}
