"""Facts about writes into parts of tensors, gathers and conversions."""

from __future__ import annotations

from ._base import attempt, fact, leaf


@fact
def writes_by_index(t):
    out = []
    for write in (
        lambda y, v: y.__setitem__(0, v[0]),
        lambda y, v: y.__setitem__(slice(0, 2), v[:2]),
        lambda y, v: y.__setitem__(t.tensor([0, 2]), v[:2]),
        lambda y, v: y.__setitem__(t.tensor([True, False, True]), v[:2]),
        lambda y, v: y.__setitem__(t.tensor([True, False, True]), v[0]),
        lambda y, v: y.__setitem__(Ellipsis, v),
        lambda y, v: y.index_put_((t.tensor([0, 0]),), v[:2], accumulate=True),
        lambda y, v: y.index_put_((t.tensor([0, 1]),), v[0]),
        lambda y, v: y.masked_fill_(t.tensor([True, False, True]), v[0]),
        lambda y, v: y.masked_scatter_(t.tensor([True, False, True]), v),
        lambda y, v: y.scatter_(0, t.tensor([2, 0]), v[:2]),
        lambda y, v: y.scatter_(0, t.tensor([2, 0]), 7.0),
        lambda y, v: y.scatter_add_(0, t.tensor([2, 2]), v[:2]),
        lambda y, v: y.scatter_reduce_(0, t.tensor([2, 0]), v[:2], "sum"),
        lambda y, v: y.scatter_reduce_(0, t.tensor([2, 0]), v[:2], "amax"),
        lambda y, v: y.scatter_reduce_(0, t.tensor([2, 0]), v[:2], "prod", include_self=False),
        lambda y, v: y.index_add_(0, t.tensor([2, 2]), v[:2], alpha=2),
        lambda y, v: y.index_copy_(0, t.tensor([2, 1]), v[:2]),
        lambda y, v: y.index_fill_(0, t.tensor([2, 1]), v[0]),
        lambda y, v: y.put_(t.tensor([2, 1]), v[:2]),
        lambda y, v: y.put_(t.tensor([2, 2]), v[:2], accumulate=True),
        lambda y, v: y.copy_(v),
        lambda y, v: y.fill_(v[0]),
        lambda y, v: y[1:].mul_(v[1:]),
        lambda y, v: y.narrow(0, 1, 2).add_(v[:2]),
        lambda y, v: y.select(0, 1).copy_(v[2]),
        lambda y, v: y.lerp_(v, 0.25),
        lambda y, v: y.addcmul_(v, v),
        lambda y, v: y.addcdiv_(v, v),
        lambda y, v: y.clamp_(v * 0, v * 0 + 2.5),
        lambda y, v: y.pow_(v),
        lambda y, v: y.div_(v),
        lambda y, v: y.t_().mul_(v),
        lambda y, v: y.unsqueeze_(0),
        lambda y, v: y.sub_(v, alpha=2),
        lambda y, v: y.where(y > 1, v),
        lambda y, v: y.tril_() if y.dim() > 1 else y,
        lambda y, v: y.cumsum_(0),
        lambda y, v: y.cumprod_(0),
        lambda y, v: y.relu_(),
        lambda y, v: y.renorm_(2, 0, 1.0) if y.dim() > 1 else y,
        lambda y, v: y.swapaxes_(0, 0),
        lambda y, v: y.squeeze_(),
    ):

        def run(write=write):
            x, v = leaf(t), leaf(t, 4.0, 5.0, 6.0)
            y = x * 2
            write(y, v)
            return y, t.autograd.grad((y * y).sum(), (x, v), allow_unused=True)

        out.append(attempt(run))
    return out


@fact
def writes_across_dtypes(t):
    out = []
    for dtype in (t.float64, t.float16, t.complex64, t.int64):

        def run(dtype=dtype):
            x = leaf(t)
            y = t.zeros(3, dtype=dtype)
            y.copy_(x)
            return (
                y.requires_grad,
                None if y.grad_fn is None else type(y.grad_fn).__name__,
                attempt(lambda: t.autograd.grad(y.abs().sum(), x)[0]),
                str(y.dtype),
            )

        out.append(attempt(run))
    return out


@fact
def writes_from_dtypes(t):
    out = []
    for dtype in (t.float64, t.float16, t.complex64):

        def run(dtype=dtype):
            x = t.ones(3, dtype=dtype, requires_grad=True)
            y = t.zeros(3)
            y.copy_(x)
            (g,) = t.autograd.grad(y.sum(), x)
            return str(g.dtype), g

        out.append(attempt(run))
    return out


