"""Embeddings: rows of a table, and sums of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import int32, int64
from .._layer import deepest, level_of
from .._site import here, warn
from .._tensor import Tensor, wrap
from ..autograd.grad_mode import no_grad
from ..autograd.views import check_writable, counter_of
from ..ops.count import isin
from ..ops.scatter import index_add
from ..ops.scatter_reduce import scatter_reduce
from ..ops.vector_norm import vector_norm
from . import _native


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that the numbers in `input` name. The row `padding_idx` gets no gradient.

    `sparse`: the gradient of `weight` is a sparse tensor of the rows that were used.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"embedding(): argument 'indices' (position 2) must be Tensor, not {type(input).__name__}")
    padding = _row(padding_idx, weight)
    if max_norm is not None:
        limit_norms(weight, input, max_norm, norm_type)
    return _rows(weight, input, padding, scale_grad_by_freq, sparse)


def _rows(weight: Tensor, input: Tensor, padding: int, scale_grad_by_freq: bool, sparse: bool) -> Tensor:
    if not sparse:
        return _native.embedding(weight, input, padding, scale_grad_by_freq)  # type: ignore[no-any-return]
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients\n  fix: sparse=False")
    from ..sparse._lookup import sparse_embedding

    return sparse_embedding(weight, input, padding)  # type: ignore[no-any-return]


def _row(padding_idx: int | None, weight: Tensor) -> int:
    if padding_idx is None:
        return -1
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def limit_norms(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, the rows that are about to be used and are longer than `max_norm`. Derivatives know nothing of it."""
    while (level := level_of(weight)) is not None:
        if level.hides_dimension:
            _limit_in_batch(weight, input, max_norm, norm_type)
            return
        weight = weight._data.value
    check_writable(weight, False)
    data = weight._data
    used = np.unique(deepest(input))
    norms = np.linalg.norm(data[used], norm_type, axis=1)
    long = norms > max_norm
    data[used[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(data.dtype)
    counter_of(weight).bump(here())


def _limit_in_batch(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    norms = vector_norm(weight.detach(), norm_type, 1, True)
    used = isin(wrap(np.arange(weight.shape[0])), input).unsqueeze(1)
    with no_grad():
        weight.mul_(np.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1.0))


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of the rows in each bag: a row of `input`, or the part of it that begins at each offset."""
    if weight.dtype is int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape "
            f"as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    starts = _starts(input, offsets)
    _check_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        limit_norms(weight, input, max_norm, norm_type)
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got "
            f"torch.{weight.dtype.scalar_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    _check_weights(per_sample_weights, weight, mode)
    padding = _padded_row(padding_idx, weight)
    bags, count = _bags(starts, math.prod(input.shape), include_last_offset and offsets is not None)
    flat = input._data.reshape(-1)[: len(bags)]
    _check_rows(flat, len(weight))
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)[: len(bags)]
    if padding is not None and not (kept := flat != padding).all():
        flat, bags = flat[kept], bags[kept]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[wrap(kept)]
    rows = _rows(weight, wrap(flat), -1, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    empty = weight.detach().new_zeros((count, weight.shape[1]))
    if mode == "max":
        places = wrap(np.broadcast_to(bags[:, None], (len(bags), weight.shape[1])).copy())
        return scatter_reduce(empty, 0, places, rows, "amax", include_self=False)  # type: ignore[no-any-return]
    total: Tensor = index_add(empty, 0, wrap(bags), rows)
    if mode == "sum":
        return total
    sizes = np.maximum(np.bincount(bags, minlength=count), 1).astype(weight._data.dtype)
    return total / wrap(sizes[:, None])


def _starts(input: Tensor, offsets: Tensor | None) -> Any:
    """Where the bags begin in the flattened input."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                f"found offsets of type {type(offsets)}"
            )
        return np.arange(input.shape[0]) * input.shape[1]
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    for name, given in (("indices", input), ("offsets", offsets)):
        if given.dtype not in (int64, int32):
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: "
                f"Long, Int; but got torch.{given.dtype.scalar_name}Tensor instead (while checking arguments for embedding_bag)\n"
                f"  fix: {name}.long()"
            )
    return offsets._data


def _check_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")


def _check_weights(per_sample_weights: Tensor | None, weight: Tensor, mode: str) -> None:
    if per_sample_weights is None:
        return
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"torch.{weight.dtype.scalar_name}Tensor does not equal torch.{per_sample_weights.dtype.scalar_name}Tensor "
            "(while checking arguments for embedding_bag)"
        )


def _padded_row(padding_idx: int | None, weight: Tensor) -> int | None:
    if padding_idx is None:
        return None
    rows = len(weight)
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
        )
    return padding_idx % rows


def _bags(starts: Any, length: int, include_last_offset: bool) -> tuple[Any, int]:
    """The bag of each element of the flattened input, and the number of bags. Elements after the last bag are left out."""
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {starts[0]}"
        )
    if starts.size and starts[-1] > length:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {starts[-1]}")
    starts, ends = (starts[:-1], starts[1:]) if include_last_offset else (starts, np.append(starts[1:], length))
    if (ends < starts).any():
        raise RuntimeError("offsets must not decrease, since a bag ends where the next one begins")
    return np.repeat(np.arange(len(starts)), ends - starts), len(starts)


def _check_rows(numbers: Any, rows: int) -> None:
    outside = (numbers < 0) | (numbers >= rows)
    if outside.any():
        place = int(outside.argmax())
        raise RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {numbers[place]}. "
            f"Index {place} of input takes value {numbers[place]} which is not in the valid range [0, {rows})"
        )
