"""`backward` and `grad`: the two ways to ask for derivatives. Both check their arguments and run the one engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import GradientError, NoGradError, UnusedInputError
from .._site import here
from .._tensor import Tensor, wrap
from . import engine
from .views import edge_of

Tensors = Tensor | Sequence[Tensor]


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the derivatives of `tensors` with respect to the leaves (or `inputs`) to their `.grad`."""
    roots = as_tuple(tensors)
    gradients = seeds(roots, as_tuple(grad_tensors if grad_variables is None else grad_variables, len(roots)), create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        into_grad(roots, gradients, as_tuple(inputs), keep, create_graph)
        return
    engine.run([edge_of(t) for t in roots], gradients, keep_graph=keep, create_graph=create_graph, site=here())


def as_tuple(value: Any, length: int = 1) -> tuple[Any, ...]:
    if isinstance(value, Tensor) or value is None:
        return (value,) * (length if value is None else 1)
    return tuple(value)


def seeds(outputs: Sequence[Tensor], given: Sequence[Any], create_graph: bool) -> list[Any]:
    """The gradients with which the backward pass starts."""
    return [seed(place, out, g, create_graph) for place, (out, g) in enumerate(zip(outputs, given, strict=True))]


def seed(place: int, output: Tensor, given: Any, create_graph: bool) -> Any:
    if not output.requires_grad:
        raise NoGradError(f"element {place} of tensors does not require grad and does not have a grad_fn")
    if given is None:
        if output._data.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        ones = np.ones_like(output._data)
        return wrap(ones) if create_graph else ones
    return given if create_graph else given._data


def into_grad(roots: Sequence[Tensor], gradients: list[Any], inputs: Sequence[Tensor], keep: bool, create_graph: bool) -> None:
    raise GradientError("inputs")


