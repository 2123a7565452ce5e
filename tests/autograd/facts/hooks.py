"""Facts about hooks: their order, what they may return, and when they are called."""

from __future__ import annotations

import gc

from ._base import attempt, fact, leaf


@fact
def hook_order_of_result(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append("tensor 1"))
    y.grad_fn.register_prehook(lambda g: log.append("pre 1"))
    y.grad_fn.register_hook(lambda i, o: log.append("post 1"))
    y.register_hook(lambda g: log.append("tensor 2"))
    y.grad_fn.register_prehook(lambda g: log.append("pre 2"))
    y.grad_fn.register_hook(lambda i, o: log.append("post 2"))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    (y * 3).sum().backward()
    return log


@fact
def hook_order_of_leaf(t):
    log = []
    x = leaf(t)
    node = t.autograd.graph.get_gradient_edge(x).node
    node.register_hook(lambda i, o: log.append(("post", len(i), len(o), x.grad is None)))
    node.register_prehook(lambda g: log.append(("pre", x.grad is None)))
    x.register_hook(lambda g: log.append(("tensor", x.grad is None)))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", x.grad is None)))
    (x * 3).sum().backward()
    return log


@fact
def hook_order_in_grad(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append("tensor y"))
    y.grad_fn.register_prehook(lambda g: log.append("pre y"))
    y.grad_fn.register_hook(lambda i, o: log.append("post y"))
    x.register_hook(lambda g: log.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    node = t.autograd.graph.get_gradient_edge(x).node
    node.register_hook(lambda i, o: log.append("post x"))
    node.register_prehook(lambda g: log.append("pre x"))
    t.autograd.grad(y.sum(), x, retain_graph=True)
    log.append("--")
    t.autograd.grad(y.sum(), y)
    return log


@fact
def prehook_changes_captured(t):
    x = leaf(t)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    return t.autograd.grad(y.sum(), [y, x])


@fact
def tensor_hook_changes_captured(t):
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    return t.autograd.grad(y.sum(), [y, x])


@fact
def leaf_prehook_in_grad(t):
    x = leaf(t)
    node = t.autograd.graph.get_gradient_edge(x).node
    node.register_prehook(lambda g: (g[0] * 10,))
    first = t.autograd.grad((x * 2).sum(), x)
    (x * 2).sum().backward()
    return first, x.grad


@fact
def backward_inputs_and_hooks(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append("y"))
    x.register_hook(lambda g: log.append("x"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y.sum().backward(inputs=[x], retain_graph=True)
    log.append("--")
    y.sum().backward(inputs=[y])
    return log, x.grad, y.grad


@fact
def retain_grad_sees_hook_results(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return y.grad, x.grad


@fact
def retain_grad_does_not_see_prehook(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: (g[0] * 10,))
    y.sum().backward()
    return y.grad, x.grad


@fact
def hook_result_none(t):
    x = leaf(t)
    x.register_hook(lambda g: None)
    x.sum().backward()
    return x.grad


@fact
def hook_wrong_results(t):
    found = []
    for result in (3, "a", [1.0], lambda g: g):
        x = leaf(t)
        x.register_hook(lambda g, result=result: result)
        found.append(attempt(lambda x=x: (x * 2).sum().backward()))
    return found


@fact
def hook_wrong_shape(t):
    x = leaf(t)
    x.register_hook(lambda g: g[:2])
    return attempt(lambda: (x * 2).sum().backward())


@fact
def hook_wrong_dtype(t):
    x = leaf(t)
    x.register_hook(lambda g: g.double())
    return attempt(lambda: (x * 2).sum().backward())


@fact
def hook_wrong_dtype_int(t):
    x = leaf(t)
    x.register_hook(lambda g: g.long())
    return attempt(lambda: (x * 2).sum().backward())


@fact
def hook_not_callable(t):
    x = leaf(t)
    x.register_hook(3)
    return attempt(lambda: x.sum().backward())


@fact
def hook_on_constant(t):
    x = t.ones(2)
    return (
        attempt(lambda: x.register_hook(lambda g: g)),
        attempt(lambda: x.register_post_accumulate_grad_hook(lambda g: g)),
        attempt(x.retain_grad),
    )


@fact
def post_accumulate_on_result(t):
    y = leaf(t) * 2
    return attempt(lambda: y.register_post_accumulate_grad_hook(lambda g: g))


@fact
def post_accumulate_must_return_none(t):
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: 3)
    return attempt(lambda: x.sum().backward()), x.grad


@fact
def post_accumulate_order_and_identity(t):
    log = []
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: log.append(("a", p is x)))
    handle = x.register_post_accumulate_grad_hook(lambda p: log.append(("b", p is x)))
    x.sum().backward()
    handle.remove()
    x.sum().backward()
    return log


@fact
def post_accumulate_once_for_all_paths(t):
    log = []
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    ((x * 2) + (x * 3) + x).sum().backward()
    return log


@fact
def post_accumulate_may_clear_grad(t):
    x = leaf(t)

    def clear(p):
        p.grad = None

    x.register_post_accumulate_grad_hook(clear)
    x.sum().backward()
    return x.grad


@fact
def post_accumulate_not_in_grad(t):
    log = []
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: log.append(1))
    t.autograd.grad(x.sum(), x)
    return log


@fact
def post_accumulate_when_undefined(t):
    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    log = []
    x = leaf(t)
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    x.register_hook(lambda g: log.append(g is None))
    Nothing.apply(x).sum().backward()
    return log, x.grad


@fact
def post_hook_changes_inputs(t):
    x, w = leaf(t), leaf(t)
    y = x * w
    y.grad_fn.register_hook(lambda i, o: (i[0] * 10, i[1] * 100))
    y.sum().backward()
    return x.grad, w.grad


@fact
def post_hook_wrong_count(t):
    y = leaf(t) * 2
    y.grad_fn.register_hook(lambda i, o: (i[0], i[0], i[0], i[0]))
    return attempt(lambda: y.sum().backward())


@fact
def post_hook_single_tensor(t):
    x = leaf(t)
    y = x.exp()
    y.grad_fn.register_hook(lambda i, o: i[0] * 2)
    found = attempt(lambda: y.sum().backward())
    return found, None if x.grad is None else (x.grad / x.exp())


@fact
def post_hook_wrong_type(t):
    y = leaf(t).exp()
    y.grad_fn.register_hook(lambda i, o: ("a",))
    return attempt(lambda: y.sum().backward())


@fact
def post_hook_wrong_shape(t):
    y = leaf(t).exp()
    y.grad_fn.register_hook(lambda i, o: (i[0][:1],))
    return attempt(lambda: y.sum().backward())


@fact
def post_hook_returns_none_in_tuple(t):
    x = leaf(t)
    y = x.exp()
    y.grad_fn.register_hook(lambda i, o: (None,))
    return attempt(lambda: y.sum().backward()), x.grad


@fact
def prehook_changes_outputs(t):
    x = leaf(t)
    y = x * 2
    y.grad_fn.register_prehook(lambda o: (o[0] * 3,))
    y.sum().backward()
    return x.grad


@fact
def prehook_single_tensor(t):
    x = leaf(t)
    y = x * 2
    y.grad_fn.register_prehook(lambda o: o[0] * 3)
    found = attempt(lambda: y.sum().backward())
    return found, x.grad


@fact
def prehook_wrong_count(t):
    y = leaf(t) * 2
    y.grad_fn.register_prehook(lambda o: (o[0], o[0]))
    return attempt(lambda: y.sum().backward())


@fact
def prehook_none_in_tuple(t):
    x = leaf(t)
    y = x * 2
    y.grad_fn.register_prehook(lambda o: (None,))
    return attempt(lambda: y.sum().backward()), x.grad


@fact
def prehook_wrong_type(t):
    y = leaf(t) * 2
    y.grad_fn.register_prehook(lambda o: (3,))
    return attempt(lambda: y.sum().backward())


@fact
def node_hook_arguments(t):
    seen = []
    x, c = leaf(t), t.ones(3)
    y = x * c
    y.grad_fn.register_hook(lambda i, o: seen.append((type(i).__name__, [g is None for g in i], [g.tolist() for g in o])))
    y.grad_fn.register_prehook(lambda o: seen.append((type(o).__name__, len(o))))
    y.sum().backward()
    return seen


@fact
def node_hook_arguments_of_several_outputs(t):
    seen = []
    x = leaf(t)
    a, _b, c = x.unbind()
    a.grad_fn.register_hook(lambda i, o: seen.append(([g is None for g in i], [g is None for g in o])))
    a.grad_fn.register_prehook(lambda o: seen.append([g is None for g in o]))
    (a + c).backward()
    return seen, x.grad


@fact
def tensor_hook_of_unused_output(t):
    seen = []
    x = leaf(t)
    a, b, _c = x.unbind()
    b.register_hook(lambda g: seen.append("b"))
    a.register_hook(lambda g: seen.append("a"))
    (a * 2).backward()
    return seen


@fact
def tensor_hook_on_scalar_root(t):
    seen = []
    x = leaf(t)
    y = x.sum()
    y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    y.backward()
    return seen, x.grad


@fact
def hook_registered_twice(t):
    x = leaf(t)

    def double(g):
        return g * 2

    x.register_hook(double)
    x.register_hook(double)
    x.sum().backward()
    return x.grad


@fact
def hook_removed_inside_itself(t):
    log = []
    x = leaf(t)

    def once(g):
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda g: log.append("always"))
    x.sum().backward()
    x.sum().backward()
    return log


