"""Facts about inputs by name, and about what `backward(inputs=...)` runs."""

from __future__ import annotations

import collections
import types

from ._base import attempt, fact


@fact
def gradients_by_name(t):
    x, y, z = (t.ones(size, requires_grad=True) for size in (1, 2, 1))
    grad = t.autograd.grad
    return [
        attempt(f)
        for f in (
            lambda: grad((x * y).sum(), {"x": x, 1: y}),
            lambda: grad(x * 3, {"x": x}),
            lambda: grad((x * y).sum(), {"x": x, "z": z}),
            lambda: grad((x * y).sum(), {"x": x, "z": z}, allow_unused=True),
            lambda: grad((x * y).sum(), {"x": x, "z": z}, materialize_grads=True),
            lambda: grad(x * y, {"x": x}, t.eye(2), is_grads_batched=True),
            lambda: grad((x * y).sum(), {"x": 3}),
            lambda: grad(x.sum(), {}),
            lambda: grad((x * y).sum(), collections.OrderedDict(x=x)),
            lambda: grad((x * y).sum(), types.MappingProxyType({"x": x})),
            lambda: grad((x * y * y).sum(), {"y": y}, create_graph=True)["y"].requires_grad,
            lambda: grad({"a": x.sum()}, x),
            lambda: grad(x.sum(), [x, None]),
            lambda: grad(x.sum(), "x"),
            lambda: grad(x.sum(), 3),
        )
    ]


@fact
def backward_to_inputs_by_name(t):
    x, y = t.ones(1, requires_grad=True), t.ones(2, requires_grad=True)
    (x * y).sum().backward(inputs={"x": x})
    t.autograd.backward((x * y).sum(), inputs={0: x})
    return (
        x.grad,
        y.grad,
        attempt(lambda: x.sum().backward(inputs={})),
        attempt(lambda: x.sum().backward(inputs=collections.OrderedDict(x=x))),
    )


@fact
def what_runs_for_inputs_that_are_results(t):
    seen = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(("backward", g.tolist()))
            return g * 2

    x = t.ones(1, requires_grad=True)
    for y in (x.clone(), Twice.apply(x), x.exp()):
        y.grad_fn.register_prehook(lambda g: seen.append(("before", [one.tolist() for one in g])))
        y.grad_fn.register_hook(lambda made, g: seen.append(("after", list(made), [one.tolist() for one in g])))
        y.register_hook(lambda g: seen.append(("tensor", g.tolist())))
        (y * 3).sum().backward(inputs=(y,))
        seen.append((y.grad, attempt(y.sum().backward)))
    return seen, x.grad
