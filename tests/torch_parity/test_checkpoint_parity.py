"""Checkpoints behave as in PyTorch: how often the function runs, what it may return, and what it may do."""

from __future__ import annotations

import gc
import importlib
import weakref

import pytest

import adjoint
from tests.torch_parity.checkpoints import BOTH, counting, leaf, module, ways
from tests.torch_parity.facts import Facts, outcome, raised, warned

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")
importlib.import_module("adjoint.utils.checkpoint")
fact = Facts()


# ---- values ----


@fact
def gradients_and_calls(T):
    return ways(T, lambda x: x.sin().exp(), leaf(T))


@fact
def no_gradient_required(T):
    return ways(T, lambda x: x.sin(), T.ones(2), then=lambda out: out)


@fact
def under_no_grad(T):
    with T.no_grad():
        return ways(T, lambda x: x.sin(), leaf(T), then=lambda out: out)


@fact
def several_arguments(T):
    return ways(T, lambda x, n, y, s: (x * y.exp()) ** n, leaf(T), 2, leaf(T, 1.0, 3.0), "text")


@fact
def argument_none(T):
    return ways(T, lambda x, y: x.sin() if y is None else y, leaf(T), None)


@fact
def integer_argument(T):
    return ways(T, lambda x, i: x[i].sin(), leaf(T), T.tensor([1, 0]))


@fact
def keyword_arguments(T):
    return ways(T, lambda x, *, n: x.sin() * n, leaf(T), n=3)


@fact
def tensors_in_keyword_arguments(T):
    x, y = leaf(T), leaf(T, 3.0, 4.0)
    out = module(T).checkpoint(lambda x, y: x.sin() * y.cos(), x, y=y, use_reentrant=False)
    out.sum().backward()
    return x.grad, y.grad


@fact
def tensors_in_structures(T):
    x, y = leaf(T), leaf(T, 3.0, 4.0)
    out = module(T).checkpoint(lambda many: many["a"].sin() * many["b"][0].cos(), {"a": x, "b": [y]}, use_reentrant=False)
    out.sum().backward()
    return x.grad, y.grad


@fact
def tensors_in_closures(T):
    x, y = leaf(T), leaf(T, 3.0, 4.0)
    z = y * 2
    return [ways(T, lambda x: x.sin() * z.cos(), x, then=lambda out: out.sum().backward(retain_graph=True)), y.grad]


@fact
def history_before(T):
    found = []
    for reentrant in BOTH:
        x = leaf(T)
        y = x * 3
        module(T).checkpoint(lambda y: y.sin(), y, use_reentrant=reentrant).sum().backward()
        found.append(x.grad)
    return found


@fact
def parameters_only(T):
    w = leaf(T)
    return [ways(T, lambda x: (x * w).sin(), T.ones(2, dtype=T.float64), ways=(False,)), w.grad]


@fact
def parameters_only_in_the_reentrant_way(T):
    w = leaf(T)
    return module(T).checkpoint(lambda x: (x * w).sin(), T.ones(2, dtype=T.float64), use_reentrant=True).requires_grad


@fact
def several_outputs(T):
    return ways(T, lambda x: (x.sin(), x.cos()), leaf(T), then=lambda out: (out[0] + 2 * out[1]).sum().backward())


@fact
def one_of_several_outputs(T):
    return ways(T, lambda x: (x.sin(), x.cos()), leaf(T), then=lambda out: out[1].sum().backward())


@fact
def outputs_that_are_not_tensors(T):
    def then(out):
        out[0].sum().backward()
        return out[1:]

    return ways(T, lambda x: (x.sin(), 3, "a", None), leaf(T), then=then)


@fact
def output_in_a_dict(T):
    def then(out):
        out["y"].sum().backward()
        return sorted(out)

    return ways(T, lambda x: {"y": x.sin(), "n": 3}, leaf(T), then=then, ways=(False,))


@fact
def output_without_gradient(T):
    return ways(T, lambda x: (x.sin(), x.detach().cos(), (x > 1).long()), leaf(T), then=lambda out: (out[1:], out[0].sum().backward()))


@fact
def output_is_an_input(T):
    return ways(T, lambda x: x, leaf(T), then=lambda out: out.sum().backward())


@fact
def nothing_saved(T):
    return ways(T, lambda x: x + 1, leaf(T))


@fact
def name_of_the_node(T):
    return ways(T, lambda x: x.sin(), leaf(T), then=lambda out: out)


@fact
def modules(T):
    T.manual_seed(0)
    part = T.nn.Linear(2, 2).double()
    with T.no_grad():
        part.weight.fill_(0.5), part.bias.fill_(0.25)
    found = []
    for reentrant in BOTH:
        x = leaf(T, 1.0, 2.0)
        part.zero_grad()
        module(T).checkpoint(part, x, use_reentrant=reentrant).sin().sum().backward()
        found.append((x.grad, part.weight.grad, part.bias.grad))
    return found


