"""Samples of the functions that `torch` has at the top under the names of its native operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.samples import Make, Sample, samples


def rows(make: Make) -> dict[str, list[tuple[Any, ...]]]:
    """The calls of each function."""
    image, weight, bias = make(2, 4, 3, 3), make(4), make(4)
    a, b, sign = make(3, 4), make(3, 4), np.array([1, -1, 1])
    grid = make(2, 5, 5, 2, low=-0.9, high=0.9)
    return {
        "affine_grid_generator": [(make(2, 2, 3), [2, 1, 3, 4], False)],
        "batch_norm": [(image, weight, bias, None, None, True, 0.1, 1e-5, False)],
        "bilinear": [(make(3, 2), make(3, 4), make(5, 2, 4), make(5))],
        "binary_cross_entropy_with_logits": [(a, make(3, 4, low=0.1, high=0.9), None, None, 2)],
        "constant_pad_nd": [(a, [1, 2, -1, 0], 3.0)],
        "convolution": [
            (image, make(2, 4, 2, 2), make(2), [1, 1], [1, 0], [1, 1], False, [0, 0], 1),
            (image, make(4, 2, 2, 2), None, [2], [0], [1], True, [1], 1),
        ],
        "cosine_embedding_loss": [(a, b, sign, 0.2, 1)],
        "embedding": [(make(5, 3), np.array([0, 4, 4]))],
        "frobenius_norm": [(a, [0, 1], True)],
        "grid_sampler": [(image, grid, 0, 1, True)],
        "grid_sampler_2d": [(image, grid, 0, 0, False)],
        "grid_sampler_3d": [(make(1, 2, 3, 3, 3), make(1, 2, 2, 2, 3, low=-0.9, high=0.9), 0, 0, False)],
        "group_norm": [(image, 2, weight, bias)],
        "hinge_embedding_loss": [(make(3, low=0.1), sign, 3.0, 0)],
        "instance_norm": [(image, weight, bias, None, None, True, 0.1, 1e-5, False)],
        "kl_div": [(a, make(3, 4, low=0.1), 2)],
        "layer_norm": [(image, [3, 3])],
        "margin_ranking_loss": [(make(3), make(3), sign, 9.0, 1)],
        "norm_except_dim": [(image, 2, 1)],
        "nuclear_norm": [(a,), (make(2, 3, 4), [1, 2], True)],
        "poisson_nll_loss": [(a, make(3, 4, low=0.5), True, False, 1e-8, 1)],
        "rms_norm": [(image, [3], make(3), 1e-5)],
        "rrelu": [(make(3, 4, avoid=(0.0,)), 0.1, 0.4)],
        "triplet_margin_loss": [(a, b, make(3, 4), 9.0, 2.0, 1e-6, False, 1)],
    }


for _name in rows(Make("")):

    @samples(f"torch.{_name}", ours=_name, torch=_name)
    def native(make: Make) -> Iterator[Sample]:
        for arguments in rows(make)[make.name.removeprefix("torch.")]:
            yield Sample(*arguments)


def several_results(make: Make) -> Iterator[Sample]:
    image = make(2, 4, 3, 3)
    calls: dict[str, tuple[Any, ...]] = {
        "native_batch_norm": (image, make(4), make(4), None, None, True, 0.1, 1e-5),
        "native_layer_norm": (image, [3, 3], None, None, 1e-5),
        "native_group_norm": (image, make(4), make(4), 2, 4, 9, 2, 1e-5),
        "native_dropout": (image, 0.5, False),
        "native_channel_shuffle": (image, 2),  # which PyTorch cannot differentiate
    }
    yield Sample(*calls[make.name]).no_gradient()


for _name in ("native_batch_norm", "native_channel_shuffle", "native_dropout", "native_group_norm", "native_layer_norm"):
    samples(_name, ours=_name, torch=_name)(several_results)


@samples("torch.ctc_loss", ours="ctc_loss", torch="ctc_loss")
def unaligned(make: Make) -> Iterator[Sample]:
    scores = make(6, 2, 4)
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    # The gradient is, as PyTorch's, that by values before a log_softmax: differences of the loss itself are others.
    yield Sample(log_probs, np.array([[1, 2], [3, 3]]), np.array([6, 5]), np.array([2, 2]), 0, 2).only_values()