@fact
def hook_removes_the_next(t):
    log = []
    x = leaf(t)
    x.register_hook(lambda g: handle.remove())
    handle = x.register_hook(lambda g: log.append("next"))
    x.sum().backward()
    x.sum().backward()
    return log


@fact
def hook_registered_inside_a_hook(t):
    log = []
    x = leaf(t)

    def outer(g):
        log.append("outer")
        x.register_hook(lambda g: log.append("inner"))

    x.register_hook(outer)
    x.sum().backward()
    first = list(log)
    x.sum().backward()
    return first, log


@fact
def hook_removed_twice(t):
    x = leaf(t)
    handle = x.register_hook(lambda g: g * 2)
    handle.remove()
    handle.remove()
    x.sum().backward()
    return x.grad


@fact
def hook_handle_after_tensor_died(t):
    x = leaf(t)
    handle = x.register_hook(lambda g: g)
    del x
    gc.collect()
    return attempt(handle.remove)


@fact
def hook_handle_context(t):
    x = leaf(t)
    with x.register_hook(lambda g: g * 2) as handle:
        x.sum().backward()
    x.sum().backward()
    return x.grad, type(handle).__name__


@fact
def hook_error_and_again(t):
    x = leaf(t)
    y = x.exp()

    def bad(g):
        raise ValueError("bad hook here")

    handle = y.register_hook(bad)
    first = attempt(lambda: y.sum().backward())
    handle.remove()
    second = attempt(lambda: y.sum().backward())
    return first, second, t.allclose(x.grad, x.exp())


