"""Facts about operations on dual tensors."""

from __future__ import annotations

from ._base import attempt, fact
from .forward import dual, fw, tangent


@fact
def dual_zero_tangent_of_constant(t):
    with fw(t).dual_level():
        d = dual(t)
        c = t.ones(3)
        return tangent(t, c * 2), tangent(t, d.detach()), tangent(t, d > 1), tangent(t, d.argmax()), tangent(t, d.round())


@fact
def dual_detach(t):
    with fw(t).dual_level():
        d = dual(t)
        e = d.detach()
        d2 = d.clone().detach_()
        return tangent(t, e), tangent(t, d2), tangent(t, d.data)


@fact
def dual_detach_of_view(t):
    with fw(t).dual_level():
        d = dual(t)
        v = d[:2]
        return tangent(t, v.detach()), tangent(t, v), attempt(lambda: v.detach_())


@fact
def dual_no_grad(t):
    with fw(t).dual_level():
        d = dual(t)
        with t.no_grad():
            y = d * 2
        return tangent(t, y), tangent(t, d)


@fact
def dual_inference(t):
    with fw(t).dual_level():
        d = dual(t)
        with t.inference_mode():
            y = d * 2
            a = tangent(t, y)
        return a, tangent(t, d * 2)


@fact
def dual_made_in_inference(t):
    with t.inference_mode(), fw(t).dual_level():
        d = fw(t).make_dual(t.ones(2), t.ones(2))
        return tangent(t, d * 3)


@fact
def dual_set_fwd_grad_enabled(t):
    f = getattr(fw(t), "_set_fwd_grad_enabled", None)
    if f is None:
        return None
    with fw(t).dual_level():
        d = dual(t)
        with f(False):
            y = d * 2
            a = fw(t)._is_fwd_grad_enabled()
        return tangent(t, y), a, fw(t)._is_fwd_grad_enabled(), tangent(t, d * 2)


@fact
def dual_out_errors(t):
    with fw(t).dual_level():
        d = dual(t)
        o = t.empty(3)
        p = dual(t)
        return (
            attempt(lambda: t.add(d, d, out=o)),
            attempt(lambda: t.add(t.ones(3), 1, out=p)),
            attempt(lambda: t.mul(d, 2, out=o)),
            attempt(lambda: t.exp(d, out=o)),
            attempt(lambda: t.stack([d, d], out=t.empty(2, 3))),
        )


@fact
def dual_views(t):
    with fw(t).dual_level():
        x = t.arange(6.0)
        d = fw(t).make_dual(x, t.arange(6.0) * 10)
        v = d.view(2, 3)
        w = v[1]
        s = w.unsqueeze(0).expand(2, 3).t()
        return (
            tangent(t, v),
            tangent(t, w),
            tangent(t, s),
            v._base is d,
            w._base is d,
            [tangent(t, c) for c in d.chunk(2)],
            [tangent(t, c) for c in v.unbind()],
        )


@fact
def dual_view_tangent_is_view(t):
    with fw(t).dual_level():
        d = dual(t)
        v = d[1:]
        g = tangent(t, v)
        b = tangent(t, d)
        return g._is_view(), g._base is b, g.data_ptr() - b.data_ptr()


@fact
def dual_inplace(t):
    with fw(t).dual_level():
        d = dual(t).clone()
        d.mul_(3)
        a = tangent(t, d).clone()
        d.mul_(t.tensor([1.0, 2.0, 3.0]))
        b = tangent(t, d).clone()
        d.add_(t.ones(3))
        c = tangent(t, d).clone()
        d.zero_()
        return a, b, c, tangent(t, d)


@fact
def dual_inplace_identity(t):
    with fw(t).dual_level():
        d = dual(t)
        g = tangent(t, d)
        d *= 2
        return tangent(t, d) is g, g, tangent(t, d)


