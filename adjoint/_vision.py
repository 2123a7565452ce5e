"""torchvision's own operators (`torch.ops.torchvision`) on NumPy arrays. Its C++ library holds them for PyTorch; where a program asks for
that library to be loaded, these are registered instead, under the same schemas.

A region of interest is a row (image, left, top, right, bottom). Most of the operators below are linear in the input: along each axis a bin
has a weight for each row of pixels, and the forward pass and the backward pass multiply by the same two matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._standing import refused
from ._tensor import Tensor, wrap
from .autograd import grad as _grad
from .autograd.grad_mode import enable_grad

Array = np.ndarray[Any, Any]
Rows = Iterator[tuple[int, Array, Array]]  # of each region its image, and the weights along both axes

# ---- boxes --------------------------------------------------------------------------------------------------------------------------


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The indices of the boxes that stay, best scores first: a box goes if it overlaps one that stays by more than the threshold."""
    if dets.dim() != 2 or dets.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor with 4 elements in dimension 1, got {tuple(dets.shape)}")
    if scores.dim() != 1 or scores.shape[0] != dets.shape[0]:
        raise RuntimeError(f"scores should be a 1d tensor with {dets.shape[0]} elements, one for each box, got {tuple(scores.shape)}")
    boxes = dets.detach().numpy()
    left, top, right, bottom = boxes.T
    areas = (right - left) * (bottom - top)
    waiting = np.argsort(-scores.detach().numpy(), kind="stable")
    kept = []
    while waiting.size:
        best, waiting = waiting[0], waiting[1:]
        kept.append(best)
        width = np.minimum(right[best], right[waiting]) - np.maximum(left[best], left[waiting])
        height = np.minimum(bottom[best], bottom[waiting]) - np.maximum(top[best], top[waiting])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        waiting = waiting[~(shared > iou_threshold * (areas[best] + areas[waiting] - shared))]
    return wrap(np.array(kept, np.int64))


# ---- regions of interest ------------------------------------------------------------------------------------------------------------


def _interpolating(start: float, extent: float, bins: int, points: int, length: int, dtype: Any) -> Array:
    """The weights of an axis (bins, length): the mean of points that lie evenly in each bin, between two pixels each."""
    places = start + (np.arange(bins)[:, None] + (np.arange(points) + 0.5) / max(points, 1)) * (extent / bins)
    inside = (places >= -1) & (places <= length)
    places = np.clip(places, 0, length - 1)
    low = places.astype(np.intp)
    above = (places - low) * inside
    weights = np.zeros((bins, length), dtype)
    row = np.arange(bins)[:, None]
    np.add.at(weights, (row, low), inside - above)
    np.add.at(weights, (row, np.minimum(low + 1, length - 1)), above)
    return weights / max(points, 1)


def _aligned_rows(
    rois: Tensor, scale: float, bins: tuple[int, int], size: tuple[int, int], ratio: int, shift: float, least: float
) -> Rows:
    """A bin is the mean of points between pixels."""
    for image, left, top, right, bottom in rois.detach().numpy():
        axes = []
        for start, end, count, length in ((top, bottom, bins[0], size[0]), (left, right, bins[1], size[1])):
            extent = max((end - start) * scale, least)
            points = ratio if ratio > 0 else math.ceil(extent / count)
            axes.append(_interpolating(start * scale - shift, extent, count, points, length, rois.detach().numpy().dtype))
        yield int(image), axes[0], axes[1]


def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    """Regions of images, resampled to a size."""
    _check_rois(input, rois)
    images = input.detach().numpy()
    shift, least = (0.5, -math.inf) if aligned else (0.0, 1.0)
    rows = _aligned_rows(rois, spatial_scale, (pooled_height, pooled_width), images.shape[2:], sampling_ratio, shift, least)
    out = [y @ images[image] @ x.T for image, y, x in rows]
    return wrap(np.array(out, images.dtype).reshape(len(out), images.shape[1], pooled_height, pooled_width))