@fact
def writes_to_expanded(t):
    x = leaf(t, 1.0)
    y = (x * 1).expand(3)
    return (
        attempt(lambda: y.add_(1)),
        attempt(lambda: y.mul_(t.ones(3))),
        attempt(lambda: y.zero_()),
        attempt(lambda: y.__setitem__(0, 5.0)),
        attempt(lambda: (x * 1).expand(1).add_(1)),
        attempt(lambda: y[0].add_(1)),
    )


@fact
def writes_to_base_of_expanded(t):
    x = leaf(t, 1.0)
    b = x * 1
    y = b.expand(3)
    b.mul_(5)
    return y, t.autograd.grad(y.sum(), x)


@fact
def writes_to_parts(t):
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    out = []
    for parts in ("unbind", "chunk", "split", "tensor_split", "hsplit"):

        def run(parts=parts):
            y = x * 1
            args = () if parts == "unbind" else (2,)
            p = getattr(y, parts)(*args)
            p[0].mul_(10)
            return y, t.autograd.grad(y.sum(), x)

        out.append(attempt(run))
    return out


@fact
def writes_to_base_of_parts(t):
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    y = x * 1
    a, b = y.chunk(2)
    y.mul_(3)
    return attempt(lambda: t.autograd.grad((a * b).sum(), x)), attempt(lambda: a.grad_fn), attempt(lambda: a.requires_grad)


@fact
def writes_to_parts_without_grad(t):
    y = t.arange(4.0)
    a, _b = y.chunk(2)
    a.mul_(10)
    c = y.unbind()
    c[3].fill_(7)
    return y, a.requires_grad


@fact
def writes_of_grad_into_parts_without(t):
    y = t.arange(4.0)
    a, _b = y.chunk(2)
    return attempt(lambda: a.mul_(leaf(t, 1.0, 2.0))), y.requires_grad


@fact
def strided_overlaps(t):
    out = []
    for size, stride, offset in (
        ((2, 2), (1, 1), 0),
        ((3,), (0,), 1),
        ((2, 2), (2, 1), 0),
        ((2,), (2,), 1),
        ((4,), (1,), 0),
        ((3, 2), (1, 1), 0),
        ((2, 2, 2), (1, 0, 1), 0),
    ):

        def run(size=size, stride=stride, offset=offset):
            x = leaf(t, 1.0, 2.0, 3.0, 4.0)
            y = x.as_strided(size, stride, offset)
            w = t.arange(1.0, y.numel() + 1).reshape(y.shape)
            return y, t.autograd.grad((y * w).sum(), x)

        out.append(attempt(run))
    return out


@fact
def strided_of_expanded(t):
    x = leaf(t, 1.0, 2.0)
    y = (x * 1).expand(3, 2)
    z = y.as_strided((2, 2), (0, 1))
    return t.autograd.grad((z * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), x)


@fact
def strided_write(t):
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    y = x * 1
    y.as_strided((2,), (2,)).mul_(10)
    z = y.as_strided((2,), (1,), 2)
    z.add_(1)
    return y, t.autograd.grad((y * y).sum(), x), type(z.grad_fn).__name__, type(y.grad_fn).__name__


@fact
def scatters(t):
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    s = leaf(t, 5.0, 6.0)
    out = []
    for f in (
        lambda: t.slice_scatter(x, s, 0, 1, 3),
        lambda: t.select_scatter(x, s[0], 0, 1),
        lambda: t.diagonal_scatter(x.reshape(2, 2), s),
    ):
        y = f()
        out.append((y, t.autograd.grad((y * y).sum(), (x, s))))
    return out


