"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor, wrap
from ._loss import reduced, reduction_of, require_floats
from ._registry import FUNCTIONS, Array
from .reduce import logsumexp

IMPOSSIBLE = -1e30  # the logarithm of a probability of zero. It is finite, so that no gradient becomes infinity minus infinity.


def as_lengths(name: str, lengths: Any, batch: int, most: int) -> Array:
    array = np.asarray(lengths._data if isinstance(lengths, Tensor) else lengths, np.int64).reshape(-1)
    if array.shape != (batch,):
        raise RuntimeError(f"{name} must be of size batch_size, which is {batch}, but got {array.size}")
    if array.size and array.max() > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {array.max()}")
    return array


def as_table(targets: Array, lengths: Array) -> Array:
    """The targets as one row for each sequence; they may also be given one after the other."""
    if targets.ndim == 2:
        return targets
    if targets.size != lengths.sum():
        raise RuntimeError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {targets.size} for argument #2 'targets'"
        )
    table = np.zeros((len(lengths), lengths.max(initial=0)), np.int64)
    for row, labels in zip(table, np.split(targets, np.cumsum(lengths)[:-1]), strict=True):
        row[: labels.size] = labels
    return table


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Array:
    """The negative log-probability of the targets, over all ways to spread them over time with blanks in between."""
    reduction = reduction_of(None, None, reduction)
    require_floats("ctc_loss_cpu", log_probs._data)
    if not 0 <= blank < log_probs.shape[-1]:
        raise RuntimeError(f"blank must be in label range, which is 0 to {log_probs.shape[-1] - 1}, but it is {blank}")
    single = len(log_probs.shape) == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, batch, _ = log_probs.shape
    times = as_lengths("input_lengths", input_lengths, batch, steps)
    numbers = targets._data.reshape(1, -1) if single else targets._data
    sizes = as_lengths("target_lengths", target_lengths, batch, numbers.shape[-1])
    losses = normalized(log_probs, times) - log_probability(log_probs, as_table(numbers, sizes), times, sizes, blank)
    losses = FUNCTIONS["where"](losses > -0.5 * IMPOSSIBLE, 0.0 if zero_infinity else float("inf"), losses)
    if reduction == "mean":
        losses = losses / wrap(np.maximum(sizes, 1)).to(losses.dtype)
    return reduced(losses[0] if single and reduction == "none" else losses, reduction)


def normalized(log_probs: Array, times: Array) -> Array:
    """Zeros whose derivatives are the probabilities: PyTorch's gradient is that by the values before a `log_softmax`."""
    within = wrap(np.arange(log_probs.shape[0])[:, None, None] < times[:, None])
    total = FUNCTIONS["where"](within, log_probs.exp(), 0.0).sum((0, 2))
    return total - total.detach()


def log_probability(log_probs: Array, labels: Array, times: Array, sizes: Array, blank: int) -> Array:
    """Follow the probabilities of all prefixes of `blank, label, blank, label, ..., blank` through time."""
    batch, longest = labels.shape
    path = np.full((batch, 2 * longest + 1), blank)
    path[:, 1::2] = labels
    # A blank between two labels may be left out if they differ.
    skips = np.zeros(path.shape, bool)
    skips[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    emitted = log_probs.gather(2, wrap(np.broadcast_to(path, (log_probs.shape[0], *path.shape)).copy()))
    never = log_probs.new_full((batch, 2), IMPOSSIBLE)
    reached = np.zeros(path.shape, bool)
    reached[:, :2] = True
    alpha = FUNCTIONS["where"](wrap(reached), emitted[0], IMPOSSIBLE)
    for step in range(1, log_probs.shape[0]):
        before = FUNCTIONS["cat"]([never, alpha], 1)
        skipped = FUNCTIONS["where"](wrap(skips), before[:, :-2], IMPOSSIBLE)
        following = logsumexp(FUNCTIONS["stack"]([alpha, before[:, 1:-1], skipped]), 0) + emitted[step]
        alpha = FUNCTIONS["where"](wrap((step < times)[:, None]), following, alpha)
    ends = FUNCTIONS["cat"]([never[:, :1], alpha], 1)  # shifted by one: the last label of an empty target is nothing
    last = np.stack([2 * sizes + 1, 2 * sizes], axis=1)
    return logsumexp(ends.gather(1, wrap(last)), 1)
