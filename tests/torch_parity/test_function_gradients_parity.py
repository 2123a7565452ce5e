"""What custom functions save, and the gradients that they return, as in PyTorch."""

from __future__ import annotations

import pytest

import adjoint
from tests.torch_parity.custom_functions import function, gradients, identity_backward, leaf, saving
from tests.torch_parity.facts import Facts, outcome, raised

torch = pytest.importorskip("torch")
fact = Facts()


# ---- saving ----


@fact
def save_inputs_outputs_intermediates_and_none(T):
    def forward(ctx, x, y):
        middle = x * y
        out = middle + 1
        ctx.save_for_backward(x, None, middle, out, y)
        return out

    def backward(ctx, g):
        x, nothing, middle, out, y = ctx.saved_tensors
        ctx.seen = [t.requires_grad for t in (x, middle, out, y)], nothing
        return g * y, g * x

    x, y = leaf(T), T.tensor([3.0, 4.0], dtype=T.float64)
    out = function(T, forward, backward).apply(x, y)
    out.sum().backward()
    return out.grad_fn.seen, x.grad


@fact
def saved_input_is_the_same_object(T):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[0] is x)
        return g

    x = leaf(T)
    function(T, forward, backward).apply(x).sum().backward()
    return seen


@fact
def saved_output_has_its_history(T):
    seen = []

    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        seen.append((out.grad_fn is node, out.requires_grad))
        return g * out

    x = leaf(T)
    out = function(T, forward, backward).apply(x)
    node = out.grad_fn
    (first,) = T.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = T.autograd.grad(first.sum(), x)
    return seen, second


@fact
def saved_tensors_are_freed(T):
    out = saving(T).apply(leaf(T)).sum()
    out.backward()
    return out.backward()


@fact
def saved_tensors_are_freed_even_when_read_from_the_node(T):
    out = saving(T).apply(leaf(T))
    out.sum().backward()
    return out.grad_fn.saved_tensors


@fact
def saved_tensors_are_kept_by_retain_graph(T):
    x = leaf(T)
    out = saving(T).apply(x).sum()
    out.backward(retain_graph=True)
    out.backward()
    return x.grad


@fact
def a_second_backward_when_nothing_was_saved(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x).sum()
    out.backward()
    return raised(out.backward), x.grad


