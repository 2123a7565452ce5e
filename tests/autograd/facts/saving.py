"""Facts about hooks on what a graph saves."""

from __future__ import annotations

import gc
import weakref

from ._base import attempt, fact, leaf

# ---- saved tensor hooks -------------------------------------------------------------------------------------------------------------


def saving(t, pack, unpack):
    return t.autograd.graph.saved_tensors_hooks(pack, unpack)


@fact
def saved_hooks_change_the_gradient(t):
    x = leaf(t)
    with saving(t, lambda s: s * 2, lambda s: s):
        y = x * x
    y.sum().backward()
    return x.grad


@fact
def saved_hooks_pack_anything(t):
    x = leaf(t)
    with saving(t, lambda s: ("packed", s.tolist()), lambda p: t.tensor(p[1])):
        y = x.exp() * x
    y.sum().backward()
    return x.grad


@fact
def saved_hooks_counts(t):
    log = []
    x, w = leaf(t), t.ones(3)
    with saving(t, lambda s: log.append("p") or s, lambda s: log.append("u") or s):
        a = x * w
        b = x.exp()
        c = x + w
        d = x * 2
        e = x * x
    before = len(log)
    (a + b + c + d + e).sum().backward()
    return before, len(log) - before, x.grad


@fact
def saved_hooks_nest(t):
    log = []

    def named(name):
        return saving(t, lambda s: log.append("pack " + name) or s, lambda s: log.append("unpack " + name) or s)

    x = leaf(t)
    with named("outer"):
        a = x.exp()
        with named("inner"):
            b = a.exp()
        c = b.exp()
    d = c.exp()
    d.sum().backward()
    return log


@fact
def saved_hooks_not_under_no_grad(t):
    log = []
    x = leaf(t)
    with saving(t, lambda s: log.append("p") or s, lambda s: s), t.no_grad():
        x.exp()
    return log


@fact
def saved_hooks_not_for_constants(t):
    log = []
    with saving(t, lambda s: log.append("p") or s, lambda s: s):
        t.ones(3).exp()
    return log


@fact
def saved_hooks_error_in_pack(t):
    x = leaf(t)

    def pack(s):
        raise ValueError("bad pack")

    with saving(t, pack, lambda s: s):
        found = attempt(x.exp)
    return found, x.exp().grad_fn.name()


@fact
def saved_hooks_error_in_unpack(t):
    x = leaf(t)

    def unpack(s):
        raise ValueError("bad unpack")

    with saving(t, lambda s: s, unpack):
        y = x.exp()
    found = attempt(lambda: y.sum().backward()), attempt(lambda: y.grad_fn._saved_result)
    x.exp().sum().backward()
    return found, x.grad


@fact
def saved_hooks_unpack_wrong_type(t):
    x = leaf(t)
    with saving(t, lambda s: s, lambda s: 3):
        y = x.exp()
    return attempt(lambda: y.sum().backward())


@fact
def saved_hooks_pack_changes_its_input(t):
    x = leaf(t)

    def pack(s):
        return s.mul_(2)

    with saving(t, pack, lambda s: s):
        return attempt(x.exp)


@fact
def saved_hooks_wrong_arguments(t):
    def use():
        with saving(t, lambda: 1, lambda s: s):
            leaf(t).exp()

    return attempt(use)[:10]


@fact
def saved_hooks_unpack_at_every_read(t):
    log = []
    x = leaf(t)
    with saving(t, lambda s: s, lambda s: log.append("u") or s):
        y = x.exp()
    assert y.grad_fn._saved_result is not None and y.grad_fn._saved_result is not None
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return len(log), attempt(lambda: y.grad_fn._saved_result)


@fact
def saved_hooks_see_detached_output(t):
    seen = []
    x = leaf(t)
    with saving(t, lambda s: seen.append((s.requires_grad, s.is_leaf, s.grad_fn is None)) or s, lambda s: s):
        y = x.exp()
        z = y * y
    return seen, z.requires_grad


@fact
def saved_hooks_input_identity(t):
    seen = []
    x = leaf(t)
    with saving(t, lambda s: seen.append(s is x) or s, lambda s: s):
        x * x
    return seen


@fact
def saved_hooks_write_is_not_noticed(t):
    x = leaf(t)
    with saving(t, lambda s: s.clone(), lambda s: s):
        y = x * 1
        z = y * y
    y.add_(1)
    return attempt(lambda: z.sum().backward()), x.grad


@fact
def saved_hooks_write_to_output(t):
    x = leaf(t)
    with saving(t, lambda s: s.clone(), lambda s: s):
        y = x.exp()
    y.zero_()
    return attempt(lambda: y.sum().backward()), x.grad


