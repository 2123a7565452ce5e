"""Facts about examples of the wrong shape, random numbers for examples, and writes inside of transforms."""

from __future__ import annotations

from ._base import attempt, fact


@fact
def examples_of_another_rank(t):
    calls = (
        (t.mv, (3, 2, 2), (3, 2, 2)),
        (t.mv, (3, 2), (3, 2)),
        (t.bmm, (3, 2, 2), (3, 2, 2)),
        (t.mm, (3, 2), (3, 2)),
        (t.mm, (3, 2, 2, 2), (3, 2, 2)),
        (t.dot, (3, 2, 2), (3, 2)),
        (t.dot, (3,), (3,)),
        (t.mm, (3, 2, 2), (3, 2, 4)),
        (t.bmm, (3, 4, 2, 2), (3, 4, 2, 1)),
        (t.mv, (3, 2, 2), (3, 2)),
    )
    found = [attempt(lambda f=f, a=a, b=b: t.func.vmap(f)(t.ones(*a), t.ones(*b)).shape) for f, a, b in calls]
    once = [
        attempt(lambda: t.func.vmap(t.mv, in_dims=(0, None))(t.ones(3, 2, 2), t.ones(2, 2)).shape),
        attempt(lambda: t.func.vmap(t.mv, in_dims=(None, 0))(t.ones(2, 2), t.ones(3, 2)).shape),
        attempt(lambda: t.func.vmap(t.bmm, in_dims=(None, 0))(t.ones(2, 2), t.ones(3, 2, 2, 2)).shape),
    ]
    added = [
        attempt(lambda: t.func.vmap(t.addmm)(t.ones(3, 2), t.ones(3, 2), t.ones(3, 2, 2)).shape),
        attempt(lambda: t.func.vmap(t.addmv)(t.ones(3, 2), t.ones(3, 2, 2), t.ones(3, 2, 2)).shape),
        attempt(lambda: t.func.vmap(t.baddbmm)(t.ones(3, 2), t.ones(3, 2, 2), t.ones(3, 2, 2)).shape),
        attempt(lambda: t.func.vmap(t.trace)(t.ones(3, 2))),
    ]
    return found, once, added


def drawn(t, f, dim, how):
    t.manual_seed(1)
    return attempt(lambda: t.func.vmap(f, in_dims=dim, randomness=how)(t.zeros(3, 4)))


@fact
def numbers_in_the_order_of_memory(t):
    functions = (
        t.rand_like,
        t.randn_like,
        lambda x: t.randint_like(x, 100),
        lambda x: x.clone().uniform_(),
        lambda x: t.zeros_like(x).bernoulli_(0.5),
        lambda x: t.empty_like(x).normal_(),
        lambda x: x.clone().bernoulli_(x + 0.5),
        lambda x: t.bernoulli(x + 0.5),
        lambda x: t.normal(x, 1.0),
        lambda x: t.rand_like(x.unsqueeze(0)),
        lambda x: t.rand_like(x + 1),
        lambda x: t.rand(2),
    )
    return [drawn(t, f, dim, how) for f in functions for dim in (0, 1) for how in ("different", "same")]


@fact
def numbers_of_rows_that_lie_apart(t):
    x, found = t.zeros(3, 4).t(), []
    for f in (lambda: t.normal(x, 1.0), lambda: t.normal(0.0, x + 1), lambda: t.bernoulli(x + 0.5), lambda: t.rand_like(x)):
        t.manual_seed(1)
        made = f()
        found.append((made, made.stride()))
    return found


@fact
def numbers_into_given_memory(t):
    return [
        attempt(lambda f=f: t.func.vmap(f, randomness="different")(t.zeros(2, 2)))
        for f in (
            lambda x: t.randn(2, out=x),
            lambda x: t.bernoulli(x, out=x),
            lambda x: t.normal(x, x + 1, out=x),
            lambda x: t.rand(2, out=x),
        )
    ]


