"""Facts about nodes: their names, what they save, and what can be done with them."""

from __future__ import annotations

from ._base import attempt, fact, leaf, names


@fact
def grad_fn_structure(t):
    x = leaf(t)
    y = x * 2 + x.exp()

    def walk(fn):
        return None if fn is None else (fn.name(), [walk(f) for f, _ in fn.next_functions])

    return walk(y.sum().grad_fn), y.grad_fn.next_functions[0][0].next_functions[0][0].variable is x


@fact
def names_in_graph(t):
    x = t.ones(2, 3, requires_grad=True)
    c = x.clone()
    c[0] = 5
    c.view(6)
    c.t().mul_(2)
    w = (x * 1).copy_(t.ones(2, 3, requires_grad=True))
    return (
        c.grad_fn.name(),
        c.grad_fn.next_functions[0][0].name(),
        w.grad_fn.name(),
        [None if f is None else f.name() for f, _ in w.grad_fn.next_functions],
        (x // 2).grad_fn.name(),
        type((x // 2).grad_fn).__name__,
    )


@fact
def node_metadata_again(t):
    y = leaf(t) * 2
    y.grad_fn.metadata["k"] = 5
    return y.grad_fn.metadata, (y * 2).grad_fn.next_functions[0][0].metadata["k"]


@fact
def node_attributes(t):
    y = leaf(t) * 2
    n = y.grad_fn
    return (
        n.name(),
        n._sequence_nr() >= 0,
        isinstance(n, t.autograd.graph.Node),
        hasattr(n, "register_hook"),
        hasattr(n, "register_prehook"),
        callable(n),
        attempt(lambda: n(t.ones(3))[0]),
        hash(n) == hash(n),
        n == y.grad_fn,
        n is y.grad_fn,
        issubclass(type(n), t.autograd.graph.Node),
    )


@fact
def node_called(t):
    x = leaf(t)
    y = x.exp()
    return [
        attempt(f)
        for f in (
            lambda: y.grad_fn(t.ones(3)),
            lambda: (x * 3).grad_fn(t.ones(3)),
            lambda: (x.sum()).grad_fn(t.tensor(2.0)),
            lambda: y.grad_fn(),
        )
    ]


@fact
def saved_after_free(t):
    x = t.ones(2, 3, requires_grad=True)
    y = x.sum(1, keepdim=True)
    z = x.exp()
    w = x.softmax(1)
    for o in (y, z, w):
        o.sum().backward()
    return (
        attempt(lambda: y.grad_fn._saved_keepdim),
        attempt(lambda: z.grad_fn._saved_result),
        attempt(lambda: w.grad_fn._saved_result),
        attempt(lambda: y.grad_fn._saved_dim),
        attempt(lambda: y.grad_fn._saved_self_sym_sizes),
    )


@fact
def saved_of_usual(t):
    x = t.ones(2, 3, requires_grad=True)
    a = t.ones(2, 3, requires_grad=True)
    return (
        (x * a).grad_fn._saved_self is x,
        (x * a).grad_fn._saved_other is a,
        (x**2).grad_fn._saved_exponent,
        (x**2).grad_fn._saved_self is x,
        x.sum(0).grad_fn._saved_dim,
        x.sum(0).grad_fn._saved_keepdim,
        x.exp().grad_fn._saved_result,
        x.softmax(1).grad_fn._saved_dim,
        x.var(1).grad_fn._saved_correction,
        x.transpose(0, 1).grad_fn._saved_dim0,
        x.reshape(6).grad_fn._saved_self_sym_sizes,
        x.expand(2, 2, 3).grad_fn._saved_self_sym_sizes,
        x[0].grad_fn._saved_index,
        x[0].grad_fn._saved_dim,
        x[:, 1:].grad_fn._saved_start,
        x[:, 1:].grad_fn._saved_end,
        x[:, 1:].grad_fn._saved_step,
        x.max(1)[0].grad_fn._saved_indices,
        x.gather(1, t.tensor([[0], [1]])).grad_fn._saved_index,
        x.index_select(1, t.tensor([0])).grad_fn._saved_index,
        x[t.tensor([0])].grad_fn._saved_indices,
        x.cumsum(1).grad_fn._saved_dim,
        x.mean().grad_fn._saved_self_sym_numel,
        x.squeeze(0).grad_fn._saved_dim,
        x.unsqueeze(1).grad_fn._saved_dim,
        x.permute(1, 0).grad_fn._saved_dims,
        (x + a).grad_fn._saved_alpha,
        t.stack([x, a]).grad_fn._saved_dim,
        t.cat([x, a]).grad_fn._saved_dim,
        x.split(1)[0].grad_fn._saved_split_size,
        x.split([1, 1])[0].grad_fn._saved_split_sizes,
        x.clamp(0, 2).grad_fn._saved_min,
        x.t().grad_fn.name(),
        x.as_strided((2,), (1,)).grad_fn._saved_size,
    )


@fact
def saved_of_layers(t):
    F = t.nn.functional
    c = t.ones(1, 1, 4, 4, requires_grad=True)
    w = t.ones(1, 1, 2, 2, requires_grad=True)
    y = F.conv2d(c, w, stride=2, padding=1)
    n = y.grad_fn
    return (
        n._saved_input is c,
        n._saved_weight is w,
        n._saved_stride,
        n._saved_padding,
        n._saved_dilation,
        n._saved_groups,
        n._saved_transposed,
        n._saved_output_padding,
        F.mse_loss(c, c).grad_fn._saved_reduction,
        F.layer_norm(c, (4,)).grad_fn._saved_input is c,
        F.embedding(t.tensor([0]), c[0, 0]).grad_fn._saved_padding_idx,
        F.nll_loss(c[0, 0], t.tensor([0, 1, 2, 3])).grad_fn._saved_reduction,
        F.dropout(c, 0.5).grad_fn.name(),
    )


@fact
def raw_saved(t):
    x = leaf(t)
    y = x * x
    r = y.grad_fn._raw_saved_self
    return (
        type(r).__name__,
        attempt(lambda: r.register_hooks(lambda v: v * 2, lambda v: v)),
        attempt(lambda: y.grad_fn._saved_self),
        attempt(lambda: r.register_hooks(lambda v: v, lambda v: v)),
        attempt(lambda: t.autograd.grad(y.sum(), x)),
    )


@fact
def edges_and_ownership(t):
    x = leaf(t)
    y = x * 2
    e = t.autograd.graph.get_gradient_edge(y)
    e2 = t.autograd.graph.get_gradient_edge(y)
    return (
        e == e2,
        len(e),
        e.output_nr,
        e._fields,
        t.autograd.grad(y.sum(), e),
        attempt(lambda: t.autograd.graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]),
    )


@fact
def set_grad_enabled_helpers(t):
    t._C._set_grad_enabled(False)
    a = t.is_grad_enabled()
    t._C._set_grad_enabled(True)
    return a, t.is_grad_enabled()


@fact
def kineto_helpers(t):
    return (
        hasattr(t.autograd, "kineto_available"),
        t.autograd.kineto_available() in (True, False),
        hasattr(t.autograd.profiler, "profile"),
        hasattr(t.autograd, "variable"),
        hasattr(t.autograd, "function"),
        hasattr(t.autograd, "grad_mode"),
        hasattr(t.autograd, "anomaly_mode"),
        hasattr(t.autograd, "profiler_util"),
        hasattr(t.autograd, "inference_mode"),
        hasattr(t.autograd, "gradgradcheck"),
        hasattr(t.autograd, "set_detect_anomaly"),
    )


@fact
def autograd_dir(t):
    wanted = [
        "Function",
        "Variable",
        "anomaly_mode",
        "backward",
        "detect_anomaly",
        "enable_grad",
        "forward_ad",
        "function",
        "functional",
        "grad",
        "grad_mode",
        "gradcheck",
        "gradgradcheck",
        "graph",
        "inference_mode",
        "no_grad",
        "profiler",
        "set_detect_anomaly",
        "set_grad_enabled",
        "set_multithreading_enabled",
        "variable",
    ]
    return [n for n in wanted if not hasattr(t.autograd, n)]


@fact
def nodes_of_several_results(t):
    a, found = t.arange(1.0, 5.0).requires_grad_(), []
    for f in (t.var_mean, t.std_mean, t.aminmax):
        for nr in range(2):
            result, seen = f(a)[nr], []
            result.grad_fn.register_prehook(lambda g, seen=seen: seen.append([one is None for one in g]))
            found.append((result.grad_fn.name(), result.output_nr, names(result.grad_fn.next_functions), t.autograd.grad(result, a), seen))
        (first,) = t.autograd.grad((f(a)[0] + f(a)[1]) ** 2, a, create_graph=True)
        found.append((first, t.autograd.grad(first.sum(), a)))
    return found


@fact
def edges_of_what_has_a_derivative(t):
    a, index = t.rand(4, 4, requires_grad=True), t.tensor([[0, 1]])
    made = (
        a.max(0)[0], a.sort()[0], a.topk(2)[0], a.cummax(0)[0], a.gather(0, index), t.where(a > 0, a, 1.0), a.median(0)[0], 2**a, a**2,
        a**a, a.masked_fill(a > 1, 0.0), t.nn.functional.nll_loss(a, t.tensor([0, 1, 2, 3])), a.index_select(0, index[0]), 2 * a, a + 1,
    )  # fmt: skip
    return [(y.grad_fn.name(), names(y.grad_fn.next_functions)) for y in made]


@fact
def hooks_in_the_order_of_edges(t):
    x, w, b = t.ones(1, 2, requires_grad=True), t.ones(3, 2, requires_grad=True), t.ones(3, requires_grad=True)
    y, seen = t.addmm(b, x, w.t()), []
    y.grad_fn.register_hook(lambda made, g: seen.append([list(one.shape) for one in made]))
    y.sum().backward()
    return seen, names(y.grad_fn.next_functions)