@fact
def in_place_inside(T):
    return ways(T, lambda x: x.sin().mul_(2).exp(), leaf(T))


# ---- backward ----


@fact
def backward_twice(T):
    return ways(T, lambda x: x.sin().exp(), leaf(T), then=lambda out: (out.sum().backward(retain_graph=True), out.sum().backward()))


@fact
def backward_twice_without_retain_graph(T):
    return ways(T, lambda x: x.sin().exp(), leaf(T), then=lambda out: (out.sum().backward(), out.sum().backward()))


@fact
def autograd_grad(T):
    x = leaf(T)
    return [
        raised(lambda r=r: T.autograd.grad(module(T).checkpoint(lambda x: x.sin().exp(), x, use_reentrant=r).sum(), x)) for r in BOTH
    ]


@fact
def backward_with_inputs(T):
    x = leaf(T)
    return [
        raised(lambda r=r: module(T).checkpoint(lambda x: x.sin(), x, use_reentrant=r).sum().backward(inputs=[x])) for r in BOTH
    ], x.grad


@fact
def double_backward(T):
    x = leaf(T)
    out = module(T).checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    (first,) = T.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = T.autograd.grad(first.sum(), x, create_graph=True)
    return first, second.tolist(), T.autograd.grad(second.sum(), x)


@fact
def backward_of_one_output_after_the_other(T):
    x = leaf(T)
    counted = counting(lambda x: (x.sin().exp(), x.cos().exp()))
    a, b = module(T).checkpoint(counted, x, use_reentrant=False)
    a.sum().backward(retain_graph=True)
    first = counted.calls
    b.sum().backward()
    return first, counted.calls, x.grad


@fact
def saved_tensors_of_a_node(T):
    x = leaf(T)
    counted = counting(lambda x: x.sin().exp())
    out = module(T).checkpoint(counted, x, use_reentrant=False)
    return out.grad_fn._saved_result, counted.calls, out.grad_fn._saved_result, counted.calls


@fact
def backward_inside(T):
    def function(x):
        with T.enable_grad():
            y = x.detach().requires_grad_()
            (g,) = T.autograd.grad(y.exp().sin().sum(), y)
        return (x * g).sin()

    return ways(T, function, leaf(T))


@fact
def backward_of_the_argument_inside(T):
    def function(x):
        (g,) = T.autograd.grad(x.exp().sin().sum(), x, create_graph=True)
        return (x * g).sin()

    return ways(T, function, leaf(T), ways=(False,)), ways(T, function, leaf(T), ways=(False,), early_stop=False)


@fact
def hooks_of_tensors(T):
    calls = []
    found = []
    for reentrant in BOTH:
        x, w = leaf(T), leaf(T, 3.0, 4.0)
        x.register_hook(lambda g: calls.append("x"))
        w.register_hook(lambda g: calls.append("w"))
        w.register_post_accumulate_grad_hook(lambda w: calls.append("after w"))
        module(T).checkpoint(lambda x, w=w: (x * w).sin(), x, use_reentrant=reentrant).sum().backward()
        found.append((x.grad, w.grad))
    return calls, found


