"""Facts about views, in-place writes, versions and leaves."""

from __future__ import annotations

from ._base import attempt, fact, leaf

BASE = "_base"


def looks(x):
    return x.requires_grad, x.is_leaf, x._is_view(), None if x.grad_fn is None else x.grad_fn.name()


@fact
def view_made_in_no_grad(t):
    x = leaf(t)
    y = x * 2
    with t.no_grad():
        v, w = x[0:2], y[0:2]
        c = t.ones(3)[0:2]
    return looks(v), looks(w), looks(c)


@fact
def view_made_in_no_grad_then_written(t):
    x = leaf(t) * 2
    with t.no_grad():
        v = x[0:2]
    return attempt(lambda: v.mul_(2))


@fact
def view_of_leaf_made_in_no_grad_then_written(t):
    x = leaf(t)
    with t.no_grad():
        v = x[0:2]
    return attempt(lambda: v.mul_(2))


@fact
def view_made_in_no_grad_written_in_no_grad(t):
    x = leaf(t) * 2
    with t.no_grad():
        v = x[0:2]
        v.mul_(2)
    return x, x._version, v.requires_grad, x.grad_fn.name()


@fact
def view_made_in_no_grad_of_constant_then_written(t):
    c = t.ones(3)
    x = leaf(t, 5.0, 6.0)
    with t.no_grad():
        v = c[0:2]
    v.mul_(x)
    return looks(c), looks(v)


@fact
def view_made_in_no_grad_base_written(t):
    y = leaf(t) * 2
    with t.no_grad():
        v = y[0:2]
    y.mul_(3)
    return v.requires_grad, attempt(lambda: v.grad_fn), attempt(lambda: v * 2), v.is_leaf


@fact
def view_made_in_no_grad_of_two_levels(t):
    y = leaf(t) * 2
    with t.no_grad():
        v = y[0:2]
    w = v[0:1]
    return looks(w), attempt(lambda: w.mul_(2))


@fact
def several_views_written(t):
    found = []
    for make in (
        lambda y: y.unbind(),
        lambda y: y.split(1),
        lambda y: y.chunk(3),
        lambda y: t.tensor_split(y, 3),
        lambda y: y.split([1, 2]),
    ):
        y = leaf(t) * 2
        parts = make(y)
        found.append(attempt(lambda parts=parts: parts[0].mul_(2)))
    return found


@fact
def several_views_written_in_no_grad(t):
    y = leaf(t) * 2
    a, _b, _c = y.unbind()
    with t.no_grad():
        a.mul_(10)
    return y, attempt(a.grad_fn.name), attempt(lambda: a * 2)


@fact
def several_views_base_written(t):
    y = leaf(t) * 2
    a, b, _c = y.unbind()
    y.mul_(2)
    return attempt(lambda: a.grad_fn), attempt(lambda: b * 2), a.requires_grad


@fact
def several_views_of_constant_written(t):
    c = t.ones(3)
    a, b, _d = c.unbind()
    w = t.tensor(5.0, requires_grad=True)
    return attempt(lambda: a.mul_(w)), attempt(lambda: b.mul_(2)), c


@fact
def several_views_made_in_no_grad(t):
    y = leaf(t) * 2
    with t.no_grad():
        a, _b, _c = y.unbind()
    return looks(a), attempt(lambda: a.mul_(2))


@fact
def view_of_several_views_written(t):
    y = t.ones(2, 3, requires_grad=True) * 2
    a, _b = y.unbind()
    v = a[0:2]
    return looks(v), attempt(lambda: v.mul_(2))


@fact
def iterated_views_written(t):
    y = t.ones(2, 3, requires_grad=True) * 2

    def write():
        for row in y:
            row.mul_(2)

    return attempt(write)


@fact
def leaf_written(t):
    x = leaf(t)
    return [
        attempt(lambda: x.add_(1)),
        attempt(x.zero_),
        attempt(lambda: x[0:2].add_(1)),
        attempt(lambda: x.__setitem__(0, 1.0)),
        attempt(lambda: x.view(3).mul_(2)),
        attempt(lambda: x.copy_(t.ones(3))),
        attempt(lambda: x.detach().add_(1)),
    ]


@fact
def leaf_written_in_no_grad(t):
    x = leaf(t)
    with t.no_grad():
        x.add_(1)
        x[0] = 10
    return x, x._version, looks(x)


@fact
def constant_written_with_history(t):
    x = leaf(t)
    c = t.ones(3)
    c.mul_(x)
    return looks(c), c.grad_fn.next_functions[0][0] is None