@fact
def saved_hooks_write_identity_pack(t):
    x = leaf(t)
    with saving(t, lambda s: s, lambda s: s):
        y = x * 1
        z = y * y
    y.add_(1)
    return attempt(lambda: z.sum().backward()), x.grad


@fact
def saved_hooks_in_custom_function(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return 2 * x * g + 0 * y

    log = []
    x = leaf(t)
    with saving(t, lambda s: log.append("p") or s * 3, lambda s: log.append("u") or s):
        y = Square.apply(x)
    y.sum().backward()
    return log, x.grad


@fact
def saved_hooks_create_graph(t):
    x = leaf(t)
    with saving(t, lambda s: s, lambda s: s):
        y = x**3
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h


@fact
def saved_hooks_create_graph_of_output(t):
    x = leaf(t, 0.5)
    with saving(t, lambda s: s, lambda s: s):
        y = x.exp()
    (g,) = t.autograd.grad(y, x, create_graph=True)
    (h,) = t.autograd.grad(g, x)
    return g, h


@fact
def saved_hooks_create_graph_of_copies(t):
    x = leaf(t)
    with saving(t, lambda s: s.detach().clone(), lambda s: s):
        y = x**3
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.sum(), x)
    return g, h


@fact
def saved_hooks_inplace(t):
    x = leaf(t)
    with saving(t, lambda s: s.clone(), lambda s: s):
        y = x * 2
        y.exp_()
        y.mul_(y)
    y.sum().backward()
    return t.allclose(x.grad, 4 * t.exp(4 * x)), x.grad.shape == x.shape


@fact
def saved_hooks_of_several(t):
    log = []
    a, b = leaf(t), leaf(t)
    with saving(t, lambda s: log.append(list(s.shape)) or s, lambda s: s):
        t.cat([a, b]).sum()
        t.stack([a, b]).prod()
    return sorted(log)


@fact
def saved_hooks_in_modules(t):
    count = []
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 1))
    with t.no_grad():
        for p in model.parameters():
            p.fill_(0.1)
    x = t.ones(2, 3)
    with saving(t, lambda s: count.append(1) or s.clone(), lambda s: s):
        loss = model(x).pow(2).mean()
    loss.backward()
    plain_grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).pow(2).mean().backward()
    return len(count) > 3, all(t.allclose(a, p.grad) for a, p in zip(plain_grads, model.parameters(), strict=True))


@fact
def saved_hooks_do_not_keep_values(t):
    x = leaf(t)
    with saving(t, lambda s: s.tolist(), t.tensor):
        y = x * 2
        died = weakref.ref(y)
        z = y.cos()
    del y
    gc.collect()
    z.sum().backward()
    return died() is None, x.grad


@fact
def saved_hooks_outside_thread_state(t):
    x = leaf(t)
    hooks = saving(t, lambda s: s * 2, lambda s: s)
    with hooks:
        a = x * x
    b = x * x
    (a + b).sum().backward()
    return x.grad


@fact
def saved_hooks_exception_leaves_block(t):
    x = leaf(t)
    try:
        with saving(t, lambda s: s * 2, lambda s: s):
            raise KeyError
    except KeyError:
        pass
    (x * x).sum().backward()
    return x.grad


