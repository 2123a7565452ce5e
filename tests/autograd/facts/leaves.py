"""Facts about leaves: what requires grad, `detach_`, inference tensors, `.data`, and views made by custom functions."""

from __future__ import annotations

from ._base import attempt, fact, leaf
from .views import looks


@fact
def detach_inplace(t):
    x = leaf(t)
    y = x * 2
    y.detach_()
    return looks(y), attempt((x * 2)[0].detach_), attempt(x[0:2].detach_), looks(x.detach_())


@fact
def detach_inplace_of_view_of_constant(t):
    c = t.ones(3)
    return attempt(c[0:2].detach_)


@fact
def detach_shares_memory(t):
    x = leaf(t)
    d = x.detach()
    d[0] = 100
    return x, looks(d), d._version, x._version, attempt(lambda: d.resize_(1).shape)


@fact
def requires_grad_of_integers(t):
    return (
        attempt(lambda: t.ones(2, dtype=t.int64).requires_grad_())[:44],
        attempt(lambda: t.ones(2, dtype=t.bool, requires_grad=True)),
        attempt(lambda: t.tensor([1, 2], requires_grad=True)),
        attempt(lambda: t.tensor([1, 2]).requires_grad_(False).requires_grad),
        attempt(lambda: setattr(t.tensor([1, 2]), "requires_grad", True)),
        attempt(lambda: t.zeros(2, dtype=t.int32, requires_grad=True)),
        attempt(lambda: t.nn.Parameter(t.tensor([1, 2])))[:12],
        attempt(lambda: t.nn.Parameter(t.tensor([1, 2]), requires_grad=False).dtype),
    )


@fact
def requires_grad_of_results(t):
    y = leaf(t) * 2
    return (
        attempt(lambda: y.requires_grad_(False)),
        attempt(lambda: y.requires_grad_(True).requires_grad),
        attempt(lambda: setattr(y, "requires_grad", False)),
        attempt(lambda: setattr(y, "requires_grad", True)),
        attempt(lambda: setattr(y, "requires_grad", 3))[:9],
        attempt(lambda: y.requires_grad_("a"))[:9],
        attempt(lambda: t.ones(2).requires_grad_(requires_grad=True).requires_grad),
    )


@fact
def requires_grad_of_views(t):
    c = t.ones(3)
    v = c[0:2]
    v.requires_grad_()
    first = looks(v)[:2], looks(c)
    (v * 3).sum().backward()
    return first, v.grad, c.grad, attempt(lambda: v.add_(1))[:14], attempt(lambda: c.add_(1)), c


@fact
def requires_grad_turned_on_for_base_after_view(t):
    c = t.ones(3)
    v = c[0:2]
    c.requires_grad_()
    return looks(v), looks(c), looks(c[0:2])


@fact
def requires_grad_turned_on_for_base_then_view_written(t):
    c = t.ones(3)
    v = c[0:2]
    c.requires_grad_()
    return attempt(lambda: v.mul_(2)), c


@fact
def requires_grad_turned_off_midway(t):
    x, w = leaf(t), leaf(t)
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad, w.grad, attempt(lambda: t.autograd.grad((w * 2).sum(), x))


@fact
def requires_grad_turned_off_and_on(t):
    x = leaf(t)
    y = x * 2
    x.requires_grad_(False)
    x.requires_grad_(True)
    (y + x).sum().backward()
    return x.grad


@fact
def is_leaf_rules(t):
    x = leaf(t)
    with t.no_grad():
        n = x * 2
    with t.inference_mode():
        i = t.ones(2)
    return [
        (v.is_leaf, v.requires_grad)
        for v in (
            t.ones(2),
            x,
            x * 2,
            t.ones(2) * 2,
            x.detach(),
            n,
            i,
            x.data,
            x > 1,
            x.argmax(),
            x.long(),
            t.nn.Parameter(x * 2),
            x[0],
            x.clone(),
            x.requires_grad_(),
            x.to(t.float32),
            x.double(),
        )
    ]


@fact
def comparisons_have_no_history(t):
    x = leaf(t)
    return [
        looks(v)[:2]
        for v in (
            x == x,
            x.sign(),
            x.floor(),
            x.argsort(),
            x.isnan(),
            x.round(),
            t.zeros_like(x),
            x.new_ones(2),
            t.ones_like(x, requires_grad=True),
            x.max(0)[1],
        )
    ]


