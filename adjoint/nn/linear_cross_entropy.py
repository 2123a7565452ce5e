"""A linear layer and cross entropy in one: the last two steps of a classifier with many classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from .._tensor import Tensor
from ..ops.cross_entropy import cross_entropy
from ..ops.matmul import linear


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch divides the work into chunks to save memory. Kept, but there is nothing to choose here."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`. Further sizes of the weight are dimensions of the target.

    >>> import adjoint as ad
    >>> ad.nn.functional.linear_cross_entropy(ad.ones(2, 3), ad.zeros(4, 3), ad.tensor([0, 1]))
    tensor(1.3863)
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}; flatten the leading dimensions first")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and {linear_weight.shape[-1]}, "
            "respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if len(outputs) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(prod(outputs), -1), bias).reshape(*input.shape[:-1], *outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(  # type: ignore[no-any-return]
        scores, target, weight=weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
