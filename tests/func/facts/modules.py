"""Facts about modules as functions of their parameters."""

from __future__ import annotations

from ._base import attempt, fact, vector


def layer(t, inputs=2, outputs=2):
    made = t.nn.Linear(inputs, outputs)
    with t.no_grad():
        made.weight.copy_(t.arange(float(inputs * outputs)).reshape(outputs, inputs) / 10)
        made.bias.copy_(t.arange(float(outputs)))
    return made


@fact
def calling_with_other_parameters(t):
    made, x = layer(t), vector(t, 1.0, 2.0)
    return (
        t.func.functional_call(made, {"weight": t.ones(2, 2)}, (x,)),
        t.func.functional_call(made, {"weight": t.ones(2, 2), "bias": t.zeros(2)}, x),
        t.func.functional_call(made, {}, (x,)),
        t.func.functional_call(made, ({"weight": t.ones(2, 2)}, {"bias": t.zeros(2)}), (x,)),
        t.func.functional_call(made, {"weight": t.ones(2, 2)}, kwargs={"input": x}),
        made(x),
    )


@fact
def calling_wrongly(t):
    made, x = layer(t), vector(t, 1.0, 2.0)
    return [
        attempt(action)
        for action in (
            lambda: t.func.functional_call(made, {"other": t.ones(2)}, (x,), strict=True),
            lambda: t.func.functional_call(made, {"weight": t.ones(2, 2)}, (x,), strict=True),
            lambda: t.func.functional_call(made, [{"weight": t.ones(2, 2)}, {"weight": t.ones(2, 2)}], (x,)),
            lambda: t.func.functional_call(made, 3, (x,)), lambda: t.func.functional_call(made, [3], (x,)),
            lambda: t.func.functional_call(made, {"weight": t.ones(2, 3)}, (x,)), lambda: t.func.functional_call(3, {}, (x,)),
            lambda: t.func.functional_call(made, {"weight": 3}, (x,)), lambda: t.func.functional_call(made, {"a.b": t.ones(2)}, (x,)),
        )
    ]  # fmt: skip


@fact
def unknown_names(t):
    return attempt(lambda: t.func.functional_call(layer(t), {"other": t.ones(2)}, (vector(t, 1.0, 2.0),)))