@fact
def custom_functions_inside(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    return ways(T, lambda x: Cube.apply(x.sin()).exp(), leaf(T))


@fact
def saved_tensors_read_twice(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == 1
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    return ways(T, lambda x: Cube.apply(x.sin()), leaf(T), ways=(False,))


@fact
def groups_of_backward_passes(T):
    C = module(T)

    def passes(first, second):
        x = leaf(T)
        counted = counting(lambda x: (x.sin().exp(), x.cos().exp()))
        outs = C.checkpoint(counted, x, use_reentrant=False)
        with C.GraphExecGroup():
            outs[first].sum().backward(retain_graph=True)
            said = raised(lambda: outs[second].sum().backward(retain_graph=True))
        outs[first].sum().backward()
        return said, x.grad, counted.calls

    def nested():
        with C.GraphExecGroup(), C.GraphExecGroup():
            pass

    return passes(0, 1), passes(0, 0), raised(nested), passes(1, 0)


# ---- nesting ----


def nested(T, outer, inner, **kwargs):
    x = leaf(T)
    low, high = counting(lambda x: x.sin().exp()), counting(lambda x: x)
    C = module(T)

    def function(x):
        high(x)
        return C.checkpoint(low, x.cos(), use_reentrant=inner, **kwargs).tanh()

    C.checkpoint(function, x, use_reentrant=outer, **kwargs).sum().backward()
    return x.grad, low.calls, high.calls


@fact
def nested_in_all_ways(T):
    return [nested(T, outer, inner) for outer in BOTH for inner in BOTH]


@fact
def nested_without_early_stop(T):
    return nested(T, False, False, early_stop=False)


@fact
def nested_three_times(T):
    C = module(T)
    calls = []

    def function(x, n):
        calls.append(n)
        if n == 0:
            return x.sin()
        return C.checkpoint(function, x.sin(), n - 1, use_reentrant=False).exp().cos()

    x = leaf(T)
    C.checkpoint(function, x, 3, use_reentrant=False).sum().backward()
    return x.grad, sorted(calls)


@fact
def nested_double_backward(T):
    C, x = module(T), leaf(T)
    out = C.checkpoint(lambda x: C.checkpoint(lambda x: x.sin().exp(), x.cos(), use_reentrant=False).tanh(), x, use_reentrant=False)
    (first,) = T.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = T.autograd.grad(first.sum(), x)
    return first.tolist(), second


@fact
def one_after_the_other(T):
    found = []
    for reentrant in BOTH:
        x = leaf(T)
        y = x
        functions = [counting(lambda x: x.sin().exp()) for _ in range(4)]
        for function in functions:
            y = module(T).checkpoint(function, y, use_reentrant=reentrant)
        y.sum().backward()
        found.append((x.grad, [f.calls for f in functions]))
    return found


# ---- random numbers ----


def random_facts(T, reentrant, preserve):
    T.manual_seed(5)
    x = T.ones(50, dtype=T.float64, requires_grad=True)
    seen = []

    def function(x):
        noise = T.rand(50, dtype=T.float64)
        seen.append(noise)
        return (x * noise).sin()

    out = module(T).checkpoint(function, x, use_reentrant=reentrant, preserve_rng_state=preserve)
    before = T.get_rng_state()
    out.sum().backward()
    return bool((seen[0] == seen[1]).all()), bool((before == T.get_rng_state()).all())


@fact
def random_numbers(T):
    return [random_facts(T, reentrant, preserve) for reentrant in BOTH for preserve in BOTH]


@fact
def autocast_is_restored(T):
    seen = []

    def function(x):
        seen.append(T.is_autocast_enabled("cpu"))
        return x @ x

    for reentrant in BOTH:
        x = T.ones(2, 2, requires_grad=True)
        with T.autocast("cpu", dtype=T.bfloat16):
            out = module(T).checkpoint(function, x, use_reentrant=reentrant)
        out.float().sum().backward()
    return seen


# ---- arguments of checkpoint itself ----


@fact
def way_not_given(T):
    x = leaf(T)
    return warned(lambda: module(T).checkpoint(lambda x: x.sin(), x)), module(T).checkpoint(lambda x: x.sin(), x)


@fact
def warning_without_gradients(T):
    return [warned(lambda r=r: module(T).checkpoint(lambda x: x.sin(), T.ones(2), use_reentrant=r)) for r in BOTH]


@fact
def reentrant_with_keywords(T):
    return module(T).checkpoint(lambda x, y, z: x.sin(), leaf(T), y=2, z=3, use_reentrant=True)


@fact
def reentrant_with_debug(T):
    return module(T).checkpoint(lambda x: x.sin(), leaf(T), use_reentrant=True, debug=True)


@fact
def reentrant_with_contexts(T):
    return module(T).checkpoint(lambda x: x.sin(), leaf(T), use_reentrant=True, context_fn=lambda: (None, None))


@fact
def unknown_determinism_check(T):
    return module(T).checkpoint(lambda x: x.sin(), leaf(T), use_reentrant=False, determinism_check="bad")


@fact
def names(T):
    return [hasattr(module(T), name) for name in torch.utils.checkpoint.__all__]


@fact
def helpers(T):
    C = module(T)
    x, constant = leaf(T), T.ones(2)
    detached = C.detach_variable((x, constant, 3))
    return (
        [d.requires_grad for d in detached[:2]], detached[2], raised(lambda: C.detach_variable([x])),
        warned(lambda: C.check_backward_validity([constant])), warned(lambda: C.check_backward_validity([x])),
        C.DefaultDeviceType.get_device_type(), issubclass(C.CheckpointError, RuntimeError), C.get_device_states(x),
    )  # fmt: skip


@fact
def memory_is_not_kept(T):
    kept = []

    def function(x):
        y = x.sin()
        kept.append(weakref.ref(y))
        return y.exp().cos()

    x = leaf(T)
    outs = [module(T).checkpoint(function, x, use_reentrant=reentrant) for reentrant in BOTH]
    gc.collect()
    return [r() is None for r in kept], len(outs)


@fact
def arguments_of_nested_ones_are_not_kept(T):
    C, kept = module(T), []

    def function(x):
        y = x.sin()
        kept.append(weakref.ref(y))
        return C.checkpoint(lambda y: y.exp(), y, use_reentrant=False).cos()

    out = C.checkpoint(function, leaf(T), use_reentrant=False)
    gc.collect()
    return kept[0]() is None, out


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)
