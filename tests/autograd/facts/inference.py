"""Facts about inference mode."""

from __future__ import annotations

from ._base import attempt, fact, leaf


@fact
def inference_flags(t):
    a = t.is_inference_mode_enabled(), t.is_grad_enabled()
    with t.inference_mode():
        b = t.is_inference_mode_enabled(), t.is_grad_enabled()
        with t.inference_mode(False):
            c = t.is_inference_mode_enabled(), t.is_grad_enabled()
        with t.enable_grad():
            d = t.is_inference_mode_enabled(), t.is_grad_enabled()
        with t.no_grad():
            e = t.is_inference_mode_enabled(), t.is_grad_enabled()
        with t.set_grad_enabled(True):
            f = t.is_inference_mode_enabled(), t.is_grad_enabled()
    with t.no_grad(), t.inference_mode(False):
        g = t.is_inference_mode_enabled(), t.is_grad_enabled()
    with t.no_grad(), t.inference_mode():
        h = t.is_inference_mode_enabled(), t.is_grad_enabled()
    return a, b, c, d, e, f, g, h


@fact
def inference_decorators(t):
    @t.inference_mode()
    def one(x):
        return x * 2

    @t.inference_mode
    def two(x):
        return x * 2

    @t.inference_mode(mode=True)
    def three(x):
        return x * 2

    @t.inference_mode(False)
    def four(x):
        return x * 2

    x = leaf(t)
    with t.inference_mode():
        five = four(x)
    return [(y.is_inference(), y.requires_grad) for y in (one(x), two(x), three(x), four(x), five)]


@fact
def inference_generator(t):
    @t.inference_mode()
    def gen():
        yield t.is_inference_mode_enabled()
        yield t.is_inference_mode_enabled()

    g = gen()
    return next(g), t.is_inference_mode_enabled(), next(g)


@fact
def inference_creation(t):
    with t.inference_mode():
        xs = [t.ones(2), t.tensor([1.0]), t.rand(2), t.empty(2), t.arange(3), t.zeros(2, requires_grad=True), t.ones(2).requires_grad_()]
        ys = [x.clone() for x in xs]
    return [(x.is_inference(), x.requires_grad, x.is_leaf, x.grad_fn is None) for x in xs + ys]


@fact
def inference_functional_of_normal(t):
    x = leaf(t)
    n = t.ones(3)
    with t.inference_mode():
        a = x * 2
        b = n * 2
        c = x.view(3, 1)
        d = n.view(3, 1)
        e = x.detach()
        f = x.clone()
        g = x[0]
        h = x.contiguous()
        i = x.to(t.float64)
        j = x.to(t.float32)
        k = x.reshape(3, 1)
    return [(y.is_inference(), y.requires_grad, y.is_leaf, y.grad_fn is None) for y in (a, b, c, d, e, f, g, h, i, j, k)]


@fact
def inference_inplace_on_normal(t):
    n = t.ones(3)
    x = leaf(t)
    y = x * 1
    with t.inference_mode():
        n.add_(1)
        r = attempt(lambda: x.add_(1))
        y.mul_(2)
    return n, n._version, n.is_inference(), r, x._version, y, y._version, y.requires_grad, attempt(lambda: t.autograd.grad(y.sum(), x))


@fact
def inference_inplace_then_saved(t):
    x = leaf(t)
    y = x.exp()
    with t.inference_mode():
        y.mul_(2)
    return attempt(lambda: y.sum().backward())


@fact
def inference_inplace_on_inference(t):
    with t.inference_mode():
        x = t.ones(3)
        x.add_(1)
        x[0] = 5
        v = x.view(3)
        v.mul_(2)
    return x, x.is_inference(), v.is_inference(), v


@fact
def inference_version(t):
    with t.inference_mode():
        x = t.ones(3)
        a = attempt(lambda: x._version)
    b = attempt(lambda: x._version)
    return a, b, attempt(lambda: x.view(3)._version)


@fact
def inference_outside_functional(t):
    with t.inference_mode():
        x = t.ones(3)
    w = leaf(t)
    return [
        attempt(f)
        for f in (
            lambda: x + w,
            lambda: w * x,
            lambda: x * w,
            lambda: x.exp(),
            lambda: (x * 2).is_inference(),
            lambda: t.cat([x, w]).requires_grad,
            lambda: w / x,
            lambda: w.sub(x).requires_grad,
            lambda: t.nn.functional.linear(x, w),
            lambda: x @ w,
        )
    ]


