"""Facts about graphs in memory, copies and pickles of tensors, and what is left of a graph."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

from ._base import attempt, fact, leaf


@fact
def graph_dies_with_result(t):
    x = leaf(t)
    y = x * 2
    z = y.exp()
    node, died = y.grad_fn, weakref.ref(y)
    known = weakref.ref(z)
    gc.disable()
    try:
        del y, z, node
        return died() is None, known() is None
    finally:
        gc.enable()


@fact
def saved_tensor_lives_with_graph(t):
    x = leaf(t)
    w = t.ones(3)
    died = weakref.ref(w)
    y = x * w
    del w
    before = died() is not None
    y.sum().backward()
    gc.collect()
    return before, x.grad


@fact
def deepcopy_of_leaf(t):
    x = leaf(t)
    x.sum().backward()
    c = copy.deepcopy(x)
    c.grad.mul_(5)
    return c.requires_grad, c.is_leaf, c, c.grad, x.grad, c is x


@fact
def deepcopy_of_result(t):
    y = leaf(t) * 2
    return attempt(lambda: copy.deepcopy(y)), copy.deepcopy(y.detach())


@fact
def deepcopy_of_parameter(t):
    p = t.nn.Parameter(t.ones(2))
    c = copy.deepcopy(p)
    both = copy.deepcopy([p, p])
    return (
        type(c).__name__,
        c.requires_grad,
        both[0] is both[1],
        copy.deepcopy(t.nn.Parameter(t.ones(2), requires_grad=False)).requires_grad,
    )


@fact
def deepcopy_of_views(t):
    x = t.ones(4)
    a, b = copy.deepcopy((x[0:2], x[1:3]))
    a[1] = 7
    return b


@fact
def deepcopy_of_leaf_hooks(t):
    log = []
    x = leaf(t)
    x.register_hook(lambda g: log.append(1))
    c = copy.deepcopy(x)
    c.sum().backward()
    return log


@fact
def copy_of_tensors(t):
    x = leaf(t)
    c = copy.copy(x)
    y = attempt(lambda: copy.copy(x * 2).requires_grad)
    return c is x, c.requires_grad, c.data_ptr() == x.data_ptr(), y


@fact
def pickle_of_leaf(t):
    x = leaf(t)
    x.sum().backward()
    c = pickle.loads(pickle.dumps(x))
    return c.requires_grad, c, c.grad, c.is_leaf


@fact
def pickle_of_result(t):
    y = leaf(t) * 2
    c = attempt(lambda: pickle.loads(pickle.dumps(y)).requires_grad)
    return c, attempt(lambda: pickle.loads(pickle.dumps(y)).is_leaf), attempt(lambda: pickle.loads(pickle.dumps(y.detach())).requires_grad)


@fact
def pickle_of_parameter(t):
    p = t.nn.Parameter(t.ones(2))
    c = pickle.loads(pickle.dumps(p))
    return type(c).__name__, c.requires_grad, c


@fact
def pickle_of_graph_objects(t):
    y = leaf(t) * 2
    return attempt(lambda: pickle.dumps(y.grad_fn))[:9]


@fact
def pickle_of_hooked_leaf(t):
    x = leaf(t)
    x.register_hook(lambda g: g)
    return attempt(lambda: pickle.loads(pickle.dumps(x)).requires_grad)


@fact
def numpy_of_recorded(t):
    x = leaf(t)
    return (
        attempt(x.numpy),
        attempt((x * 2).numpy),
        attempt(lambda: x.detach().numpy().tolist()),
        attempt(lambda: x.numpy(force=True).tolist()),
        attempt(x.tolist),
        attempt(lambda: float(x[0])),
        attempt(x[0].item),
    )


@fact
def tensor_of_tensor(t):
    x = leaf(t)
    y = t.tensor(x.detach())
    return (
        y.requires_grad,
        t.as_tensor(x) is x,
        t.tensor(x.detach(), requires_grad=True).is_leaf,
        x.clone().requires_grad,
        x.new_tensor([1.0]).requires_grad,
    )


@fact
def variable(t):
    v = t.autograd.Variable(t.ones(2), requires_grad=True)
    return (
        isinstance(v, t.autograd.Variable),
        isinstance(t.ones(1), t.autograd.Variable),
        v.requires_grad,
        type(v).__name__,
        attempt(lambda: t.autograd.Variable(leaf(t)).requires_grad),
        attempt(lambda: t.autograd.Variable(leaf(t) * 2).is_leaf),
    )


@fact
def grad_of_scalar_times(t):
    x = t.tensor(2.0, requires_grad=True)
    (d1,) = t.autograd.grad(x**4, x, create_graph=True)
    (d2,) = t.autograd.grad(d1, x, create_graph=True)
    (d3,) = t.autograd.grad(d2, x)
    return d1, d2, d3


@fact
def grad_create_graph_keeps_graph(t):
    x = leaf(t)
    y = x.exp().sum()
    t.autograd.grad(y, x, create_graph=True)
    t.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return attempt(lambda: t.autograd.grad(y, x))


@fact
def grad_create_graph_of_linear(t):
    x = leaf(t)
    (g,) = t.autograd.grad((x * 2).sum(), x, create_graph=True)
    return g.requires_grad, attempt(lambda: t.autograd.grad(g.sum(), x)), attempt(lambda: t.autograd.grad((x + g).sum(), x))


@fact
def grad_without_create_graph(t):
    x = leaf(t)
    (g,) = t.autograd.grad((x * x).sum(), x)
    return g.requires_grad, g.is_leaf


@fact
def partial_graph_is_freed_apart(t):
    x = leaf(t)
    a = x.exp()
    b, c = a.sin(), a.cos()
    b.sum().backward()
    return attempt(lambda: c.sum().backward())


@fact
def freed_only_what_ran(t):
    x, w = leaf(t), leaf(t)
    a = x.exp()
    y = a * w.sin()
    t.autograd.grad(y.sum(), a, retain_graph=False)
    return attempt(lambda: t.autograd.grad(a.sum(), x)[0].shape == x.shape), attempt(lambda: y.sum().backward())


@fact
def reentrant_backward(t):
    class Again(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x * ctx.x
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with t.enable_grad():
                ctx.y.sum().backward()
            return ctx.x.grad * g

    x = leaf(t)
    Again.apply(x).sum().backward()
    return x.grad


@fact
def tensor_backward_of_nonscalar_one_element(t):
    x = leaf(t, 3.0)
    y = (x * 2).view(1, 1)
    y.backward()
    return x.grad


@fact
def mixed_dtype_gradients(t):
    x = leaf(t)
    d = t.ones(3, dtype=t.float64, requires_grad=True)
    h = t.ones(3, dtype=t.float16, requires_grad=True)
    b = t.ones(3, dtype=t.bfloat16, requires_grad=True)
    (x * d * h * b).sum().backward()
    return [str(v.grad.dtype) for v in (x, d, h, b)]


@fact
def grad_dtype_after_cast(t):
    x = leaf(t)
    x.double().sum().backward()
    y = x.half().float()
    return str(x.grad.dtype), y.grad_fn.name(), x.to(t.float32) is x


@fact
def zero_grad_of_optimizers(t):
    p = t.nn.Parameter(t.ones(2))
    o = t.optim.SGD([p], lr=0.1)
    p.sum().backward()
    o.zero_grad(set_to_none=False)
    first = p.grad
    o.zero_grad()
    return first, p.grad


@fact
def leaf_grad_is_leaf(t):
    x = leaf(t)
    (x * 2).sum().backward()
    return x.grad.is_leaf, x.grad.requires_grad, x.grad.grad_fn is None


@fact
def grad_dtype_attribute(t):
    x = leaf(t)
    return attempt(lambda: str(x.grad_dtype)), attempt(lambda: str((x * 2).grad_dtype)), attempt(lambda: str(t.ones(2).grad_dtype))


@fact
def grad_dtype_assignment(t):
    x = leaf(t)
    x.grad_dtype = t.float64
    x.grad = t.ones(3, dtype=t.float64)
    y = leaf(t)
    y.grad_dtype = t.float16
    (y * 2).sum().backward()
    z = leaf(t)
    z.grad_dtype = None
    z.grad = t.ones(3, dtype=t.float16)
    return (
        str(x.grad.dtype),
        attempt(lambda: setattr(x, "grad", t.ones(3))),
        str(y.grad.dtype),
        str(z.grad.dtype),
        attempt(lambda: setattr(y * 2, "grad_dtype", t.float16)),
    )