@fact
def base_of_views(t):
    x = leaf(t)
    v = x[0:2]
    w = v[0:1]
    d = x.detach()
    return [getattr(v, BASE) is x, getattr(w, BASE) is x, getattr(d, BASE) is None, getattr(x, BASE) is None, d._is_view(), v._is_view()]


@fact
def base_of_reshaped(t):
    x = t.ones(2, 3)
    made = [
        x.view(6),
        x.reshape(6),
        x.t(),
        x.t().reshape(6),
        x.contiguous(),
        x.t().contiguous(),
        x.expand(2, 2, 3),
        x.flatten(),
        x.squeeze(),
        x.clone(),
    ]
    return [m._is_view() for m in made], [getattr(m, BASE) is x for m in made]


@fact
def is_view_of_indexing(t):
    x = t.ones(4, 3)
    made = [
        x[0],
        x[0:2],
        x[..., 0],
        x[None],
        x[[0, 1]],
        x[x > 0],
        x[:, 1:2],
        x.T,
        x.mT,
        x.data,
        x.detach(),
        x.real,
        x.diagonal(),
        x.unfold(0, 2, 1),
    ]
    return [m._is_view() for m in made]


@fact
def versions(t):
    x = t.ones(3)
    seen = [x._version]
    x.add_(1)
    seen.append(x._version)
    v = x[0:2]
    v.mul_(2)
    seen += [x._version, v._version]
    d = x.detach()
    d.mul_(2)
    seen += [x._version, d._version]
    x.data.mul_(2)
    seen += [x._version, x.data._version]
    x.requires_grad_()
    seen.append(x._version)
    with t.no_grad():
        x.zero_()
    seen.append(x._version)
    x.grad = t.ones(3)
    seen.append(x._version)
    c = x.clone()
    seen.append(c._version)
    return seen


@fact
def versions_of_every_kind_of_write(t):
    x = t.ones(4)
    seen = []
    for write in (
        lambda: x.fill_(1), lambda: x.copy_(t.zeros(4)), lambda: x.__setitem__(0, 1.0), lambda: x.__setitem__(slice(0, 2), t.ones(2)),
        lambda: t.add(x, x, out=x), lambda: x.__iadd__(1), lambda: x.clamp_(0, 1), x.uniform_, lambda: x.index_fill_(0, t.tensor([0]), 1.0),
        lambda: x.masked_fill_(x > 0, 2.0), lambda: x.unsqueeze_(0), lambda: x.squeeze_(0), x.zero_, x.relu_,
        lambda: x.scatter_(0, t.tensor([0]), 1.0), x.exponential_, x.normal_, lambda: t.nn.init.zeros_(x),
    ):  # fmt: skip
        before = x._version
        write()
        seen.append(x._version - before)
    return seen


@fact
def version_after_backward(t):
    x = leaf(t)
    x.sum().backward()
    g = x.grad
    before = g._version
    x.sum().backward()
    return g._version - before, x.grad is g, x._version


@fact
def version_of_inference(t):
    with t.inference_mode():
        x = t.ones(2)
    return attempt(lambda: x._version)


@fact
def saved_input_written(t):
    x = leaf(t)
    y = x * 1
    z = y * y
    y.add_(1)
    return attempt(lambda: z.sum().backward())


@fact
def saved_input_written_through_view(t):
    x = leaf(t)
    y = x * 1
    z = y * y
    y[0].zero_()
    return attempt(lambda: z.sum().backward())


@fact
def saved_input_written_through_detach(t):
    x = leaf(t)
    y = x * 1
    z = y * y
    y.detach().zero_()
    return attempt(lambda: z.sum().backward())


@fact
def saved_input_written_through_data(t):
    x = leaf(t)
    y = x * 1
    z = y * y
    y.data.zero_()
    return attempt(lambda: z.sum().backward()), x.grad


@fact
def saved_leaf_written_in_no_grad(t):
    x, w = leaf(t), leaf(t)
    z = x * w
    with t.no_grad():
        w.zero_()
    return attempt(lambda: z.sum().backward())


@fact
def saved_output_written(t):
    x = leaf(t)
    return (
        attempt(lambda: x.exp().add_(1).sum().backward()),
        attempt(lambda: x.sigmoid().mul_(2).sum().backward()),
        attempt(lambda: x.mul(2).add_(1).sum().backward()),
    )


@fact
def written_after_backward(t):
    x = leaf(t)
    y = x.exp()
    y.sum().backward()
    y.add_(1)
    return y.grad_fn.name(), attempt(lambda: y.sum().backward())


