"""Facts about how transforms are called: which arguments, which structures, which errors."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

from ._base import attempt, fact, vector

Pair = namedtuple("Pair", "a b")


def product(x, y):
    return (x * y).sum()


# ---- argnums ------------------------------------------------------------------------------------------------------------------------


@fact
def argnums_of_grad(t):
    x, y = vector(t), vector(t, 4.0, 5.0, 6.0)
    return [
        attempt(lambda n=n: t.func.grad(product, argnums=n)(x, y))
        for n in (0, 1, -1, -2, (0,), (1, 0), (0, -1), 2, -3, (0, 0), (0, -2), (), [0], "a", None, (0, 5), ("a",))
    ]


@fact
def argnums_of_jacrev(t):
    x, y = vector(t, 1.0, 2.0), vector(t, 4.0, 5.0)
    return [
        attempt(lambda n=n: t.func.jacrev(lambda a, b: a * b, argnums=n)(x, y))
        for n in (0, 1, -1, -2, (0,), (1, 0), 2, -3, (0, 0), (), [0], "a")
    ]


@fact
def argnums_of_jacfwd(t):
    x, y = vector(t, 1.0, 2.0), vector(t, 4.0, 5.0)
    return [
        attempt(lambda n=n: t.func.jacfwd(lambda a, b: a * b, argnums=n)(x, y)) for n in (0, 1, (0,), (1, 0), 2, -3, (0, 0), (), [0], "a")
    ]


@fact
def argnums_of_hessian(t):
    x, y = vector(t, 1.0, 2.0), vector(t, 4.0, 5.0)
    return [attempt(lambda n=n: t.func.hessian(lambda a, b: (a * a * b).sum(), argnums=n)(x, y)) for n in (0, 1, -1, (0, 1), (1,), 3, ())]


@fact
def grad_without_arguments(t):
    return (
        attempt(lambda: t.func.grad(lambda: t.ones(()))()),
        t.func.vjp(lambda: t.ones(()))[0],
        attempt(lambda: t.func.jacrev(lambda: t.ones(()))()),
        attempt(lambda: t.func.jacfwd(lambda: t.ones(()))()),
    )


@fact
def keyword_arguments(t):
    x = vector(t)
    return (
        t.func.grad(lambda x, *, k: (x * k).sum())(x, k=3),
        t.func.grad(lambda x, k=1: (x * k).sum())(x, k=x),
        attempt(lambda: t.func.grad(lambda x: x.sum())(x=x)),
    )


@fact
def keyword_arguments_of_others(t):
    x = vector(t)
    return (
        attempt(lambda: t.func.jacrev(lambda x, k=2: x * k)(x, k=3)),
        attempt(lambda: t.func.jacfwd(lambda x, k=2: x * k)(x, k=3)),
        attempt(lambda: t.func.hessian(lambda x, k=2: (x * x * k).sum())(x, k=3)),
    )


# ---- structures ---------------------------------------------------------------------------------------------------------------------


@fact
def grad_of_dict(t):
    p = {"b": vector(t), "a": [vector(t, 3.0), (vector(t, 4.0),)]}
    return t.func.grad(lambda p: (p["b"] ** 2).sum() + (p["a"][0] * p["a"][1][0]).sum())(p)


@fact
def grad_of_named_tuple(t):
    found = t.func.grad(lambda p: (p.a * p.b).sum())(Pair(vector(t), vector(t, 1.0, 0.0, 1.0)))
    return type(found).__name__, found


@fact
def grad_of_ordered_dict(t):
    found = t.func.grad(lambda p: (p["x"] ** 2).sum())(OrderedDict(x=vector(t), unused=vector(t, 5.0)))
    return type(found).__name__, dict(found)


@fact
def grad_of_tree_with_other_things(t):
    return (
        attempt(lambda: t.func.grad(lambda p: p[0].sum())([vector(t), 3])),
        attempt(lambda: t.func.grad(lambda p: p[0].sum())([vector(t), None])),
        attempt(lambda: t.func.grad(lambda x: t.ones(()) * x)(3.0)),
        attempt(lambda: t.func.grad(lambda p: t.ones(()))({})),
    )


@fact
def vjp_of_trees(t):
    out, pull = t.func.vjp(lambda p, q: {"s": p["x"] * q, "t": [q.sum()]}, {"x": vector(t)}, vector(t, 2.0, 2.0, 2.0))
    return out, pull({"s": vector(t, 1.0, 1.0, 1.0), "t": [t.tensor(1.0)]})


@fact
def vjp_one_argument_is_a_tuple(t):
    _, pull = t.func.vjp(t.sin, vector(t))
    found = pull(vector(t, 1.0, 1.0, 1.0))
    return type(found).__name__, len(found), found


@fact
def jvp_of_trees(t):
    p = {"x": vector(t), "y": (vector(t, 1.0, 1.0, 1.0),)}
    return t.func.jvp(lambda p, k: [p["x"] * p["y"][0], k], (p, vector(t, 5.0)), (p, vector(t, 1.0)))


@fact
def jacobians_of_trees(t):
    def f(p, q):
        return {"u": p["x"] * q, "v": (q.sum(),)}

    args = {"x": vector(t, 1.0, 2.0)}, vector(t, 3.0, 4.0)
    return [
        (name, n, attempt(lambda n=n, name=name: getattr(t.func, name)(f, argnums=n)(*args)))
        for name in ("jacrev", "jacfwd")
        for n in (0, 1, (0, 1))
    ]


@fact
def hessian_of_dict(t):
    p = {"w": vector(t, 1.0, 2.0), "b": t.tensor(3.0)}
    return t.func.hessian(lambda p: (p["w"] ** 2).sum() * p["b"])(p)


# ---- has_aux ------------------------------------------------------------------------------------------------------------------------


@fact
def auxiliary_outputs(t):
    x = vector(t)

    def f(x):
        return (x * x).sum(), {"y": x * 2, "z": (x,)}

    def g(x):
        return x * x, {"y": x * 2}

    return (
        t.func.grad(f, has_aux=True)(x),
        t.func.grad_and_value(f, has_aux=True)(x),
        [t.func.vjp(g, x, has_aux=True)[i] for i in (0, 2)],
        t.func.jvp(g, (x,), (x,), has_aux=True),
        t.func.jacrev(g, has_aux=True)(x),
        t.func.jacfwd(g, has_aux=True)(x),
    )


@fact
def auxiliary_outputs_that_are_no_tensors(t):
    x = vector(t)

    def f(x):
        return x.sum(), 5

    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(f, has_aux=True)(x),
            lambda: t.func.grad_and_value(lambda x: (x.sum(), {"a": "text"}), has_aux=True)(x),
            lambda: t.func.vjp(f, x, has_aux=True)[2],
            lambda: t.func.jvp(f, (x,), (x,), has_aux=True),
            lambda: t.func.jacrev(f, has_aux=True)(x),
            lambda: t.func.jacfwd(f, has_aux=True)(x),
            lambda: t.func.grad(lambda x: (x.sum(), None), has_aux=True)(x),
        )
    ]


@fact
def has_aux_without_a_pair(t):
    x = vector(t)
    return [
        attempt(lambda f=f, call=call: call(f))
        for f in (lambda x: x.sum(), lambda x: (x.sum(),), lambda x: (x.sum(), x, x), lambda x: [x.sum(), x])
        for call in (
            lambda f: t.func.grad(f, has_aux=True)(x),
            lambda f: t.func.grad_and_value(f, has_aux=True)(x),
            lambda f: t.func.vjp(f, x, has_aux=True)[0],
            lambda f: t.func.jvp(f, (x,), (x,), has_aux=True),
            lambda f: t.func.jacrev(f, has_aux=True)(x),
            lambda f: t.func.jacfwd(f, has_aux=True)(x),
        )
    ]


@fact
def a_pair_without_has_aux(t):
    return attempt(lambda: t.func.grad(lambda x: (x.sum(), x))(vector(t))), attempt(
        lambda: t.func.grad_and_value(lambda x: (x.sum(),))(vector(t))
    )


# ---- outputs ------------------------------------------------------------------------------------------------------------------------


@fact
def grad_of_other_outputs(t):
    x = vector(t)
    return [
        attempt(lambda f=f: t.func.grad(f)(x))
        for f in (
            lambda x: x, lambda x: x[:1], lambda x: 3.0, lambda x: None, lambda x: [x.sum()], lambda x: t.tensor(3.0),
            lambda x: (x.sum() > 0),
            lambda x: x.sum().long(), lambda x: x.sum() * 1j, lambda x: x[:0],
        )
    ]  # fmt: skip


@fact
def vjp_of_other_outputs(t):
    x = vector(t)
    return [
        attempt(lambda f=f: t.func.vjp(f, x)[0])
        for f in (lambda x: 3.0, lambda x: None, lambda x: (), lambda x: [x, 1], lambda x: {}, lambda x: t.ones(2), lambda x: x > 0)
    ]


@fact
def jvp_of_other_outputs(t):
    x = vector(t)
    return [
        attempt(lambda f=f: t.func.jvp(f, (x,), (x,)))
        for f in (
            lambda x: 3.0,
            lambda x: None,
            lambda x: (),
            lambda x: [x, 1],
            lambda x: {},
            lambda x: t.ones(2),
            lambda x: x > 0,
            lambda x: x.long(),
        )
    ]


@fact
def jacobians_of_other_outputs(t):
    x = vector(t)
    return [
        attempt(lambda f=f, name=name: getattr(t.func, name)(f)(x))
        for name in ("jacrev", "jacfwd", "hessian")
        for f in (
            lambda x: 3.0,
            lambda x: None,
            lambda x: (),
            lambda x: [x, 1],
            lambda x: t.ones(2),
            lambda x: x > 0,
            lambda x: x[:0],
            lambda x: x[0],
        )
    ]


@fact
def unused_inputs(t):
    x, y = vector(t), vector(t, 1.0, 1.0)
    return (
        t.func.grad(lambda x, y: x.sum(), argnums=(0, 1))(x, y),
        t.func.vjp(lambda x, y: x * 2, x, y)[1](x),
        t.func.jacrev(lambda x, y: y * 2, argnums=(0, 1))(x, y),
        t.func.jacfwd(lambda x, y: y * 2, argnums=(0, 1))(x, y),
        t.func.hessian(lambda x: x.sum())(x),
        t.func.jvp(lambda x: y * 2, (x,), (x,)),
    )


@fact
def strict_jvp(t):
    x = vector(t)
    return attempt(lambda: t.func.jvp(lambda x: t.ones(3), (x,), (x,), strict=True)), attempt(
        lambda: t.func.jvp(lambda x: x.detach(), (x,), (x,), strict=True)
    )


@fact
def identity_functions(t):
    x = vector(t)
    _, pull = t.func.vjp(lambda x: x, x)
    return (
        pull(x),
        t.func.jvp(lambda x: x, (x,), (x * 2,)),
        t.func.jacrev(lambda x: x)(x),
        t.func.jacfwd(lambda x: x)(x),
        t.func.grad(lambda x: x)(t.tensor(2.0)),
    )


# ---- vjp functions ------------------------------------------------------------------------------------------------------------------


@fact
def wrong_cotangents(t):
    x = vector(t)
    _, pull = t.func.vjp(lambda x: (x, x * 2), x)
    _, one = t.func.vjp(lambda x: x * 2, x)
    return [
        attempt(action)
        for action in (
            lambda: pull((x,)), lambda: pull(x), lambda: pull((x, x, x)), lambda: pull([x, x]), lambda: pull(x, x), lambda: one((x,)),
            lambda: one(t.ones(2)), lambda: one(t.ones(())), lambda: one(3.0), lambda: one(x.double()), lambda: pull((x, None)),
        )
    ]  # fmt: skip


@fact
def pulling_twice(t):
    x = vector(t)
    _, pull = t.func.vjp(lambda x: x * x, x)
    first = pull(t.ones(3))
    t.func.grad(lambda x: x.sum())(x)
    return first, pull(t.ones(3) * 2), t.func.vmap(pull)(t.eye(3))


@fact
def pulling_without_keeping(t):
    x = vector(t)
    _, pull = t.func.vjp(lambda x: (x * x).exp(), x)
    return pull(t.ones(3), retain_graph=False), attempt(lambda: pull(t.ones(3)))


@fact
def pulling_in_another_transform(t):
    x = vector(t)
    _, pull = t.func.vjp(lambda x: x**3, x)
    return (
        t.func.grad(lambda v: (pull(v)[0] ** 2).sum())(t.ones(3)),
        t.func.jvp(lambda v: pull(v)[0], (x,), (t.ones(3),)),
        t.func.jacrev(lambda v: pull(v)[0])(x),
    )


# ---- jvp --------------------------------------------------------------------------------------------------------------------------------


@fact
def wrong_tangents(t):
    x = vector(t)
    return [
        attempt(lambda p=p, d=d: t.func.jvp(t.sin, p, d))
        for p, d in (
            (x, x), ([x], [x]), ((x,), [x]), ((x,), (x, x)), ((x,), x), ((x,), (t.ones(2),)), ((x,), (3.0,)), ((3.0,), (x,)), ((), ()),
            ((x,), (x.double(),)), ((x,), (t.ones(3, dtype=t.int64),)), ((t.arange(3),), (t.arange(3),)), ((x,), (None,)),
            ((x,), (t.ones(()),)),
        )
    ]  # fmt: skip


@fact
def linearized(t):
    x = vector(t)
    out, push = t.func.linearize(lambda x, y: x * y.sin(), x, x * 2)
    return out, push(t.ones(3), t.zeros(3)), push(t.zeros(3), t.ones(3))


@fact
def linearized_trees(t):
    out, push = t.func.linearize(lambda p: {"y": p["x"] ** 2}, {"x": vector(t)})
    return out, push({"x": t.ones(3)})


@fact
def linearized_wrongly(t):
    x = vector(t)
    _, push = t.func.linearize(t.sin, x)
    return [attempt(lambda d=d: push(*d)) for d in ((), (x, x), (t.ones(2),), (x.double(),), ({"a": x},))]


# ---- kinds of numbers -------------------------------------------------------------------------------------------------------------------


@fact
def integers(t):
    x = t.tensor([1, 2, 3])
    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(lambda x: x.sum())(x), lambda: t.func.grad(lambda x: x.float().sum())(x),
            lambda: t.func.vjp(lambda x: x * 2, x)[0],
            lambda: t.func.jacrev(lambda x: x * 2.0)(x), lambda: t.func.jacfwd(lambda x: x * 2.0)(x),
            lambda: t.func.hessian(lambda x: x.sum())(x),
            lambda: t.func.grad(lambda x, n: (x**n).sum())(vector(t), x), lambda: t.func.grad(lambda x: x.sum())(t.tensor([True])),
            lambda: t.func.grad(lambda x, n: (x[n]).sum())(vector(t), t.tensor([0, 0, 2])),
        )
    ]  # fmt: skip


@fact
def dtypes_of_results(t):
    found = []
    for dtype in (t.float16, t.bfloat16, t.float32, t.float64):
        x = vector(t, 0.5, 1.0, dtype=dtype)
        found += [
            str(t.func.grad(lambda x: (x * x).sum())(x).dtype), str(t.func.jacrev(t.sin)(x).dtype), str(t.func.jacfwd(t.sin)(x).dtype),
            str(t.func.jvp(t.sin, (x,), (x,))[1].dtype), str(t.func.grad(lambda x: (x.double() * x).sum())(x).dtype),
        ]  # fmt: skip
    return found


@fact
def mixed_dtypes(t):
    x, y = vector(t, 1.0, 2.0), vector(t, 3.0, 4.0, dtype=t.float64)
    found = t.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, y)
    jacobian = t.func.jacrev(lambda x: x.double() * 2)(x)
    forward = t.func.jacfwd(lambda x: x.double() * 2)(x)
    return [str(g.dtype) for g in (*found, jacobian, forward)], found


@fact
def complex_numbers(t):
    z = t.tensor([1 + 2j, 3 - 1j])
    x = vector(t, 1.0, 2.0)
    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(lambda z: (z * z.conj()).real.sum())(z), lambda: t.func.grad(lambda z: (z * z).sum())(z),
            lambda: t.func.vjp(lambda z: z * z, z)[1](t.ones(2, dtype=t.complex64)), lambda: t.func.vjp(lambda z: z * z, z)[1](t.ones(2)),
            lambda: t.func.jvp(lambda z: z * z, (z,), (t.ones(2, dtype=t.complex64),)), lambda: t.func.jacrev(lambda z: z * z)(z),
            lambda: t.func.jacfwd(lambda z: z * z)(z), lambda: t.func.jacrev(lambda z: z.abs())(z),
            lambda: t.func.jacrev(lambda x: x * 1j)(x),
            lambda: t.func.jacfwd(lambda x: x * 1j)(x), lambda: t.func.hessian(lambda z: (z * z).sum())(z),
            lambda: t.func.grad(lambda x: (x * (1 + 1j)).abs().sum())(x),
        )
    ]  # fmt: skip


@fact
def nothing_in_it(t):
    x = t.ones(0)
    return [
        attempt(action)
        for action in (
            lambda: t.func.grad(lambda x: x.sum())(x), lambda: t.func.jacrev(lambda x: x * 2)(x).shape,
            lambda: t.func.jacfwd(lambda x: x * 2)(x).shape,
            lambda: t.func.hessian(lambda x: x.sum())(x).shape, lambda: t.func.jvp(lambda x: x * 2, (x,), (x,)),
            lambda: t.func.jacrev(lambda x: x[:0])(vector(t)).shape, lambda: t.func.jacrev(lambda x: t.cat([x, t.ones(2)]))(x).shape,
            lambda: t.func.grad(lambda x, y: (x.sum() + y.sum()), argnums=(0, 1))(x, vector(t)),
        )
    ]  # fmt: skip


@fact
def chunks(t):
    x = vector(t)
    return [attempt(lambda n=n: t.func.jacrev(lambda x: x * x.sum(), chunk_size=n)(x)) for n in (None, 1, 2, 3, 100, 0, -1)]


@fact
def chunks_with_the_same_numbers(t):
    def f(x):
        return x * 0 + t.rand(2)

    def rows_are_equal(**options):
        y = t.func.vmap(f, **options)(t.ones(5, 2))
        return bool((y == y[0]).all())

    return [rows_are_equal(randomness=randomness, chunk_size=n) for randomness in ("same", "different") for n in (None, 1, 2, 5)]


@fact
def chunks_of_trees(t):
    return [
        attempt(
            lambda n=n: t.func.jacrev(lambda x, y: (x * y.sum(), {"b": y * x.sum()}), argnums=(0, 1), chunk_size=n)(
                vector(t), vector(t, 1.0, 2.0)
            )
        )
        for n in (1, 2, 4)
    ]


@fact
def chunks_with_copy(t):
    return [
        attempt(lambda n=n: t.func.jacrev(lambda x: x * x.sum(), chunk_size=n, _preallocate_and_copy=True)(vector(t))) for n in (None, 1, 2)
    ]


@fact
def names_and_documentation(t):
    def loss(x):
        """What it is."""
        return x.sum()

    return [
        (wrapped.__name__, wrapped.__doc__)
        for wrapped in (
            t.func.grad(loss),
            t.func.grad_and_value(loss),
            t.func.jacrev(loss),
            t.func.jacfwd(loss),
            t.func.hessian(loss),
            t.func.vmap(loss),
        )
    ]


@fact
def random_jacobians(t):
    x = vector(t)
    return [
        attempt(lambda r=r: t.func.jacfwd(lambda x: x * t.rand(3).sum(), randomness=r)(x).shape)
        for r in ("error", "same", "different", "other")
    ], attempt(lambda: t.func.jacrev(lambda x: x * t.rand(3).sum())(x).shape)
