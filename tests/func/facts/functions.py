"""Facts about custom functions inside transforms."""

from __future__ import annotations

from ._base import attempt, fact, vector


def function(t, **members):
    made = {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    return type("Mine", (t.autograd.Function,), made)


def cube(t, **more):
    """x³ with a wrong factor in backward and in jvp, so that it shows which of them was used."""

    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 4 * x**2 * g

    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 5 * x**2 * tangent

    members = {"forward": lambda x: x**3, "setup_context": setup_context, "backward": backward, "jvp": jvp, "generate_vmap_rule": True}
    return function(t, **(members | more))


def doubled(t, **more):
    return cube(
        t, **({"forward": lambda x: x * 2, "setup_context": lambda ctx, inputs, output: None, "backward": lambda ctx, g: g * 2} | more)
    )


def both(t, **more):
    """A product and a sum of two tensors, with a number."""

    def setup_context(ctx, inputs, output):
        x, y, k = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.k = k

    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return ctx.k * y * g + h, ctx.k * x * g + h, None

    def jvp(ctx, s, d, _):
        x, y = ctx.saved_tensors
        return ctx.k * (y * s + x * d), s + d

    members = {"forward": lambda x, y, k: (k * x * y, x + y), "setup_context": setup_context, "backward": backward, "jvp": jvp,
               "generate_vmap_rule": True}  # fmt: skip
    return function(t, **(members | more))


@fact
def old_style(t):
    old = function(t, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)
    x = vector(t)
    return (
        attempt(lambda: t.func.grad(lambda x: old.apply(x).sum())(x)),
        attempt(lambda: t.func.vmap(old.apply)(x)),
        attempt(lambda: t.func.jvp(old.apply, (x,), (x,))),
        attempt(lambda: t.func.vmap(lambda y: y + old.apply(x).sum())(x)),
        old.apply(x),
    )


@fact
def rules_for_vmap(t):
    x = vector(t)
    return (
        attempt(lambda: t.func.vmap(doubled(t, generate_vmap_rule=False).apply)(x)),
        attempt(lambda: t.func.vmap(doubled(t, vmap=lambda info, dims, x: (x * 2, 0)).apply)(x)),
        attempt(lambda: t.func.vmap(doubled(t, generate_vmap_rule=False, vmap=lambda info, dims, x: x).apply)(x)),
        attempt(lambda: t.func.vmap(doubled(t, generate_vmap_rule=False, vmap=lambda info, dims, x: (x, 0, 0)).apply)(x)),
        attempt(lambda: t.func.vmap(doubled(t, generate_vmap_rule=False, vmap=lambda info, dims, x: (x, (0, 0))).apply)(x)),
        attempt(lambda: t.func.vmap(doubled(t, generate_vmap_rule=False, vmap=lambda info, dims, x: (x.sum(), None)).apply)(x)),
    )


@fact
def what_a_vmap_rule_is_told(t):
    seen = []

    def vmap(info, in_dims, x, y, k):
        seen.append((info.batch_size, info.randomness, in_dims, list(x.shape), list(y.shape), k))
        return (x * y * k, x + y), (0, 0)

    mine = both(t, generate_vmap_rule=False, vmap=vmap)
    x = t.ones(3, 2)
    t.func.vmap(lambda x, y: mine.apply(x, y, 2), in_dims=(0, None), randomness="same")(x, vector(t, 1.0, 2.0))
    t.func.vmap(t.func.vmap(lambda x, y: mine.apply(x, y, 2)))(x, x)
    return seen


@fact
def rule_with_dimension_elsewhere(t):
    mine = doubled(t, generate_vmap_rule=False, vmap=lambda info, dims, x: (x.T * 2, 1))
    return t.func.vmap(mine.apply)(t.arange(6.0).reshape(3, 2))


@fact
def rule_for_inputs_with_the_batch_elsewhere(t):
    """A rule is given the tensors as `vmap` was given them."""
    seen = []

    def vmap(info, dims, x, y):
        seen.append((dims, list(x.shape), list(y.shape)))
        moved = [z if dim is None else z.movedim(dim, 0) for z, dim in zip((x, y), dims, strict=True)]
        return (moved[0] * moved[1], (moved[0] + moved[1]).movedim(0, -1)), (0, -1)

    mine = both(t, generate_vmap_rule=False, vmap=lambda info, dims, x, y, k: vmap(info, dims[:2], x, y))
    made = both(t, generate_vmap_rule=True)
    x, y = t.arange(6.0).reshape(3, 2), t.arange(12.0).reshape(2, 3, 2)
    results = [
        t.func.vmap(lambda x, y, custom=custom: custom.apply(x, y, 1), in_dims=in_dims)(*given)
        for custom in (mine, made)
        for in_dims, given in (((1, 0), (x, x.T)), ((-1, None), (x, x[:, 0])), ((1, 1), (x.T, y[0].T)), ((None, 2), (x, y.movedim(0, 1))))
    ]
    once = t.func.vmap(lambda x: mine.apply(x * 1, x, 1), in_dims=1)(x)
    nested = t.func.vmap(t.func.vmap(lambda x, y: mine.apply(x, y, 1), in_dims=1), in_dims=(0, 2))(y, y.permute(1, 2, 0))
    return seen, results, once, nested


@fact
def rule_that_applies_again(t):
    def vmap(info, dims, x):
        return mine.apply(x), dims[0]

    mine = cube(t, generate_vmap_rule=False, vmap=vmap)
    x = vector(t)
    return t.func.vmap(mine.apply)(x), t.func.vmap(t.func.grad(mine.apply))(x), t.func.grad(lambda x: t.func.vmap(mine.apply)(x).sum())(x)


@fact
def derivatives_of_custom(t):
    mine, x = cube(t), vector(t)

    def total(x):
        return mine.apply(x).sum()

    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(total)(x), lambda: t.func.grad(lambda x: t.func.grad(total)(x).sum())(x),
            lambda: t.func.vmap(mine.apply)(x),
            lambda: t.func.vmap(t.func.grad(mine.apply))(x), lambda: t.func.vmap(t.func.grad(t.func.grad(mine.apply)))(x),
            lambda: t.func.grad(lambda x: t.func.vmap(mine.apply)(x).sum())(x), lambda: t.func.jvp(mine.apply, (x,), (t.ones(3),)),
            lambda: t.func.jvp(t.func.vmap(mine.apply), (x,), (t.ones(3),)),
            lambda: t.func.vmap(lambda x: t.func.jvp(mine.apply, (x,), (t.ones(()),)))(x),
            lambda: t.func.jacrev(mine.apply)(x), lambda: t.func.jacfwd(mine.apply)(x), lambda: t.func.hessian(total)(x),
            lambda: t.func.jacrev(t.func.jacrev(mine.apply))(x),
            lambda: t.func.vjp(mine.apply, x)[1](x), lambda: t.func.vmap(t.func.vmap(mine.apply))(t.ones(2, 3)),
            lambda: t.func.vmap(t.func.vmap(t.func.grad(mine.apply)))(t.ones(2, 3)),
            lambda: t.func.vmap(t.func.grad(lambda x: t.func.vmap(mine.apply)(x).sum()))(t.ones(2, 3)),
            lambda: t.func.grad(lambda x: t.func.vmap(t.func.vmap(mine.apply))(x).sum())(t.ones(2, 3)),
        )
    ]  # fmt: skip


