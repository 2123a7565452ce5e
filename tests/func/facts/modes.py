"""Facts about what happens inside a transform: modes, detaching, writes, hooks, printing."""

from __future__ import annotations

from ._base import attempt, fact, vector

# ---- grad modes -------------------------------------------------------------------------------------------------------------------------


@fact
def no_grad_inside(t):
    def f(x):
        with t.no_grad():
            c = x * x
        return (c * x).sum()

    return t.func.grad(f)(vector(t)), t.func.jacrev(lambda x: f(x)[None])(vector(t)), t.func.jvp(f, (vector(t),), (t.ones(3),))


@fact
def no_grad_outside(t):
    with t.no_grad():
        return (
            t.func.grad(lambda x: (x * x).sum())(vector(t)),
            t.func.jacrev(t.sin)(vector(t)),
            t.func.jacfwd(t.sin)(vector(t)),
            t.func.hessian(lambda x: (x**3).sum())(vector(t)),
        )


@fact
def no_grad_between(t):
    """The outer derivative sees what the inner one computed as constant."""

    def inner(x):
        return t.func.grad(lambda x: (x**3).sum())(x)

    def f(x):
        with t.no_grad():
            c = inner(x)
        return (c * x).sum()

    return t.func.grad(f)(vector(t)), t.func.jvp(f, (vector(t),), (t.ones(3),))


@fact
def enable_grad_inside(t):
    def f(x):
        with t.no_grad():
            a = x * 2
            with t.enable_grad():
                b = x * 3
        return (a * b).sum()

    with t.no_grad():
        return t.func.grad(f)(vector(t))


@fact
def set_grad_enabled_inside(t):
    def f(x):
        t.set_grad_enabled(False)
        y = x * x
        t.set_grad_enabled(True)
        return (y * x).sum()

    return t.func.grad(f)(vector(t)), t.is_grad_enabled()


@fact
def grad_enabled_seen(t):
    seen = []

    def f(x):
        seen.append(t.is_grad_enabled())
        return x.sum()

    for mode in (t.no_grad, t.enable_grad):
        with mode():
            t.func.grad(f)(vector(t))
            t.func.jvp(f, (vector(t),), (vector(t),))
            t.func.vmap(f)(t.ones(2, 3))
    return seen


@fact
def inference_mode_around(t):
    with t.inference_mode():
        return (
            attempt(lambda: t.func.grad(lambda x: (x * x).sum())(vector(t))),
            attempt(lambda: t.func.vmap(t.sin)(vector(t))),
            attempt(lambda: t.func.jvp(t.sin, (vector(t),), (vector(t),))),
        )


@fact
def inference_mode_inside(t):
    def f(x):
        with t.inference_mode():
            y = x * x
        return y.sum()

    return attempt(lambda: t.func.vmap(f)(t.ones(2, 3)))


# ---- ordinary gradients -------------------------------------------------------------------------------------------------------------


@fact
def captured_that_requires_grad(t):
    w = vector(t, 2.0, 3.0, 4.0, requires_grad=True)
    g = t.func.grad(lambda x: (x * x * w).sum())(vector(t))
    g.sum().backward()
    return g.requires_grad, w.grad


@fact
def input_that_requires_grad(t):
    x = vector(t, requires_grad=True)
    g = t.func.grad(lambda x: (x**3).sum())(x)
    g.sum().backward()
    return g.requires_grad, x.grad


@fact
def jacobian_of_what_requires_grad(t):
    x = vector(t, requires_grad=True)
    found = []
    for name in ("jacrev", "jacfwd", "hessian"):
        x.grad = None
        j = getattr(t.func, name)(lambda x, name=name: (x**3).sum() if name == "hessian" else x**3)(x)
        j.sum().backward()
        found += [j.requires_grad, x.grad]
    return found


@fact
def jvp_of_what_requires_grad(t):
    x, v = vector(t, requires_grad=True), vector(t, 1.0, 0.0, 1.0, requires_grad=True)
    out, tangent = t.func.jvp(t.sin, (x,), (v,))
    tangent.sum().backward()
    return out.requires_grad, tangent.requires_grad, x.grad, v.grad


@fact
def vmap_of_what_requires_grad(t):
    x, w = t.ones(2, 3, requires_grad=True), vector(t, requires_grad=True)
    t.func.vmap(lambda x: (x * w).sum())(x).sum().backward()
    return x.grad, w.grad


@fact
def vjp_of_what_requires_grad(t):
    x, v = vector(t, requires_grad=True), vector(t, 1.0, 2.0, 3.0, requires_grad=True)
    out, pull = t.func.vjp(lambda x: x**3, x)
    (g,) = pull(v)
    g.sum().backward()
    return out.requires_grad, g.requires_grad, x.grad, v.grad


