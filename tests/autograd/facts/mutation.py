"""Facts about writing over what was saved."""

from __future__ import annotations

from ._base import attempt, fact, leaf


def allowed(t):
    return t.autograd.graph.allow_mutation_on_saved_tensors()


@fact
def mutation_basic(t):
    with allowed(t) as ctx:
        a = leaf(t).clone()
        a.retain_grad()
        b = a.sin()
        a.sin_()
        out = (b * b).sum()
        out.backward()
        return a.grad, len(ctx.cloned), len(ctx.original)


@fact
def mutation_grad_to_leaf(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a.zero_()
        return t.autograd.grad(y, x)


@fact
def mutation_counts(t):
    with allowed(t) as ctx:
        x = leaf(t)
        a = x.clone()
        y = a.sin()
        z = a.cos()
        n1 = len(ctx.original), len(ctx.cloned)
        a.mul_(2)
        n2 = len(ctx.original), len(ctx.cloned)
        return n1, n2, t.autograd.grad((y + z).sum(), x)


@fact
def mutation_freed(t):
    with allowed(t) as ctx:
        x = leaf(t)
        y = x.clone().sin().sum()
        n1 = len(ctx.original)
        del y
        return n1, len(ctx.original)


@fact
def mutation_backward_outside(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a.zero_()
    return attempt(lambda: y.backward())


@fact
def mutation_backward_outside_unmutated(t):
    with allowed(t):
        x = leaf(t)
        y = x.clone().sin().sum()
    return attempt(lambda: y.backward())


@fact
def mutation_nested(t):
    def run():
        with allowed(t), allowed(t):
            pass

    return attempt(run)


@fact
def mutation_second_context(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
    with allowed(t):
        return attempt(lambda: y.backward())


@fact
def mutation_outside_before(t):
    x = leaf(t)
    a = x.clone()
    y = a.sin().sum()
    with allowed(t):
        a.zero_()
        return attempt(lambda: y.backward())


@fact
def mutation_of_view(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a[0] = 5
        a.view(3)[1:].mul_(2)
        z = a.exp().sum()
        return t.autograd.grad(y + z, x)


@fact
def mutation_result_saved(t):
    with allowed(t):
        x = leaf(t)
        a = x.exp()
        y = a.sum()
        a.mul_(3)
        return t.autograd.grad(y, x)


@fact
def mutation_inplace_result_saved(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone().exp_()
        y = a * 1
        a.mul_(3)
        return t.autograd.grad((y + a).sum(), x)


@fact
def mutation_self_multiplied(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        a.mul_(a)
        return t.autograd.grad(a.sum(), x)


@fact
def mutation_under_no_grad(t):
    with allowed(t):
        x = leaf(t)
        y = (x * x).sum()
        with t.no_grad():
            x.mul_(10)
        return t.autograd.grad(y, x), x


@fact
def mutation_detach(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a.detach().zero_()
        return t.autograd.grad(y, x)


@fact
def mutation_data(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = (a * a).sum()
        a.data.zero_()
        return t.autograd.grad(y, x)


@fact
def mutation_copy_and_fill(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin()
        a.copy_(t.zeros(3))
        z = a.cos()
        a.fill_(7)
        w = a.exp()
        a.zero_()
        return t.autograd.grad((y + z + w).sum(), x)


@fact
def mutation_setitem_mask(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin()
        a[a > 1.5] = 0
        z = a * a
        a[t.tensor([0])] = 9
        return t.autograd.grad((y + z).sum(), x)


@fact
def mutation_out(t):
    with allowed(t):
        x = leaf(t)
        a = t.ones(3)
        y = (x * a).sum()
        t.add(a, 5, out=a)
        return t.autograd.grad(y, x)


@fact
def mutation_double_backward(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = (a**3).sum()
        a.zero_()
        (g,) = t.autograd.grad(y, x, create_graph=True)
        return g, t.autograd.grad(g.sum(), x)


@fact
def mutation_retain_graph(t):
    with allowed(t) as ctx:
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a.zero_()
        g1 = t.autograd.grad(y, x, retain_graph=True)
        g2 = t.autograd.grad(y, x)
        return g1, g2, attempt(lambda: t.autograd.grad(y, x)), len(ctx.cloned)


@fact
def mutation_optimizer(t):
    with allowed(t):
        w = leaf(t)
        o = t.optim.SGD([w], 0.1)
        y = (w * w).sum()
        y.backward(retain_graph=True)
        o.step()
        w.grad = None
        y.backward()
        return w, w.grad


@fact
def mutation_mode_after(t):
    with allowed(t):
        pass
    x = leaf(t)
    a = x.clone()
    y = a.sin().sum()
    a.zero_()
    return attempt(lambda: y.backward())


@fact
def mutation_yields(t):
    with allowed(t) as ctx:
        return hasattr(ctx, "clear"), len(ctx.cloned)


@fact
def mutation_random(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.sin().sum()
        a.normal_()
        a.uniform_()
        return t.autograd.grad(y, x)


@fact
def mutation_expanded(t):
    with allowed(t):
        x = leaf(t)
        a = x.clone()
        y = a.expand(2, 3).sin().sum()
        a.mul_(0)
        return t.autograd.grad(y, x)
