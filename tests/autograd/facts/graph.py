"""Facts about `autograd.graph`: nodes, what they save, and edges."""

from __future__ import annotations

from ._base import attempt, fact, leaf, names

# ---- nodes --------------------------------------------------------------------------------------------------------------------------


@fact
def node_names(t):
    x = leaf(t)
    y = x.exp()
    a, b = x.split([1, 2])
    v = y[0:2]
    v.mul_(2)
    return [f.grad_fn.name() for f in (x * 2, y, a, b, x[0], x.view(3), x.sum(), x.sum(0), x @ x, t.stack([x, x]), t.cat([x, x]))]


@fact
def node_next_functions(t):
    x, w = leaf(t), leaf(t)
    c = t.ones(3)
    return [names(f.grad_fn.next_functions) for f in (x * w, x * c, c * x, x * 2, 2 * x, x + 1, x.exp() * x, t.stack([x, c]))]


@fact
def node_of_leaf(t):
    x = leaf(t)
    edge = (x * 2).grad_fn.next_functions[0][0]
    return edge.name(), edge.variable is x, names(edge.next_functions), type(edge).__name__, x.grad_fn is None


@fact
def node_is_instance(t):
    x = leaf(t)
    node = t.autograd.graph.Node
    y = x * 2
    return (
        isinstance(y.grad_fn, node),
        isinstance(y.grad_fn.next_functions[0][0], node),
        issubclass(type(y.grad_fn), node),
        isinstance(x, node),
    )


@fact
def node_identity(t):
    y = leaf(t) * 2
    z = y * 3
    return (
        y.grad_fn is y.grad_fn,
        z.grad_fn.next_functions[0][0] is y.grad_fn,
        y.grad_fn == y.grad_fn,
        len({y.grad_fn, z.grad_fn, y.grad_fn}),
    )


@fact
def node_metadata(t):
    y = leaf(t) * 2
    y.grad_fn.metadata["key"] = 3
    return y.grad_fn.metadata, isinstance(y.grad_fn.metadata, dict)


@fact
def node_output_nr(t):
    x = leaf(t)
    parts = x.unbind(0)
    return [p.output_nr for p in parts], x.output_nr, (x * 2).output_nr


@fact
def node_sequence_nr(t):
    x = leaf(t)
    a = x * 2
    b = x * 3
    return a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()


@fact
def node_saved_values(t):
    x, w = leaf(t), leaf(t, 2, 2, 2)
    node = (x * w).grad_fn
    s = x.sum(0).grad_fn
    return (
        node._saved_self,
        node._saved_other,
        node._saved_self is x,
        x.exp().grad_fn._saved_result,
        x.pow(3).grad_fn._saved_exponent,
        s._saved_dim[0] % 2**64 in (0,),
        s._saved_keepdim,
    )


@fact
def node_saved_none_when_not_needed(t):
    x = leaf(t)
    c = t.ones(3)
    node = (x * c).grad_fn
    return node._saved_self, node._saved_other


@fact
def node_saved_has_history(t):
    x = leaf(t)
    y = x * 2
    saved = (y * y).grad_fn._saved_self
    own = x.exp()
    return saved.grad_fn is y.grad_fn, saved.requires_grad, own.grad_fn._saved_result.grad_fn is own.grad_fn


@fact
def node_saved_after_free(t):
    x = leaf(t)
    y = x.exp()
    y.sum().backward()
    node = y.grad_fn
    return attempt(lambda: node._saved_result), attempt(lambda: (x * x).grad_fn._saved_self)


@fact
def node_raw_saved(t):
    x = leaf(t)
    node = (x * x).grad_fn
    raw = node._raw_saved_self
    return type(raw).__name__, hasattr(raw, "register_hooks"), attempt(lambda: node._raw_saved_other is not None)


@fact
def node_raw_saved_hooks(t):
    x = leaf(t)
    y = x * x
    log = []
    y.grad_fn._raw_saved_self.register_hooks(lambda s: log.append("pack") or s * 2, lambda s: log.append("unpack") or s)
    saved = y.grad_fn._saved_self
    y.sum().backward()
    return saved, x.grad, log


@fact
def node_raw_saved_hooks_twice(t):
    x = leaf(t)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda s: s, lambda s: s)
    return attempt(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda s: s, lambda s: s))


@fact
def node_raw_saved_hooks_wrong_arguments(t):
    raw = leaf(t).exp().grad_fn._raw_saved_result
    return attempt(lambda: raw.register_hooks(lambda s: s))[:10], attempt(lambda: raw.register_hooks(1, 1))[:10]


@fact
def node_raw_saved_hooks_after_free(t):
    x = leaf(t)
    y = x.exp()
    raw = y.grad_fn._raw_saved_result
    y.sum().backward()
    return attempt(lambda: raw.register_hooks(lambda s: s, lambda s: s))


@fact
def node_raw_saved_hooks_of_nothing(t):
    y = leaf(t) * t.ones(3)
    return attempt(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda s: s, lambda s: s))


@fact
def node_raw_saved_hooks_return_wrong_type(t):
    x = leaf(t)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda s: s, lambda s: "no")
    return attempt(lambda: y.sum().backward())


@fact
def node_raw_saved_pack_changes_its_input(t):
    x = leaf(t)
    y = x.exp()

    def pack(s):
        s.mul_(2)
        return s

    return attempt(lambda: y.grad_fn._raw_saved_result.register_hooks(pack, lambda s: s))


@fact
def node_raw_saved_on_leaf_is_not_a_copy(t):
    x = leaf(t)
    y = x * x
    seen = []
    y.grad_fn._raw_saved_self.register_hooks(lambda s: seen.append((s is x, s.requires_grad, s.is_leaf)) or s, lambda s: s)
    return seen


@fact
def custom_node_raw_saved(t):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = leaf(t)
    y = Twice.apply(x)
    raw = y.grad_fn._raw_saved_tensors
    raw[0].register_hooks(lambda s: s * 10, lambda s: s)
    y.sum().backward()
    return len(raw), x.grad, y.grad_fn.name(), attempt(lambda: y.grad_fn.saved_tensors)