@fact
def probabilities_of_other_batches(t):
    p, found = t.tensor([[0.1, 0.9, 0.5], [0.2, 0.8, 0.4]]), []
    for dims, x, chances in (
        ((0, 1), t.zeros(3, 2), p),
        ((1, 0), t.zeros(3, 2), p),
        ((None, 0), t.zeros(3), p),
        ((0, None), t.zeros(2, 3), p[0]),
    ):
        for how in ("different", "same"):
            t.manual_seed(1)
            found.append(attempt(lambda: t.func.vmap(lambda x, p: x.bernoulli_(p), in_dims=dims, randomness=how)(x.clone(), chances)))  # noqa: B023
    return found


@fact
def writing_over_other_arguments(t):
    y = t.zeros(2)

    def assigned(x, y):
        y[0] = x[1]
        return y

    def shifted(x):
        y = x.clone()
        y[1:].copy_(x[:-1] * 2)
        return y

    return (
        [
            attempt(lambda f=f: t.func.jacfwd(f)(t.tensor([1.0, 2.0]), t.zeros(2)))
            for f in (lambda x, y: y.copy_(x), lambda x, y: y.add_(x), lambda x, y: y[0].copy_(x[1]), assigned)
        ],
        attempt(lambda: t.func.jacfwd(lambda x, y: y.copy_(x) * y, argnums=(0, 1))(t.ones(2), t.zeros(2))),
        attempt(lambda: t.func.jacfwd(lambda x: y.copy_(x))(t.ones(2))),
        attempt(lambda: t.func.hessian(lambda x, y: (y.copy_(x) ** 3).sum())(t.ones(2), t.zeros(2))),
        attempt(lambda: t.func.vmap(lambda x, d: t.func.jvp(shifted, (x,), (d,)))(t.ones(2, 3), t.ones(2, 3))),
    )


@fact
def distributions_of_examples(t):
    made = (
        lambda d, x: d.Normal(x, 1.0),
        lambda d, x: d.Bernoulli(x + 0.5),
        lambda d, x: d.Gamma(x + 1, x + 1),
        lambda d, x: d.Uniform(x, x + 1),
        lambda d, x: d.Categorical(t.ones(3) * (1 + x)),
        lambda d, x: d.Poisson(x + 1),
    )

    def drawn_and_weighed(x, make):
        distribution = make(t.distributions, x)
        sample = distribution.sample()
        return sample, distribution.log_prob(sample)

    found = []
    for make in made:
        for how in ("different", "same"):
            t.manual_seed(0)
            found.append(attempt(lambda: t.func.vmap(lambda x: drawn_and_weighed(x, make), randomness=how)(t.zeros(2))))  # noqa: B023
    return found


@fact
def rearranged(t):
    x = t.arange(120.0).reshape(2, 3, 4, 5)
    patterns = (
        "b c h w -> b h w c", "b c h w->(b h) (c w)", "b c (h k) w -> (b k) c h w", "b (c k) ... -> k b c ...", "b ... -> b (...)",
        "... w -> w ...", "b c h w -> 1 b (c h w) 1", "... -> (...)", "b c h ... w -> w ... (b c h)", "b c h w -> (b c h w)",
    )  # fmt: skip
    refused = (
        "b c h w -> b h", "b c h -> b c h", "b b h w -> b h w", "b (c h w -> b", "b c h w", "b c (...) -> b c (...)",
    )  # fmt: skip
    named = [t.func.rearrange(x, pattern, **({"k": 1} if "k" in pattern else {})) for pattern in patterns]
    stacked = t.func.rearrange([x[0], x[1]], "n c h w -> c n w h")
    batched = t.func.vmap(lambda x: t.func.rearrange(x, "c h w -> (h w) c"))(x)
    unknown = attempt(lambda: t.func.rearrange(x, "b c h w -> b c h w", z=2))
    return [(y.shape, y) for y in (*named, stacked, batched)], [attempt(lambda p=p: t.func.rearrange(x, p)) for p in refused], unknown
