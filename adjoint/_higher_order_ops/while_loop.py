"""A loop as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """Replace the carried values by `body_fn(*carried)` as long as `cond_fn(*carried)` holds.

    >>> from adjoint._higher_order_ops import while_loop
    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, 2 * x), (ad.tensor(0), ad.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        following = body_fn(*carried)
        following = tuple(following) if isinstance(following, Sequence) else (following,)
        if len(following) != len(carried):
            raise RuntimeError(
                "Expected body_fn_output and carried_inputs to have same number of outputs "
                f"but got {len(following)} and {len(carried)}; return every carried value from body_fn"
            )
        carried = following
    return carried
