"""Facts about tensors that are made inside a transform, about views there, and about what levels below do with modes and gradients."""

from __future__ import annotations

from ._base import attempt, fact, vector

# ---- what the levels below record -------------------------------------------------------------------------------------------------------


def transforms(t):
    return (
        lambda f: t.func.grad(f),
        lambda f: t.func.grad(lambda x: t.func.grad(f)(x).sum()),
        lambda f: t.func.jacrev(t.func.jacrev(f)),
        lambda f: t.func.jacfwd(t.func.jacfwd(f)),
        lambda f: t.func.hessian(f),
        lambda f: t.func.grad(lambda x: t.func.vmap(f)(x[:, None]).sum()),
        lambda f: lambda x: t.func.vmap(t.func.grad(f))(x.expand(2, 3)),
    )


def with_constant(t, f, x):
    """The value, and its gradient where it has one."""
    y = f(x)
    return (y, *t.autograd.grad(y.sum(), x)) if y.requires_grad else y


@fact
def no_grad_reaches_all_levels(t):
    def f(x):
        with t.no_grad():
            c = x**2
        return (x**3 - c * x).sum()

    plain = [transform(f)(vector(t)) for transform in transforms(t)]
    return plain, [with_constant(t, transform(f), vector(t, requires_grad=True)) for transform in transforms(t)]


@fact
def enable_grad_under_no_grad(t):
    def f(x):
        with t.enable_grad():
            return (x**3).sum()

    with t.no_grad():
        return [transform(f)(vector(t, requires_grad=True)) for transform in transforms(t)]


@fact
def no_grad_around_a_custom_function(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    def f(x):
        with t.no_grad():
            c = Cube.apply(x)
        return (Cube.apply(x) * c).sum()

    g = t.func.grad(f)
    return g(vector(t)), t.func.jacrev(g)(vector(t)), with_constant(t, g, vector(t, requires_grad=True))


@fact
def inference_mode_inside_jvp(t):
    def f(x):
        with t.inference_mode():
            c = x**2
        return x**3 - c * x

    return t.func.jvp(f, (vector(t),), (t.ones(3),)), t.func.jacfwd(f)(vector(t))


@fact
def gradients_that_are_differentiated_outside(t):
    """Also where the backward pass is on the level itself, as it is with hooks and for ops on several tensors."""

    def hooked(x):
        y = x * 1
        y.register_hook(lambda g: g * 2)
        return (y**3).sum()

    found = []
    for f in (lambda x: (x**3).sum(), lambda x: (t.cat([x, x**2]) ** 2).sum(), hooked):
        x, w = vector(t, requires_grad=True), vector(t, requires_grad=True)
        first, second = t.func.grad(f)(x), t.func.grad(lambda x, f=f, w=w: f(x * w))(vector(t))
        found += [t.autograd.grad(first.sum(), x), t.autograd.grad(second.sum(), w)]
        found += [t.func.jacrev(t.func.grad(f))(vector(t)), t.func.jacfwd(t.func.grad(f))(vector(t))]
    return found


# ---- new tensors ------------------------------------------------------------------------------------------------------------------------


@fact
def leaves_made_inside(t):
    def f(x):
        y = t.ones(3, requires_grad=True)
        (g,) = t.autograd.grad((x * y * y).sum(), y, create_graph=True)
        return (g * g).sum()

    def drawn(x):
        y = t.randn(3, requires_grad=True)
        (g,) = t.autograd.grad((x * x * y).sum(), y, create_graph=True)
        return g.sum()

    def seen(x):
        y = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
        z = (x * y).sum()
        flags.append((y.requires_grad, y.is_leaf, z.requires_grad))
        return z

    flags = []
    results = [t.func.grad(f)(vector(t)), t.func.hessian(f)(vector(t)), t.func.grad(drawn)(vector(t))]
    results += [t.func.vmap(t.func.grad(f))(t.ones(2, 3)), t.func.grad(seen)(vector(t))]
    batched = t.func.grad(lambda x: t.func.vmap(seen)(x.expand(2, 3)).sum())(vector(t))
    return results, flags, batched, batched.requires_grad, results[-1].requires_grad


@fact
def results_written_over_new_tensors(t):
    makers = (
        lambda x: t.rand(3), lambda x: t.randn(3), lambda x: t.randn_like(x), lambda x: t.normal(0.0, 1.0, (3,)),
        lambda x: t.poisson(t.ones(3)), lambda x: t.bernoulli(t.full((3,), 0.5)), lambda x: t.arange(3.0), lambda x: t.linspace(0, 1, 3),
        lambda x: t.as_tensor([1.0, 2.0, 3.0]), lambda x: x.new_tensor([1.0, 2.0, 3.0]), lambda x: t.asarray([1.0, 2.0, 3.0]),
        lambda x: t.empty_strided((3,), (1,)),
    )  # fmt: skip

    def over(make):
        def f(x):
            y = make(x)
            y.copy_(x**2)
            y[0] = x.sum()
            return y

        return f

    calls = (
        lambda f: t.func.jacrev(f)(vector(t)), lambda f: t.func.jacfwd(f)(vector(t)), lambda f: t.func.jacrev(t.func.jacfwd(f))(vector(t)),
        lambda f: t.func.vmap(t.func.grad(lambda x: f(x).sum()), randomness="different")(t.ones(2, 3)),
        lambda f: t.func.vmap(t.func.grad(lambda x: f(x).sum()), randomness="same")(t.ones(2, 3)),
    )  # fmt: skip
    return [attempt(lambda call=call, make=make: call(over(make))) for make in makers for call in calls[:3]] + [
        attempt(lambda call=call, make=make: call(over(make))) for make in makers[:2] for call in calls[3:]
    ]


# ---- views ------------------------------------------------------------------------------------------------------------------------------


@fact
def views_that_see_a_later_write(t):
    def into_view_of_view(x):
        z = t.zeros(2, 3)[0]
        z[1] = x[0] ** 2
        return z

    def into_base(x):
        y = t.zeros(2, 3)
        z = y[0]
        y.copy_((x**2).expand(2, 3))
        return z

    def into_other_view(x):
        y = t.zeros(2, 3)
        z, w = y.view(6), y[0]
        z[1] = x[0] ** 2
        return w

    def overwritten(x):
        y = x * 2
        z = y[1:]
        y.zero_()
        return z

    def detached(x):
        y = t.zeros(3)
        d = y.detach()
        y.copy_(x**2)
        return d

    functions = (into_view_of_view, into_base, into_other_view, overwritten, detached)
    return [
        (
            t.func.jvp(f, (vector(t),), (vector(t, 1.0, -1.0, 2.0),)), t.func.jacfwd(f)(vector(t)), t.func.jacrev(f)(vector(t)),
            t.func.vjp(f, vector(t))[1](t.ones_like(f(vector(t)))), t.func.jacfwd(t.func.jacrev(f))(vector(t)),
        )
        for f in functions
    ]  # fmt: skip
