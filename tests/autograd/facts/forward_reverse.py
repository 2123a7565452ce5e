"""Facts about forward mode together with the rest of autograd."""

from __future__ import annotations

from ._base import attempt, fact, leaf
from .forward import dual, fw, tangent


@fact
def dual_requires_grad(t):
    with fw(t).dual_level():
        x = leaf(t)
        d = fw(t).make_dual(x, t.ones(3))
        p, g = fw(t).unpack_dual(d)
        return d.requires_grad, d.is_leaf, p.requires_grad, g.requires_grad, d.grad_fn.name(), p.grad_fn.name()


@fact
def dual_tangent_requires_grad(t):
    with fw(t).dual_level():
        x = t.ones(3)
        g = leaf(t)
        d = fw(t).make_dual(x, g)
        y = d * d
        return d.requires_grad, y.requires_grad, tangent(t, y).requires_grad, t.autograd.grad(tangent(t, y).sum(), g)


@fact
def dual_forward_over_reverse(t):
    with fw(t).dual_level():
        x = fw(t).make_dual(leaf(t), t.tensor([1.0, 0.0, 2.0]))
        y = (x**3).sum()
        (g,) = t.autograd.grad(y, x, create_graph=True)
        return g, tangent(t, g)


@fact
def dual_forward_over_reverse_without_create_graph(t):
    with fw(t).dual_level():
        x = fw(t).make_dual(leaf(t), t.tensor([1.0, 0.0, 2.0]))
        (g,) = t.autograd.grad((x**3).sum(), x)
        return g, tangent(t, g)


@fact
def dual_forward_over_reverse_backward(t):
    with fw(t).dual_level():
        base = leaf(t)
        x = fw(t).make_dual(base, t.tensor([1.0, 0.0, 2.0]))
        x.exp().sum().backward()
        return base.grad, tangent(t, base.grad)


@fact
def dual_reverse_over_forward(t):
    with fw(t).dual_level():
        x = leaf(t)
        d = fw(t).make_dual(x, t.tensor([1.0, 0.0, 2.0]))
        y = d**3
        j = tangent(t, y)
        return t.autograd.grad(j.sum(), x, retain_graph=True), t.autograd.grad(y.sum(), x)


@fact
def dual_grad_of_dual_gradient(t):
    with fw(t).dual_level():
        x = leaf(t)
        y = x * x
        gg = fw(t).make_dual(t.ones(3), t.tensor([1.0, 2.0, 3.0]))
        (g,) = t.autograd.grad(y, x, gg)
        return g, tangent(t, g)


@fact
def dual_retain_grad_hook(t):
    seen = []
    with fw(t).dual_level():
        x = fw(t).make_dual(leaf(t), t.ones(3))
        y = x * 2
        y.register_hook(lambda g: seen.append(tangent(t, g)))
        (y * y).sum().backward()
        return seen


