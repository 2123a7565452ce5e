"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ..._tensor import Tensor
from ...ops.join import cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another.

    >>> import adjoint as ad
    >>> ad.nn.utils.parameters_to_vector([ad.zeros(2), ad.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of the parts of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view(parameter.shape).data
        start = end
