"""PyTorch's `torch.distributed.autograd`: gradients through calls of other processes, of which there are none."""

from __future__ import annotations

from typing import Any

from .._standing import refused

_no_calls = refused("adjoint's processes call no functions of each other; write loss.backward() and read parameter.grad", RuntimeError)


def is_available() -> bool:
    """False: there are no other processes to call."""
    return False


class DistAutogradContext:
    """The gradients of one backward pass through several processes. There is none."""


@_no_calls
class context:
    """A `with` block for such a pass."""


@_no_calls
def backward(context_id: int, roots: Any, retain_graph: bool = False) -> Any: ...


@_no_calls
def get_gradients(context_id: int) -> Any: ...
