"""Facts about gradients where functions have kinks, poles and ties."""

from __future__ import annotations

import math

from ._base import attempt, fact, leaf


def gradient(t, f, *values):
    x = leaf(t, *values)
    return attempt(lambda: t.autograd.grad(f(x).sum(), x)[0])


@fact
def kinks_of_elementwise(t):
    fs = [
        "abs",
        "sqrt",
        "rsqrt",
        "log",
        "reciprocal",
        "relu",
        "sign",
        "exp",
        "tanh",
        "asin",
        "acos",
        "atanh",
        "acosh",
        "log1p",
        "erfinv",
        "sinc",
        "square",
        "log2",
        "lgamma",
        "frac",
        "trunc",
        "sigmoid",
        "logit",
        "expm1",
        "deg2rad",
        "nan_to_num",
        "angle",
        "i0",
    ]
    return {f: gradient(t, lambda x, f=f: getattr(x, f)(), 0.0, 1.0, -1.0, math.inf, -math.inf, math.nan) for f in fs}


@fact
def kinks_of_activations(t):
    F = t.nn.functional
    fs = [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "celu",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
        "softplus",
        "softsign",
        "softshrink",
        "hardshrink",
        "tanhshrink",
        "gelu",
        "silu",
        "mish",
        "logsigmoid",
    ]
    return {f: gradient(t, lambda x, f=f: getattr(F, f)(x), 0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 100.0, -100.0) for f in fs}


@fact
def kinks_of_clamp(t):
    return [
        gradient(t, f, 0.0, 1.0, 0.5, -1.0, 2.0, math.nan)
        for f in (
            lambda x: x.clamp(0, 1),
            lambda x: x.clamp(min=0),
            lambda x: x.clamp(max=1),
            lambda x: x.clamp(1, 0),
            lambda x: x.clamp(t.zeros(6), t.ones(6)),
            lambda x: t.zeros(6).clamp(x, None) if False else t.clamp(t.full((6,), 0.5), min=x),
            lambda x: t.clamp(t.full((6,), 0.5), max=x),
            lambda x: x.clip(0, 1),
        )
    ]


@fact
def kinks_of_pow(t):
    return [
        gradient(t, f, 0.0, 1.0, -2.0, 2.0)
        for f in (
            lambda x: x**0,
            lambda x: x**1,
            lambda x: x**2,
            lambda x: x**3,
            lambda x: x**0.5,
            lambda x: x**-1,
            lambda x: 0**x,
            lambda x: 2**x,
            lambda x: 0.0**x,
            lambda x: (-1.0) ** x,
            lambda x: x ** x.detach(),
            lambda x: x.detach() ** x,
            lambda x: x ** t.zeros(4),
            lambda x: x ** t.tensor(0.0),
            lambda x: t.tensor(0.0) ** x,
            lambda x: x.pow(2.0),
            lambda x: x**0.0,
            lambda x: x.float_power(2),
            lambda x: t.pow(1, x),
        )
    ]


@fact
def kinks_of_pow_integer_base(t):
    e = leaf(t, 0.0, 1.0, 2.0)
    return t.autograd.grad((t.tensor([0, 0, 2]) ** e).sum(), e), t.autograd.grad((2**e).sum(), e)


@fact
def kinks_of_binary(t):
    out = []
    for f in (
        t.maximum,
        t.minimum,
        t.fmax,
        t.fmin,
        t.atan2,
        t.hypot,
        t.fmod,
        t.remainder,
        t.copysign,
        t.xlogy,
        t.logaddexp,
        t.dist,
        t.special.xlog1py,
    ):
        x, y = leaf(t, 0.0, 1.0, 2.0), leaf(t, 0.0, 1.0, -1.0)
        out.append(attempt(lambda f=f, x=x, y=y: t.autograd.grad(f(x, y).sum(), (x, y))))
    return out


@fact
def kinks_of_norms(t):
    z = (0.0, 0.0, 0.0)
    return [
        gradient(t, f, *v)
        for v in (z, (3.0, -4.0, 0.0))
        for f in (
            lambda x: x.norm(),
            lambda x: x.norm(1),
            lambda x: x.norm(3),
            lambda x: x.norm(math.inf),
            lambda x: x.norm(-math.inf),
            lambda x: x.norm(0.5),
            lambda x: t.linalg.norm(x),
            lambda x: t.linalg.vector_norm(x, 1),
            lambda x: x.norm(dim=0),
            lambda x: x.reshape(1, 3).norm("fro"),
            lambda x: t.linalg.norm(x.reshape(1, 3), "nuc"),
            lambda x: t.nn.functional.normalize(x, dim=0),
            lambda x: t.dist(x, t.zeros(3)),
            lambda x: t.cdist(x.reshape(1, 3), t.zeros(1, 3)),
            lambda x: t.nn.functional.cosine_similarity(x, t.ones(3), 0),
        )
    ]


@fact
def kinks_of_prod(t):
    vs = ((1.0, 2.0, 3.0), (0.0, 2.0, 3.0), (0.0, 0.0, 3.0), (0.0, 0.0, 0.0))
    return [
        gradient(t, f, *v)
        for v in vs
        for f in (
            lambda x: x.prod(),
            lambda x: x.prod(0),
            lambda x: x.cumprod(0),
            lambda x: x.reshape(1, 3).prod(1),
            lambda x: x.reshape(3, 1).cumprod(0),
        )
    ]