@fact
def inference_tensors(t):
    x = leaf(t)
    with t.inference_mode():
        a = t.ones(3)
        b = x * 2
        v = x[0:2]
        inside = a.is_inference(), b.is_inference(), v.is_inference(), t.is_inference_mode_enabled(), t.is_grad_enabled()
    return (
        inside, looks(b), b.is_inference(), x.is_inference(),
        attempt(lambda: a.add_(1)), attempt(lambda: a * x), attempt(lambda: (a + x).requires_grad), attempt(a.requires_grad_),
        attempt(lambda: a.clone().requires_grad_().requires_grad), attempt(a[0:2].is_inference), attempt((a * 2).is_inference),
        attempt(lambda: t.is_inference(a)), attempt(lambda: a.detach().is_inference()),
    )  # fmt: skip


@fact
def inference_tensors_requires_grad_inside(t):
    with t.inference_mode():
        a = t.ones(3, requires_grad=True)
        b = a * 2
        return a.requires_grad, b.requires_grad, b.is_leaf, attempt(lambda: b.sum().backward())


@fact
def inference_view_of_normal_tensor(t):
    y = leaf(t) * 2
    c = t.ones(3)
    with t.inference_mode():
        v = y[0:2]
        w = c[0:2]
        w.add_(1)
    return v.is_inference(), attempt(lambda: v.add_(1)), w.is_inference(), c, c._version, attempt(lambda: w.add_(1))


@fact
def inference_mode_off_inside(t):
    with t.inference_mode():
        with t.inference_mode(False):
            x = leaf(t)
            y = x * 2
            return y.requires_grad, y.is_inference()


@fact
def data_is_not_a_view(t):
    x = leaf(t)
    y = x * 2
    d = y.data
    d.zero_()
    return looks(d), y, y._version, attempt(lambda: y.sum().backward())


@fact
def data_assignment(t):
    x = leaf(t)
    x.data = t.zeros(5)
    a = x.shape == (5,), looks(x), x._version
    return (
        a, attempt(lambda: setattr(x, "data", t.zeros(2, dtype=t.int64))), attempt(lambda: setattr(x, "data", 3)),
        attempt(lambda: setattr(x, "data", t.zeros(2).double())), x.dtype,
    )  # fmt: skip


@fact
def chained_writes(t):
    x = leaf(t)
    y = x.clone()
    y += 1
    y *= x
    y /= 2
    y -= x
    y **= 2
    y.sum().backward()
    return x.grad, y.grad_fn.name()


@fact
def inplace_view_functions(t):
    x = t.ones(2, 3, requires_grad=True)
    y = x * 2
    y.t_()
    y.unsqueeze_(0)
    (y * t.arange(6.0).view(1, 3, 2)).sum().backward()
    return x.grad, attempt(x.t_), attempt(lambda: (x * 2)[0].unsqueeze_(0).shape == (1, 3))


@fact
def out_argument(t):
    x = leaf(t)
    o = t.empty(3)
    return attempt(lambda: t.exp(x, out=o)), attempt(lambda: t.exp(t.ones(3), out=x))


@fact
def custom_function_view_written(t):
    class Viewed(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    y = Viewed.apply(leaf(t) * 2)
    return y._is_view(), attempt(lambda: y.mul_(2))


@fact
def custom_function_several_views_written(t):
    class Halves(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, a, b):
            return t.cat([a, b])

    a, _b = Halves.apply(leaf(t) * 2)
    return a._is_view(), attempt(lambda: a.mul_(2))


@fact
def custom_function_dirty(t):
    class Doubled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(t)
    y = x * 1
    z = Doubled.apply(y)
    z.sum().backward()
    return z is y, y._version, y.grad_fn.name(), x.grad, attempt(lambda: Doubled.apply(x)), attempt(lambda: Doubled.apply((x * 1)[0:2]))


@fact
def custom_function_returns_input(t):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = leaf(t)
    y = Same.apply(x)
    y.sum().backward()
    return y is x, y._is_view(), x.grad


@fact
def real_and_imaginary_views(t):
    z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = z * 1
    y.real.mul_(10)
    t.view_as_real(y).sum().backward()
    return z.grad, y.real._is_view(), y.grad_fn.name()


@fact
def leaves_that_require_no_grad_any_more(t):
    found = []
    for off in (lambda x: x.requires_grad_(False), lambda x: setattr(x, "requires_grad", False), lambda x: x.detach_()):
        for use in (lambda x: x * 2, lambda x: x.view(3), lambda x: x.chunk(1)[0]):
            log = []
            x = leaf(t)
            y = use(x)
            x.register_hook(lambda g, log=log: log.append("hook"))
            x.register_post_accumulate_grad_hook(lambda p, log=log: log.append("after"))
            off(x)
            y.sum().backward()
            found.append((x.grad, log, y.requires_grad))
    return found
