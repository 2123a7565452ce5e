"""Gradients sent as products of two thin matrices (Vogels, Karimireddy and Jaggi 2019, "PowerSGD").

A matrix M of n rows and m columns is sent as P = MQ and Q' = Mᵀorth(P), (n + m) r numbers instead of nm: one step of the power
iteration, which goes on from step to step with the last Q. What the product leaves out is added to the next gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._creation import zeros
from ..._dtype import bfloat16, float16
from ..._sampling import fork_rng, manual_seed, randn
from ..._tensor import Tensor
from ...futures import Future, finished
from ...ops.join import cat, stack
from .._buckets import GradBucket
from .._collectives import all_reduce
from .._groups import require
from ._hooks import average


class PowerSGDState:
    """How much is left out, and what is kept from step to step."""

    def __init__(
        self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000, min_compression_rate: float = 2,
        use_error_feedback: bool = True, warm_start: bool = True, orthogonalization_epsilon: float = 0, random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be "
                "applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.min_compression_rate = matrix_approximation_rank, min_compression_rate
        self.start_powerSGD_iter, self.iter = start_powerSGD_iter, 0
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}  # by bucket: what was left out
        self.q_memory_dict: dict[int, list[Tensor]] = {}  # by bucket: the last Q of each matrix
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """How many numbers there are for each that was sent; all numbers, and those that were sent."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = require(None)
        vars(self).update(state)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Send each gradient as two thin matrices if that is `min_compression_rate` times less, and the others as they are."""
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return average(buffer, state.process_group)
    wanted = _with_error(state, bucket, buffer)
    large: dict[tuple[int, ...], list[Tensor]] = {}
    small: list[Tensor] = []
    for gradient in bucket.gradients():
        matrix = gradient.reshape(gradient.shape[0] if gradient.ndim else 1, -1)
        n, m = matrix.shape
        sent = (n + m) * min(n, m, state.matrix_approximation_rank)
        pays = sent * state.min_compression_rate < n * m
        state.total_numel_before_compression += n * m
        state.total_numel_after_compression += sent if pays else n * m
        if pays:
            large.setdefault((n, m), []).append(gradient)
        else:
            small.append(gradient)
    if small:
        averages = average(cat([gradient.reshape(-1) for gradient in small]), state.process_group).wait()
        _copy_into(small, averages.split([gradient.numel() for gradient in small]))
    groups = [group for alike in large.values() for group in ([alike] if state.batch_tensors_with_same_shape else [[one] for one in alike])]
    batches = [stack([one.reshape(one.shape[0], -1) for one in group]) for group in groups]
    for group, products in zip(groups, _approximated(state, bucket.index(), batches), strict=True):
        _copy_into(group, products)
    return _finished(state, bucket, wanted, buffer)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Send all gradients of a bucket as those of one square matrix."""
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return average(buffer, state.process_group)
    side = math.ceil(math.sqrt(buffer.numel()))
    state.total_numel_before_compression += buffer.numel()
    state.total_numel_after_compression += side * state.matrix_approximation_rank * 2
    wanted = _with_error(state, bucket, buffer)
    square = cat([buffer, zeros(side * side - buffer.numel(), dtype=buffer.dtype)]).view(1, side, side)
    (product,) = _approximated(state, bucket.index(), [square])
    buffer.copy_(product.reshape(-1)[: buffer.numel()])
    return _finished(state, bucket, wanted, buffer)


def _with_error(state: PowerSGDState, bucket: GradBucket, buffer: Tensor) -> Tensor | None:
    """Add to the gradients what was left out of the last ones. Returns a copy, to see what will be left out now."""
    if not state.use_error_feedback:
        return None
    if bucket.index() in state.error_dict:
        buffer.add_(state.error_dict[bucket.index()])
    return buffer.clone()


def _finished(state: PowerSGDState, bucket: GradBucket, wanted: Tensor | None, buffer: Tensor) -> Future[Tensor]:
    if wanted is not None:
        state.error_dict[bucket.index()] = wanted - buffer
    state.maybe_increase_iter(bucket)
    return finished(buffer)


def _approximated(state: PowerSGDState, index: int, batches: list[Tensor]) -> list[Tensor]:
    """The average of matrices over processes, as far as thin ones tell; each batch is of matrices of the same shape."""
    if not batches:
        return []
    qs = state.q_memory_dict.get(index) if state.warm_start else None
    if qs is None:
        with fork_rng():
            manual_seed(int(state.rng.randint(1_000_000_000)))  # the same in all processes
            ranks = [min(*batch.shape[1:], state.matrix_approximation_rank) for batch in batches]
            qs = [randn(batch.shape[0], batch.shape[2], rank, dtype=batch.dtype) for batch, rank in zip(batches, ranks, strict=True)]
    qs = [_orthogonal(q, state.orthogonalization_epsilon) for q in qs]
    ps = _summed(state, [batch @ q for batch, q in zip(batches, qs, strict=True)])
    ps = [_orthogonal(p, state.orthogonalization_epsilon) for p in ps]
    qs = _summed(state, [batch.mT @ p for batch, p in zip(batches, ps, strict=True)])
    qs = [q / require(state.process_group).size() for q in qs]
    if state.warm_start:
        state.q_memory_dict[index] = qs
    return [p @ q.mT for p, q in zip(ps, qs, strict=True)]


def _summed(state: PowerSGDState, tensors: list[Tensor]) -> list[Tensor]:
    """Sums over processes, in one message."""
    whole = cat([tensor.reshape(-1) for tensor in tensors])
    all_reduce(whole, group=require(state.process_group))
    parts = whole.split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def _orthogonal(matrices: Tensor, epsilon: float) -> Tensor:
    """Matrices with orthonormal columns that span the same."""
    if matrices.shape[2] > 2 and matrices.dtype not in (float16, bfloat16):
        from ...linalg import qr

        return qr(matrices)[0]  # type: ignore[no-any-return]
    columns: list[Tensor] = []
    for column in matrices.unbind(2):
        for other in columns:
            column = column - (other * column).sum(1, keepdim=True) * other
        columns.append(column / (column.norm(dim=1, keepdim=True) + epsilon))
    return stack(columns, 2)  # type: ignore[no-any-return]


def _copy_into(targets: list[Tensor], values: Any) -> None:
    for target, value in zip(targets, values, strict=True):
        target.copy_(value.view(target.shape))