@fact
def hook_error_in_leaf(t):
    x, w = leaf(t), leaf(t)

    def bad(g):
        raise IndexError("bad hook here")

    handle = x.register_hook(bad)
    first = attempt(lambda: (x * w).sum().backward())
    handle.remove()
    (x * 2).sum().backward()
    return first, x.grad, t.is_grad_enabled()


@fact
def hook_error_in_post_accumulate(t):
    x = leaf(t)

    def bad(p):
        raise IndexError("bad hook here")

    x.register_post_accumulate_grad_hook(bad)
    return attempt(lambda: x.sum().backward()), x.grad


@fact
def hook_error_in_node_hooks(t):
    found = []
    for kind in ("register_hook", "register_prehook"):
        y = leaf(t) * 2

        def bad(*_):
            raise IndexError("bad hook here")

        getattr(y.grad_fn, kind)(bad)
        found.append(attempt(lambda y=y: y.sum().backward()))
    return found


@fact
def hook_grad_mode(t):
    seen = []
    x = leaf(t)
    y = x**2
    y.register_hook(lambda g: seen.append((t.is_grad_enabled(), g.requires_grad)))
    y.sum().backward(create_graph=True)
    y = x**2
    y.register_hook(lambda g: seen.append((t.is_grad_enabled(), g.requires_grad)))
    y.sum().backward()
    return seen