@fact
def custom_with_two_outputs(t):
    mine, x, y = both(t), vector(t), vector(t, 4.0, 5.0, 6.0)

    def f(x, y):
        a, b = mine.apply(x, y, 3)
        return (a * b).sum()

    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(f, (0, 1))(x, y), lambda: t.func.vmap(lambda x, y: mine.apply(x, y, 3))(x, y),
            lambda: t.func.vmap(lambda x: mine.apply(x, y, 3))(x), lambda: t.func.vmap(t.func.grad(f, (0, 1)))(x, y),
            lambda: t.func.vmap(t.func.grad(f, (0, 1)), in_dims=(0, None))(x, t.tensor(2.0)),
            lambda: t.func.grad(lambda x, y: t.func.vmap(f, in_dims=(0, None))(x, y).sum(), (0, 1))(x, t.tensor(2.0)),
            lambda: t.func.jvp(f, (x, y), (y, x)), lambda: t.func.jvp(lambda x: mine.apply(x, y, 3), (x,), (t.ones(3),)),
            lambda: t.func.hessian(f, (0, 1))(x, y), lambda: t.func.jacrev(lambda x, y: mine.apply(x, y, 3), (0, 1))(x, y),
            lambda: t.func.jacfwd(lambda x, y: mine.apply(x, y, 3), (0, 1))(x, y),
            lambda: t.func.vmap(lambda x, y: t.func.jvp(lambda x: mine.apply(x, y, 3), (x,), (x,)))(x, y),
        )
    ]  # fmt: skip


@fact
def custom_without_gradient_for_some(t):
    mine = both(t, backward=lambda ctx, g, h: (None, g, None))
    x, y = vector(t), vector(t, 4.0, 5.0, 6.0)
    return (
        t.func.grad(lambda x, y: mine.apply(x, y, 3)[0].sum(), (0, 1))(x, y),
        t.func.vmap(t.func.grad(lambda x, y: mine.apply(x, y, 3)[0], (0, 1)))(x, y),
        t.func.grad(lambda x, y: t.func.vmap(lambda x, y: mine.apply(x, y, 3)[0])(x, y).sum(), (0, 1))(x, y),
    )


