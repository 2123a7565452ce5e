"""Warnings about gradients. Each is given once per line of user code."""

from __future__ import annotations

import warnings
from types import CodeType
from typing import TYPE_CHECKING

from .._site import here
from .node import Node

if TYPE_CHECKING:
    from .._tensor import Tensor


class NonLeafWarning(UserWarning):
    """`.grad` of a tensor that does not keep it was read."""


_told: set[tuple[CodeType, int]] = set()


_scalars_told: list[bool] = []


def warn_of_scalar() -> None:
    """A number was taken out of a tensor with a history. Said once, as in PyTorch."""
    if not _scalars_told:
        _scalars_told.append(True)
        site = here()
        warnings.warn_explicit(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first, or tensor.item().",
            UserWarning,
            site.filename,
            site.line,
        )


def warn_of_cycle() -> None:
    """A gradient with a history, in a leaf that is part of the history. PyTorch says so once."""
    site = here()
    if site in _told:
        return
    _told.add(site)
    warnings.warn_explicit(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a "
        "memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make "
        "sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
        UserWarning,
        site.filename,
        site.line,
    )


def replaces_leaf(node: Node) -> bool:
    """Whether a node computed `w - lr * w.grad`: a leaf minus a constant, while the leaf has a gradient."""
    leaf = node.next[0] if len(node.next) == 1 else None
    return node.name() == "SubBackward0" and hasattr(leaf, "_grad") and leaf._grad is not None  # type: ignore[union-attr]


def warn_non_leaf(tensor: Tensor) -> None:
    site = here()
    if site in _told:
        return
    _told.add(site)
    from .._source import in_own_words, subtraction_in_place

    fn = tensor.grad_fn
    made = f" It was made at {fn.site}." if isinstance(fn, Node) else ""
    if isinstance(fn, Node) and replaces_leaf(fn):
        write = subtraction_in_place(fn.site) or "w -= lr * w.grad"
        made += f"\n  fix: {in_own_words(f'with torch.no_grad(): {write}')} on line {fn.site.line}, so that it stays a leaf"
    warnings.warn_explicit(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
        f"autograd.backward(). Call .retain_grad() on it before backward() if you want its gradient.{made}",
        NonLeafWarning,
        site.filename,
        site.line,
    )
