"""Facts about transforms inside other things, other things inside transforms, and what is left behind."""

from __future__ import annotations

import threading

from ._base import attempt, fact, vector


def power(x):
    return (x**4).sum()


# ---- other ways to differentiate --------------------------------------------------------------------------------------------------------


@fact
def functional_inside(t):
    x = vector(t)
    functional = t.autograd.functional
    return [
        attempt(action)
        for action in (
            lambda: t.func.vmap(lambda x: functional.jacobian(t.sin, x))(x),
            lambda: t.func.jvp(lambda x: functional.jacobian(t.sin, x), (x,), (x,)),
            lambda: t.func.grad(lambda x: functional.vjp(power, x)[1].sum())(x),
            lambda: t.func.vmap(lambda x: functional.hessian(power, x))(x),
            lambda: functional.jacobian(lambda x: t.func.grad(power)(x), x),
            lambda: functional.hessian(lambda x: t.func.grad(power)(x).sum(), x),
            lambda: functional.vjp(lambda x: t.func.jvp(t.sin, (x,), (x,))[1], x, x),
            lambda: functional.jvp(lambda x: t.func.grad(power)(x), x, x),
        )
    ]  # fmt: skip


@fact
def forward_mode_around(t):
    fwd = t.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(vector(t), vector(t, 1.0, 0.0, 1.0))
        found = [
            attempt(lambda action=action: fwd.unpack_dual(action(x)).tangent)
            for action in (
                t.func.grad(power), t.func.vmap(t.sin), lambda x: t.func.vjp(t.sin, x)[1](t.ones(3))[0], t.func.jacrev(t.sin),
                t.func.vmap(t.func.grad(t.sin)), lambda x: t.func.vmap(lambda y: (y * x).sum())(t.eye(3)),
            )
        ]  # fmt: skip
    return found


@fact
def forward_mode_inside(t):
    fwd = t.autograd.forward_ad

    def f(x):
        with fwd.dual_level():
            return fwd.unpack_dual(fwd.make_dual(x, t.ones_like(x)) ** 3).tangent.sum()

    return t.func.grad(f)(vector(t))


# ---- features inside ------------------------------------------------------------------------------------------------------------------


@fact
def checkpoint_inside(t):
    from importlib import import_module

    checkpoint = import_module(f"{t.__name__}.utils.checkpoint").checkpoint

    def f(x, reentrant):
        return checkpoint(lambda x: x.sin().exp(), x, use_reentrant=reentrant).sum()

    return t.func.vmap(lambda x: f(x, False))(t.ones(2, 3)), attempt(lambda: t.func.grad(lambda x: f(x, True))(vector(t)))


@fact
def anomaly_inside(t):
    def f(x):
        with t.autograd.detect_anomaly():
            return t.func.grad(lambda x: (x * x).sum())(x)

    return attempt(lambda: f(vector(t))), attempt(lambda: t.func.vmap(f)(t.ones(2, 3)))


@fact
def autocast_inside(t):
    def f(x):
        with t.autocast("cpu", dtype=t.bfloat16):
            y = t.eye(3) @ x[:, None]
        return y.float().sum(), y

    gradient, y = t.func.grad(f, has_aux=True)(vector(t))
    return gradient, str(y.dtype)


# ---- what is left behind --------------------------------------------------------------------------------------------------------------


@fact
def errors_close_levels(t):
    def fails(x):
        raise KeyError("mine")

    x = vector(t)
    found = [
        attempt(action)
        for action in (
            lambda: t.func.grad(fails)(x), lambda: t.func.vmap(fails)(x), lambda: t.func.jvp(fails, (x,), (x,)),
            lambda: t.func.jacrev(fails)(x),
            lambda: t.func.jacfwd(fails)(x), lambda: t.func.vmap(t.func.grad(fails))(x),
            lambda: t.func.grad(t.func.vmap(t.func.grad(fails)))(x),
        )
    ]  # fmt: skip
    x.requires_grad_()
    power(x).backward()
    return found, x.grad, t.is_grad_enabled(), t.func.grad(power)(vector(t))


@fact
def caught_inside(t):
    def f(x):
        try:
            t.func.grad(lambda y: (y * x).oops())(x)
        except AttributeError:
            pass
        return (x * x).sum()

    return t.func.grad(f)(vector(t)), t.func.vmap(t.func.grad(f))(t.ones(2, 3))


@fact
def escaped(t):
    kept = []

    def f(x):
        kept.append(x * 2)
        return x.sum()

    found = []
    for call in (
        lambda: t.func.grad(f)(vector(t)), lambda: t.func.jvp(f, (vector(t),), (t.ones(3),)), lambda: t.func.vmap(f)(t.ones(2, 3)),
        lambda: t.func.vmap(t.func.grad(f))(t.ones(2, 3)),
    ):  # fmt: skip
        call()
        found += [attempt(lambda: kept[-1] + 1), attempt(lambda: (kept[-1] * vector(t)).requires_grad), list(kept[-1].shape)]
    return found


