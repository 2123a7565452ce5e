"""Facts about forward mode: dual tensors, their tangents, and both modes together."""

from __future__ import annotations

from ._base import attempt, fact, leaf


def fw(t):
    return t.autograd.forward_ad


def dual(t, *values, tangent=None):
    x = t.tensor(list(values) or [1.0, 2.0, 3.0])
    return fw(t).make_dual(x, t.ones_like(x) if tangent is None else t.tensor(tangent))


def tangent(t, x):
    return fw(t).unpack_dual(x).tangent


# ---- levels ----


@fact
def dual_level_number(t):
    with fw(t).dual_level() as level:
        return level


@fact
def dual_level_nested(t):
    def nested():
        with fw(t).dual_level(), fw(t).dual_level():
            pass

    return attempt(nested), attempt(lambda: fw(t).enter_dual_level()), attempt(lambda: fw(t).exit_dual_level())


@fact
def dual_level_exit_without_enter(t):
    return attempt(lambda: fw(t).exit_dual_level())


@fact
def dual_level_exit_wrong(t):
    def run():
        with fw(t).dual_level():
            fw(t).exit_dual_level(level=1)

    r = attempt(run)
    return r


@fact
def dual_make_outside(t):
    return attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(2)))


@fact
def dual_unpack_outside(t):
    x = t.ones(2)
    p = fw(t).unpack_dual(x)
    return p.tangent, p.primal is x, type(p).__name__, p._fields


@fact
def dual_tangent_dies_with_level(t):
    with fw(t).dual_level():
        d = dual(t)
        y = d * 2
        before = tangent(t, y)
    with fw(t).dual_level():
        after = tangent(t, y), tangent(t, d)
    return before, after


@fact
def dual_current_level(t):
    a = fw(t)._current_level
    with fw(t).dual_level():
        b = fw(t)._current_level
    return a, b, fw(t)._current_level


@fact
def dual_level_exception(t):
    def run():
        with fw(t).dual_level():
            raise ValueError("inner")

    a = attempt(run)
    with fw(t).dual_level():
        return a, tangent(t, dual(t) * 2)


@fact
def dual_negative_level(t):
    with fw(t).dual_level():
        return attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(2), level=-1)), attempt(lambda: fw(t).unpack_dual(t.ones(2), level=-1))


@fact
def dual_level_keyword(t):
    with fw(t).dual_level() as level:
        d = fw(t).make_dual(t.ones(2), t.ones(2) * 3, level=level)
        return fw(t).unpack_dual(d, level=level).tangent


# ---- packing ----


@fact
def dual_basic_packing(t):
    foo = t.rand(2) * 0 + 1
    bar = t.rand(2) * 0 + 2
    with fw(t).dual_level():
        baz = fw(t).make_dual(foo, bar)
        p, g = fw(t).unpack_dual(baz)
        return (
            p.tolist() == foo.tolist(),
            g is bar,
            p is baz,
            p is foo,
            baz is foo,
            p._is_view(),
            p._base is foo,
            baz._is_view(),
            baz._base is foo,
        )


@fact
def dual_of_dual(t):
    with fw(t).dual_level():
        d = dual(t)
        dd = fw(t).make_dual(d, t.tensor([5.0, 6.0, 7.0]))
        return tangent(t, dd), tangent(t, d), dd is d


@fact
def dual_tangent_identity(t):
    with fw(t).dual_level():
        g = t.ones(3)
        d = fw(t).make_dual(t.ones(3), g)
        return tangent(t, d) is g, tangent(t, d) is tangent(t, d), tangent(t, d).data_ptr() == g.data_ptr()


@fact
def dual_primal_shares_memory(t):
    with fw(t).dual_level():
        x = t.ones(3)
        d = fw(t).make_dual(x, t.ones(3))
        p = fw(t).unpack_dual(d).primal
        return d.data_ptr() == x.data_ptr(), p.data_ptr() == x.data_ptr(), p._version, d._version, tangent(t, p)


@fact
def dual_constant_unpack(t):
    with fw(t).dual_level():
        x = t.ones(2)
        p = fw(t).unpack_dual(x)
        return p.tangent, p.primal is x, p.primal.data_ptr() == x.data_ptr()


@fact
def dual_wrong_types(t):
    with fw(t).dual_level():
        return [
            attempt(lambda: fw(t).make_dual(t.ones(2, dtype=t.int64), t.ones(2))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(2, dtype=t.int64))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(2, dtype=t.float64))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(2, dtype=t.complex64))),
            attempt(lambda: fw(t).make_dual(t.ones(2, dtype=t.complex64), t.ones(2))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(3))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.ones(1))),
            attempt(lambda: fw(t).make_dual(t.ones(2), t.tensor(1.0))),
            attempt(lambda: fw(t).make_dual(t.ones(2), 1.0))[:14],
            attempt(lambda: fw(t).make_dual(1.0, t.ones(2)))[:14],
            attempt(lambda: fw(t).make_dual(t.ones(2, dtype=t.bool), t.ones(2))),
        ]


