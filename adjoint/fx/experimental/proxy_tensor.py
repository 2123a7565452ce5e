"""What PyTorch has to trace a program op by op, its gradients included."""

from __future__ import annotations

from typing import Any

from ..._standing import refused


@refused(
    "make_fx records the ops of a backward pass too, and here that pass computes on arrays, where no ops are seen; "
    "torch.fx.symbolic_trace(f) makes a graph of the function itself"
)
def make_fx(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A graph of the ops that a function runs."""


def get_proxy_mode() -> None:
    """None: no program is traced op by op."""


def get_innermost_proxy_mode() -> None:
    """None: no program is traced op by op."""


def is_sym_node(node: Any) -> bool:
    """False: no size is a symbol."""
    return False