@fact
def kinks_of_prod_twice(t):
    out = []
    for v in ((1.0, 2.0, 3.0), (0.0, 2.0, 3.0), (0.0, 0.0, 3.0)):
        for f in (lambda x: x.prod(), lambda x: x.cumprod(0).sum()):
            x = leaf(t, *v)
            (g,) = t.autograd.grad(f(x), x, create_graph=True)
            out.append(t.autograd.grad(g.sum(), x))
    return out


@fact
def kinks_of_one_element(t):
    return [
        gradient(t, f, 2.0)
        for f in (
            lambda x: x.std(),
            lambda x: x.var(),
            lambda x: x.std(unbiased=False),
            lambda x: x.var(unbiased=False),
            lambda x: x.std(0),
            lambda x: x.softmax(0),
            lambda x: x.max(),
            lambda x: x.median(),
            lambda x: x.mean(),
            lambda x: x.prod(),
            lambda x: x.norm(),
            lambda x: x.sort()[0],
            lambda x: x.cumprod(0),
            lambda x: x.logsumexp(0),
        )
    ]


@fact
def kinks_of_constant(t):
    return [
        gradient(t, f, 1.0, 1.0, 1.0)
        for f in (
            lambda x: x.std(),
            lambda x: x.var(),
            lambda x: x.std(0),
            lambda x: t.nn.functional.layer_norm(x, (3,)),
            lambda x: x.softmax(0),
            lambda x: t.std_mean(x)[0],
        )
    ]


@fact
def kinks_of_where_with_nan(t):
    x = leaf(t, 0.0, 4.0)
    a = t.autograd.grad(t.where(x > 0, x.sqrt(), t.zeros(2)).sum(), x)
    b = t.autograd.grad(t.where(x > 0, x.clamp(min=1).sqrt(), t.zeros(2)).sum(), x)
    c = t.autograd.grad(t.where(x > 0, x / x, x).sum(), x)
    d = t.autograd.grad((x.sqrt() * 0).sum(), x)
    return a, b, c, d


@fact
def kinks_of_where_numbers(t):
    x = leaf(t)
    m = t.tensor([True, False, True])
    return [
        attempt(lambda f=f: t.autograd.grad(f().sum(), x))
        for f in (
            lambda: t.where(m, x, 0.0),
            lambda: t.where(m, 1, x),
            lambda: x.where(m, t.zeros(3)),
            lambda: t.where(m, x, x.double()),
            lambda: t.where(m, x[0], x),
        )
    ]


@fact
def kinks_of_reductions_with_nan(t):
    return [
        gradient(t, f, 1.0, math.nan, 3.0)
        for f in (
            lambda x: x.max(),
            lambda x: x.nansum(),
            lambda x: x.nanmean(),
            lambda x: x.median(),
            lambda x: x.nanmedian(),
            lambda x: x.amax(),
            lambda x: x.max(0)[0],
            lambda x: x.sort()[0] * t.arange(3.0),
            lambda x: x.relu(),
            lambda x: t.fmax(x, t.zeros(3)),
            lambda x: x.nan_to_num(),
            lambda x: x.prod(),
        )
    ]


@fact
def kinks_of_inf(t):
    return [
        gradient(t, f, math.inf, 1.0, -math.inf)
        for f in (
            lambda x: x.logsumexp(0),
            lambda x: x.softmax(0),
            lambda x: x.log_softmax(0),
            lambda x: x.exp(),
            lambda x: x.sigmoid(),
            lambda x: x.tanh(),
            t.nn.functional.softplus,
            lambda x: t.logaddexp(x, x),
            lambda x: x * 0,
        )
    ]


@fact
def kinks_of_all_minus_inf(t):
    return [gradient(t, f, -math.inf, -math.inf) for f in (lambda x: x.logsumexp(0), lambda x: x.softmax(0))]


@fact
def kinks_of_logdet(t):
    x = t.zeros(2, 2, requires_grad=True)
    y = t.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    return [
        attempt(lambda f=f, m=m: t.autograd.grad(f(m), m))
        for m in (x, y)
        for f in (lambda m: t.linalg.inv(m).sum(), lambda m: t.linalg.matrix_norm(m), lambda m: m.trace())
    ]


@fact
def slopes_that_are_none(t):
    x, y = t.tensor(2.0, requires_grad=True), leaf(t)
    nan = t.tensor(float("nan"))
    constant = t.autograd.grad(x.prod(), x, t.tensor(3.0), create_graph=True)[0]
    count = t.autograd.grad(y.norm(0), y, nan, allow_unused=True)[0]
    return constant, constant.requires_grad, count is None or not bool(count.isnan().any())


@fact
def powers_of_two_with_infinite_exponents(t):
    infinite = float("inf")
    x = t.tensor([1 + 2j, 0j, 3 + 0j])
    return [t.ldexp(x, t.tensor(e)) for e in (infinite, -infinite, 3.0)], t.ldexp(t.tensor([1.0, 0.0]), t.tensor(infinite))


@fact
def variances_without_freedom(t):
    found = []
    for name in ("var", "std"):
        for values, options in (
            ([1.0, 2.0], {"correction": 2}), ([1.0, 2.0, 4.0], {"correction": 5}), ([1.0], {"correction": 1}), ([1.0], {"correction": 0}),
            ([[1.0, 2.0], [3.0, 5.0]], {"dim": 1, "correction": 2}), ([[1.0, 2.0], [3.0, 5.0]], {"dim": 1, "correction": 3}), (3.0, {}),
        ):  # fmt: skip
            x = t.tensor(values, requires_grad=True)
            y = getattr(x, name)(**options)
            (gradient,) = t.autograd.grad(y.sum(), x, create_graph=True)
            found.append((y, [str(g) for g in gradient.flatten().tolist()], gradient.requires_grad))
    return found