@fact
def dual_custom_jvp(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + 0 * x

    with fw(t).dual_level():
        return tangent(t, Double.apply(dual(t)))


@fact
def dual_custom_without_jvp(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with fw(t).dual_level():
        return attempt(lambda: Double.apply(dual(t)))


@fact
def dual_linspace_like(t):
    with fw(t).dual_level():
        d = dual(t)
        return (
            tangent(t, t.zeros_like(d)),
            tangent(t, t.ones_like(d)),
            tangent(t, t.empty_like(d)) is None,
            tangent(t, d.new_zeros(2)),
            tangent(t, t.rand_like(d)),
            tangent(t, t.full_like(d, 2)),
        )


@fact
def dual_copy_and_deepcopy(t):
    import copy

    with fw(t).dual_level():
        d = dual(t)
        c = copy.copy(d)
        e = attempt(lambda: tangent(t, copy.deepcopy(d)))
        return attempt(lambda: tangent(t, c)), e


@fact
def dual_numpy(t):
    with fw(t).dual_level():
        d = dual(t)
        return attempt(lambda: d.numpy().tolist()), attempt(lambda: d.tolist()), attempt(lambda: d[0].item())


@fact
def dual_requires_grad_(t):
    with fw(t).dual_level():
        d = dual(t)
        d.requires_grad_()
        y = d * 2
        return d.requires_grad, tangent(t, y), t.autograd.grad(y.sum(), d)


@fact
def dual_module(t):
    with fw(t).dual_level():
        m = t.nn.Linear(2, 2)
        p = m.weight.detach().clone()
        del m._parameters["weight"]
        m.weight = fw(t).make_dual(p, t.ones(2, 2))
        y = m(t.ones(1, 2))
        return tangent(t, y)


@fact
def dual_set_data(t):
    with fw(t).dual_level():
        d = dual(t)
        d.data = t.zeros(3)
        return tangent(t, d), d


@fact
def dual_view_as_real(t):
    with fw(t).dual_level():
        d = fw(t).make_dual(t.tensor([1 + 2j]), t.tensor([3 + 4j]))
        r = t.view_as_real(d)
        return (
            tangent(t, r),
            tangent(t, d.real),
            tangent(t, d.imag),
            tangent(t, d.abs()),
            tangent(t, d.conj()),
            tangent(t, d.angle()),
            tangent(t, d * d.conj()),
            tangent(t, t.view_as_complex(r)),
        )


@fact
def dual_real_write(t):
    with fw(t).dual_level():
        z = t.zeros(2, dtype=t.complex64)
        z.real.copy_(dual(t, 1.0, 2.0, tangent=[3.0, 4.0]))
        return tangent(t, z), z


@fact
def dual_contiguous_and_reshape(t):
    with fw(t).dual_level():
        d = fw(t).make_dual(t.arange(6.0).reshape(2, 3), t.arange(6.0).reshape(2, 3))
        return (
            tangent(t, d.t().contiguous()),
            tangent(t, d.t().reshape(6)),
            tangent(t, d.contiguous()) is tangent(t, d),
            d.contiguous() is d,
            tangent(t, d.t()).stride(),
            tangent(t, d.t().clone()).stride(),
        )


@fact
def dual_indexing(t):
    with fw(t).dual_level():
        d = fw(t).make_dual(t.arange(6.0).reshape(2, 3), t.arange(6.0).reshape(2, 3) * 2)
        i = t.tensor([1, 0])
        return [
            tangent(t, x)
            for x in (
                d[0],
                d[:, 1],
                d[i],
                d[d > 2],
                d.gather(1, t.tensor([[0], [2]])),
                d.index_select(0, i),
                d.take(i),
                d.diagonal(),
                d.flip(0),
                d.roll(1),
                d.triu(),
                d.repeat(1, 2),
                d.masked_select(d > 3),
            )
        ]


@fact
def dual_scatter(t):
    with fw(t).dual_level():
        d = dual(t)
        i = t.tensor([2, 0, 1])
        return [
            tangent(t, x)
            for x in (
                t.zeros(3).scatter(0, i, d),
                d.scatter(0, i[:1], 0.0),
                t.zeros(3).scatter_add(0, i, d),
                t.zeros(3).index_add(0, i, d),
                t.zeros(3).index_copy(0, i, d),
                d.index_fill(0, i[:1], 1.0),
                t.zeros(3).index_put((i,), d),
                d.masked_scatter(d > 1, t.zeros(3)),
            )
        ]


@fact
def dual_functional_jvp(t):
    x = t.tensor([1.0, 2.0, 3.0])
    return (
        t.autograd.functional.jvp(lambda x: x**2, x, t.ones(3)),
        t.autograd.functional.jacobian(lambda x: x**2, x, strategy="forward-mode", vectorize=True),
        t.autograd.functional.hessian(lambda x: (x**3).sum(), x, outer_jacobian_strategy="forward-mode", vectorize=True),
    )


@fact
def dual_checkpoint(t):
    from importlib import import_module

    cp = import_module(t.__name__ + ".utils.checkpoint").checkpoint
    with fw(t).dual_level():
        x = fw(t).make_dual(leaf(t), t.ones(3))
        return attempt(lambda: tangent(t, cp(lambda x: x.exp().sin(), x, use_reentrant=False).sum()))


@fact
def dual_is_leaf_and_attrs(t):
    with fw(t).dual_level():
        d = dual(t)
        y = d * 2
        return d.is_leaf, y.is_leaf, y.grad_fn, y.requires_grad, d.grad, y._version


@fact
def dual_swap(t):
    with fw(t).dual_level():
        a = dual(t, 1.0, tangent=[5.0]).clone()
        b = dual(t, 2.0, tangent=[6.0]).clone()
        a, b = b * 1, a * 1
        return tangent(t, a), tangent(t, b)


@fact
def dual_inplace_self_view(t):
    with fw(t).dual_level():
        d = dual(t, 1.0, 2.0, 3.0, 4.0, tangent=[1.0, 2.0, 3.0, 4.0]).clone()
        d[:2] += d[2:]
        return d, tangent(t, d)


@fact
def dual_inplace_on_undefined_view_chain(t):
    with fw(t).dual_level():
        x = t.zeros(2, 3)
        v = x.t()[1]
        v.add_(dual(t, 1.0, 2.0, tangent=[3.0, 4.0]))
        return tangent(t, x), tangent(t, v), tangent(t, x.t())


@fact
def dual_inplace_unbind(t):
    with fw(t).dual_level():
        x = dual(t).clone()
        a, _b, _c = x.unbind()
        r = attempt(lambda: a.mul_(5))
        return r, tangent(t, x)


@fact
def dual_inplace_requires_grad_base(t):
    with fw(t).dual_level():
        w = leaf(t)
        x = w * 1
        x[:1].mul_(dual(t, 2.0, tangent=[7.0]))
        (g,) = t.autograd.grad(x.sum(), w)
        return tangent(t, x), g, tangent(t, g)
