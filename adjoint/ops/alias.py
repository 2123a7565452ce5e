"""A view of a whole tensor."""

from __future__ import annotations

from ._registry import LEADING, LINEAR, Array, op


@op(view=True, method=False, function=False, jvp=LINEAR, batch=LEADING, input=lambda g: g)
def alias(input: Array) -> Array:
    """The tensor again, as another object on the same memory."""
    return input[...]


@op(view=True, method=False, function=False, jvp=LINEAR, batch=LEADING, nodes="Identity", input=lambda g: g)
def primal(input: Array) -> Array:
    """The same in forward mode, where it leaves the tangent behind."""
    return input[...]
