"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import float32, float64
from .._tensor import Tensor, wrap
from ._loss import reduced, reduction_of
from ._precision import INT64
from ._registry import FUNCTIONS, Array
from .reduce import logsumexp

IMPOSSIBLE = -1e30  # the logarithm of a probability of zero. It is finite, so that no gradient becomes infinity minus infinity.
WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def as_lengths(name: str, lengths: Any, batch: int) -> Array:
    data = lengths._data if isinstance(lengths, Tensor) else np.asarray(lengths, INT64 if not len(lengths) else None)
    if data.dtype.kind not in "iub":
        if isinstance(lengths, Tensor):
            raise RuntimeError(f"{name} must be integral; write {name}.long()")
        raise TypeError(f"ctc_loss(): argument '{name}' must be tuple of ints, but it is {lengths}")
    array = data.astype(INT64).reshape(-1)
    if array.shape != (batch,):
        raise RuntimeError(f"{name} must be of size batch_size, which is {batch}, but got {array.size}")
    if array.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {array.min()} {WHERE}")
    return array


def as_table(targets: Array, lengths: Array, blank: int) -> Array:
    """The targets as one row for each sequence; they may also be given one after the other. What follows a target is blank."""
    longest = int(lengths.max())
    if targets.ndim not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {WHERE}")
    within = np.arange(longest) < lengths[:, None]
    table = np.full(within.shape, blank)
    if targets.ndim == 2:
        wrong = (0, len(targets), f"size {len(lengths)}") if len(targets) != len(lengths) else None
        if wrong is None and targets.shape[1] < longest:
            wrong = 1, targets.shape[1], f"size at least {longest}"
    else:
        wrong = (0, targets.size, f"size {lengths.sum()}") if targets.size != lengths.sum() else None
    if wrong is not None:
        dim, size, expected = wrong
        raise RuntimeError(f"Expected tensor to have {expected} at dimension {dim}, but got size {size} for argument #2 'targets' {WHERE}")
    table[within] = targets[:, :longest][within] if targets.ndim == 2 else targets
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
    if not isinstance(targets, Tensor) or isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        raise TypeError(
            "ctc_loss() received an invalid combination of arguments: targets are a Tensor, the lengths two Tensors or two tuples of ints"
        )
    single = log_probs.ndim != 3
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3:
        found = f"{log_probs.ndim}-dimensional tensor"
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {found} for argument #1 'log_probs' {WHERE}")
    steps, batch, classes = log_probs.shape
    if not steps * batch * classes:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype not in (float32, float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.scalar_name}'")
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, which is 0 to {classes - 1}, but it is {blank}")
    times = as_lengths("input_lengths", input_lengths, batch)
    if times.max() > steps:
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {times.max()} {WHERE}")
    sizes = as_lengths("target_lengths", target_lengths, batch)
    labels = as_table(targets._data, sizes, blank)
    none = normalized(log_probs, times)
    losses = none - log_probability(log_probs, labels, times, sizes, blank)
    impossible = losses > -0.5 * IMPOSSIBLE
    # The reciprocal of zero is infinite and has no derivative, which is what PyTorch says of an infinite loss.
    infinite: Any = 0.0 if zero_infinity else 1 / FUNCTIONS["where"](impossible, none * 0, 1.0)
    losses = FUNCTIONS["where"](impossible, infinite, losses)
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
    emitted = log_probs.gather(2, wrap(np.broadcast_to(path, (log_probs.shape[0], *path.shape)).copy())).clamp(min=IMPOSSIBLE)
    never = log_probs.new_full((batch, 2), IMPOSSIBLE)
    reached, start = np.zeros(path.shape, bool), np.full(path.shape, IMPOSSIBLE)
    reached[times > 0, :2] = True
    start[times == 0, 0] = 0.0  # without a step nothing is said, and that for certain
    alpha = FUNCTIONS["where"](wrap(reached), emitted[0], wrap(start).to(emitted.dtype))
    for step in range(1, log_probs.shape[0]):
        before = FUNCTIONS["cat"]([never, alpha], 1)
        skipped = FUNCTIONS["where"](wrap(skips), before[:, :-2], IMPOSSIBLE)
        following = logsumexp(FUNCTIONS["stack"]([alpha, before[:, 1:-1], skipped]), 0) + emitted[step]
        alpha = FUNCTIONS["where"](wrap((step < times)[:, None]), following, alpha)
    ends = FUNCTIONS["cat"]([never[:, :1], alpha], 1)  # shifted by one: the last label of an empty target is nothing
    last = np.stack([2 * sizes + 1, 2 * sizes], axis=1)
    return logsumexp(ends.gather(1, wrap(last)), 1)