@fact
def gathers(t):
    x = t.arange(6.0).reshape(2, 3).requires_grad_()
    i = t.tensor([[0, 0, 2], [1, 1, 1]])
    return [
        attempt(lambda f=f: t.autograd.grad((f() ** 2).sum(), x))
        for f in (
            lambda: x.gather(1, i),
            lambda: x.take(i),
            lambda: x[i[:, 0]],
            lambda: x[:, i[0]],
            lambda: x[i[:, 0], i[:, 1]],
            lambda: x.index_select(1, t.tensor([0, 0])),
            lambda: x.take_along_dim(i, 1),
            lambda: x[None, ..., 1:],
            lambda: x[x > 2],
            lambda: x.masked_select(x > 2),
            lambda: x[t.tensor(1)],
            lambda: x[True],
            lambda: x[[0, 1], [1, 2]],
            lambda: x[::2, ::2],
            lambda: x.unfold(1, 2, 1),
            lambda: x.flip(1)[0],
            lambda: x.diag(),
            lambda: x.diagonal(1),
            lambda: x.tril(),
            lambda: x.rot90(),
            lambda: x.roll(1),
            lambda: x.repeat(2, 2),
            lambda: x.repeat_interleave(2, 1),
            lambda: x.tile(2),
            lambda: t.atleast_1d(x.sum()),
            lambda: t.atleast_2d(x[0]),
            lambda: t.atleast_3d(x),
            lambda: t.trapezoid(x),
            lambda: t.trapezoid(x, dx=2.0),
            lambda: t.trapezoid(x, t.tensor([0.0, 1.0, 3.0])),
            lambda: t.cumulative_trapezoid(x),
            lambda: x.diff(),
            lambda: t.block_diag(x, x),
            lambda: t.cartesian_prod(x[0], x[1]),
            lambda: x.topk(2, dim=1)[0],
            lambda: x.sort(dim=0, descending=True)[0],
            lambda: x.kthvalue(2, dim=1)[0],
            lambda: t.logcumsumexp(x, 1),
            lambda: x.renorm(2, 0, 1.0),
            lambda: x.cumsum(0),
        )
    ]


@fact
def trapezoid_in_x(t):
    y, x = leaf(t, 1.0, 2.0, 4.0), leaf(t, 0.0, 1.0, 3.0)
    return t.autograd.grad(t.trapezoid(y, x), (y, x))


@fact
def complex_leaves(t):
    z = t.tensor([1 + 2j, -1j, 0j], requires_grad=True)
    out = []
    for f in (
        lambda: z.abs().sum(),
        lambda: (z * z.conj()).real.sum(),
        lambda: z.real.sum(),
        lambda: z.imag.sum(),
        lambda: z.angle().sum(),
        lambda: (z**2).real.sum(),
        lambda: (z**2).imag.sum(),
        lambda: t.view_as_real(z).pow(2).sum(),
        lambda: z.sgn().real.sum(),
        lambda: (z * 2j).imag.sum(),
        lambda: z.abs().pow(2).sum(),
        lambda: z.norm(),
        lambda: z.prod().real,
        lambda: z.cumsum(0).imag.sum(),
        lambda: z.sum(),
    ):
        out.append(attempt(lambda f=f: t.autograd.grad(f(), z)))
    return out, attempt(lambda: z.sum().backward()), attempt(lambda: z.sum().backward(t.tensor(1j))), z.grad


@fact
def conversions_in_graphs(t):
    x = leaf(t)
    out = []
    for f in (
        lambda: x.double(),
        lambda: x.half(),
        lambda: x.bfloat16(),
        lambda: x.to(t.complex64),
        lambda: x.to(t.complex128),
        lambda: x.type(t.float64),
        lambda: x.to(t.float64).to(t.float32),
        lambda: x.to(x),
        lambda: x.cfloat(),
        lambda: x.type_as(t.ones(1, dtype=t.float64)),
        lambda: x.double() * x,
        lambda: x.int(),
        lambda: x.long(),
        lambda: x.bool(),
        lambda: x.to("cpu"),
        lambda: x.cpu(),
        lambda: x.float(),
        lambda: x.to(t.float32, copy=True),
    ):
        y = f()
        out.append(
            (
                str(y.dtype),
                y.requires_grad,
                None if y.grad_fn is None else type(y.grad_fn).__name__,
                y is x,
                attempt(lambda y=y: t.autograd.grad(y.sum().abs(), x)[0]),
            )
        )
    return out


@fact
def integer_powers(t):
    x = leaf(t, -2.0, 0.0, 3.0)
    return (
        [t.autograd.grad((x**n).sum(), x) for n in (0, 1, 2, 3, -1, -2)]
        + [t.autograd.grad((x ** t.tensor(n)).sum(), x) for n in (0, 1, 2)]
        + [
            t.autograd.grad(t.linalg.matrix_power(x.reshape(3, 1) * x.reshape(1, 3) + t.eye(3), n).sum(), x, allow_unused=True)
            for n in (0, 1, 2, 3, -1)
        ]
    )


@fact
def copies_of_a_tensor_into_itself(t):
    found = []
    for x in (t.ones(3), t.ones(3, dtype=t.int64), leaf(t) * 1, t.ones(1).expand(3), t.tensor(1.0)):
        x.copy_(x)
        found.append(x._version)
    return found