@fact
def inference_outside_views(t):
    with t.inference_mode():
        x = t.ones(3)
    v = x.view(3, 1)
    c = x.clone()
    d = x.detach()
    return (
        v.is_inference(),
        c.is_inference(),
        d.is_inference(),
        x[0].is_inference(),
        x.t().is_inference(),
        x.contiguous().is_inference(),
        x.reshape(3, 1).is_inference(),
        (x * 1).is_inference(),
    )


@fact
def inference_outside_inplace(t):
    with t.inference_mode():
        x = t.ones(3)
    v = x.view(3)
    w = leaf(t)
    return [
        attempt(f)
        for f in (
            lambda: x.add_(1),
            lambda: x.zero_(),
            lambda: v.add_(1),
            lambda: x.copy_(t.ones(3)),
            lambda: x.fill_(2),
            lambda: x.__setitem__(0, 1.0),
            lambda: x.mul_(w),
            lambda: x.relu_(),
            lambda: x.uniform_(),
            lambda: x.requires_grad_(),
            lambda: x.squeeze_(),
            lambda: x.resize_(2),
            lambda: x.set_(t.ones(2)),
            lambda: t.add(t.ones(3), 1, out=x),
        )
    ]


@fact
def inference_outside_inplace_in_no_grad(t):
    with t.inference_mode():
        x = t.ones(3)
    with t.no_grad():
        return attempt(lambda: x.add_(1))


@fact
def inference_requires_grad(t):
    with t.inference_mode():
        x = t.ones(3)
        a = attempt(lambda: x.requires_grad_().requires_grad)
        y = x * 2
        b = y.requires_grad
    c = attempt(lambda: (x * x).requires_grad)
    d = attempt(lambda: x.sum().requires_grad)
    return a, b, c, d


@fact
def inference_leaves(t):
    with t.inference_mode():
        x, y = t.ones(2, requires_grad=True), t.ones(2)
        p = t.nn.Parameter(t.ones(2))
        made = [x.view(-1), y.view(-1)]
    w = t.ones(2, requires_grad=True)
    views = [v for z in (x, y, p) for v in (z.view(-1), z[0], z.unbind()[0], z.split(1)[0], z.expand(2, 2), z.reshape(2, 1), z.t())]
    seen = [(v.requires_grad, v._is_view(), v.is_inference(), v.is_leaf) for v in [*made, *views]]
    products = [attempt(f) for f in (lambda: x * w, lambda: w * x, lambda: p * w, lambda: y @ w, lambda: (x + w).requires_grad)]
    rest = [f(x).requires_grad for f in (t.exp, t.relu, t.neg, t.sum, lambda x: x @ x, lambda x: t.cat([x, x]))]
    return seen, products, rest, x.requires_grad, x.is_leaf, p.requires_grad


@fact
def inference_requires_grad_outside(t):
    with t.inference_mode():
        x = t.ones(3)

    def setter():
        x.requires_grad = True
        return x.requires_grad

    return attempt(setter), attempt(lambda: x.requires_grad_(False).requires_grad)


@fact
def inference_normal_copy_of_inference(t):
    with t.inference_mode():
        x = t.tensor([1.0, 2.0, 3.0])
    w = leaf(t)
    n = t.zeros(3)
    n.copy_(x)
    y = w * n
    y.sum().backward()
    return w.grad, n.is_inference()


@fact
def inference_copy_with_grad(t):
    with t.inference_mode():
        x = t.ones(3)
    w = leaf(t)
    y = w * 1
    y.copy_(x)
    return attempt(lambda: t.autograd.grad(y.sum(), w)), y.requires_grad


@fact
def inference_view_of_normal_inplace_outside(t):
    n = t.ones(3)
    x = leaf(t) * 1
    with t.inference_mode():
        v = n.view(3)
        u = x.view(3)
    a = attempt(lambda: v.add_(1))
    b = attempt(lambda: u.add_(1))
    return a, n, b, v.is_inference(), attempt(lambda: u.grad_fn), attempt(lambda: u * 2)


@fact
def inference_view_of_normal_in_inner(t):
    n = t.ones(3)
    with t.inference_mode():
        v = n.view(3)
        v.add_(1)
        w = v.view(3)
        return v.is_inference(), w.is_inference(), n, n._version, v._version


@fact
def inference_base_changed_after_view(t):
    x = leaf(t) * 1
    with t.inference_mode():
        u = x.view(3)
    x.add_(1)
    return attempt(lambda: u.grad_fn), attempt(lambda: u + 1), attempt(lambda: u.requires_grad)


@fact
def inference_backward_inside(t):
    x = leaf(t)
    y = (x * x).sum()
    with t.inference_mode():
        r = attempt(lambda: y.backward())
    return r, x.grad