@fact
def custom_gradients_that_are_broadcast(t):
    def setup_context(ctx, inputs, output):
        pass

    mine = function(t, forward=lambda x, y: x + y, setup_context=setup_context, backward=lambda ctx, g: (g, g), generate_vmap_rule=True)
    x, y = vector(t), t.tensor([2.0])
    return (
        t.func.grad(lambda x, y: mine.apply(x, y).sum(), (0, 1))(x, y),
        t.func.vmap(t.func.grad(lambda x, y: mine.apply(x, y).sum(), (0, 1)), in_dims=(0, None))(t.ones(2, 3), y),
        t.func.grad(lambda x, y: t.func.vmap(lambda x: mine.apply(x, y).sum())(x).sum(), (0, 1))(t.ones(2, 3), y),
    )


@fact
def non_differentiable_outputs(t):
    mine = function(
        t, forward=lambda x: (x * 2, (x > 1), x.argmax()),
        setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(*output[1:]),
        backward=lambda ctx, g, *rest: g * 2, jvp=lambda ctx, s: (s * 2, None, None), generate_vmap_rule=True,
    )  # fmt: skip
    x = vector(t)
    return (
        t.func.grad(lambda x: mine.apply(x)[0].sum())(x),
        t.func.grad(lambda x: (mine.apply(x)[0].sum(), mine.apply(x)[1:]), has_aux=True)(x),
        t.func.vmap(mine.apply)(t.eye(3)),
        t.func.vmap(t.func.grad(lambda x: mine.apply(x)[0].sum()))(t.eye(3)),
        attempt(lambda: t.func.jvp(mine.apply, (x,), (x,))),
    )


@fact
def dirty_inputs(t):
    def change(x):
        x.mul_(2)
        return x

    mine = function(
        t, forward=change, setup_context=lambda ctx, inputs, output: ctx.mark_dirty(*inputs), backward=lambda ctx, g: g * 2,
        jvp=lambda ctx, s: s.mul_(2),
    )  # fmt: skip

    def f(x):
        y = x * 1
        mine.apply(y)
        return (y * x).sum()

    return (
        attempt(lambda: t.func.grad(f)(vector(t))),
        attempt(lambda: t.func.jvp(f, (vector(t),), (t.ones(3),))),
        attempt(lambda: t.func.grad(lambda x: t.func.grad(f)(x).sum())(vector(t))),
    )


