"""Small custom functions for either library, to be tried out by the facts."""

from __future__ import annotations


def leaf(T, *values, dtype=None):
    return T.tensor(list(values) or [1.0, 2.0], dtype=dtype or T.float64, requires_grad=True)


def function(T, forward, backward=None, **more):
    """A custom function from its parts."""
    members = {"forward": staticmethod(forward), **{name: staticmethod(member) for name, member in more.items()}}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("MyFn", (T.autograd.Function,), members)


def gradients(out, *inputs):
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return [x.grad for x in inputs]


def identity_backward(ctx, *g):
    return g if len(g) > 1 else g[0]


def returning_input(T, mark, change):
    def forward(ctx, x):
        if change:
            x.mul_(2)
        if mark:
            ctx.mark_dirty(x)
        return x

    return function(T, forward, lambda ctx, g: g * 3)


def saving(T, *extra):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

    return function(T, forward, backward)


def materializing(T, value):
    def forward(ctx, x):
        if value is not None:
            ctx.set_materialize_grads(value)
        return x * 2, x * 3

    def backward(ctx, g, h):
        ctx.seen = g, h
        return None if g is None else 2 * g

    return function(T, forward, backward)