@fact
def inference_backward_of_inside(t):
    x = leaf(t)
    with t.inference_mode():
        y = (x * x).sum()
        r = attempt(lambda: y.backward())
    return r, attempt(lambda: y.backward())


@fact
def inference_grad_accumulates(t):
    x = leaf(t)
    (x * 2).sum().backward()
    y = (x * 3).sum()
    with t.inference_mode():
        r = attempt(lambda: y.backward())
    return r, x.grad, x.grad.is_inference()


@fact
def inference_gradient_into_backward(t):
    with t.inference_mode():
        g = t.ones(3) * 2
    x = leaf(t)
    y = x * 3
    return attempt(lambda: y.backward(g)), x.grad


@fact
def inference_gradient_create_graph(t):
    with t.inference_mode():
        g = t.ones(3) * 2
    x = leaf(t)
    return attempt(lambda: t.autograd.grad(x * x, x, g, create_graph=True))


@fact
def inference_deepcopy(t):
    import copy

    with t.inference_mode():
        x = t.ones(3)
        copy.deepcopy(x)
    d = attempt(lambda: copy.deepcopy(x).is_inference())
    return d, attempt(lambda: copy.copy(x).is_inference())


@fact
def inference_pickle(t):
    import pickle

    with t.inference_mode():
        x = t.ones(3)
    y = attempt(lambda: pickle.loads(pickle.dumps(x)).is_inference())
    return y


@fact
def inference_module(t):
    m = t.nn.Linear(3, 1)
    with t.inference_mode():
        y = m(t.ones(2, 3))
        n = t.nn.Linear(3, 1)
    a = [p.is_inference() for p in n.parameters()], [p.requires_grad for p in n.parameters()]
    return y.is_inference(), y.requires_grad, a


@fact
def inference_data_and_detach(t):
    with t.inference_mode():
        x = t.ones(3)
    return attempt(lambda: x.data.add_(1))


@fact
def inference_hooks(t):
    with t.inference_mode():
        x = t.ones(3)
        return attempt(lambda: x.register_hook(print)), attempt(lambda: x.retain_grad())


@fact
def inference_custom_function(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with t.inference_mode():
        y = F.apply(leaf(t))
        x = t.ones(3)

    def later():
        w = leaf(t)
        return F.apply(w * 1)

    return y.is_inference(), y.requires_grad, attempt(later), attempt(lambda: F.apply(x).is_inference())


@fact
def inference_saved_by_function(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    with t.inference_mode():
        x = t.ones(3)
    return attempt(lambda: F.apply(leaf(t), x))


@fact
def inference_optimizer(t):
    p = leaf(t)
    p.grad = t.ones(3)
    o = t.optim.SGD([p], 0.1)
    with t.inference_mode():
        r = attempt(lambda: o.step())
    return r, p, p.is_inference()


@fact
def inference_thread(t):
    import threading

    seen = []
    with t.inference_mode():
        th = threading.Thread(target=lambda: seen.append((t.is_inference_mode_enabled(), t.is_grad_enabled())))
        th.start()
        th.join()
    return seen


@fact
def inference_reenter(t):
    m = t.inference_mode()
    with m:
        a = t.is_inference_mode_enabled()
    with m:
        b = t.is_inference_mode_enabled()
    return a, b, t.is_inference_mode_enabled()


@fact
def inference_exception(t):
    def run():
        with t.inference_mode():
            raise ValueError("x")

    return attempt(run), t.is_inference_mode_enabled()


@fact
def inference_is_inference_function(t):
    with t.inference_mode():
        x = t.ones(1)
    return t.is_inference(x), t.is_inference(t.ones(1)), x.is_inference()


@fact
def inference_normal_view_written(t):
    x = t.arange(4.0)
    with t.inference_mode():
        a, b = x.chunk(2)
        a.add_(1)
    return a.is_inference(), x, x._version, attempt(lambda: b.add_(1)), x


@fact
def inference_in_no_grad_views(t):
    x = leaf(t) * 1
    with t.no_grad():
        v = x.view(3)
    return attempt(lambda: v.add_(1)), v.requires_grad, attempt(lambda: v.grad_fn)


@fact
def inference_index_put(t):
    with t.inference_mode():
        i = t.tensor([0, 1])
        m = t.tensor([True, False, True])
    w = leaf(t)
    return (
        attempt(lambda: w.gather(0, i).sum()),
        attempt(lambda: w.masked_fill(m, 0).sum()),
        attempt(lambda: w.index_select(0, i).sum()),
        attempt(lambda: t.where(m, w, w).sum()),
    )
