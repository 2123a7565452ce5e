"""The steps by which PyTorch opens and closes a transform. Transforms are levels here (see `func`), so most are not there to
be called; those of `vmap` are in `func._vmap`."""

from __future__ import annotations

from typing import Any

from .._standing import refused
from .._tensor import Tensor
from ..func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from ..func._vmap import _add_batch_dim, _remove_batch_dim
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = [
    "Tensor", "_add_batch_dim", "_remove_batch_dim", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "tree_flatten",
    "tree_unflatten", "vjp", "vmap",
]  # fmt: skip

_no_steps = refused("adjoint's transforms have no steps of their own to call; write torch.func.vmap(function)(...)")


@_no_steps
def _wrap_tensor_for_grad(maybe_tensor: Any, level: int) -> Any: ...


@_no_steps
def get_unwrapped(tensor: Tensor) -> Any: ...


@_no_steps
def _vmap_increment_nesting(batch_size: int, randomness: str) -> Any: ...


@_no_steps
def _vmap_decrement_nesting() -> Any: ...


@_no_steps
def maybe_get_bdim(tensor: Tensor) -> Any: ...


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one example of a batch, inside `vmap`."""
    from ..func._batched import Batched

    return isinstance(tensor, Tensor) and isinstance(tensor._data, Batched)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one kind of `vmap`."""
    return False