@fact
def requires_grad_inside(t):
    seen = []

    def f(x, y):
        seen.append((x.requires_grad, y.requires_grad, (x * 2).requires_grad, (y * 2).requires_grad, x.is_leaf, (x * 2).grad_fn is None))
        return (x * y).sum()

    t.func.grad(f)(vector(t), vector(t, requires_grad=True))
    t.func.vmap(f)(vector(t), vector(t, requires_grad=True))
    t.func.jvp(f, (vector(t), vector(t)), (vector(t), vector(t)))
    return seen


@fact
def requires_grad_set_inside(t):
    def set_it(x):
        x.requires_grad_()
        return x.sum()

    def set_new(x):
        y = t.ones(3).requires_grad_()
        return (x * y).sum()

    def set_attribute(x):
        y = x.clone()
        y.requires_grad = True
        return y.sum()

    return [
        attempt(lambda f=f, call=call: call(f))
        for f in (
            set_it, set_new, set_attribute, lambda x: (x * t.ones(3, requires_grad=True)).sum(),
            lambda x: x.requires_grad_(False).sum(),
        )
        for call in (
            lambda f: t.func.grad(f)(vector(t)), lambda f: t.func.vmap(f)(t.ones(2, 3)),
            lambda f: t.func.jvp(f, (vector(t),), (vector(t),)),
        )
    ]  # fmt: skip


@fact
def detached_inside(t):
    def f(x):
        return (x.detach() * x).sum()

    return (
        t.func.grad(f)(vector(t)),
        t.func.jvp(f, (vector(t),), (t.ones(3),)),
        t.func.vmap(f)(t.ones(2, 3)),
        t.func.grad(t.func.grad(lambda x: x.detach() * x**2))(t.tensor(3.0)),
        t.func.jacfwd(lambda x: x.detach() * x)(vector(t)),
        t.func.hessian(lambda x: (x.detach() * x * x).sum())(vector(t)),
    )


@fact
def data_inside(t):
    def f(x):
        return (x.data * x).sum()

    return t.func.grad(f)(vector(t)), attempt(lambda: t.func.jvp(f, (vector(t),), (t.ones(3),))), t.func.vmap(f)(t.ones(2, 3))


@fact
def backward_inside(t):
    def f(x):
        y = (x * x).sum()
        y.backward()
        return y

    w = vector(t, requires_grad=True)

    def of_captured(x):
        (w * w).sum().backward()
        return (x * w).sum()

    return (
        attempt(lambda: t.func.grad(f)(vector(t))),
        attempt(lambda: t.func.vmap(f)(t.ones(2, 3))),
        attempt(lambda: t.func.grad(of_captured)(vector(t))),
        w.grad,
    )


@fact
def autograd_grad_inside(t):
    def f(x):
        return t.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum()

    def once(x):
        return t.autograd.grad((x**3).sum(), x)[0].sum()

    w = vector(t, requires_grad=True)
    return (
        attempt(lambda: t.func.grad(f)(vector(t))),
        attempt(lambda: t.func.grad(once)(vector(t))),
        attempt(lambda: t.func.vmap(f)(t.ones(2, 3))),
        attempt(lambda: t.func.vmap(f)(t.ones(2, 3, requires_grad=True))),
        attempt(lambda: t.func.vmap(lambda x: t.autograd.grad((x * w).sum(), w)[0])(t.ones(2, 3))),
        attempt(lambda: t.func.jvp(lambda x: t.autograd.grad((w * w * x).sum(), w)[0], (vector(t),), (t.ones(3),))),
    )


@fact
def hooks_inside(t):
    seen = []

    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(list(g.shape)) or g * 2)
        return y.sum()

    return attempt(lambda: t.func.grad(f)(vector(t))), seen, attempt(lambda: t.func.vmap(t.func.grad(f))(t.ones(2, 3))), seen


@fact
def retain_grad_inside(t):
    def f(x):
        y = x * x
        y.retain_grad()
        return y.sum()

    return attempt(lambda: t.func.grad(f)(vector(t)))


@fact
def grad_attribute_inside(t):
    seen = []

    def f(x):
        seen.append(x.grad is None)
        return x.sum()

    t.func.grad(f)(vector(t, requires_grad=True))
    return seen


# ---- leaving the tensor world ---------------------------------------------------------------------------------------------------------


@fact
def numbers_inside(t):
    return [
        attempt(lambda f=f, call=call: call(f))
        for f in (
            lambda x: x.sum() * x.sum().item(), lambda x: x.sum() * float(x[0]), lambda x: x.sum() if x.sum() > 0 else -x.sum(),
            lambda x: x.sum() * len(x.tolist()), lambda x: x.sum() * int(x[1]), lambda x: x.sum() * bool(x[1]),
        )
        for call in (
            lambda f: t.func.grad(f)(vector(t)), lambda f: t.func.jvp(f, (vector(t),), (t.ones(3),)),
            lambda f: t.func.vmap(f)(t.ones(2, 3)),
            lambda f: t.func.grad(lambda x: t.func.vmap(f)(x).sum())(t.ones(2, 3)),
        )
    ]  # fmt: skip


