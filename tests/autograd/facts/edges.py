"""Facts about gradient edges and versions."""

from __future__ import annotations

from ._base import attempt, fact, leaf

# ---- gradient edges -----------------------------------------------------------------------------------------------------------------


@fact
def edge_of_result(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(y)
    leafs = t.autograd.graph.get_gradient_edge(x)
    return edge.node is y.grad_fn, edge.output_nr, leafs.node.name(), leafs.output_nr, edge[0] is y.grad_fn, type(edge).__name__


@fact
def edge_of_constant(t):
    return attempt(lambda: t.autograd.graph.get_gradient_edge(t.ones(2)))


@fact
def edge_of_wrong_type(t):
    return attempt(lambda: t.autograd.graph.get_gradient_edge(3))[:14]


@fact
def edge_of_several(t):
    x = leaf(t)
    parts = x.unbind()
    edges = [t.autograd.graph.get_gradient_edge(p) for p in parts]
    s = parts[0] * 2 + parts[2] * 5
    return [e.output_nr for e in edges], t.autograd.grad(s, edges, allow_unused=True)


@fact
def edge_as_input(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(y)
    z = (y * y).sum()
    del y
    return t.autograd.grad(z, [edge, x])


@fact
def edge_of_leaf_as_input(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge(x)
    return t.autograd.grad((x * 3).sum(), edge)


@fact
def edge_as_output(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(y)
    return t.autograd.grad(edge, x, grad_outputs=t.ones(3), retain_graph=True), attempt(lambda: t.autograd.grad(edge, x))


@fact
def edge_of_scalar_as_output(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge((x * x).sum())
    return attempt(lambda: t.autograd.grad(edge, x))


@fact
def edge_in_backward(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge(x * 2)
    t.autograd.backward(edge, t.ones(3))
    return x.grad


@fact
def edge_in_backward_inputs(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(x)
    t.autograd.backward(y.sum(), inputs=[edge])
    return x.grad


@fact
def edge_in_backward_inputs_of_result(t):
    x = leaf(t)
    y = x * 2
    edge = t.autograd.graph.get_gradient_edge(y)
    return attempt(lambda: t.autograd.backward((y * y).sum(), inputs=[edge])), x.grad, y.grad


@fact
def edge_unused_and_materialized(t):
    x, w = leaf(t), leaf(t)
    edge = t.autograd.graph.get_gradient_edge(w)
    return (
        attempt(lambda: t.autograd.grad((x * 3).sum(), edge)),
        attempt(lambda: t.autograd.grad((x * 3).sum(), edge, allow_unused=True)),
        attempt(lambda: t.autograd.grad((x * 3).sum(), edge, materialize_grads=True)),
    )


@fact
def edge_grad_output_shape(t):
    x = leaf(t)
    edge = t.autograd.graph.get_gradient_edge(x * 2)
    return attempt(lambda: t.autograd.grad(edge, x, grad_outputs=t.ones(2)))


@fact
def edge_survives_write(t):
    x = leaf(t)
    y = x * 2
    before = t.autograd.graph.get_gradient_edge(y)
    y.mul_(5)
    after = t.autograd.graph.get_gradient_edge(y)
    return before.node is after.node, t.autograd.grad(y.sum(), [before, after])


@fact
def increment_version(t):
    x = t.ones(3)
    y = t.ones(2)
    inc = t.autograd.graph.increment_version
    inc(x)
    inc((x, y))
    inc([y])
    return x._version, y._version


@fact
def increment_version_breaks_backward(t):
    x = leaf(t)
    y = x.exp()
    t.autograd.graph.increment_version(y)
    return attempt(lambda: y.sum().backward())


@fact
def increment_version_of_inference(t):
    with t.inference_mode():
        x = t.ones(2)
    return attempt(lambda: t.autograd.graph.increment_version(x))