@fact
def saved_hooks_in_backward_with_create_graph(t):
    log = []
    x = leaf(t)
    y = x**3
    with saving(t, lambda s: log.append("p") or s, lambda s: s):
        (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return len(log) > 0, g


@fact
def disable_saved_hooks(t):
    x = leaf(t)
    with t.autograd.graph.disable_saved_tensors_hooks("not here"):
        inside = attempt(lambda: saving(t, lambda s: s, lambda s: s).__enter__())
        y = x.exp()
    y.sum().backward()
    with saving(t, lambda s: s, lambda s: s):
        within = attempt(lambda: t.autograd.graph.disable_saved_tensors_hooks("not now").__enter__())
    return inside, within, x.grad


@fact
def disable_saved_hooks_nested(t):
    off = t.autograd.graph.disable_saved_tensors_hooks
    with off("first"):
        with off("second"):
            inner = attempt(lambda: saving(t, lambda s: s, lambda s: s).__enter__())
        outer = attempt(lambda: saving(t, lambda s: s, lambda s: s).__enter__())
    with saving(t, lambda s: s, lambda s: s):
        pass
    return inner, outer


@fact
def disable_saved_hooks_as_decorator(t):
    @t.autograd.graph.disable_saved_tensors_hooks("decorated")
    def run():
        with saving(t, lambda s: s, lambda s: s):
            return 1

    return attempt(run)


@fact
def save_on_cpu(t):
    x = leaf(t)
    with t.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    same = x.grad.clone()
    x.grad = None
    (x * x).exp().sum().backward()
    return t.allclose(same, x.grad)


@fact
def save_on_cpu_is_hooks(t):
    return isinstance(t.autograd.graph.save_on_cpu(), t.autograd.graph.saved_tensors_hooks)


@fact
def mutation_allowed(t):
    a = t.ones(2, 3, requires_grad=True)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    return a.grad


@fact
def mutation_allowed_of_leaf(t):
    a = leaf(t)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        y = a * a
        with t.no_grad():
            a.mul_(10)
        y.sum().backward()
    return a.grad, a


@fact
def mutation_allowed_of_view(t):
    a = leaf(t)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        y = b * b
        b[0:2].zero_()
        (y.sum() + b.sum()).backward()
    return a.grad


@fact
def mutation_allowed_of_output(t):
    a = leaf(t, 0.0, 1.0)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        y = a.exp()
        s = y * 1
        y.zero_()
        s.sum().backward()
    return a.grad


@fact
def mutation_allowed_backward_outside(t):
    a = leaf(t)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        b = a.clone()
        y = (b * b).sum()
        b.zero_()
    return attempt(y.backward)


@fact
def mutation_allowed_nested(t):
    def use():
        with t.autograd.graph.allow_mutation_on_saved_tensors(), t.autograd.graph.allow_mutation_on_saved_tensors():
            pass

    return attempt(use)


@fact
def mutation_allowed_context_clear(t):
    a = leaf(t)
    with t.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        b = a.clone()
        y = (b * b).sum()
        b.zero_()
        ctx.clear()
        return attempt(y.backward)


@fact
def mutation_still_refused_outside(t):
    a = leaf(t)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        pass
    b = a.clone()
    y = (b * b).sum()
    b.zero_()
    return attempt(y.backward)


@fact
def saved_tensors_as_objects(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    saved = y.grad_fn._raw_saved_self
    found = [isinstance(saved, t.autograd.SavedTensor), saved.data, saved.unpack_hook]
    saved.register_hooks(lambda z: z * 2, lambda z: z / 2)
    found += [saved.data, saved.unpack_hook(t.ones(1))]
    y.sum().backward()
    z = x.exp()
    result = z.grad_fn._raw_saved_result  # in PyTorch it must not outlive its node
    return found, x.grad, saved.data, result.data.requires_grad, attempt(t.autograd.SavedTensor)


@fact
def threads_of_backward(t):
    found = [t.autograd.is_multithreading_enabled()]
    with t.autograd.set_multithreading_enabled(False):
        found.append(t.autograd.is_multithreading_enabled())
    return [*found, t.autograd.is_multithreading_enabled()]


@fact
def hooks_that_are_none(t):
    hooks = t.autograd.graph.saved_tensors_hooks
    left = attempt(lambda: hooks(lambda x: x, lambda x: x).__exit__(None, None, None))
    return left.split(":")[0], attempt(hooks(3, 4).__enter__)


@fact
def unpacked_once(t):
    x, counts, found = t.tensor([1.0, 2.0], requires_grad=True), [0, 0], []

    def pack(y):
        counts[0] += 1
        return y

    def unpack(y):
        counts[1] += 1
        return y

    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        for f in (lambda: x / x, lambda: x**x, lambda: t.where(x > 1, x, x), lambda: x * x, lambda: t.atan2(x, x), lambda: x.exp()):
            counts[:] = 0, 0
            f().sum().backward()
            found.append(list(counts))
    return found


@fact
def nodes_called_by_hand(t):
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    leaf_node = y.grad_fn.next_functions[0][0]
    found = [attempt(lambda: y.grad_fn(3)), attempt(lambda: y.grad_fn()), y.grad_fn(t.ones(2)), attempt(lambda: len(leaf_node(t.ones(2))))]
    return found, x.grad, attempt(lambda: t.autograd.graph.increment_version(3)), attempt(lambda: t.autograd.graph.increment_version([3]))


@fact
def modes_that_are_no_truth_values(t):
    return [
        attempt(f)
        for f in (lambda: t.set_grad_enabled("a"), lambda: t.set_grad_enabled(1), lambda: t.autograd.set_detect_anomaly("a"))
    ]


@fact
def contexts_that_swallow_errors(t):
    from contextlib import nullcontext, suppress
    from importlib import import_module

    checkpoint = import_module(f"{t.__name__}.utils.checkpoint").checkpoint

    def fails(x):
        raise ValueError("no")

    x = t.ones(1, requires_grad=True)
    return attempt(lambda: checkpoint(fails, x, use_reentrant=False, context_fn=lambda: (suppress(ValueError), nullcontext())))