@fact
def a_second_backward_right_at_the_function(T):
    x = leaf(T, 1.0)
    out = function(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    out.backward()
    return raised(out.backward), x.grad


@fact
def saved_twice_the_last_call_counts(T):
    def forward(ctx, x):
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        return x * 2

    out = function(T, forward, identity_backward).apply(leaf(T))
    return len(out.grad_fn.saved_tensors)


@fact
def save_what_is_no_tensor(T):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 2

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def save_for_forward_what_is_no_tensor(T):
    def forward(ctx, x):
        ctx.save_for_forward(x, 3)
        return x * 2

    return raised(lambda: function(T, forward, identity_backward).apply(leaf(T)))


@fact
def saved_tensors_inside_forward(T):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.inside = len(ctx.saved_tensors)
        return x * 2

    return function(T, forward, identity_backward).apply(leaf(T)).grad_fn.inside


@fact
def saved_input_that_was_written(T):
    x = leaf(T)
    y = x * 1
    out = saving(T).apply(y)
    y.mul_(2)
    return out.sum().backward()


@fact
def saved_without_anything_that_requires_grad(T):
    contexts = []

    def forward(ctx, x):
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * 2

    out = function(T, forward, identity_backward).apply(T.ones(2))
    return out, out.grad_fn, contexts[0].needs_input_grad


@fact
def saved_raw_attributes(T):
    out = saving(T).apply(leaf(T))
    return hasattr(out.grad_fn, "_raw_saved_tensors"), len(out.grad_fn._raw_saved_tensors)


@fact
def saved_variables_is_the_old_name(T):
    out = saving(T).apply(leaf(T))
    return raised(lambda: len(out.grad_fn.saved_variables))


@fact
def to_save(T):
    seen: list = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable()
        seen.extend((len(ctx.to_save), ctx.needs_input_grad))
        return x * 2

    function(T, forward, identity_backward).apply(leaf(T))
    return seen


# ---- gradients that backward returns ----


def returning(T, result, n=2):
    def backward(ctx, g):
        return result(g)

    forward = (lambda ctx, a: a * 2) if n == 1 else (lambda ctx, a, b: a * b)
    return function(T, forward, backward)


GRADIENTS = {
    "too_few": lambda T, g: g,
    "too_few_in_a_tuple": lambda T, g: (g,),
    "too_many": lambda T, g: (g, g, g),
    "too_many_of_none": lambda T, g: (g, g, None, None),
    "one_none_too_many_and_one_gradient": lambda T, g: (g, g, None, g),
    "a_list": lambda T, g: [g, g],
    "none_for_both": lambda T, g: (None, None),
    "just_none": lambda T, g: None,
    "wrong_shape": lambda T, g: (g[:1].expand(3), g),
    "shape_that_can_be_summed": lambda T, g: (g.expand(3, 2), g),
    "shape_that_can_be_expanded": lambda T, g: (g[:1], g),
    "scalar": lambda T, g: (g.sum(), g),
    "a_number": lambda T, g: (1.0, g),
    "a_string": lambda T, g: ("a", g),
    "other_dtype": lambda T, g: (g.float(), g),
    "integer": lambda T, g: (g.long(), g),
    "complex": lambda T, g: (g.to(T.complex128), g),
    "the_gradient_itself_twice": lambda T, g: (g, g),
    "empty": lambda T, g: (),
}


def add_gradient_facts(name, result):
    def check(T):
        a, b = leaf(T), leaf(T, 3.0, 4.0)
        out = returning(T, lambda g: result(T, g)).apply(a, b)
        return raised(lambda: out.sum().backward()), a.grad, b.grad

    check.__name__ = "backward_returns_" + name
    fact(check)


for name_, result_ in GRADIENTS.items():
    add_gradient_facts(name_, result_)


@fact
def gradient_for_what_is_no_tensor(T):
    x = leaf(T)
    out = function(T, lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(x, 2)
    return out.sum().backward()


@fact
def gradient_for_a_tensor_that_needs_none(T):
    x, y = leaf(T), T.ones(2, dtype=T.float64)
    out = function(T, lambda ctx, x, y: x * y, lambda ctx, g: (g, g)).apply(x, y)
    return out.sum().backward(), x.grad, y.grad


@fact
def gradient_for_an_integer_tensor(T):
    x, y = leaf(T), T.ones(2, dtype=T.int64)
    out = function(T, lambda ctx, x, y: x * y, lambda ctx, g: (g, g)).apply(x, y)
    return out.sum().backward(), x.grad


@fact
def complex_gradient_for_a_real_input(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x.to(T.complex128), lambda ctx, g: g).apply(x)
    return out.real.sum().backward(), x.grad


@fact
def backward_missing(T):
    return function(T, lambda ctx, x: x * 2).apply(leaf(T)).sum().backward()


@fact
def forward_missing(T):
    return type("MyFn", (T.autograd.Function,), {}).apply(leaf(T))


@fact
def vjp_is_another_name_for_backward(T):
    x = leaf(T)
    out = function(T, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 2).apply(x)
    return gradients(out, x)


@fact
def both_backward_and_vjp(T):
    return function(T, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g * 2).apply(leaf(T)).sum().backward()


# ---- setup_context ----


@fact
def separate_setup_context(T):
    def setup_context(ctx, inputs, output):
        ctx.n_inputs, ctx.output_type = len(inputs), type(output).__name__
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return g * x, None

    x = leaf(T)
    out = function(T, lambda x, n: x * n, backward, setup_context=setup_context).apply(x, 2)
    return out, gradients(out, x), out.grad_fn.n_inputs, out.grad_fn.output_type


@fact
def setup_context_with_several_outputs(T):
    def setup_context(ctx, inputs, output):
        ctx.kind = type(output).__name__
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, g, h):
        ctx.seen = h
        return g

    x = leaf(T)
    a, b = function(T, lambda x: (x * 2, x * 3), backward, setup_context=setup_context).apply(x)
    a.sum().backward()
    return a, b, a.grad_fn.kind, a.grad_fn.seen


@fact
def setup_context_with_keywords(T):
    def setup_context(ctx, inputs, output):
        ctx.n = len(inputs)

    x = leaf(T)
    return raised(lambda: function(T, lambda x, n=2: x * n, lambda ctx, g: (g, None), setup_context=setup_context).apply(x, n=3))


@fact
def setup_context_with_a_default_argument(T):
    def setup_context(ctx, inputs, output):
        ctx.n = len(inputs)

    x = leaf(T)
    out = function(T, lambda x, n=2: x * n, lambda ctx, g: (g, None), setup_context=setup_context).apply(x)
    return out, out.grad_fn.n, gradients(out, x)


@fact
def setup_context_returns_something(T):
    x = leaf(T)
    f = function(T, lambda x: x * 2, lambda ctx, g: g, setup_context=lambda ctx, inputs, output: 3)
    return raised(lambda: f.apply(x))


@fact
def setup_context_of_a_dirty_input(T):
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    x = leaf(T)
    y = x * 1
    out = function(T, lambda x: x.mul_(2), lambda ctx, g: g * 2, setup_context=setup_context).apply(y)
    return out is y, gradients(out, x)


# ---- forward mode ----


def with_jvp(T, jvp, **more):
    def forward(ctx, x, y):
        ctx.save_for_forward(x, y)
        return x * y

    return function(T, forward, lambda ctx, g: (g, g), jvp=jvp, **more)


def dual(T, f, *pairs):
    fw = T.autograd.forward_ad
    with fw.dual_level():
        out = f(*(fw.make_dual(x, t) if t is not None else x for x, t in pairs))
        outs = out if isinstance(out, tuple) else (out,)
        return [fw.unpack_dual(one).tangent if hasattr(one, "tolist") else one for one in outs]


def pair(T):
    return T.tensor([1.0, 2.0], dtype=T.float64), T.tensor([3.0, 4.0], dtype=T.float64)


@fact
def jvp(T):
    def rule(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        return x_t * y + x * y_t

    x, y = pair(T)
    return dual(T, with_jvp(T, rule).apply, (x, y), (y, x))


@fact
def jvp_with_one_tangent(T):
    seen = []

    def rule(ctx, x_t, y_t):
        seen.append((x_t, y_t))
        return x_t

    x, y = pair(T)
    return dual(T, with_jvp(T, rule).apply, (x, y), (y, None)), seen


@fact
def jvp_not_materialized(T):
    seen = []

    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * y

    def rule(ctx, x_t, y_t):
        seen.append((x_t, y_t))
        return x_t

    x, y = pair(T)
    return dual(T, function(T, forward, jvp=rule).apply, (x, y), (y, None)), seen


@fact
def jvp_missing(T):
    x, y = pair(T)
    return dual(T, function(T, lambda ctx, x: x * 2, lambda ctx, g: g).apply, (x, y))


@fact
def jvp_with_the_wrong_number(T):
    x, y = pair(T)
    return dual(T, with_jvp(T, lambda ctx, a, b: (a, b)).apply, (x, y), (y, x))


@fact
def jvp_with_the_wrong_shape(T):
    x, y = pair(T)
    return dual(T, with_jvp(T, lambda ctx, a, b: a[:1]).apply, (x, y), (y, x))


@fact
def jvp_returns_a_number(T):
    x, y = pair(T)
    return dual(T, with_jvp(T, lambda ctx, a, b: 3).apply, (x, y), (y, x))


@fact
def jvp_of_an_output_that_is_no_tensor(T):
    x, y = pair(T)
    return dual(T, function(T, lambda ctx, x: (x * 2, 3), jvp=lambda ctx, t: (t * 2, None)).apply, (x, y))


@fact
def jvp_of_other_arguments(T):
    seen = []

    def rule(ctx, t, n):
        seen.append(n)
        return t

    x, y = pair(T)
    return dual(T, lambda x: function(T, lambda ctx, x, n: x * n, jvp=rule).apply(x, 5), (x, y)), seen


@fact
def jvp_of_a_dirty_input(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    x, y = pair(T)
    return dual(T, lambda x: function(T, forward, jvp=lambda ctx, t: t.mul_(2)).apply(x.clone()), (x, y))


@fact
def jvp_of_a_dirty_input_out_of_place(T):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    x, y = pair(T)
    return dual(T, lambda x: function(T, forward, jvp=lambda ctx, t: t * 2).apply(x.clone()), (x, y))


@fact
def jvp_of_an_input_as_it_is(T):
    x, y = pair(T)
    return dual(T, lambda x: function(T, lambda ctx, x: x, jvp=lambda ctx, t: t * 1).apply(x), (x, y))


@fact
def jvp_of_a_view(T):
    x, y = pair(T)
    return dual(T, lambda x: function(T, lambda ctx, x: x[:1], jvp=lambda ctx, t: t[:1]).apply(x), (x, y))


@fact
def jvp_is_recorded(T):
    x, t = leaf(T), leaf(T)
    (tangent,) = dual(T, function(T, lambda ctx, x: x * 2, lambda ctx, g: 2 * g, jvp=lambda ctx, t: t * 2).apply, (x, t))
    return T.autograd.grad(tangent.sum(), t)


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)
