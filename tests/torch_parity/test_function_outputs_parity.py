"""What goes into custom functions and comes out of them, as in PyTorch."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import adjoint
from tests.torch_parity.custom_functions import function, gradients, identity_backward, leaf, materializing, returning_input, saving
from tests.torch_parity.facts import Facts, outcome, raised, warned

torch = pytest.importorskip("torch")
fact = Facts()


# ---- arguments ----


@fact
def arguments_that_are_not_tensors(T):
    def forward(ctx, x, number, text, many, nothing):
        ctx.seen = number, text, len(many), nothing
        return x * number

    def backward(ctx, g):
        return g * ctx.seen[0], None, None, None, None

    x = leaf(T)
    out = function(T, forward, backward).apply(x, 3, "a", [x, x], None)
    return out, gradients(out, x), out.grad_fn.seen, out.grad_fn.needs_input_grad


@fact
def tensors_inside_lists_are_not_inputs(T):
    x = leaf(T)
    out = function(T, lambda ctx, many: many[0] * 2, lambda ctx, g: None).apply([x, x])
    return out


@fact
def no_tensor_at_all(T):
    return function(T, lambda ctx, n: T.ones(2) * n).apply(3)


@fact
def keyword_arguments(T):
    x = leaf(T)
    return raised(lambda: function(T, lambda ctx, x, factor: x * factor, lambda ctx, g: (g, None)).apply(x, factor=2))


@fact
def integer_tensors_have_no_gradient(T):
    x, index = leaf(T), T.tensor([0, 1])
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None

    out = function(T, lambda ctx, x, index: x[index], backward).apply(x, index)
    return out, gradients(out, x), seen


@fact
def the_same_input_twice(T):
    x = leaf(T)
    out = function(T, lambda ctx, a, b: a * b, lambda ctx, g: (g, 10 * g)).apply(x, x)
    return gradients(out, x), len(out.grad_fn.next_functions)


# ---- outputs ----


@fact
def input_as_it_is(T):
    x = leaf(T)
    y = x * 1
    out = returning_input(T, False, False).apply(y)
    return out is y, out, out.data_ptr() == y.data_ptr(), y, gradients(out, x), out._version


@fact
def input_as_it_is_is_a_view(T):
    y = leaf(T) * 1
    out = returning_input(T, False, False).apply(y)
    return out._is_view(), out._base is y


@fact
def input_as_it_is_written_afterwards(T):
    y = leaf(T) * 1
    out = returning_input(T, False, False).apply(y)
    out.mul_(2)
    return out


@fact
def base_of_input_as_it_is_written_afterwards(T):
    y = leaf(T) * 1
    out = returning_input(T, False, False).apply(y)
    y.mul_(2)
    return raised(lambda: out * 1)


@fact
def dirty_input(T):
    x = leaf(T)
    y = x * 1
    out = returning_input(T, True, True).apply(y)
    return out is y, out, y._version, gradients(out, x)


@fact
def dirty_input_that_was_not_changed(T):
    x = leaf(T)
    y = x * 1
    out = returning_input(T, True, False).apply(y)
    return out is y, y._version, gradients(out, x)


@fact
def dirty_leaf(T):
    return returning_input(T, True, True).apply(leaf(T))


@fact
def dirty_view(T):
    x = leaf(T)
    y = x * 1
    out = returning_input(T, True, True).apply(y[:1])
    return out.tolist(), y, gradients(y, x)


@fact
def dirty_view_of_a_leaf(T):
    return returning_input(T, True, True).apply(leaf(T)[:1])


@fact
def dirty_input_without_grad(T):
    y = T.ones(2)
    out = returning_input(T, True, True).apply(y)
    return out is y, out, y._version


@fact
def input_as_it_is_without_grad(T):
    y = T.ones(2)
    out = returning_input(T, False, False).apply(y)
    return out is y, out


@fact
def input_as_it_is_beside_one_that_requires_grad(T):
    x, y = leaf(T), T.ones(2, dtype=T.float64)
    out = function(T, lambda ctx, x, y: (x * 2, y), lambda ctx, g, h: (g, h)).apply(x, y)
    return out[1] is y, out, y.requires_grad


@fact
def dirty_input_beside_one_that_requires_grad(T):
    def forward(ctx, y, x):
        ctx.mark_dirty(y)
        return y.add_(x)

    x, y = leaf(T), T.ones(2, dtype=T.float64)
    out = function(T, forward, lambda ctx, g: (g * 3, g * 4)).apply(y, x)
    return out is y, out, gradients(out, x)


@fact
def dirty_view_beside_one_that_requires_grad(T):
    def forward(ctx, n, y, x):
        ctx.mark_dirty(y)
        return y.add_(x)

    x, y = leaf(T), T.ones(3, dtype=T.float64)
    function(T, forward, lambda ctx, g: (None, g * 3, g * 4)).apply(5, y[1:], x)
    return gradients(y * y, x)


@fact
def view_of_a_view_written_afterwards(T):
    out = function(T, lambda ctx, x: x.view_as(x), lambda ctx, g: g * 5).apply(leaf(T) * 1)
    return raised(lambda: out[:1].mul_(2))


@fact
def saved_inference_tensor(T):
    with T.inference_mode():
        constant = T.ones(2, dtype=T.float64)

    def forward(ctx, x):
        ctx.save_for_backward(x, constant)
        return x * 2

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def saved_but_not_read_a_second_time(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(T)
    out = function(T, forward, lambda ctx, g: g * 2).apply(x).sum()
    out.backward()
    return raised(out.backward), x.grad


@fact
def half_precision_outputs(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x.to(T.bfloat16), lambda ctx, g: g).apply(x)
    return out, gradients(out, x)


@fact
def a_context_of_ones_own(T):
    ctx = T.autograd.function.FunctionCtx()
    out = saving(T).forward(ctx, leaf(T))
    return out, len(ctx.to_save)


@fact
def attributes_set_after_forward(T):
    out = saving(T).apply(leaf(T))
    node = out.grad_fn
    return node.needs_input_grad, raised(lambda: node.missing)


@fact
def retain_grad_of_an_output(T):
    x = leaf(T)
    a, b = materializing(T, None).apply(x)
    b.retain_grad()
    a.retain_grad()
    (a + b * 5).sum().backward()
    return a.grad, b.grad


@fact
def grad_of_an_output_that_is_not_used(T):
    x = leaf(T)
    a, b = materializing(T, False).apply(x)
    return T.autograd.grad(a.sum(), (x, b), allow_unused=True)


@fact
def hooks_of_outputs(T):
    calls = []
    a, b = materializing(T, None).apply(leaf(T))
    a.register_hook(lambda g: calls.append(("a", g)))
    b.register_hook(lambda g: calls.append(("b", g)))
    a.sum().backward()
    return calls


@fact
def context_stays_alive_in_exceptions(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0).apply(x)
    for _ in range(3):
        raised(lambda: out.sum().backward())
    return raised(lambda: out.sum().backward()), x.grad


@fact
def warning_of_instances(T):
    return warned(saving(T))


@fact
def dirty_input_not_returned(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x + 1

    return function(T, forward, identity_backward).apply(leaf(T) * 1)


@fact
def dirty_input_not_returned_without_grad(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x + 1

    return raised(lambda: function(T, forward, identity_backward).apply(T.ones(2)))


@fact
def dirty_and_another_output(T):
    def forward(ctx, a, b):
        a.add_(b)
        ctx.mark_dirty(a)
        return a, b * 2

    x, z = leaf(T), leaf(T, 3.0, 4.0)
    y = x * 1
    first, second = function(T, forward, lambda ctx, g, h: (g, g + 2 * h)).apply(y, z)
    return first is y, (first + second).sum().backward(), x.grad, z.grad, first.output_nr, second.output_nr


@fact
def changed_but_not_marked(T):
    x = leaf(T)
    y = x * 1
    out = returning_input(T, False, True).apply(y)
    return out is y, out, y._version, gradients(out, x)


@fact
def mark_dirty_of_what_is_no_tensor(T):
    def forward(ctx, x):
        ctx.mark_dirty(3)
        return x

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def view_of_an_input(T):
    x = leaf(T)
    y = x * 1
    out = function(T, lambda ctx, x: x[:1], lambda ctx, g: T.cat([g, g])).apply(y)
    return out, out._is_view(), out._base is y, gradients(out, x)


@fact
def view_of_an_input_written_afterwards(T):
    y = leaf(T) * 1
    out = function(T, lambda ctx, x: x.view_as(x), lambda ctx, g: g * 5).apply(y)
    return raised(lambda: out.mul_(2)), y


@fact
def view_of_a_leaf_written_afterwards(T):
    out = function(T, lambda ctx, x: x.view_as(x), lambda ctx, g: g * 5).apply(leaf(T))
    return raised(lambda: out.mul_(2))


@fact
def view_of_an_input_without_grad(T):
    y = T.ones(2)
    out = function(T, lambda ctx, x: x[:1], lambda ctx, g: g).apply(y)
    out.mul_(3)
    return out, y, out._is_view()


@fact
def several_views_written_afterwards(T):
    y = leaf(T) * 1
    first, _ = function(T, lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: T.cat([g, h])).apply(y)
    return raised(lambda: first.mul_(2))


@fact
def view_and_base_written_afterwards(T):
    y = leaf(T) * 1
    out = function(T, lambda ctx, x: x[:1], lambda ctx, g: T.cat([g, g])).apply(y)
    y.mul_(2)
    return raised(lambda: out.grad_fn)


@fact
def view_of_an_intermediate(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: (x * 2)[:1], lambda ctx, g: T.cat([g, g])).apply(x)
    return out._is_view(), raised(lambda: out.mul_(2)), gradients(out, x)


@fact
def detached_input(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x.detach(), lambda ctx, g: g * 2).apply(x)
    return out, out.is_leaf, gradients(out, x)


@fact
def the_same_output_twice(T):
    def forward(ctx, x):
        y = x * 2
        return y, y

    x = leaf(T)
    a, b = function(T, forward, lambda ctx, g, h: 2 * (g + 10 * h)).apply(x)
    return a is b, a.output_nr, b.output_nr, (a + b).sum().backward(), x.grad


@fact
def the_input_twice(T):
    x = leaf(T)
    a, b = function(T, lambda ctx, x: (x, x), lambda ctx, g, h: g + 10 * h).apply(x)
    return a is b, a is x, a.output_nr, b.output_nr, (a + b).sum().backward(), x.grad


@fact
def outputs_that_are_not_tensors(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: (x * 2, 3, "a", None, [x]), lambda ctx, g, *rest: g * 2).apply(x)
    return out[:4], gradients(out, x)


@fact
def gradients_of_outputs_that_are_not_tensors(T):
    seen = []

    def backward(ctx, *g):
        seen.append([type(one).__name__ if one is None else "tensor" for one in g])
        return g[1]

    x = leaf(T)
    out = function(T, lambda ctx, x: (None, x * 2, 3), backward).apply(x)
    out[1].sum().backward()
    return seen, x.grad


@fact
def only_a_number(T):
    return function(T, lambda ctx, x: 3).apply(leaf(T))


@fact
def only_none(T):
    return function(T, lambda ctx, x: None).apply(leaf(T))


@fact
def a_list(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: [x * 2, x * 3], identity_backward).apply(x)
    return type(out).__name__, raised(lambda: out[0].requires_grad)


@fact
def a_named_tuple(T):
    class Pair(NamedTuple):
        first: object
        second: object

    x = leaf(T)
    out = function(T, lambda ctx, x: Pair(x * 2, x * 3), lambda ctx, g, h: g).apply(x)
    return type(out).__name__, len(out), out[0]


@fact
def an_empty_tuple(T):
    return function(T, lambda ctx, x: ()).apply(leaf(T))


@fact
def integer_outputs(T):
    x = leaf(T)
    values, index = function(T, lambda ctx, x: (x * 2, x.to(T.int64)), lambda ctx, g, h: (g * 2, h is None)[0]).apply(x)
    return values, index


@fact
def only_an_integer_output(T):
    return function(T, lambda ctx, x: x.to(T.int64)).apply(leaf(T))


@fact
def output_with_a_history_of_its_own(T):
    x = leaf(T)

    def forward(ctx, x):
        with T.enable_grad():
            ctx.y = x.detach().requires_grad_() * 2
        return ctx.y

    def backward(ctx, g):
        return g * 7

    out = function(T, forward, backward).apply(x)
    return out, gradients(out, x)


@fact
def a_leaf_made_inside(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: T.ones(2, dtype=T.float64, requires_grad=True), lambda ctx, g: g * 7).apply(x)
    return out, out.is_leaf, gradients(out, x)


@fact
def a_tensor_from_outside(T):
    x, constant = leaf(T), T.ones(2, dtype=T.float64)
    out = function(T, lambda ctx, x: constant, lambda ctx, g: g * 7).apply(x)
    return out is constant, constant.requires_grad, gradients(out, x)


# ---- marking ----


def marking(T, *marked):
    def forward(ctx, x):
        outs = x * 2, x * 3
        ctx.mark_non_differentiable(*(outs[i] for i in marked))
        return outs

    def backward(ctx, g, h):
        ctx.seen.append((g, h))
        return 2 * g + 3 * h

    return function(T, forward, backward)


@fact
def one_is_not_differentiable(T):
    x = leaf(T)
    a, b = marking(T, 1).apply(x)
    node = a.grad_fn
    node.seen = []
    a.sum().backward()
    return a, b, x.grad, node.seen


@fact
def both_are_not_differentiable(T):
    return marking(T, 0, 1).apply(leaf(T))


@fact
def input_that_is_not_differentiable(T):
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x

    x = leaf(T)
    out = raised(lambda: function(T, forward, identity_backward).apply(x))
    return out, x.requires_grad


@fact
def mark_non_differentiable_of_what_is_no_tensor(T):
    def forward(ctx, x):
        ctx.mark_non_differentiable(3)
        return x * 1

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def mark_non_differentiable_of_what_is_not_returned(T):
    def forward(ctx, x):
        ctx.mark_non_differentiable(x * 3)
        return x * 1

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def absent_gradients_are_zeros(T):
    x = leaf(T)
    a, _ = materializing(T, None).apply(x)
    a.sum().backward()
    return a.grad_fn.seen, x.grad


@fact
def absent_gradients_are_none(T):
    x = leaf(T)
    _, b = materializing(T, False).apply(x)
    b.sum().backward()
    return b.grad_fn.seen, x.grad


@fact
def outputs_without_derivative_may_get_none(T):
    def forward(ctx, x):
        ctx._materialize_non_diff_grads = False
        outs = x * 2, x * 3, x * 4
        ctx.mark_non_differentiable(outs[1])
        return outs

    def backward(ctx, *g):
        ctx.seen = g
        return g[0]

    a, _, _ = function(T, forward, backward).apply(leaf(T))
    a.sum().backward()
    return a.grad_fn.seen


@fact
def materialize_grads_has_to_be_a_bool(T):
    return raised(lambda: materializing(T, "no").apply(leaf(T)))


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)
