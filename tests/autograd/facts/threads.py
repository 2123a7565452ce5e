"""Facts about threads, re-entrant passes and checkpoints."""

from __future__ import annotations

import threading
from importlib import import_module

from ._base import attempt, fact, leaf


def in_thread(action):
    seen = []
    th = threading.Thread(target=lambda: seen.append(attempt(action)))
    th.start()
    th.join()
    return seen[0]


def ckpt(t):
    return import_module(t.__name__ + ".utils.checkpoint")


@fact
def threads_grad_mode(t):
    with t.no_grad():
        a = in_thread(t.is_grad_enabled)
    t.set_grad_enabled(False)
    b = in_thread(t.is_grad_enabled)
    t.set_grad_enabled(True)
    in_thread(lambda: t.set_grad_enabled(False))
    return a, b, t.is_grad_enabled()


@fact
def threads_shared_leaf(t):
    x = leaf(t)
    ths = [threading.Thread(target=lambda: (x * 2).sum().backward()) for _ in range(10)]
    for th in ths:
        th.start()
    for th in ths:
        th.join()
    return x.grad


@fact
def threads_shared_graph_retained(t):
    x = leaf(t)
    y = (x * x).sum()
    ths = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(5)]
    for th in ths:
        th.start()
    for th in ths:
        th.join()
    return x.grad


@fact
def threads_shared_graph_freed(t):
    x = leaf(t)
    y = (x * x).sum()
    return in_thread(lambda: y.backward()), in_thread(lambda: y.backward())


@fact
def threads_grad_call(t):
    x = leaf(t)
    return in_thread(lambda: t.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum())