@fact
def dual_repr(t):
    with fw(t).dual_level():
        d = dual(t)
        x = leaf(t)
        e = fw(t).make_dual(x, t.ones(3))
        return repr(d), repr(d * 2), repr(e), repr(dual(t, 1.0).sum())


@fact
def dual_repr_after(t):
    with fw(t).dual_level():
        d = dual(t)
    return repr(d)


@fact
def dual_metadata(t):
    with fw(t).dual_level():
        x = t.arange(6.0).reshape(2, 3).t()
        d = fw(t).make_dual(x, t.ones(3, 2))
        g = tangent(t, d)
        return g.stride(), d.stride(), g.is_contiguous()


@fact
def dual_metadata_expanded_tangent(t):
    with fw(t).dual_level():
        x = t.ones(2, 3)
        d = fw(t).make_dual(x, t.ones(1).expand(2, 3))
        g = tangent(t, d)
        return g.stride(), (d * 2).stride(), tangent(t, d * 2).stride()


@fact
def dual_metadata_expanded_primal(t):
    with fw(t).dual_level():
        x = t.ones(1).expand(2, 3)
        d = fw(t).make_dual(x, t.ones(2, 3))
        return tangent(t, d).stride(), d.stride()


@fact
def dual_metadata_offset(t):
    with fw(t).dual_level():
        x = t.arange(6.0)[2:]
        d = fw(t).make_dual(x, t.ones(4))
        return tangent(t, d).stride(), d.storage_offset()


@fact
def dual_metadata_conj(t):
    with fw(t).dual_level():
        x = t.tensor([1 + 2j, 3j]).conj()
        d = fw(t).make_dual(x, t.tensor([1 + 1j, 2j]))
        g = tangent(t, d)
        return g


@fact
def dual_metadata_conj_tangent(t):
    with fw(t).dual_level():
        d = fw(t).make_dual(t.tensor([1 + 2j, 3j]), t.tensor([1 + 1j, 2j]).conj())
        g = tangent(t, d)
        return g.is_conj(), g, (d * 2).is_conj(), tangent(t, d * 2)


@fact
def dual_scalar(t):
    with fw(t).dual_level():
        d = fw(t).make_dual(t.tensor(2.0), t.tensor(3.0))
        return tangent(t, d * d), tangent(t, d**3), tangent(t, 2 / d), tangent(t, d.exp().log())


@fact
def writes_without_a_derivative(t):
    fw, found = t.autograd.forward_ad, []
    with fw.dual_level():
        for write in (
            lambda x: x.uniform_(), lambda x: x.normal_(), lambda x: x.bernoulli_(0.5), lambda x: x.exponential_(), lambda x: x.random_(5),
            lambda x: x.eq_(1), lambda x: x.lt_(t.ones_like(x)), lambda x: x.floor_(), lambda x: x[1:].uniform_(),
        ):  # fmt: skip
            x = fw.make_dual(t.rand(3), t.ones(3))
            write(x)
            found.append(fw.unpack_dual(x).tangent)
    return found


@fact
def samples_of_duals(t):
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.full((3,), 0.5), t.ones(3))
        made = t.normal(x, 1.0), t.normal(0.0, x), t.normal(x, x), t.bernoulli(x), t.poisson(x), t.rand_like(x)
        return [fw.unpack_dual(y).tangent for y in made]


@fact
def duals_of_duals(t):
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(3), t.ones(3))
        return [
            attempt(f) for f in (
                lambda: fw.make_dual(t.ones(3), x), lambda: fw.make_dual(x, t.ones(3)), lambda: fw.make_dual(t.ones(3), t.ones(3), level=1),
                lambda: fw.make_dual(t.ones(3), t.ones(3), level=-1), lambda: fw.unpack_dual(x, level=1),
                lambda: fw.unpack_dual(x, level=-1)[1],
            )
        ]  # fmt: skip


@fact
def tangents_that_jvp_gets(t):
    seen = []

    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, z):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def jvp(ctx, *tangents):
            seen.append(([d if d is None else d.tolist() for d in tangents], len(ctx.saved_tensors)))
            return tangents[0] * 2

    class Kept(Twice):
        @staticmethod
        def forward(ctx, x, y, z):
            ctx.save_for_forward(x, y)
            return x * 2

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        for y, z in ((t.ones(2), 3), (t.arange(2), t.tensor(True)), (t.ones(2, requires_grad=True), t.ones(1))):
            Twice.apply(x, y, z)
            Kept.apply(x, y, z)
    return seen
