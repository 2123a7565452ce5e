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


def warn_non_leaf(tensor: Tensor) -> None:
    site = here()
    if site in _told:
        return
    _told.add(site)
    fn = tensor.grad_fn
    made = f" It was made at {fn.site}." if isinstance(fn, Node) else ""
    warnings.warn_explicit(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated during "
        f"autograd.backward(). Call .retain_grad() on it before backward() if you want its gradient.{made}",
        NonLeafWarning,
        site.filename,
        site.line,
    )
