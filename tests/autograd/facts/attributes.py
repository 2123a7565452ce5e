"""Facts about attributes of tensors under autograd, copies, warnings, and Variable."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

from ._base import attempt, fact, leaf


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(action)
    return result, [
        (
            w.category.__name__ if w.category.__module__ == "builtins" else w.category.__mro__[1].__name__,
            " ".join(str(w.message).split()[:8]),
        )
        for w in caught
    ]


@fact
def attrs_of_leaf(t):
    x = leaf(t)
    return (
        x.names if hasattr(x, "names") else None,
        x.is_leaf,
        x.grad_fn,
        x.output_nr,
        x._version,
        x.retains_grad,
        x.__array_priority__,
        x._is_view(),
        x._base,
        x.grad,
    )


@fact
def attrs_of_result(t):
    y = leaf(t) * 2
    return y.is_leaf, y.output_nr, y.retains_grad, y._is_view(), type(y.grad_fn.next_functions).__name__, y.grad_fn.next_functions[1]


@fact
def attrs_readonly(t):
    x = leaf(t)
    out = []
    for name, value in (
        ("is_leaf", False),
        ("grad_fn", None),
        ("output_nr", 1),
        ("shape", (3,)),
        ("dtype", t.float64),
        ("_base", None),
        ("is_sparse", True),
        ("device", "cpu"),
        ("T", 1),
        ("ndim", 1),
    ):
        out.append(attempt(lambda name=name, value=value: setattr(x, name, value)) is None)
    return out


@fact
def hook_on_constant_again(t):
    return (
        attempt(lambda: t.ones(2).register_hook(print)),
        attempt(lambda: t.ones(2).retain_grad()),
        attempt(lambda: t.ones(2).register_post_accumulate_grad_hook(print)),
        attempt(lambda: (leaf(t) * 2).register_post_accumulate_grad_hook(print)),
    )


@fact
def requires_grad_rules(t):
    x = leaf(t)
    y = x * 2

    def set_(v, value):
        v.requires_grad = value
        return v.requires_grad

    return [
        attempt(f)
        for f in (
            lambda: set_(y, False),
            lambda: set_(y, True),
            lambda: y.requires_grad_(False),
            lambda: set_(t.ones(2, dtype=t.int64), True),
            lambda: x.requires_grad_(requires_grad=False).requires_grad,
            lambda: t.tensor([1, 2], requires_grad=True),
            lambda: t.ones(2, dtype=t.complex64, requires_grad=True).requires_grad,
            lambda: t.zeros(2, dtype=t.int32, requires_grad=True),
        )
    ]


@fact
def variable_rules(t):
    V = t.autograd.Variable
    a = V(t.ones(2), requires_grad=True)
    b = V(t.ones(2))
    w = leaf(t)
    c = V(w)
    d = V(w * 2)
    return (
        a.requires_grad,
        b.requires_grad,
        c.requires_grad,
        d.requires_grad,
        isinstance(a, V),
        isinstance(t.ones(1), V),
        isinstance(3, V),
        type(a).__name__,
        attempt(lambda: V([1.0, 2.0]))[:14],
        c.data_ptr() == w.data_ptr(),
        attempt(lambda: V(t.ones(1), True).requires_grad),
        attempt(lambda: V().tolist()),
        attempt(lambda: V(t.ones(2), requires_grad=True, volatile=False).requires_grad),
    )


@fact
def variable_volatile(t):
    V = t.autograd.Variable
    return warned(lambda: V(t.ones(2), volatile=True).requires_grad), warned(
        lambda: V(t.ones(2), requires_grad=True, volatile=True).requires_grad
    )


@fact
def warn_non_leaf_grad(t):
    y = leaf(t) * 2
    z = leaf(t) * 2
    z.retain_grad()

    def read():
        return y.grad

    return warned(read), warned(lambda: z.grad), warned(lambda: leaf(t).grad), warned(lambda: t.ones(2).grad)


@fact
def warn_create_graph(t):
    x = leaf(t)
    y = (x * x).sum()
    return warned(lambda: y.backward(create_graph=True)), warned(lambda: t.autograd.grad((x * x).sum(), x, create_graph=True)[0].sum())


@fact
def warn_deprecated(t):
    x = leaf(t)
    return (
        warned(lambda: t.autograd.backward((x * 2).sum(), grad_variables=t.tensor(1.0))),
        warned(lambda: t.autograd.grad((x * 2).sum(), x, only_inputs=False)),
        attempt(lambda: t.autograd.backward((x * 2).sum(), t.tensor(1.0), grad_variables=t.tensor(1.0))),
    )


@fact
def warn_scalar_conversion(t):
    x = leaf(t)
    s = x.sum()
    return (
        warned(lambda: float(s)),
        warned(lambda: s.item()),
        warned(lambda: int(s)),
        warned(lambda: t.tensor(s)),
        warned(lambda: t.tensor(x)),
    )


@fact
def warn_full_backward_hook(t):
    m = t.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *a: None)
    return warned(lambda: m(t.ones(1, 2)).sum().backward())


@fact
def iteration(t):
    x = leaf(t)
    parts = list(x)
    return (
        [type(p.grad_fn).__name__ for p in parts],
        [p.output_nr for p in parts],
        attempt(lambda: list(x.sum())),
        len(x),
        attempt(lambda: len(x.sum())),
        attempt(lambda: parts[0].mul_(2)),
    )


@fact
def unpacking(t):
    a, b, _c = leaf(t) * 2
    return a + b, 2.0 in leaf(t), attempt(lambda: bool(leaf(t))), bool(leaf(t, 1.0)), [i for i, v in enumerate(leaf(t)) if v > 1]


@fact
def deepcopies(t):
    x = leaf(t)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    z = x * 2
    m = {"a": x, "b": x}
    n = copy.deepcopy(m)
    v = x.detach()[1:]
    return (
        y.grad,
        y.grad is x.grad,
        y.requires_grad,
        attempt(lambda: copy.deepcopy(z)),
        n["a"] is n["b"],
        attempt(lambda: copy.deepcopy(v)),
        attempt(lambda: copy.copy(z).requires_grad),
        attempt(lambda: copy.deepcopy(z.grad_fn))[:9],
    )


@fact
def pickles(t):
    x = leaf(t)
    z = x * 2
    y = pickle.loads(pickle.dumps(x))
    f = io.BytesIO()
    t.save(z, f)
    f.seek(0)
    w = t.load(f, weights_only=False)
    p = t.nn.Parameter(t.ones(2))
    q = pickle.loads(pickle.dumps(p))
    return (
        y.requires_grad,
        y.is_leaf,
        w.requires_grad,
        w.is_leaf,
        attempt(lambda: pickle.loads(pickle.dumps(z)).requires_grad),
        type(q).__name__,
        q.requires_grad,
    )


@fact
def numpy_errors(t):
    x = leaf(t)
    y = x * 2
    import numpy as np

    return [
        attempt(f)
        for f in (
            lambda: x.numpy(),
            lambda: y.numpy(),
            lambda: np.asarray(x),
            lambda: x.detach().numpy().tolist(),
            lambda: x.numpy(force=True).tolist(),
            lambda: np.array(y),
            lambda: x.tolist(),
            lambda: x[0].item(),
            lambda: float(x[0]),
            lambda: np.asarray(x.detach()).tolist(),
            lambda: x.__array__(),
        )
    ]


@fact
def dlpack(t):
    x = leaf(t)
    y = t.ones(3)

    def via():
        z = t.from_dlpack(y)
        z[0] = 5
        return y

    return (
        attempt(lambda: x.__dlpack__()),
        attempt(lambda: t.from_dlpack(x)),
        attempt(via),
        attempt(lambda: t.from_dlpack(x.detach()).requires_grad),
        attempt(lambda: [int(v) for v in y.__dlpack_device__()]),
    )


@fact
def resizes(t):
    x = leaf(t)
    y = x * 2
    z = t.ones(3)
    return (
        attempt(lambda: x.resize_(2)),
        attempt(lambda: y.resize_(2)),
        attempt(lambda: z.resize_(2, 2).shape),
        attempt(lambda: x.resize_as_(t.ones(2))),
        attempt(lambda: x.detach().resize_(2).shape),
        x.shape,
        attempt(lambda: x.resize(1, 3).shape),
    )


@fact
def sets(t):
    x = leaf(t)
    y = t.zeros(2)

    def one():
        y.set_(t.ones(3))
        return y

    def two():
        with t.no_grad():
            x.set_(t.ones(2))
        return x, x.requires_grad

    return attempt(one), attempt(lambda: x.set_(t.ones(3))), attempt(two), attempt(lambda: (leaf(t) * 2).set_(t.ones(3)).requires_grad)


@fact
def data_assignment_again(t):
    x = leaf(t)
    v = x._version
    x.data = t.zeros(2)
    out = [x.shape, x.requires_grad, x._version - v, x.is_leaf]

    def typed():
        x.data = t.zeros(2, dtype=t.float64)
        return str(x.dtype)

    def inted():
        x.data = t.zeros(2, dtype=t.int64)
        return str(x.dtype), x.requires_grad

    def number():
        x.data = 3

    def none():
        x.data = None

    out += [attempt(typed), attempt(inted), attempt(number)[:14], attempt(none)[:14]]
    return out


@fact
def data_assignment_with_graph(t):
    x = leaf(t)
    y = (x * x).sum()
    x.data = t.tensor([10.0, 10.0, 10.0])
    y.backward()
    return x.grad


@fact
def data_assignment_with_other_shape(t):
    x = leaf(t)
    y = (x * 2).sum()
    x.data = t.ones(5)
    return attempt(lambda: y.backward()), x.grad


@fact
def data_assignment_with_hooks(t):
    x = leaf(t)
    seen = []
    x.register_hook(lambda g: seen.append(g.shape[0]))
    x.data = t.ones(2)
    (x * 2).sum().backward()
    return seen, x.grad


@fact
def data_assignment_keeps_grad(t):
    x = leaf(t)
    (x * 2).sum().backward()
    x.data = t.ones(3) * 5
    (x * x).sum().backward()
    return x.grad, x


@fact
def data_assignment_of_result(t):
    x = leaf(t)
    y = x * 2
    y.data = t.ones(3)
    return y.requires_grad, type(y.grad_fn).__name__, t.autograd.grad((y * 3).sum(), x)


@fact
def data_versions(t):
    x = t.ones(3)
    d = x.data
    d.add_(1)
    e = x.detach()
    e.add_(1)
    return x._version, d._version, e._version, x


@fact
def data_of_view(t):
    x = leaf(t) * 1
    v = x[1:]
    v.data.zero_()
    v.data = t.ones(2) * 7
    return x, v, attempt(lambda: v.grad_fn is None)


@fact
def grad_assignment(t):
    x = leaf(t)

    def set_(g):
        x.grad = g
        return x.grad

    return [
        attempt(lambda g=g: set_(g))
        for g in (t.ones(3), t.ones(2), t.ones(3, dtype=t.float64), 1.0, None, x, t.ones(3, dtype=t.int64), t.ones(3, 1))
    ]


@fact
def grad_assignment_to_result(t):
    y = leaf(t) * 2

    def set_():
        y.grad = t.ones(3)
        return y.grad

    return attempt(set_)


@fact
def backward_errors(t):
    x = leaf(t)
    y = x * 2
    return [
        attempt(f)
        for f in (
            lambda: y.backward(),
            lambda: t.ones(1).backward(),
            lambda: y.backward(t.ones(2)),
            lambda: y.backward(1.0),
            lambda: y.backward([t.ones(3)]),
            lambda: t.autograd.backward([y], [None]),
            lambda: t.autograd.backward([y, y], [t.ones(3)]),
            lambda: y.sum().backward(inputs=[]),
            lambda: y.sum().backward(inputs=t.ones(3)),
            lambda: t.autograd.grad(y.sum(), t.ones(3, requires_grad=True)),
            lambda: t.autograd.grad(y.sum(), t.ones(3)),
            lambda: t.autograd.grad(t.ones(1), x),
            lambda: t.autograd.grad(y, x),
            lambda: t.autograd.grad([y.sum(), y.sum()], x),
            lambda: t.autograd.grad((), x),
            lambda: t.autograd.grad(y.sum(), ()),
            lambda: y.backward(t.ones(3, dtype=t.int64)),
            lambda: y.backward(t.ones(3, dtype=t.float64)),
            lambda: y.backward(t.ones(3, dtype=t.complex64)),
            lambda: y.int().sum().backward(),
        )
    ]