@fact
def escaped_into_another_transform(t):
    kept = []

    def f(x):
        kept.append(x * 2)
        return x.sum()

    t.func.grad(f)(vector(t))
    return t.func.grad(lambda x: (x * kept[0]).sum())(vector(t)), t.func.vmap(lambda x: (x * kept[0]).sum())(t.ones(2, 3))


@fact
def threads(t):
    found = {}

    def work(name, k):
        found[name] = [t.func.vmap(t.func.grad(lambda x: (x**k).sum()))(t.full((2, 3), 2.0)).sum().item() for _ in range(5)]

    workers = [threading.Thread(target=work, args=(str(k), k)) for k in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return dict(sorted(found.items()))


@fact
def six_levels(t):
    def f(x):
        return x.exp() * x.sin()

    g = f
    for _ in range(6):
        g = t.func.grad(g)
    mixed = t.func.vmap(
        t.func.grad(lambda x: t.func.jvp(t.func.grad(lambda x: t.func.vmap(t.func.grad(f))(x[None])[0]), (x,), (t.ones(()),))[1])
    )
    return g(t.tensor(0.5, dtype=t.float64)), mixed(vector(t, dtype=t.float64))


@fact
def captured_between_levels(t):
    def f(x, y):
        return t.func.grad(lambda y: (x * y**2).sum())(y).sum()

    return (
        t.func.grad(f)(vector(t), vector(t, 2.0, 2.0, 2.0)),
        t.func.vmap(t.func.grad(f))(t.ones(2, 3), t.ones(2, 3) * 3),
        t.func.grad(lambda x: t.func.grad(lambda y: (x * y).sum() * x.sum())(x).sum())(vector(t)),
    )


@fact
def perturbations_are_not_confused(t):
    def forward(f):
        return lambda x: t.func.jvp(f, (x,), (t.ones(()),))[1]

    x = t.tensor(1.0)
    return (
        forward(lambda x: x * forward(lambda y: x + y)(t.tensor(1.0)))(x),
        t.func.grad(lambda x: x * t.func.grad(lambda y: x + y)(t.tensor(1.0)))(x),
        forward(lambda x: x * t.func.grad(lambda y: x * y)(t.tensor(1.0)))(x),
        t.func.grad(lambda x: x * forward(lambda y: x * y)(t.tensor(1.0)))(x),
    )


@fact
def products_with_hessians(t):
    x, v = vector(t), vector(t, 1.0, 0.0, 1.0)
    return (
        t.func.jvp(t.func.grad(power), (x,), (v,))[1],
        t.func.vjp(t.func.grad(power), x)[1](v),
        t.func.grad(lambda x: (t.func.grad(power)(x) * v).sum())(x),
        t.func.grad(lambda x: t.func.jvp(power, (x,), (v,))[1])(x),
    )


@fact
def shared_inner_function(t):
    inner = t.func.grad(lambda x: (x**3).sum())
    x = vector(t)
    return inner(x), t.func.grad(lambda x: inner(x).sum())(x), t.func.vmap(inner)(t.ones(2, 3)), t.func.jacrev(inner)(x), inner(x)


@fact
def gradient_of_a_loop(t):
    def f(x):
        for _ in range(10):
            x = x - 0.1 * t.func.grad(lambda y: ((y - 3) ** 2).sum())(x)
        return (x**2).sum()

    return t.func.grad(f)(vector(t)), f(vector(t))


# ---- writes ----------------------------------------------------------------------------------------------------------------------------


def squared(x):
    y = x.sum(0)
    y.mul_(x.sum(0))
    return y


@fact
def writes_that_several_levels_record(t):
    x = vector(t)
    transforms = (t.func.jacrev, t.func.jacfwd)
    found = [attempt(lambda a=a, b=b: b(a(squared))(x)) for a in transforms for b in transforms]
    found += [attempt(lambda a=a: t.func.vmap(a(t.func.grad(squared)))(t.stack([x, 2 * x]))) for a in transforms]
    z = vector(t).requires_grad_()
    for a in (t.func.grad_and_value, *transforms):
        y = a(squared)(z)
        found.append(t.autograd.grad(y[0].sum(), z))
    return found


@fact
def copies_inside(t):
    import copy

    x = vector(t)
    copies = (copy.copy, copy.deepcopy)
    found = [attempt(lambda c=c: t.func.grad(lambda x: c(x).sum())(x)) for c in copies]
    found += [attempt(lambda c=c: t.func.vmap(c)(x)) for c in copies]
    found += [attempt(lambda c=c: t.func.jvp(c, (x,), (x,))) for c in copies]
    return [" ".join(text.split()[:5]) for text in found]