@fact
def threads_exception(t):
    class Bad(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("something")

    x = leaf(t)
    return in_thread(lambda: Bad.apply(x).sum().backward()), attempt(lambda: (x * 2).sum().backward()), x.grad


@fact
def threads_hooks(t):
    x = leaf(t)
    names = []
    x.register_hook(lambda g: names.append(threading.current_thread() is threading.main_thread()))
    in_thread(lambda: (x * 2).sum().backward())
    (x * 2).sum().backward()
    return names


@fact
def threads_backward_thread_is_callers(t):
    ids = []

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            ids.append(threading.get_ident())
            return g

    F.apply(leaf(t)).sum().backward()
    return ids[0] == threading.get_ident()


@fact
def threads_multithreading_flag(t):
    f = t.autograd.grad_mode.set_multithreading_enabled
    x = leaf(t)
    g = f(False)
    (x * 2).sum().backward()
    with f(True):
        (x * 2).sum().backward()
    f(True)
    return x.grad, hasattr(g, "clone"), t.autograd.set_multithreading_enabled is f


@fact
def threads_grad_mode_in_backward(t):
    seen = []

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(t.is_grad_enabled())
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(t.is_grad_enabled())
            return g

    x = leaf(t)
    F.apply(x).sum().backward()
    F.apply(x).sum().backward(create_graph=True)
    with t.no_grad():
        y = F.apply(x)
    return seen, y.requires_grad


@fact
def threads_anomaly(t):
    with t.autograd.detect_anomaly(check_nan=False):
        return in_thread(t.is_anomaly_enabled), t.is_anomaly_enabled()


@fact
def threads_default_dtype(t):
    return in_thread(lambda: str(t.get_default_dtype()))


@fact
def threads_saved_hooks(t):
    x = leaf(t)
    seen = []
    with t.autograd.graph.saved_tensors_hooks(lambda s: seen.append(1) or s, lambda s: s):
        in_thread(lambda: (x * x).sum().backward())
        (x * x).sum().backward()
    return len(seen), x.grad


@fact
def reentrant_in_backward(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x.detach().requires_grad_()
            with t.enable_grad():
                ctx.y = ctx.x**2
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with t.enable_grad():
                ctx.y.sum().backward()
            return ctx.x.grad * g

    x = leaf(t)
    F.apply(x).sum().backward()
    return x.grad


@fact
def reentrant_deep(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.x = x.detach()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.depth:
                with t.enable_grad():
                    x = ctx.x.requires_grad_()
                    F.apply(x, ctx.depth - 1).sum().backward()
            return g * 2, None

    x = leaf(t)
    F.apply(x, 300).sum().backward()
    return x.grad


@fact
def reentrant_same_leaf(t):
    x = leaf(t)

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            with t.enable_grad():
                (x * 10).sum().backward()
            return g

    F.apply(x).sum().backward()
    return x.grad


@fact
def reentrant_error(t):
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            with t.enable_grad():
                x = leaf(t)
                y = (x * x).sum()
                y.backward()
                y.backward()
            return g

    w = leaf(t)
    return attempt(lambda: F.apply(w).sum().backward()), w.grad


@fact
def reentrant_hook(t):
    x = leaf(t)
    z = leaf(t)

    def hook(g):
        with t.enable_grad():
            (z * 2).sum().backward()

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, z.grad


@fact
def reentrant_grad_mode(t):
    seen = []
    x = leaf(t)

    def hook(g):
        seen.append(t.is_grad_enabled())
        with t.enable_grad():
            z = leaf(t)
            t.autograd.grad((z * z).sum(), z, create_graph=True)
        seen.append(t.is_grad_enabled())

    y = x * 3
    y.register_hook(hook)
    y.sum().backward()
    return seen, t.is_grad_enabled()


@fact
def reentrant_callback(t):
    seen = []

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            t.autograd.Variable._execution_engine.queue_callback(lambda: seen.append("outer"))
            with t.enable_grad():
                z = leaf(t)
                y = z * 1
                y.register_hook(lambda g: t.autograd.Variable._execution_engine.queue_callback(lambda: seen.append("inner")))
                y.sum().backward()
            seen.append("between")
            return g

    F.apply(leaf(t)).sum().backward()
    return seen


@fact
def callback_outside(t):
    return attempt(lambda: t.autograd.Variable._execution_engine.queue_callback(lambda: None))


# ---- checkpoints ----


@fact
def ckpt_nested(t):
    cp = ckpt(t).checkpoint

    def run(depth, x):
        if depth == 0:
            return x.sin()
        return cp(run, depth - 1, x, use_reentrant=False).cos()

    x = leaf(t)
    run(6, x).sum().backward()
    return x.grad


@fact
def ckpt_nested_reentrant(t):
    cp = ckpt(t).checkpoint

    def run(depth, x):
        if depth == 0:
            return x.sin()
        return cp(run, depth - 1, x, use_reentrant=True).cos()

    x = leaf(t)
    run(6, x).sum().backward()
    return x.grad


@fact
def ckpt_counts(t):
    cp = ckpt(t).checkpoint
    n = [0]

    def f(x):
        n[0] += 1
        return x.exp().sin()

    x = leaf(t)
    y = cp(f, x, use_reentrant=False).sum()
    a = n[0]
    y.backward(retain_graph=True)
    b = n[0]
    y.backward()
    return a, b, n[0], x.grad


@fact
def ckpt_double_backward(t):
    cp = ckpt(t).checkpoint
    x = leaf(t)
    y = cp(lambda x: x**3, x, use_reentrant=False).sum()
    (g,) = t.autograd.grad(y, x, create_graph=True)
    return t.autograd.grad(g.sum(), x)


@fact
def ckpt_grad_reentrant(t):
    cp = ckpt(t).checkpoint
    x = leaf(t)
    y = cp(lambda x: x**3, x, use_reentrant=True).sum()
    return attempt(lambda: t.autograd.grad(y, x))


@fact
def ckpt_inputs_backward(t):
    cp = ckpt(t).checkpoint
    x = leaf(t)
    y = cp(lambda x: x**3, x, use_reentrant=False).sum()
    y.backward(inputs=[x])
    return x.grad


@fact
def ckpt_no_grad_inputs(t):
    cp = ckpt(t).checkpoint
    w = leaf(t)
    a = cp(lambda x: x * w, t.ones(3), use_reentrant=False).sum()
    a.backward()
    b = cp(lambda x: x * w, t.ones(3), use_reentrant=True).sum()
    return w.grad, b.requires_grad


@fact
def ckpt_policy(t):
    c = ckpt(t)
    P = c.CheckpointPolicy
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((ctx.is_recompute, str(op)))
        return P.MUST_SAVE if "exp" in str(op) else P.PREFER_RECOMPUTE

    x = leaf(t)
    y = c.checkpoint(
        lambda x: x.exp().sin().cos(), x, use_reentrant=False, context_fn=lambda: c.create_selective_checkpoint_contexts(policy)
    )
    y.sum().backward()
    return x.grad, seen


@fact
def ckpt_policy_list(t):
    c = ckpt(t)
    ops = [t.ops.aten.mm.default] if hasattr(t, "ops") else []
    w = t.eye(3).requires_grad_()
    y = c.checkpoint(lambda w: (w @ w).sin(), w, use_reentrant=False, context_fn=lambda: c.create_selective_checkpoint_contexts(ops))
    y.sum().backward()
    return w.grad


@fact
def ckpt_policy_names(t):
    P = ckpt(t).CheckpointPolicy
    return [p.name for p in P], [p.value for p in P]


@fact
def ckpt_early_stop(t):
    c = ckpt(t)
    n = []

    def f(x):
        y = x.exp()
        n.append("a")
        z = y * 2
        n.append("b")
        return z

    x = leaf(t)
    c.checkpoint(f, x, use_reentrant=False).sum().backward()
    first = list(n)
    n.clear()
    with c.set_checkpoint_early_stop(False):
        y = c.checkpoint(f, x, use_reentrant=False).sum()
    y.backward()
    return first, n, x.grad


@fact
def ckpt_kwargs(t):
    c = ckpt(t)
    x = leaf(t)
    y = c.checkpoint(lambda a, *, k: a * k, x, k=3.0, use_reentrant=False)
    y.sum().backward()
    return x.grad, attempt(lambda: c.checkpoint(lambda a, k: a, x, k=3.0, use_reentrant=True))[:40]


@fact
def ckpt_nontensor_outputs(t):
    c = ckpt(t)
    x = leaf(t)
    out = c.checkpoint(lambda a: (a * 2, 5, {"k": a * 3}, None), x, use_reentrant=False)
    (out[0].sum() + out[2]["k"].sum()).backward()
    r = c.checkpoint(lambda a: (a * 2, 5, None), x, use_reentrant=True)
    return x.grad, out[1], r[1], r[2]


@fact
def ckpt_mismatch(t):
    c = ckpt(t)
    n = [0]

    def f(x):
        n[0] += 1
        return x.exp() if n[0] == 1 else x.reshape(1, 3).exp() if n[0] == 2 else x

    x = leaf(t)
    y = c.checkpoint(f, x, use_reentrant=False).sum()
    return attempt(lambda: y.backward())


@fact
def ckpt_fewer_saved(t):
    c = ckpt(t)
    n = [0]

    def f(x):
        n[0] += 1
        return x.exp().sin() if n[0] == 1 else x.exp()

    x = leaf(t)
    y = c.checkpoint(f, x, use_reentrant=False).sum()
    return attempt(lambda: y.backward())


@fact
def ckpt_rng(t):
    c = ckpt(t)
    t.manual_seed(0)
    x = t.ones(100, requires_grad=True)
    y = c.checkpoint(lambda a: t.nn.functional.dropout(a, 0.5), x, use_reentrant=False)
    y.sum().backward()
    return bool((y == x.grad).all())


@fact
def ckpt_saved_hooks_inside(t):
    c = ckpt(t)
    seen = []
    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(lambda s: seen.append("p") or s, lambda s: seen.append("u") or s):
        y = c.checkpoint(lambda a: a.exp().sin(), x, use_reentrant=False)
    y.sum().backward()
    return seen


@fact
def ckpt_module_sequential(t):
    c = ckpt(t)
    t.manual_seed(0)
    x = leaf(t)
    fs = [lambda v: v.sin(), lambda v: v.exp(), lambda v: v * 2]
    y = c.checkpoint_sequential(fs, 2, x, use_reentrant=False)
    y.sum().backward()
    return x.grad


@fact
def ckpt_inplace(t):
    c = ckpt(t)
    x = leaf(t)

    def f(a):
        b = a.clone()
        b.mul_(0.5).exp_()
        return b.sin()

    c.checkpoint(f, x, use_reentrant=False).sum().backward()
    return x.grad


@fact
def ckpt_detached_output(t):
    c = ckpt(t)
    x = leaf(t)
    y = c.checkpoint(lambda a: a.exp().detach(), x, use_reentrant=False)
    z = c.checkpoint(lambda a: a.exp().detach(), x, use_reentrant=True)
    return y.requires_grad, z.requires_grad, attempt(lambda: z.sum().backward())


@fact
def ckpt_under_no_grad(t):
    c = ckpt(t)
    x = leaf(t)
    with t.no_grad():
        a = c.checkpoint(lambda v: v * 2, x, use_reentrant=False)
        b = c.checkpoint(lambda v: v * 2, x, use_reentrant=True)
    return a.requires_grad, b.requires_grad
