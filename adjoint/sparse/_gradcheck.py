"""Functions of sparse tensors as functions of their values, for finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import wrap
from ._forms import is_sparse
from ._make import made, pattern_of


def dense_function(func: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the values in the places of sparse inputs, and those values."""
    patterns = [pattern_of(x) if is_sparse(x) else None for x in inputs]
    values = [wrap(x._data.values).requires_grad_(x.requires_grad) if is_sparse(x) else x for x in inputs]

    def of_values(*given: Any) -> Any:
        results = func(*(x if pattern is None else made(x, pattern) for x, pattern in zip(given, patterns, strict=True)))
        if isinstance(results, tuple | list):
            return tuple(map(as_dense, results))
        return as_dense(results)

    return of_values, tuple(values)


def as_dense(x: Any) -> Any:
    return x.to_dense() if is_sparse(x) else x