@fact
def dual_inplace_on_constant(t):
    with fw(t).dual_level():
        x = t.ones(3)
        d = dual(t)
        x.mul_(d)
        return tangent(t, x), x


@fact
def dual_inplace_on_constant_view(t):
    with fw(t).dual_level():
        x = t.ones(4)
        v = x[:3]
        d = dual(t)
        v.mul_(d)
        return tangent(t, x), tangent(t, v), x, tangent(t, x[1:])


@fact
def dual_inplace_on_view_of_dual(t):
    with fw(t).dual_level():
        d = dual(t).clone()
        v = d[1:]
        v.mul_(5)
        return tangent(t, d), tangent(t, v), d


@fact
def dual_inplace_base_then_view(t):
    with fw(t).dual_level():
        d = dual(t).clone()
        v = d[1:]
        d.mul_(5)
        return tangent(t, d), tangent(t, v)


@fact
def dual_inplace_on_constant_base_old_view(t):
    with fw(t).dual_level():
        x = t.ones(3)
        v = x[1:]
        x.mul_(dual(t))
        return tangent(t, x), tangent(t, v), tangent(t, x[1:])


@fact
def dual_inplace_view_with_sibling(t):
    with fw(t).dual_level():
        x = t.zeros(4)
        a = x[:2]
        b = x[1:3]
        a.copy_(dual(t, 1.0, 2.0, tangent=[3.0, 4.0]))
        return tangent(t, x), tangent(t, a), tangent(t, b), tangent(t, x[1:3])


@fact
def dual_setitem(t):
    with fw(t).dual_level():
        x = t.zeros(4)
        x[1:3] = dual(t, 1.0, 2.0, tangent=[3.0, 4.0])
        y = dual(t, 1.0, 2.0, 3.0, tangent=[5.0, 6.0, 7.0]).clone()
        y[1] = 0
        z = dual(t).clone()
        z[t.tensor([0, 2])] = t.zeros(2)
        return tangent(t, x), tangent(t, y), tangent(t, z)


@fact
def dual_copy_(t):
    with fw(t).dual_level():
        x = t.zeros(3)
        x.copy_(dual(t))
        y = dual(t).clone()
        y.copy_(t.ones(3))
        z = t.zeros(3, dtype=t.float64)
        z.copy_(dual(t))
        i = t.zeros(3, dtype=t.int64)
        i.copy_(dual(t))
        e = t.zeros(2, 3)
        e.copy_(dual(t))
        return tangent(t, x), tangent(t, y), tangent(t, z), attempt(lambda: tangent(t, i)), tangent(t, e)


@fact
def dual_fill_and_zero(t):
    with fw(t).dual_level():
        d = dual(t).clone()
        d.fill_(3)
        e = dual(t).clone()
        e.fill_(dual(t, 2.0, tangent=[7.0])[0])
        x = t.zeros(3)
        x.fill_(dual(t, 2.0, tangent=[7.0])[0])
        return tangent(t, d), tangent(t, e), tangent(t, x)


@fact
def dual_masked_fill(t):
    with fw(t).dual_level():
        d = dual(t).clone()
        m = t.tensor([True, False, True])
        a = tangent(t, d.masked_fill(m, 0))
        d.masked_fill_(m, 5.0)
        return a, tangent(t, d), tangent(t, t.zeros(3).masked_fill(m, dual(t, 2.0)[0]))


@fact
def dual_dtype_conversions(t):
    with fw(t).dual_level():
        d = dual(t)
        a = d.double()
        return (
            tangent(t, a),
            tangent(t, a).dtype,
            tangent(t, d.int()),
            tangent(t, d.to(t.complex64)),
            tangent(t, d.to(t.float32)),
            tangent(t, d.half()).dtype,
        )


@fact
def dual_promotion(t):
    with fw(t).dual_level():
        d = dual(t)
        y = d * t.ones(3, dtype=t.float64)
        z = t.arange(3) * d
        return tangent(t, y).dtype, y.dtype, tangent(t, y), tangent(t, z), tangent(t, d + 1j)