def _roi_align_backward(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int, height: int,
    width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    grads = grad.detach().numpy()
    out = np.zeros((batch_size, channels, height, width), grads.dtype)
    shift, least = (0.5, -math.inf) if aligned else (0.0, 1.0)
    rows = _aligned_rows(rois, spatial_scale, (pooled_height, pooled_width), (height, width), sampling_ratio, shift, least)
    for (image, y, x), g in zip(rows, grads, strict=True):
        out[image] += y.T @ g @ x
    return wrap(out)


def _rounded(x: float) -> int:
    """To the nearest whole number, halves away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def _check_rois(input: Tensor, rois: Tensor) -> None:
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; "
            f"but type {input.dtype} does not equal {rois.dtype}: write rois.to(input.dtype)"
        )


def _cells(start: int, extent: int, bins: int, limit: int) -> list[slice]:
    """The pixels of each bin along an axis, cut off at the image's ends."""
    size = extent / bins
    ends = [(math.floor(place * size) + start, math.ceil((place + 1) * size) + start) for place in range(bins)]
    return [slice(min(max(low, 0), limit), min(max(high, 0), limit)) for low, high in ends]


def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """The largest pixel of each bin of regions, and where it is in its image; 0 and -1 for a bin without pixels."""
    _check_rois(input, rois)
    images, regions = input.detach().numpy(), rois.detach().numpy()
    _, channels, height, width = images.shape
    out = np.zeros((len(regions), channels, pooled_height, pooled_width), images.dtype)
    places = np.full(out.shape, -1, np.int32)
    for k, (image, *corners) in enumerate(regions):
        left, top, right, bottom = (_rounded(corner * spatial_scale) for corner in corners)
        rows = _cells(top, max(bottom - top + 1, 1), pooled_height, height)
        columns = _cells(left, max(right - left + 1, 1), pooled_width, width)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                cell = images[int(image), :, row, column]
                if cell.size:
                    best = cell.reshape(channels, -1).argmax(1)
                    out[k, :, i, j] = cell.reshape(channels, -1)[np.arange(channels), best]
                    places[k, :, i, j] = (best // cell.shape[2] + row.start) * width + best % cell.shape[2] + column.start
    return wrap(out), wrap(places)


def _roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int, channels: int,
    height: int, width: int,
) -> Tensor:  # fmt: skip
    grads, places = grad.detach().numpy(), argmax.detach().numpy()
    out = np.zeros((batch_size, channels, height * width), grads.dtype)
    image = rois.detach().numpy()[:, 0].astype(np.intp)[:, None, None, None]
    channel = np.arange(channels)[:, None, None]
    np.add.at(out, (image, channel, np.maximum(places, 0)), np.where(places >= 0, grads, 0))
    return wrap(out.reshape(batch_size, channels, height, width))


# ---- position-sensitive regions: each bin reads channels of its own ------------------------------------------------------------------


def _mean_rows(rois: Tensor, scale: float, bins: tuple[int, int], size: tuple[int, int]) -> Rows:
    """A bin is the mean of its pixels."""
    for image, left, top, right, bottom in rois.detach().numpy():
        axes = []
        for start, end, count, length in ((top, bottom, bins[0], size[0]), (left, right, bins[1], size[1])):
            first = _rounded(start * scale)
            weights = np.zeros((count, length), rois.detach().numpy().dtype)
            for place, cell in enumerate(_cells(first, max(_rounded(end * scale) - first, 1), count, length - 1)):
                if cell.stop > cell.start:
                    weights[place, cell] = 1 / (cell.stop - cell.start)
            axes.append(weights)
        yield int(image), axes[0], axes[1]


def _by_bins(images: Array, bins: tuple[int, int]) -> Array:
    batch, channels, height, width = images.shape
    if channels % (bins[0] * bins[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return images.reshape(batch, channels // (bins[0] * bins[1]), *bins, height, width)


def _ps(input: Tensor, rois: Tensor, bins: tuple[int, int], rows: Callable[..., Rows]) -> tuple[Tensor, Tensor]:
    """The bins of regions, and which channel each was read from."""
    _check_rois(input, rois)
    images = _by_bins(input.detach().numpy(), bins)
    made = [np.einsum("ph,cpqhw,qw->cpq", y, images[image], x) for image, y, x in rows(images.shape[4:])]
    shape = (len(made), *images.shape[1:4])
    channels = np.arange(images.shape[1] * bins[0] * bins[1], dtype=np.int32).reshape(shape[1:])
    return wrap(np.array(made, images.dtype).reshape(shape)), wrap(np.broadcast_to(channels, shape).copy())


def _ps_backward(grad: Tensor, bins: tuple[int, int], shape: tuple[int, ...], rows: Rows) -> Tensor:
    grads = grad.detach().numpy()
    out = np.zeros(shape, grads.dtype)
    for (image, y, x), g in zip(rows, grads, strict=True):
        _by_bins(out, bins)[image] += np.einsum("ph,cpq,qw->cpqhw", y, g, x)
    return wrap(out)


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """`roi_align`, and each bin reads channels of its own."""
    bins = pooled_height, pooled_width
    return _ps(input, rois, bins, lambda size: _aligned_rows(rois, spatial_scale, bins, size, sampling_ratio, 0.5, -math.inf))


def _ps_roi_align_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    bins = pooled_height, pooled_width
    rows = _aligned_rows(rois, spatial_scale, bins, (height, width), sampling_ratio, 0.5, -math.inf)
    return _ps_backward(grad, bins, (batch_size, channels, height, width), rows)


def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int) -> tuple[Tensor, Tensor]:
    """The mean of each bin of regions, which reads channels of its own."""
    bins = pooled_height, pooled_width
    return _ps(input, rois, bins, lambda size: _mean_rows(rois, spatial_scale, bins, size))


def _ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
    channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    bins = pooled_height, pooled_width
    return _ps_backward(grad, bins, (batch_size, channels, height, width), _mean_rows(rois, spatial_scale, bins, (height, width)))


# ---- deformable convolution ---------------------------------------------------------------------------------------------------------


def _sampled(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Pixels between pixels: `images` (n, c, h, w) at places (n, ...), zero outside. Gradients go to the images and to the places."""
    from ._ranges import arange
    from .nn.functional import pad

    n, _, height, width = images.shape
    padded = pad(images, (1, 1, 1, 1))
    image = arange(n).view(-1, *[1] * (y.dim() - 1))
    low_y, low_x = y.detach().floor(), x.detach().floor()
    total: Any = 0
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (1 - (y - low_y - dy).abs()) * (1 - (x - low_x - dx).abs())
            row = (low_y + dy).clamp(-1, height).long() + 1
            column = (low_x + dx).clamp(-1, width).long() + 1
            total = total + padded[image, :, row, column] * weight.unsqueeze(-1)
    return total.movedim(-1, 1)  # type: ignore[no-any-return]


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int, pad_w: int,
    dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """A convolution whose kernel reads each of its pixels at a place of its own."""
    from ._ranges import arange
    from .ops.einsum import einsum
    from .ops.join import cat

    (batch, channels), (out_channels, _, rows, columns), (height, width) = input.shape[:2], weight.shape, offset.shape[2:]
    moved = offset.view(batch, offset_groups, rows, columns, 2, height, width)
    y = arange(height).view(-1, 1) * stride_h - pad_h + arange(rows).view(-1, 1, 1, 1) * dilation_h + moved[..., 0, :, :]
    x = arange(width) * stride_w - pad_w + arange(columns).view(-1, 1, 1) * dilation_w + moved[..., 1, :, :]
    read = [_sampled(part, y[:, g], x[:, g]) for g, part in enumerate(input.chunk(offset_groups, 1))]  # (n, c, rows, columns, h, w)
    if use_mask:
        masks = mask.view(batch, offset_groups, 1, rows, columns, height, width)
        read = [part * masks[:, g] for g, part in enumerate(read)]
    windows = cat(read, 1).reshape(batch, groups, channels // groups, rows, columns, height, width)
    kernels = weight.view(groups, out_channels // groups, channels // groups, rows, columns)
    out = einsum("ngcijhw,gocij->ngohw", windows, kernels).reshape(batch, out_channels, height, width)
    return out + bias.view(1, -1, 1, 1)  # type: ignore[no-any-return]


def _deform_conv2d_backward(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int, pad_h: int,
    pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    settings: Any = stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask
    given: Any = [tensor.detach().requires_grad_() for tensor in (input, weight, offset, mask, bias)]
    with enable_grad():
        out = deform_conv2d(*given, *settings)
    return _grad(out, given, grad, allow_unused=True, materialize_grads=True)  # type: ignore[no-any-return]


# ---- the rest -----------------------------------------------------------------------------------------------------------------------


def _cuda_version() -> int:
    """-1: there is no GPU."""
    return -1


@refused("adjoint has no quantized tensors; call torchvision.ops.nms with floating-point boxes")
def qnms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor: ...  # type: ignore[empty-body]


@refused("adjoint has no quantized tensors; call torchvision.ops.roi_align with floating-point images")
def qroi_align(  # type: ignore[empty-body]
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
) -> Tensor: ...


OPERATORS = (
    nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d, _roi_align_backward, _roi_pool_backward, _ps_roi_align_backward,
    _ps_roi_pool_backward, _deform_conv2d_backward, _cuda_version, qnms, qroi_align,
)  # fmt: skip


def register() -> None:
    """Make these `torch.ops.torchvision`, once."""
    from . import _ops, library

    if "torchvision::nms" not in _ops.OPERATORS:
        for operator in OPERATORS:
            library.custom_op(f"torchvision::{operator.__name__}", operator, mutates_args=())