@fact
def grad_fn_of_write(t):
    x = leaf(t)
    y = x * 2
    before = y.grad_fn
    y.add_(1)
    same = before is y.grad_fn
    v = y[0:2]
    v.mul_(3)
    return same, y.grad_fn.name(), [n.name() if n else None for n, _ in y.grad_fn.next_functions]


@fact
def write_through_chain_of_views(t):
    x = t.ones(2, 3, requires_grad=True)
    y = x * 2
    y.t()[0:2].view(2, 2)[1].mul_(7)
    y.sum().backward()
    return y, x.grad


@fact
def write_of_tensor_with_history_into_view(t):
    x, w = leaf(t), t.tensor(4.0, requires_grad=True)
    y = x * 2
    y[1] = w * 3
    y.sum().backward()
    return x.grad, w.grad


@fact
def write_into_view_of_constant(t):
    w = leaf(t, 1.0, 2.0)
    c = t.zeros(3)
    v = c[0:2]
    v.copy_(w)
    (c * t.tensor([1.0, 10.0, 100.0])).sum().backward()
    return looks(c), looks(v)[:3], w.grad


@fact
def sibling_view_after_write(t):
    x = leaf(t)
    y = x * 2
    a, b = y[0:2], y[1:3]
    a.mul_(10)
    b.sum().backward()
    return b, x.grad


@fact
def view_and_base_written_alternately(t):
    x = leaf(t)
    y = x * 2
    v = y[0:2]
    y.mul_(3)
    v.mul_(5)
    y.mul_(7)
    (v * v).sum().backward()
    return v, x.grad


@fact
def set_zero_slice(t):
    x = leaf(t)
    y = x * 2
    y[0:2] = 0
    y.sum().backward()
    return x.grad


@fact
def expand_then_write(t):
    y = leaf(t, 1.0) * 2
    return attempt(lambda: y.expand(3).mul_(2)), attempt(lambda: y.expand(3).zero_()), attempt(lambda: t.ones(1).expand(3).add_(1))


@fact
def view_of_a_base_that_was_detached_and_written(t):
    found = []
    for write in (lambda y: y.fill_(1.0), lambda y: y[0].zero_(), lambda y: y.mul_(2)):
        for recorded in (True, False):
            x = leaf(t)
            y = x * 1
            v = y.view(3)
            y.detach_()
            with t.set_grad_enabled(recorded):
                write(y)
            found.append((looks(v), v.grad_fn.next_functions, attempt(lambda v=v: (v * 2).sum().backward()), x.grad, y.requires_grad))
    return found


@fact
def parts_of_a_view_whose_base_looks_elsewhere(t):
    found = []
    for elsewhere in (lambda y: y.set_(t.ones(2)), lambda y: y.resize_(0) if not y.requires_grad else y.set_(t.ones(1))):
        x = leaf(t)
        y = x * 2
        v = y.view(3)
        parts = y.split(1)
        elsewhere(y)
        found.append([looks(part) for part in v.split(1)])
        found.append(attempt(lambda parts=parts: looks(parts[0])))
    return found


@fact
def strides_of_a_view_whose_base_got_other_data(t):
    x = t.tensor([1.0, 2.0, 3.0])
    v = x.squeeze()
    x.data = t.tensor([4.0, 5.0, 6.0])
    return v.as_strided((2,), (1,)), v.as_strided((2,), (1,), 1), v[1:].as_strided((2,), (1,)), x.as_strided((2,), (1,))


@fact
def views_of_other_bases(t):
    x = t.arange(4.0, requires_grad=True)
    found = []
    for v in (x.view(2, 2)[0], x[1:], x.unbind()[2], x.expand(2, 4), x.detach()):
        for base in (t.arange(4.0) * 2, t.ones(5), t.ones(8)[::2], t.ones(5)[1:], t.arange(4, dtype=t.float64)):
            found.append(v._view_func(base))
    y = leaf(t, 1.0, 2.0, 3.0, 4.0)
    again = x[1:]._view_func(y)
    return found, again._base is y, again.requires_grad, attempt(lambda: x[1:]._view_func(3))


@fact
def writes_that_autograd_does_not_notice(t):
    x = leaf(t)
    y = x.exp()
    with t.autograd._unsafe_preserve_version_counter(y):
        y.mul_(2)
    seen = y._version
    with t.autograd._unsafe_preserve_version_counter((y, x)), t.no_grad():
        y.mul_(2)
        x.mul_(2)
    node = t.autograd.graph._get_grad_fn_or_grad_acc
    names = node(x).name(), node(y).name()
    refused = attempt(lambda: t.autograd._unsafe_preserve_version_counter([y]))
    return seen, y._version, x._version, names, refused, y.sum().backward(), x.grad