@fact
def dual_broadcast(t):
    with fw(t).dual_level():
        d = dual(t, 1.0, 2.0)
        y = d + t.zeros(3, 1)
        return tangent(t, y), tangent(t, y).stride(), tangent(t, y * d)


@fact
def dual_sum_of_mixed(t):
    with fw(t).dual_level():
        d = dual(t)
        return tangent(t, t.cat([d, t.ones(2)])), tangent(t, t.stack([t.ones(3), d])), tangent(t, t.where(d > 1.5, d, t.zeros(3)))


@fact
def dual_reductions(t):
    with fw(t).dual_level():
        d = dual(t, 3.0, 1.0, 2.0, tangent=[1.0, 2.0, 4.0])
        return [
            tangent(t, x)
            for x in (
                d.sum(),
                d.mean(),
                d.prod(),
                d.max(),
                d.min(),
                d.var(),
                d.std(),
                d.norm(),
                d.logsumexp(0),
                d.cumsum(0),
                d.cumprod(0),
                d.softmax(0),
                d.median(),
                d.amax(0),
                d.amin(),
                d.sort().values,
                d.topk(2).values,
                d.max(0).values,
                d.kthvalue(2).values,
                d.mode().values,
                d.cummax(0).values,
                d.logcumsumexp(0),
            )
        ]


@fact
def dual_several_results_indices(t):
    with fw(t).dual_level():
        d = dual(t)
        v, i = d.sort()
        return tangent(t, v), tangent(t, i)


@fact
def dual_linalg(t):
    with fw(t).dual_level():
        m = fw(t).make_dual(t.tensor([[2.0, 1.0], [1.0, 3.0]]), t.tensor([[1.0, 0.0], [0.0, 0.0]]))
        return [
            tangent(t, x)
            for x in (
                m @ m,
                m.det(),
                t.linalg.inv(m),
                t.linalg.cholesky(m),
                t.linalg.eigvalsh(m),
                t.linalg.slogdet(m)[1],
                m.trace(),
                t.linalg.solve(m, t.ones(2)),
                t.linalg.svdvals(m),
                m.matrix_power(2),
                t.linalg.norm(m),
                t.linalg.qr(m)[1].abs(),
                t.matrix_exp(m),
            )
        ]


@fact
def dual_nn_functions(t):
    F = t.nn.functional
    with fw(t).dual_level():
        d = fw(t).make_dual(t.tensor([[1.0, -2.0, 0.5]]), t.tensor([[1.0, 2.0, 3.0]]))
        w = t.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]])
        return [
            tangent(t, x)
            for x in (
                F.relu(d),
                F.gelu(d),
                F.linear(d, w),
                F.log_softmax(d, 1),
                F.cross_entropy(d, t.tensor([1])),
                F.mse_loss(d, t.zeros(1, 3)),
                F.softplus(d),
                F.silu(d),
                F.elu(d),
                F.leaky_relu(d),
                F.layer_norm(d, (3,)),
                F.hardtanh(d),
                F.dropout(d, 0.0),
                F.normalize(d),
                F.pad(d, (1, 1)),
                F.embedding(t.tensor([0]), fw(t).make_dual(w, w * 2)),
            )
        ]


@fact
def dual_conv(t):
    F = t.nn.functional
    with fw(t).dual_level():
        d = fw(t).make_dual(t.arange(6.0).reshape(1, 1, 6), t.ones(1, 1, 6))
        w = t.tensor([[[1.0, 2.0]]])
        return (
            tangent(t, F.conv1d(d, w)),
            tangent(t, F.conv1d(t.ones(1, 1, 4), fw(t).make_dual(w, w))),
            tangent(t, F.max_pool1d(d, 2)),
            tangent(t, F.avg_pool1d(d, 2)),
        )