@fact
def tied_weights(t):
    class Tied(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = layer(t)
            self.b = layer(t)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    made, x = Tied(), vector(t, 1.0, 2.0)
    return (
        t.func.functional_call(made, {"a.weight": t.ones(2, 2)}, x),
        t.func.functional_call(made, {"a.weight": t.ones(2, 2)}, x, tie_weights=False),
        attempt(lambda: t.func.functional_call(made, {"a.weight": t.ones(2, 2), "b.weight": t.zeros(2, 2)}, x)),
        attempt(lambda: t.func.functional_call(made, {"a.weight": t.ones(2, 2), "b.weight": t.zeros(2, 2)}, x, tie_weights=False)),
        t.func.grad(lambda p: t.func.functional_call(made, p, x).sum())({"a.weight": t.ones(2, 2)}),
    )


@fact
def gradient_of_parameters(t):
    made, x = layer(t), vector(t, 1.0, 2.0)
    params = dict(made.named_parameters())
    found = t.func.grad(lambda p: (t.func.functional_call(made, p, (x,)) ** 2).sum())(params)
    return found, {name: g.requires_grad for name, g in found.items()}, [p.grad for p in made.parameters()]


@fact
def gradient_of_detached_parameters(t):
    made, x = layer(t), vector(t, 1.0, 2.0)
    params = {name: p.detach() for name, p in made.named_parameters()}
    return t.func.grad_and_value(lambda p: (t.func.functional_call(made, p, (x,)) ** 2).sum())(params)


@fact
def stacking(t):
    made = layer(t)
    params, buffers = t.func.stack_module_state([made, layer(t), layer(t)])
    out = t.func.vmap(lambda p, b, x: t.func.functional_call(made, (p, b), (x,)), in_dims=(0, 0, None))(
        params, buffers, vector(t, 1.0, 2.0)
    )
    return params, buffers, {name: (p.requires_grad, p.is_leaf, type(p).__name__) for name, p in params.items()}, out


@fact
def stacking_wrongly(t):
    frozen = layer(t)
    frozen.weight.requires_grad_(False)
    return [
        attempt(lambda models=models: t.func.stack_module_state(models))
        for models in ([], [layer(t), t.nn.ReLU()], [layer(t), layer(t).eval()], [layer(t), frozen], [layer(t), layer(t, 3, 2)])
    ]


@fact
def buffers_that_change(t):
    made = t.nn.BatchNorm1d(2)
    params, buffers = dict(made.named_parameters()), dict(made.named_buffers())
    x = t.arange(8.0).reshape(4, 2)
    out = t.func.functional_call(made, (params, {name: b.clone() for name, b in buffers.items()}), (x,))
    return out, dict(made.named_buffers())


@fact
def batch_norm_without_statistics(t):
    made = t.nn.BatchNorm1d(2, track_running_stats=False, affine=False)
    x = t.arange(16.0).reshape(2, 4, 2)
    return t.func.vmap(made)(x), t.func.grad(lambda x: (made(x) ** 3).sum())(x[0] ** 2)


@fact
def functionalized(t):
    def f(x):
        y = x.clone()
        y.add_(1)
        y[0] = 5
        return y * 2

    x = vector(t)
    return (
        t.func.functionalize(f)(x),
        t.func.functionalize(f, remove="mutations_and_views")(x),
        attempt(lambda: t.func.functionalize(f, remove="other")(x)),
    )


@fact
def module_hooks_inside(t):
    made, seen = layer(t), []
    made.register_forward_hook(lambda module, args, out: seen.append(list(out.shape)) or out * 2)
    found = t.func.grad(lambda p: t.func.functional_call(made, p, (vector(t, 1.0, 2.0),)).sum())(dict(made.named_parameters()))
    return found, seen


@fact
def parameters_inside(t):
    """Modules made inside of a transform."""

    def f(x):
        made = layer(t)
        return (made(x) ** 2).sum()

    return attempt(lambda: t.func.grad(f)(vector(t, 1.0, 2.0))), attempt(lambda: t.func.vmap(f)(t.ones(3, 2)))


@fact
def calling_with_other_attributes(t):
    """Names of attributes that are no parameters, and names that are not there."""

    class Scaled(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = t.ones(1)
            self.shift = None
            self.number = 3
            self.inner = layer(t, 1, 1)

        def forward(self, x):
            x = x * self.scale
            x = x if self.shift is None else x + self.shift
            return (x + getattr(self, "extra", 0), [name for name, _ in self.named_parameters()])

    made, x, five = Scaled(), vector(t, 1.0), t.full((1,), 5.0)
    found = [
        attempt(lambda values=values: t.func.functional_call(made, values, x))
        for values in (
            {"scale": five}, {"shift": five}, {"extra": five}, {"extra": t.nn.Parameter(five)}, {"inner.bias": None}, {"inner.other": five},
            {"number": five}, {"": five}, {"inner.": five}, {"inner": five}, {"scale": 3}, {"gone.name": five}, {".scale": five},
        )
    ]  # fmt: skip
    return found, hasattr(made, "extra"), made.scale, made.shift, made.number, sorted(made.state_dict())


@fact
def assigning_inside_of_a_functional_call(t):
    class Counting(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", t.zeros(1))
            self.seen = t.zeros(1)

        def forward(self, x):
            self.count = self.count + 1
            self.seen = self.seen + 10
            return x

    made, values = Counting(), {"count": t.ones(1), "seen": t.ones(1)}
    t.func.functional_call(made, values, vector(t))
    once = dict(values)
    t.func.functional_call(made, values, vector(t), tie_weights=False)
    return once, values, made.count, made.seen


@fact
def functional_call_that_fails(t):
    made = layer(t)
    before = made.weight
    found = attempt(lambda: t.func.functional_call(made, {"weight": t.ones(2, 2), "a.b": t.ones(2)}, vector(t, 1.0, 2.0)))
    return found, made.weight is before