@fact
def hook_gradient_under_create_graph(t):
    x = leaf(t)
    y = x**3
    y.register_hook(lambda g: g * x)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h


@fact
def hook_before_write(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: log.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: log.append(("after", g.tolist())))
    y.sum().backward()
    return log, x.grad


@fact
def hook_before_write_replaces(t):
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g: g * 100)
    y.mul_(5)
    y.sum().backward()
    return x.grad


@fact
def hook_on_view_before_write(t):
    log = []
    x = leaf(t)
    y = x * 2
    v = y[:2]
    v.register_hook(lambda g: log.append(("view", g.tolist())))
    y.register_hook(lambda g: log.append(("base", g.tolist())))
    v.mul_(5)
    y.sum().backward()
    return log, x.grad


@fact
def hook_on_view_after_write(t):
    log = []
    x = leaf(t)
    y = x * 2
    v = y[:2]
    v.mul_(5)
    v.register_hook(lambda g: log.append(("view", g.tolist())))
    y.register_hook(lambda g: log.append(("base", g.tolist())))
    y.sum().backward()
    return log, x.grad


@fact
def hook_on_leaf_made_result(t):
    log = []
    x = leaf(t)
    c = t.zeros(3)
    c.requires_grad_()
    c.register_hook(lambda g: log.append("leaf"))
    with t.no_grad():
        c.add_(1)
    (c * x).sum().backward()
    return log, c.grad


@fact
def hooks_of_results_that_lead_nowhere(t):
    found = []
    for made in (lambda x: x, lambda x: x * 2, lambda x: x.unbind()[1]):
        for outputs in (lambda y: [y], lambda y: [y, y * 3]):
            log = []
            x, other = leaf(t), leaf(t)
            y = made(x)
            y.register_hook(lambda g, log=log: log.append(g.tolist()))
            if not y.is_leaf:
                y.retain_grad()
            results = outputs(y)
            found.append(t.autograd.grad(results, [other], [t.ones_like(r) for r in results], allow_unused=True))
            found.append((log, y.grad))
    return found


@fact
def hooks_of_views_under_strides(t):
    found = []
    for view in (lambda x: x.mT, lambda x: x[0], lambda x: x.view(4), lambda x: x[1:]):
        x = t.arange(4.0).reshape(2, 2).requires_grad_()
        v = view(x)
        v.register_hook(lambda g: g * 2)
        v.as_strided((2,), (1,)).sum().backward()
        found.append(x.grad)
    return found


@fact
def node_hooks_see_what_was_asked_for(t):
    found = []
    for made in (lambda x, y: t.hypot(x, y), lambda x, y: x * y, lambda x, y: t.addcmul(x, x, y)):
        x, y = leaf(t), leaf(t) * 2
        z = made(x, y)
        z.grad_fn.register_hook(lambda gi, go: found.append([g is None for g in gi]))
        t.autograd.grad(z.sum(), [y], retain_graph=True)
        z.sum().backward(inputs=[x], retain_graph=True)
        z.sum().backward()
    return found
