"""Facts about `retain_grad`, hooks on several tensors, and how long hooks live."""

from __future__ import annotations

import gc
import weakref

from ._base import attempt, fact, leaf


@fact
def retain_grad_before_write(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).sum().backward()
    return y.grad, x.grad


@fact
def retain_grad_twice_written(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    y.retain_grad()
    y.mul_(7)
    (y * 3).sum().backward()
    return y.grad, x.grad


@fact
def retain_grad_of_base_and_view(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    v = y[:2]
    v.retain_grad()
    v.mul_(5)
    (y * 3).sum().backward()
    return y.grad, v.grad, x.grad


@fact
def retain_grad_of_view_of_base_written(t):
    x = leaf(t)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(5)
    (v * 3).sum().backward()
    return v.grad, x.grad


@fact
def retain_grad_hook_before_write(t):
    log = []
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.mul_(5)
    y.register_hook(lambda g: log.append(g.tolist()))
    y.sum().backward()
    return y.grad, x.grad, log


@fact
def retain_grad_accumulates(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return y.grad


@fact
def retain_grad_flags(t):
    x = leaf(t)
    y = x * 2
    before = x.retains_grad, y.retains_grad
    x.retain_grad()
    y.retain_grad()
    y.retain_grad()
    return before, x.retains_grad, y.retains_grad


@fact
def retain_grad_in_grad(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    found = t.autograd.grad(y.sum(), x)
    return y.grad, found


@fact
def retain_grad_create_graph(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    (y**2).sum().backward(create_graph=True)
    return y.grad, y.grad.requires_grad


@fact
def retain_grad_detach_(t):
    x = leaf(t)
    y = x * 2
    y.retain_grad()
    y.detach_()
    return y.retains_grad, y.requires_grad, y.is_leaf


@fact
def retain_grad_and_none_gradient(t):
    x = leaf(t)
    a, b, _c = x.unbind()
    b.retain_grad()
    a.backward()
    return b.grad


@fact
def grad_of_result_warns(t):
    import warnings

    y = leaf(t) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = y.grad
    return found, [(issubclass(w.category, UserWarning), str(w.message)[:45]) for w in caught]


@fact
def multi_grad_hook_all(t):
    seen = []
    a, b, c = leaf(t), leaf(t), leaf(t)
    y = a * 2
    handle = t.autograd.graph.register_multi_grad_hook((y, b, c), lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    (y * b).sum().backward()
    (a * 2 * b + c).sum().backward()
    (b + c).sum().backward()
    handle.remove()
    (b + c).sum().backward()
    return seen, type(handle).__name__


@fact
def multi_grad_hook_all_partly(t):
    seen = []
    a, b, c = leaf(t), leaf(t), leaf(t)
    t.autograd.graph.register_multi_grad_hook((a, b, c), lambda gs: seen.append([g is None for g in gs]))
    (a * b * c).sum().backward()
    (a * b).sum().backward()
    (a * c).sum().backward(inputs=[a])
    t.autograd.grad((a * b).sum(), [a])
    return seen


@fact
def multi_grad_hook_any(t):
    seen = []
    a, b = leaf(t), leaf(t)
    y = a * 2
    z = y * b
    t.autograd.graph.register_multi_grad_hook((a, y, z), lambda g: seen.append(g.tolist()), mode="any")
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    (a * 7).sum().backward()
    return seen


@fact
def multi_grad_hook_wrong_mode(t):
    x = leaf(t)
    return attempt(lambda: t.autograd.graph.register_multi_grad_hook((x,), lambda g: g, mode="some"))


@fact
def multi_grad_hook_on_constant(t):
    return attempt(lambda: t.autograd.graph.register_multi_grad_hook((t.ones(2),), lambda g: g))


@fact
def multi_grad_hook_any_error(t):
    x = leaf(t)

    def bad(g):
        raise ValueError("bad multi hook")

    t.autograd.graph.register_multi_grad_hook((x,), bad, mode="any")
    return attempt(lambda: x.sum().backward())


@fact
def multi_grad_hook_with_edges_of_one_node(t):
    seen = []
    x = leaf(t)
    a, _b, c = x.unbind()
    t.autograd.graph.register_multi_grad_hook((a, c), lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    (a * 2 + c * 3).backward(retain_graph=True)
    (a * 2).backward()
    return seen


@fact
def hooks_die_with_graph(t):
    class Token:
        pass

    token = Token()
    died = weakref.ref(token)
    x = leaf(t)
    y = x * 2
    y.register_hook(lambda g, token=token: None)
    y.grad_fn.register_hook(lambda i, o, token=token: None)
    y.grad_fn.register_prehook(lambda o, token=token: None)
    del token, y
    gc.collect()
    return died() is None


@fact
def hooks_die_with_leaf(t):
    class Token:
        pass

    token = Token()
    died = weakref.ref(token)
    x = leaf(t)
    x.register_hook(lambda g, token=token: None)
    x.register_post_accumulate_grad_hook(lambda p, token=token: None)
    del token, x
    gc.collect()
    return died() is None


@fact
def hook_survives_requires_grad_off(t):
    log = []
    x = leaf(t)
    x.register_hook(lambda g: log.append(1))
    x.requires_grad_(False)
    x.requires_grad_(True)
    x.sum().backward()
    return log


@fact
def hook_backward_inside_a_hook(t):
    log = []
    x, w = leaf(t), leaf(t)

    def hook(g):
        with t.enable_grad():
            (w * 2).sum().backward()
        log.append(w.grad.tolist())

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    return log, x.grad


@fact
def hook_writes_into_its_gradient(t):
    x, w = leaf(t), leaf(t)
    y = x * 2

    def hook(g):
        g.mul_(10)

    y.register_hook(hook)
    (y * w).sum().backward()
    return x.grad, w.grad


@fact
def hook_on_integers_and_complex(t):
    z = t.tensor([1 + 1j], requires_grad=True)
    seen = []
    z.register_hook(lambda g: seen.append(str(g.dtype)))
    z.abs().sum().backward()
    return seen


@fact
def hook_of_hooked_leaf_with_inputs_of_other(t):
    log = []
    x, w = leaf(t), leaf(t)
    x.register_hook(lambda g: log.append("x"))
    w.register_hook(lambda g: log.append("w"))
    (x * w).sum().backward(inputs=w)
    return log, x.grad, w.grad


@fact
def queue_callback(t):
    log = []
    x = leaf(t)
    engine = t.autograd.Variable._execution_engine
    x.register_hook(lambda g: engine.queue_callback(lambda: log.append("end")))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    (x * 2).sum().backward()
    return log, attempt(lambda: engine.queue_callback(lambda: None))


@fact
def retained_gradient_of_what_a_function_writes(t):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    found = []
    for made in (lambda x: x * 3, lambda x: (x * 3)[:2]):
        x = leaf(t)
        y = made(x)
        y.retain_grad()
        y.sum().backward(retain_graph=True)
        z = Twice.apply(y)
        found.append((z is y, y.grad))
        for _ in range(2):
            (z * 5).sum().backward(retain_graph=True)
            found.append((y.grad, x.grad))
    return found
