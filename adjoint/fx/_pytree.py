"""Nested arguments as flat lists, by a spec that says how they nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec, container_of

PyTree = Any
FlattenFuncSpec = Callable[[Any, TreeSpec], list[Any]]

SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: FlattenFuncSpec) -> None:
    """Say how objects of a class are taken apart as a spec has it."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: PyTree, spec: TreeSpec) -> list[Any]:
    """The leaves of nested arguments where the spec has leaves."""
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](pytree, spec)
    elif isinstance(pytree, dict):
        children = [pytree[key] for key in spec.context]
    else:
        container = container_of(pytree)
        if container is None:
            raise RuntimeError(
                f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
                "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any custom pytrees "
                "have been registered before loading it."
            )
        children = container.flatten_fn(pytree)[0]
    return [leaf for child, part in zip(children, spec.children_specs, strict=False) for leaf in tree_flatten_spec(child, part)]
