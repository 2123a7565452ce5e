"""Convolution, pooling, resampling, normalisation and embedding, called through `nn.functional`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import adjoint.nn  # noqa: F401  (its ops enter the registry with it)

from . import Make, Sample, samples


def functional(function: str, *names: str, second_order: bool = True) -> Callable[[Any], Any]:
    """Samples of the ops behind a function of `nn.functional`."""
    path = f"nn.functional.{function}"
    return samples(*names, ours=path, torch=path, second_order=second_order)


@functional("conv2d", "convolution")
def convolution(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4, 5, 6), make(6, 4, 3, 2), make(6))
    yield Sample(make(2, 4, 6, 5), make(6, 2, 3, 2), None, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    yield Sample(make(4, 5, 5), make(2, 4, 1, 1), make(2))
    yield Sample(make(1, 2, 4, 4), make(2, 2, 3, 3), None, padding="same")


@functional("conv_transpose2d", "convolution_transposed")
def transposed_convolution(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3, 3), make(4, 3, 3, 2), make(3))
    yield Sample(make(1, 4, 3, 3), make(4, 2, 3, 3), None, stride=2, padding=1, output_padding=1, groups=2)
    for count, groups in ((1, 1), (2, 1), (2, 2)):  # output padding without a stride: places that no kernel reaches
        yield Sample(make(count, 4, 3, 2), make(4, 2, 1, 1), None, output_padding=1, groups=groups, dilation=2)


@samples("convolution_weight")
def convolution_weight(make: Make) -> Iterator[Sample]:
    # The gradient of a convolution with respect to its weight; PyTorch has no function for it.
    yield Sample(make(2, 4, 5, 5), make(2, 6, 3, 3), (3, 3), (1, 1), (0, 0), (1, 1), 1).not_in_torch()
    yield Sample(make(2, 4, 5, 5), make(2, 6, 3, 3), (3, 3), (2, 2), (1, 1), (1, 1), 2).not_in_torch()


def distinct(make: Make, *shape: int) -> np.ndarray:
    """Values of which no two are close: a difference does not change which is the largest."""
    size = int(np.prod(shape))
    return np.asarray(make.random.permutation(size) * 0.1).reshape(shape)


@functional("max_pool2d", "max_pool2d_values", "max_pool_places")
def max_pool2d(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 2, 3, 6, 6), 2)
    yield Sample(distinct(make, 1, 2, 7, 6), (3, 2), stride=(2, 1), padding=1, ceil_mode=True)
    yield Sample(distinct(make, 2, 7, 7), 2, dilation=2)


@functional("max_pool3d", "max_pool3d_values")
def max_pool3d(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 1, 2, 4, 4, 5), 2)


@functional("adaptive_max_pool2d", "adaptive_max_pool2d_values")
def adaptive_max_pool2d(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 2, 3, 7, 5), (3, 2))


@functional("adaptive_max_pool3d", "adaptive_max_pool3d_values")
def adaptive_max_pool3d(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 1, 2, 4, 5, 4), (2, 2, 3))


def regions(count: int) -> Callable[[Make], Iterator[Sample]]:
    """Fractional pooling with the places of its regions given, which are random otherwise."""

    def generate(make: Make) -> Iterator[Sample]:
        places = make(1, 2, count, low=0, high=1)
        yield Sample(distinct(make, 1, 2, *[6] * count), 2, output_size=(3,) * count, _random_samples=places).no_gradient()

    return generate


functional("fractional_max_pool2d", "fractional_max_pool2d_values")(regions(2))
functional("fractional_max_pool3d", "fractional_max_pool3d_values")(regions(3))


@samples("fractional_places")
def fractional_places(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 1, 2, 6, 6), make(1, 2, 2, low=0, high=1), (3, 3), (2, 2)).not_in_torch()


@functional("max_pool2d_with_indices", "max_pool_index")
def max_pool_index(make: Make) -> Iterator[Sample]:
    yield Sample(distinct(make, 2, 3, 6, 6), 2)


@functional("max_unpool2d", "max_unpool2d")
def max_unpool2d(make: Make) -> Iterator[Sample]:
    index = np.array([[[[0, 3], [9, 10]]]])
    yield Sample(make(1, 1, 2, 2), index, 2)


@functional("max_unpool3d", "max_unpool3d")
def max_unpool3d(make: Make) -> Iterator[Sample]:
    index = np.array([[[[[0, 3], [9, 10]]]]])
    yield Sample(make(1, 1, 1, 2, 2), index, (1, 2, 2))


@functional("avg_pool2d", "avg_pool2d", "avg_pool2d_backward")
def avg_pool2d(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 6, 6), 2)
    yield Sample(make(1, 2, 7, 6), (3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False)
    yield Sample(make(1, 2, 5, 5), 2, divisor_override=3)


@functional("avg_pool3d", "avg_pool3d", "avg_pool3d_backward")
def avg_pool3d(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 4, 5), 2)


@functional("adaptive_avg_pool2d", "adaptive_avg_pool2d", "adaptive_avg_pool2d_backward")
def adaptive_avg_pool2d(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 7, 5), (3, 2))
    yield Sample(make(2, 3, 4, 4), (None, 1))


@functional("adaptive_avg_pool3d", "adaptive_avg_pool3d", "adaptive_avg_pool3d_backward")
def adaptive_avg_pool3d(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 5, 4), (2, 2, 3))


def interpolation(mode: str, *shape: int, **options: Any) -> Callable[[Make], Iterator[Sample]]:
    def generate(make: Make) -> Iterator[Sample]:
        for scale in (2, 0.5):
            yield Sample(make(1, 2, *shape), scale_factor=scale, mode=mode, **options)
        yield Sample(make(1, 2, *shape), size=[3] * len(shape), mode=mode, **options)

    return generate


for _mode, _shape, _name, _options in (
    ("nearest", (5,), "upsample_nearest1d", {}),
    ("nearest", (4, 5), "upsample_nearest2d", {}),
    ("nearest", (4, 4, 4), "upsample_nearest3d", {}),
    ("nearest-exact", (5,), "_upsample_nearest_exact1d", {}),
    ("nearest-exact", (4, 5), "_upsample_nearest_exact2d", {}),
    ("nearest-exact", (4, 4, 4), "_upsample_nearest_exact3d", {}),
    ("linear", (5,), "upsample_linear1d", {"align_corners": True}),
    ("bilinear", (4, 5), "upsample_bilinear2d", {"align_corners": False}),
    ("bicubic", (4, 5), "upsample_bicubic2d", {"align_corners": False}),
    ("trilinear", (4, 4, 4), "upsample_trilinear3d", {"align_corners": True}),
    ("bilinear", (4, 6), "_upsample_bilinear2d_aa", {"antialias": True}),
    ("bicubic", (4, 6), "_upsample_bicubic2d_aa", {"antialias": True}),
    ("lanczos", (4, 6), "_upsample_lanczos2d_aa", {"antialias": True}),
):  # fmt: skip
    functional("interpolate", _name)(interpolation(_mode, *_shape, **_options))
functional("interpolate", "resample", "resample_back")(interpolation("bilinear", 4, 5))


def padding(mode: str, count: int) -> Callable[[Make], Iterator[Sample]]:
    def generate(make: Make) -> Iterator[Sample]:
        yield Sample(make(1, 2, *[4] * count), (1, 2) * count, mode=mode)

    return generate


for _count in (1, 2, 3):
    functional("pad", f"reflection_pad{_count}d")(padding("reflect", _count))
    functional("pad", f"replication_pad{_count}d")(padding("replicate", _count))
    functional("pad", f"circular_pad{_count}d")(padding("circular", _count))


@functional("pad", "constant_pad")
def constant_pad(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), (1, 2))
    yield Sample(make(2, 3, 4), (1, -1, 0, 2), value=1.5)


@functional("unfold", "im2col")
def im2col(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5, 6), (2, 3), padding=1, stride=2)


@functional("fold", "col2im")
def col2im(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 12, 9), (4, 4), (2, 2))


@functional("pixel_shuffle", "pixel_shuffle")
def pixel_shuffle(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 8, 2, 3), 2)


@functional("pixel_unshuffle", "pixel_unshuffle")
def pixel_unshuffle(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 2, 4, 6), 2)


@functional("channel_shuffle", "channel_shuffle")
def channel_shuffle(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 6, 2, 2), 3)


@functional("affine_grid", "affine_grid_generator", "affine_grid_back")
def affine_grid(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 2, 3), [2, 1, 3, 4], align_corners=False)
    yield Sample(make(1, 3, 4), [1, 1, 2, 3, 2], align_corners=True)


@functional("grid_sample", "grid_sampler_2d")
def grid_sample(make: Make) -> Iterator[Sample]:
    for mode in ("bilinear", "bicubic"):
        yield Sample(make(1, 2, 4, 5), make(1, 3, 2, 2, low=-0.9, high=0.9), mode=mode, align_corners=False).only_values()
    yield Sample(make(1, 2, 4, 5), make(1, 3, 2, 2), mode="nearest", padding_mode="border", align_corners=True).only_values()


@functional("grid_sample", "grid_sampler_3d")
def grid_sample_3d(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4, 3), make(1, 2, 2, 2, 3, low=-0.9, high=0.9), align_corners=False).only_values()


@functional("layer_norm", "layer_norm")
def layer_norm(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (4,), make(4), make(4))
    yield Sample(make(2, 3, 4), (3, 4))


@functional("rms_norm", "rms_norm")
def rms_norm(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (4,), make(4), 1e-3)
    yield Sample(make(2, 3, 4), (3, 4))


@functional("group_norm", "group_norm")
def group_norm(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), 2, make(4), make(4))


@functional("batch_norm", "batch_norm_training")
def batch_norm_training(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), None, None, make(3), make(3), training=True)


@functional("batch_norm", "batch_norm_inference")
def batch_norm_inference(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), make(3), make(3, low=0.5, high=2), make(3), make(3)).no_gradient()  # not of the statistics


@functional("dropout", "dropout")
def dropout(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1e-15)  # nothing is dropped: what is, is up to chance


@functional("dropout2d", "feature_dropout")
def feature_dropout(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 2, 4), 1e-15)


@functional("feature_alpha_dropout", "feature_alpha_dropout")
def feature_alpha_dropout(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 2, 4), 1e-15, True)


@functional("scaled_dot_product_attention", "attention", "attention_weights")
def attention_weights(make: Make) -> Iterator[Sample]:
    query, key, value = make(2, 3, 4), make(2, 5, 4), make(2, 5, 4)
    yield Sample(query, key, value)
    yield Sample(query, key, value, is_causal=True, scale=0.3)
    yield Sample(query, key, value, make(2, 3, 5))
    yield Sample(query, key, value, np.array([[True] * 5, [False, True, False, False, True], [False] * 5]))


@samples("embedding")
def embedding(make: Make) -> Iterator[Sample]:
    # PyTorch's function takes the indices first.
    yield Sample(make(5, 3), np.array([[0, 2], [4, 2]]), -1, False).not_in_torch()