@fact
def absent_gradients(t):
    seen = []

    def setup(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return g if h is None else h

    def make(**more):
        return function(t, forward=lambda x: (x * 2, x * 3), backward=backward, generate_vmap_rule=True, **more)

    for mine in (make(setup_context=setup), make(setup_context=lambda ctx, inputs, output: None)):
        t.func.grad(lambda x, mine=mine: mine.apply(x)[0].sum())(vector(t))
        t.func.vmap(t.func.grad(lambda x, mine=mine: mine.apply(x)[1].sum()))(vector(t))
    return seen


@fact
def things_on_the_context(t):
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.out, ctx.many, ctx.name = inputs[0], output, {"x": [inputs[0]]}, "text"

    def backward(ctx, g):
        return g * (ctx.x + ctx.out + ctx.many["x"][0]) * len(ctx.name)

    mine, x = function(t, forward=lambda x: x * 2, setup_context=setup_context, backward=backward, generate_vmap_rule=True), vector(t)
    return (
        t.func.grad(lambda x: mine.apply(x).sum())(x),
        t.func.vmap(t.func.grad(mine.apply))(x),
        t.func.grad(lambda x: t.func.vmap(mine.apply)(x).sum())(x),
    )


@fact
def saved_outputs(t):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    mine, x = function(t, forward=lambda x: x.exp(), setup_context=setup_context, backward=backward, generate_vmap_rule=True), vector(t)
    return (
        t.func.grad(lambda x: mine.apply(x).sum())(x),
        t.func.vmap(t.func.grad(t.func.grad(mine.apply)))(x),
        t.func.grad(lambda x: t.func.vmap(mine.apply)(x).sum())(x),
        t.func.vmap(t.func.grad(t.func.grad(t.func.grad(mine.apply))))(x),
    )


@fact
def needs_input_grad_inside(t):
    seen = []
    mine = function(
        t, forward=lambda x, y, k: x * y * k, setup_context=lambda ctx, inputs, output: None, generate_vmap_rule=True,
        backward=lambda ctx, g: (seen.append(ctx.needs_input_grad), (g, g, None))[1],
    )  # fmt: skip
    x = vector(t)
    t.func.grad(lambda x: mine.apply(x, x.detach(), 2).sum())(x)
    t.func.grad(lambda x: mine.apply(x.detach(), x, 2).sum())(x)
    t.func.vmap(t.func.grad(lambda x: mine.apply(x, x, 2)))(x)
    t.func.grad(lambda x: t.func.vmap(lambda x: mine.apply(x, t.ones(()), 2))(x).sum())(x)
    return seen


@fact
def custom_without_derivatives(t):
    bare = function(t, forward=lambda x: x * 2, setup_context=lambda ctx, inputs, output: None)
    x = vector(t)
    return attempt(lambda: t.func.grad(lambda x: bare.apply(x).sum())(x)), attempt(lambda: t.func.jvp(bare.apply, (x,), (x,)))


@fact
def wrong_gradients_inside(t):
    x = vector(t)
    return [
        attempt(lambda backward=backward: t.func.grad(lambda x: doubled(t, backward=backward).apply(x).sum())(x))
        for backward in (lambda ctx, g: 3.0, lambda ctx, g: None)
    ]


@fact
def wrong_tangents_inside(t):
    x = vector(t)
    return attempt(lambda: t.func.jvp(doubled(t, jvp=lambda ctx, s: (s, s)).apply, (x,), (x,)))


@fact
def ordinary_gradient_through_custom(t):
    mine, x, w = cube(t), vector(t), t.tensor(2.0, requires_grad=True)
    t.func.vmap(lambda x: mine.apply(x * w))(x).sum().backward()
    first, w.grad = w.grad, None
    t.func.grad(lambda x: (mine.apply(x * w)).sum())(x).sum().backward()
    return first, w.grad


@fact
def keyword_arguments_of_custom(t):
    mine = function(
        t, forward=lambda x, k=2: x * k, setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
        backward=lambda ctx, g: (g * ctx.k, None), generate_vmap_rule=True,
    )  # fmt: skip
    x = vector(t)
    return [t.func.grad(lambda x, kw=kw: mine.apply(x, **kw).sum())(x) for kw in ({}, {"k": 3})], [
        t.func.vmap(lambda x, kw=kw: mine.apply(x, **kw))(x) for kw in ({}, {"k": 3})
    ]


@fact
def once_differentiable_inside(t):
    once = t.autograd.function.once_differentiable
    mine, x = cube(t, backward=once(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)), vector(t)
    return attempt(lambda: t.func.grad(lambda x: mine.apply(x).sum())(x)), attempt(lambda: t.func.vmap(t.func.grad(mine.apply))(x))


@fact
def random_custom(t):
    mine = cube(t, forward=lambda x: x * t.rand(()))
    return attempt(lambda: t.func.vmap(mine.apply)(vector(t))), t.func.vmap(mine.apply, randomness="different")(vector(t)).shape


@fact
def gradients_in_a_box(t):
    seen = []

    class Both(t.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            seen.append((type(grads).__name__, len(grads)))
            g, h = grads
            grads.clear()
            return g * 2 + h * 3

    class Once(Both):
        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx, grads):
            return grads[0] * 2

    x = vector(t, 1.0, 2.0, requires_grad=True)
    Both.apply(x)[0].sum().backward()
    (found,) = t.autograd.grad(Once.apply(x)[0].sum() * x.sum(), x, create_graph=True)
    return x.grad, seen, found, t.autograd.Function.boxed_grads_call


@fact
def what_transforms_refuse(t):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g

    class Named(Same):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, *, y=None):
            return x * y

    def set_data(x):
        x.data = t.ones(2)
        return x

    def hooked(x):
        with t.autograd.graph.saved_tensors_hooks(lambda y: y, lambda y: y):
            return x.sin().sum()

    vmap, x = t.func.vmap, t.ones(2)
    return [
        attempt(f)
        for f in (
            lambda: Same.apply(t.ones(2, requires_grad=True)),
            lambda: vmap(lambda x, y: Named.apply(x, y=y))(x, x),
            lambda: vmap(set_data)(t.ones(2, 2)),
            lambda: t.func.grad(lambda x: set_data(x).sum())(x),
            lambda: t.func.grad(hooked)(x),
            lambda: t.func.vjp(hooked, x),
            lambda: vmap(hooked)(t.ones(2, 2)),
            lambda: vmap(lambda x, y: t.sin(x, out=y))(x, x.clone()),
            lambda: vmap(lambda x, y: t.zeros(2, out=y))(t.ones(2, 2), t.ones(2, 2)),
            lambda: t.func.jvp(lambda x: t.sin(x, out=t.ones(2)), (x,), (x,)),
            lambda: vmap(lambda x: x.squeeze(-1))(x),
            lambda: vmap(lambda x: x.squeeze(0))(x),
            lambda: vmap(lambda x: x.squeeze(-1))(t.ones(2, 1)).shape,
        )
    ]


@fact
def jacobians_row_by_row(t):
    class Looks(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            g.nonzero()
            return g * 2

    x = vector(t)
    return t.func.jacrev(Looks.apply, chunk_size=1)(x), attempt(lambda: t.func.jacrev(Looks.apply, chunk_size=2)(x))
