"""The steps by which PyTorch opens and closes a transform. Transforms are levels here (see `func`), so these are not there to be called."""

from __future__ import annotations

from typing import Any

from .._standing import refused
from .._tensor import Tensor
from ..func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = ["Tensor", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "tree_flatten", "tree_unflatten", "vjp", "vmap"]

_no_steps = refused("adjoint's transforms have no steps of their own to call; write torch.func.vmap(function)(...)")


@_no_steps
def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Any: ...


@_no_steps
def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Any: ...


@_no_steps
def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any: ...


@_no_steps
def _create_batched_inputs(flat_in_dims: Any, flat_args: Any, vmap_level: int, args_spec: Any) -> Any: ...


@_no_steps
def _process_batched_inputs(in_dims: Any, args: Any, func: Any) -> Any: ...


@_no_steps
def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Any) -> Any: ...


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


def _broadcast_to_and_flatten(tree: Any, treespec: Any, is_leaf: Any = None) -> list[Any] | None:
    """A tree spread over another, as a list of leaves; None if it does not fit."""
    from ..utils import _pytree

    return _pytree._broadcast_to_and_flatten(tree, treespec, is_leaf)


def _get_name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one example of a batch, inside `vmap`."""
    from ..func._batched import Batched

    return isinstance(tensor, Tensor) and isinstance(tensor._data, Batched)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: there is one kind of `vmap`."""
    return False