@fact
def numpy_inside(t):
    return [
        attempt(lambda call=call: call(lambda x: x.sum() * float(x.detach().numpy()[0])))
        for call in (
            lambda f: t.func.grad(f)(vector(t)), lambda f: t.func.vmap(f)(t.ones(2, 3)),
            lambda f: t.func.jvp(f, (vector(t),), (t.ones(3),)),
        )
    ]  # fmt: skip


@fact
def printed_inside(t):
    seen = []

    def f(x):
        seen.append(repr(x))
        return x.sum()

    t.func.grad(f)(vector(t))
    t.func.vmap(f)(t.ones(2, 3))
    t.func.jvp(f, (vector(t),), (t.ones(3),))
    return [text.split("(")[0] for text in seen]


@fact
def facts_inside(t):
    seen = []

    def f(x):
        seen.append(
            (
                list(x.shape),
                str(x.dtype),
                x.ndim,
                x.numel(),
                str(x.device),
                x.is_floating_point(),
                len(x),
                list(x.stride()),
                x.is_contiguous(),
            )
        )
        return x.sum()

    t.func.grad(f)(t.ones(2, 3))
    t.func.vmap(f)(t.ones(4, 2, 3))
    t.func.jvp(f, (t.ones(2, 3),), (t.ones(2, 3),))
    return seen


# ---- writes ---------------------------------------------------------------------------------------------------------------------------


@fact
def writes_to_inputs(t):
    def f(x):
        x.mul_(2)
        return (x * x).sum()

    x = vector(t)
    return [
        attempt(lambda: t.func.grad(f)(x)),
        x.clone(),
        attempt(lambda: t.func.vmap(f)(x)),
        x.clone(),
        attempt(lambda: t.func.jvp(f, (x,), (t.ones(3),))),
        x,
    ]


@fact
def writes_to_intermediates(t):
    def f(x):
        y = x.clone()
        y.mul_(x)
        y[0] = 0
        y[1:].add_(x[1:])
        return (y * x).sum()

    return (
        t.func.grad(f)(vector(t)),
        t.func.vmap(f)(t.ones(2, 3)),
        t.func.jvp(f, (vector(t),), (t.ones(3),)),
        t.func.hessian(f)(vector(t)),
        t.func.vmap(t.func.grad(f))(t.ones(2, 3)),
    )


@fact
def writes_into_new_tensors(t):
    def g(x):
        y = t.zeros(3)
        y[1] = x[0]
        return (y * y).sum()

    def h(x):
        y = x.new_zeros(3)
        y[1] = x[0]
        return (y * y).sum()

    def like(x):
        y = t.zeros_like(x)
        y[1:] = x[1:] * 3
        return (y * y).sum()

    return [
        attempt(lambda f=f, call=call: call(f))
        for f in (g, h, like)
        for call in (
            lambda f: t.func.grad(f)(vector(t)), lambda f: t.func.vmap(f)(t.ones(2, 3)),
            lambda f: t.func.jvp(f, (vector(t),), (t.ones(3),)),
            lambda f: t.func.hessian(f)(vector(t)), lambda f: t.func.vmap(t.func.grad(f))(t.ones(2, 3)),
        )
    ]  # fmt: skip


@fact
def writes_to_captured(t):
    found = []
    for call in (
        lambda f: t.func.grad(f)(vector(t)), lambda f: t.func.jvp(f, (vector(t),), (t.ones(3),)),
        lambda f: t.func.jacrev(lambda x: f(x)[None])(vector(t)), lambda f: t.func.jacfwd(f)(vector(t)),
    ):  # fmt: skip
        w = t.zeros(3)

        def of_values(x, w=w):
            w.add_(x)
            return (w * x).sum()

        def by_index(x, w=w):
            w[0] = x[0]
            return w.sum()

        found += [attempt(lambda f=f, call=call: call(f)) for f in (of_values, by_index)] + [w]
    return found


@fact
def writes_into_views(t):
    def f(x):
        y = x * 1
        v = y[:2]
        v.mul_(3)
        w = y.view(3)
        w[2] = x[0]
        return (y * x).sum()

    return (
        t.func.grad(f)(vector(t)),
        t.func.jvp(f, (vector(t),), (t.ones(3),)),
        t.func.vmap(f)(t.ones(2, 3)),
        t.func.jacfwd(t.func.grad(f))(vector(t)),
    )


@fact
def writes_to_views_of_inputs(t):
    def f(x):
        x[0].mul_(5)
        return (x * x).sum()

    return attempt(lambda: t.func.grad(f)(vector(t))), attempt(lambda: t.func.jvp(f, (vector(t),), (t.ones(3),)))


@fact
def overwritten_after_saving(t):
    def f(x):
        y = x * 2
        z = y * y
        y.add_(1)
        return z.sum()

    return attempt(lambda: t.func.grad(f)(vector(t)))
