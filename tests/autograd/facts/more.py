"""More facts: edges as keys, hooks on nodes of several kinds, gradients of gradients, and graphs after an error."""

from __future__ import annotations

import gc
import weakref

from ._base import attempt, fact, leaf, names


@fact
def edges_are_values(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge
    return edge(y) == edge(y), edge(x) == edge(x), edge(x) == edge(y), len({edge(x), edge(y), edge(x)}), len(edge(y)) >= 2


@fact
def edge_by_hand(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.GradientEdge(y.grad_fn, 0)
    return t.autograd.grad((y * y).sum(), edge)


@fact
def edge_keeps_graph_alive(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge(x.exp())
    gc.collect()
    return t.autograd.grad(edge, x, t.ones(3))


@fact
def edge_of_view_and_leaf(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge(x)
    died = weakref.ref(x)
    del x
    gc.collect()
    return edge.node.name(), died() is not None, edge.node.variable


@fact
def custom_node_api(t):
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, w):
            ctx.factor = factor
            ctx.save_for_backward(x, w)
            return x * factor * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * ctx.factor * w, None, g * ctx.factor * x

    x, w = leaf(t), leaf(t)
    y = Scaled.apply(x, 2.0, w)
    seen = []
    y.grad_fn.register_hook(lambda i, o: seen.append((len(i), [g is None for g in i], len(o))))
    y.grad_fn.register_prehook(lambda o: seen.append(len(o)))
    found = y.grad_fn.name(), names(y.grad_fn.next_functions), isinstance(y.grad_fn, t.autograd.graph.Node), y.grad_fn.factor
    y.sum().backward()
    return found, seen, x.grad, w.grad


@fact
def custom_node_post_hook_changes(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(t)
    y = Double.apply(x)
    y.grad_fn.register_hook(lambda i, o: (i[0] * 10,))
    y.grad_fn.register_prehook(lambda o: (o[0] * 3,))
    y.sum().backward()
    return x.grad


@fact
def grad_outputs_are_differentiable(t):
    x = leaf(t)
    v = leaf(t, 1.0, 1.0, 1.0)
    (g,) = t.autograd.grad(x**2, x, grad_outputs=v, create_graph=True)
    return t.autograd.grad(g.sum(), [v, x])


@fact
def grad_outputs_that_require_grad_without_create_graph(t):
    x = leaf(t)
    v = leaf(t, 1.0, 1.0, 1.0)
    (g,) = t.autograd.grad(x**2, x, grad_outputs=v)
    return g.requires_grad


@fact
def grad_outputs_with_none(t):
    x = leaf(t)
    return (
        t.autograd.grad([x.sum(), x * 2], [x], grad_outputs=[None, t.ones(3)]),
        attempt(lambda: t.autograd.grad([x.sum(), x * 2], [x], grad_outputs=[t.tensor(2.0), None])),
        attempt(lambda: t.autograd.grad([x.sum(), x.prod()], [x])),
        attempt(lambda: t.autograd.grad((x.sum(), x.prod()), (x,), (t.tensor(1.0), t.tensor(0.5)))),
    )


@fact
def order_of_branches(t):
    log = []
    x = leaf(t)
    a, b, c = x * 2, x * 3, x * 4
    for name, v in (("a", a), ("b", b), ("c", c)):
        v.register_hook(lambda g, name=name: log.append(name))
    (c + a + b).sum().backward()
    return log


@fact
def order_of_leaves(t):
    log = []
    leaves = [leaf(t) for _ in range(4)]
    for place, v in enumerate(leaves):
        v.register_post_accumulate_grad_hook(lambda p, place=place: log.append(place))
    total = leaves[0] * 1
    for v in leaves[1:]:
        total = total * v
    total.sum().backward()
    return log


@fact
def copy_flows(t):
    x = leaf(t)
    y = t.zeros(3)
    y.copy_(x * 2)
    z = t.zeros(2, 3)
    z[0] = x
    z[1, 1:] = x[:2]
    (y.sum() + (z * z).sum()).backward()
    return x.grad, z.grad_fn.name()


@fact
def masked_writes_flow(t):
    x = leaf(t)
    y = x * 1
    y[t.tensor([True, False, True])] = 0.0
    z = x * 1
    z.masked_fill_(t.tensor([False, True, False]), 5.0)
    w = x * 1
    w[t.tensor([0, 0])] = x[1:3]
    (y.sum() + z.sum()).backward()
    return x.grad, y.grad_fn.name(), z.grad_fn.name()


@fact
def inplace_on_shared_leaf_grad(t):
    x, w = leaf(t), leaf(t)
    g = t.ones(3)
    x.grad = g
    w.grad = g
    (x + w).sum().backward()
    return x.grad, w.grad, x.grad is w.grad


@fact
def backward_error_and_again(t):
    class Sometimes(t.autograd.Function):
        broken = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            if Sometimes.broken:
                raise ValueError("not now please")
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(t)
    y = Sometimes.apply(x)
    z = y.sum()
    first = attempt(z.backward)
    Sometimes.broken = False
    second = attempt(z.backward)
    return first, second, x.grad, t.is_grad_enabled()


@fact
def error_under_no_grad_keeps_mode(t):
    x = leaf(t)

    def bad(g):
        raise KeyError("bad")

    x.register_hook(bad)
    with t.no_grad():
        found = attempt(lambda: (x.detach().requires_grad_() * 1).sum().backward())
    with t.enable_grad():
        second = attempt(lambda: (x * 1).sum().backward(create_graph=True))
    return found, second, t.is_grad_enabled()


@fact
def grad_mode_in_custom_backward(t):
    seen = []

    class Look(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(t.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(t.is_grad_enabled())
            return g * 2

    x = leaf(t)
    Look.apply(x).sum().backward()
    Look.apply(x).sum().backward(create_graph=True)
    return seen


@fact
def detach_in_the_middle(t):
    x = leaf(t)
    y = x * 2
    z = y.detach() * x
    z.sum().backward()
    return x.grad, y.detach().is_leaf, y.detach().requires_grad_().is_leaf


@fact
def leaf_made_result_by_write(t):
    c = t.zeros(3)
    x = leaf(t)
    before = c.is_leaf
    c.add_(x)
    return before, c.is_leaf, c.requires_grad, attempt(lambda: c.requires_grad_(False)), attempt(lambda: c.detach_().requires_grad)


@fact
def write_of_no_grad_value_keeps_history(t):
    x = leaf(t)
    y = x * 2
    with t.no_grad():
        y.add_(1)
    y.sum().backward()
    return y, x.grad, y.grad_fn.name()


@fact
def nested_no_grad_views_and_writes(t):
    x = t.zeros(2, 2, requires_grad=True)
    with t.no_grad():
        x[0, 0] = 5
        x[1].fill_(7)
        x.view(-1)[1] = 3
    (x * x).sum().backward()
    return x, x.grad, x._version


@fact
def backward_through_stale_view_of_leaf(t):
    x = leaf(t)
    v = x[:2]
    with t.no_grad():
        x.mul_(10)
    (v * 3).sum().backward()
    return v, x.grad, v.grad_fn.name() in ("SliceBackward0", "AsStridedBackward0")


@fact
def complex_hook_and_accumulation(t):
    z = t.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    z.register_hook(lambda g: g * 2)
    (z * z.conj()).real.sum().backward()
    (z * z.conj()).real.sum().backward()
    x = leaf(t, 1.0, 2.0)
    (x * (1 + 2j)).abs().sum().backward()
    return z.grad, x.grad.dtype


@fact
def retain_graph_and_hooks_on_nodes(t):
    log = []
    x = leaf(t)
    y = x.exp()
    y.grad_fn.register_hook(lambda i, o: log.append("post"))
    y.sum().backward(retain_graph=True)
    t.autograd.grad(y.sum(), x, retain_graph=True)
    t.autograd.grad(y.sum(), y)
    return log


@fact
def prehook_of_root(t):
    x = leaf(t)
    y = (x * 2).sum()
    y.grad_fn.register_prehook(lambda o: (o[0] * 5,))
    y.backward()
    return x.grad


@fact
def hook_on_multiple_outputs_replaces(t):
    x = leaf(t)
    a, b, c = x.unbind()
    b.register_hook(lambda g: g * 100 if g is not None else None)
    (a + b + c).backward()
    return x.grad


@fact
def hook_gives_gradient_for_undefined(t):
    x = leaf(t)
    a, b, c = x.unbind()
    b.register_hook(lambda g: t.tensor(7.0) if g is None else g)
    return attempt((a + c).backward), x.grad


@fact
def grad_of_unused_with_materialize_and_graph(t):
    x, w = leaf(t), leaf(t)
    g = t.autograd.grad((x**2).sum(), [x, w], create_graph=True, materialize_grads=True)
    return g[1], g[1].requires_grad, g[0].requires_grad


@fact
def parameters_and_hooks(t):
    layer = t.nn.Linear(2, 1)
    with t.no_grad():
        layer.weight.fill_(1)
        layer.bias.fill_(0)
    layer.weight.register_hook(lambda g: g * 10)
    layer(t.ones(1, 2)).sum().backward()
    return layer.weight.grad, layer.bias.grad


@fact
def zero_dim_and_empty(t):
    e = t.zeros(0, requires_grad=True)
    e.sum().backward()
    s = t.tensor(3.0, requires_grad=True)
    (s * s).backward()
    return e.grad, s.grad, list(e.grad.shape)


@fact
def graph_is_freed_for_saved_tensors_only(t):
    x = leaf(t)
    y = x + 1
    z = y.sum()
    z.backward()
    return attempt(z.backward), x.grad


@fact
def long_chain_does_not_recurse(t):
    x = t.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.backward()
    first = x.grad
    del y
    return first


@fact
def bool_and_uint_results(t):
    x = leaf(t)
    return [(v.requires_grad, str(v.dtype)) for v in (x > 0, x.to(t.uint8), x.bool(), x.int(), x.to(t.complex64), x.bfloat16())]


@fact
def no_grad_on_class_and_call(t):
    @t.no_grad()
    class Model(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.enabled = t.is_grad_enabled()

        def forward(self, x):
            return t.is_grad_enabled()

    model = Model()
    return isinstance(Model, type), model.enabled, model(1)


@fact
def enable_grad_inside_inference(t):
    x = leaf(t)
    with t.inference_mode(), t.enable_grad():
        y = x * 2
        return t.is_grad_enabled(), y.requires_grad, y.is_inference()


@fact
def set_grad_enabled_forms(t):
    seen = []
    with t.set_grad_enabled(False):
        seen.append(t.is_grad_enabled())
    seen.append(t.is_grad_enabled())
    mode = t.set_grad_enabled(False)
    seen.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    with mode:
        seen.append(t.is_grad_enabled())
    seen.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    return seen


@fact
def removable_handles(t):
    x = leaf(t)
    a = x.register_hook(lambda g: g * 2)
    b = x.register_hook(lambda g: g * 3)
    return (
        a.id != b.id,
        isinstance(a, t.utils.hooks.RemovableHandle),
        isinstance((x * 2).grad_fn.register_hook(print), t.utils.hooks.RemovableHandle),
    )


@fact
def saved_hooks_with_double_backward_hooks(t):
    log = []
    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(lambda s: log.append("p") or s, lambda s: log.append("u") or s):
        y = (x**3).sum()
        (g,) = t.autograd.grad(y, x, create_graph=True)
    before = len(log)
    g.sum().backward()
    return x.grad, before > 1, len(log) > before


@fact
def saved_hooks_return_other_shape(t):
    x = leaf(t)
    with t.autograd.graph.saved_tensors_hooks(lambda s: s, lambda s: s[:1]):
        y = x.exp()
    y.sum().backward()
    return x.grad


@fact
def stale_views_can_be_looked_at(t):
    x = leaf(t)
    with t.no_grad():
        v = x[:2]
        x.mul_(2)
    parts = (x * 1).unbind()
    with t.no_grad():
        parts[0].zero_()
    return [(repr(s), s.tolist(), s.requires_grad, s.grad, attempt(lambda s=s: s.is_leaf)) for s in (v, parts[1])]


@fact
def numpy_in_no_grad(t):
    x = leaf(t)
    with t.no_grad():
        return x.numpy().tolist(), x[:2].numpy().tolist(), (x * 2).numpy().tolist(), repr(x[:1])


@fact
def views_of_inference_mode_used_outside(t):
    x = leaf(t)
    with t.inference_mode():
        v = x[:2]
    y = v * 2
    return v.requires_grad, y.requires_grad, names(y.grad_fn.next_functions), attempt(lambda: y.sum().backward()), x.grad
