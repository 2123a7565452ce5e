"""Gradients on their way to other processes: many small ones travel together, in buckets.

A message costs about as much as a few thousand numbers in it, so gradients are gathered up; but who waits for all of them sends nothing
while the backward pass goes on. Hence buckets of a limited size, in the order in which gradients come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._creation import zeros
from .._layout import is_dense
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad

MEGABYTE = 1 << 20
DEFAULT_CAP = 25 * MEGABYTE
DEFAULT_FIRST_CAP = MEGABYTE  # the first one is small, so that the first message leaves early


def assign(
    parameters: Sequence[Tensor], sparse: Sequence[bool], caps: Sequence[int], order: Sequence[int] | None = None
) -> list[list[int]]:
    """Which parameters, by their numbers, share a bucket: neighbours in `order` of the same dtype, until one has reached its cap.
    Bucket i has `caps[i]` bytes, further ones as many as the last. A sparse gradient has a bucket of its own."""
    made: list[list[int]] = []
    open_ones: dict[Any, list[Any]] = {}  # dtype -> [numbers, bytes, how many buckets of this dtype are full]
    for number in range(len(parameters)) if order is None else order:
        parameter = parameters[number]
        if sparse[number]:
            made.append([number])
            continue
        state = open_ones.setdefault(parameter.dtype, [[], 0, 0])
        state[0].append(number)
        state[1] += parameter.numel() * parameter.element_size()
        if state[1] >= caps[min(state[2], len(caps) - 1)]:
            made.append(state[0])
            open_ones[parameter.dtype] = [[], 0, state[2] + 1]
    made += [numbers for numbers, _, _ in open_ones.values() if numbers]
    return made if order is not None else sorted(made, key=min)


class Bucket:
    """One tensor for the gradients of some parameters, with a view for each, which lies in memory like its parameter."""

    def __init__(self, parameters: Sequence[Tensor], numbers: Sequence[int], sparse: bool) -> None:
        self.parameters, self.numbers, self.sparse = list(parameters), list(numbers), sparse
        self.missing = len(numbers)  # how many gradients have not come yet
        self.views: list[Any] = []
        self.buffer: Any = None  # of a sparse gradient: whatever has come
        if not sparse:
            with no_grad():
                self.buffer = zeros(sum(one.numel() for one in parameters), dtype=parameters[0].dtype)
                self.views = _views(self.buffer, self.parameters)


def _views(buffer: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    views, start = [], 0
    for one in parameters:
        end = start + one.numel()
        if one.is_contiguous() or not is_dense(one._data):
            views.append(buffer[start:end].view(one.shape))
        else:
            views.append(buffer.as_strided(one.shape, one.stride(), start))
        start = end
    return views


class GradBucket:
    """What a communication hook is given: the gradients of one bucket, in one tensor of one dimension."""

    def __init__(self, bucket: Bucket, index: int, count: int) -> None:
        self._bucket, self._index, self._count = bucket, index, count
        self._buffer = bucket.buffer

    def index(self) -> int:
        """The number of the bucket; 0 is the first that is full."""
        return self._index

    def is_last(self) -> bool:
        return self._index == self._count - 1

    def buffer(self) -> Tensor:
        """All gradients, one after the other."""
        return self._buffer  # type: ignore[no-any-return]

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor in the place of `buffer()`, for a hook that is called next."""
        if not isinstance(buffer, Tensor):
            raise TypeError(f"set_buffer(): expected a Tensor, not {type(buffer).__name__}")
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The same, with the shapes of the parameters: views of `buffer()`."""
        return [self._buffer] if self._bucket.sparse else _views(self._buffer, self._bucket.parameters)

    def parameters(self) -> list[Tensor]:
        return list(self._bucket.parameters)
