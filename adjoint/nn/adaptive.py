"""Adaptive softmax: cheap probabilities of very many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._tensor import Tensor
from ..ops.join import cat
from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of a class: that of its cluster, and that of the class within the cluster.

    The classes, sorted by frequency, are cut at `cutoffs`. The frequent ones stand in the head, beside one entry for each cluster of rarer
    ones; a cluster sees a projection of the input that is `div_value` times smaller than that of the one before.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = cutoffs == sorted(set(cutoffs)) and all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 "
                "and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False), 1):
            hidden = int(in_features // div_value**number)
            layers = Linear(in_features, hidden, False, device, dtype), Linear(hidden, end - start, False, device, dtype)
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw new values."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target, and the mean of what they lack to 0."""
        single = target_.ndim == 0
        if target_.ndim == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.ndim != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.shape}")
        elif not single:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        elif input_.ndim != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.shape}")
        inputs, targets = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        low, high = (targets.min().item(), targets.max().item()) if targets.numel() else (0, 0)
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. "
            )
        # Where each target stands in the head: itself, or its cluster.
        places = targets.clone()
        within = inputs.new_zeros(targets.shape)
        for number, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            rows = ((targets >= start) & (targets < end)).nonzero().squeeze(1)
            if rows.numel():
                places[rows] = self.shortlist_size + number
                scores = F.log_softmax(self.tail[number](inputs.index_select(0, rows)), 1)
                found = scores.gather(1, (targets[rows] - start).unsqueeze(1)).squeeze(1)
                within = within.index_copy(0, rows, found)
        output = within + F.log_softmax(self.head(inputs), 1).gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for number, cluster in enumerate(self.tail, self.shortlist_size):
            parts.append(F.log_softmax(cluster(input), 1) + head[:, number].unsqueeze(1))
        return cat(parts, 1)  # type: ignore[no-any-return]

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class; clusters are looked into only where they win."""
        scores = self.head(input)
        output = scores.argmax(1)
        unsure = output >= self.shortlist_size
        if unsure.any():
            output[unsure] = self._get_full_log_prob(input[unsure], scores[unsure]).argmax(1)
        return output
