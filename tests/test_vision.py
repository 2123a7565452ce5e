"""torchvision's operators against their definitions, pixel by pixel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import _vision as vision

RNG = np.random.default_rng(0)
ROIS = ad.tensor([[0, 1.0, 1.5, 6.0, 7.0], [1, -2.0, 0.0, 3.0, 4.5], [0, 5.0, 5.0, 5.2, 5.1], [1, 6.0, 2.0, 12.0, 11.0]], dtype=ad.float64)


def images(channels: int = 3) -> ad.Tensor:
    return ad.from_numpy(RNG.standard_normal((2, channels, 8, 9)))


def pixel(image: np.ndarray, y: float, x: float, edge: bool) -> float:
    """The pixel at a place between pixels. At most one pixel outside, the edge is repeated (`edge`) or zeros are mixed in; 0 beyond."""
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    if edge:
        y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    total = 0.0
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < height and 0 <= column < width:
                total += image[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def naive_align(x, rois, scale, bins, ratio, shift, least, channel_of):
    x, rois = x.numpy(), rois.numpy()
    out = np.zeros((len(rois), channel_of(None, *bins), *bins))
    for k, (image, left, top, right, bottom) in enumerate(rois):
        height, width = max((bottom - top) * scale, least), max((right - left) * scale, least)
        rows = ratio if ratio > 0 else math.ceil(height / bins[0])
        columns = ratio if ratio > 0 else math.ceil(width / bins[1])
        for c, i, j in np.ndindex(out.shape[1:]):
            total = 0.0
            for a in range(rows):
                for b in range(columns):
                    y = top * scale - shift + (i + (a + 0.5) / rows) * height / bins[0]
                    z = left * scale - shift + (j + (b + 0.5) / columns) * width / bins[1]
                    total += pixel(x[int(image), channel_of(c, i, j)], y, z, edge=True)
            out[k, c, i, j] = total / max(rows * columns, 1)
    return out


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned, ratio):
    x = images()
    found = vision.roi_align(x, ROIS, 0.75, 2, 3, ratio, aligned)
    shift, least = (0.5, -math.inf) if aligned else (0.0, 1.0)
    expected = naive_align(x, ROIS, 0.75, (2, 3), ratio, shift, least, lambda c, *_: 3 if c is None else c)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_ps_roi_align():
    x = images(12)
    found, channels = vision.ps_roi_align(x, ROIS, 0.75, 2, 3, -1)
    expected = naive_align(x, ROIS, 0.75, (2, 3), -1, 0.5, -math.inf, lambda c, i, j: 2 if c is None else c * 6 + i * 3 + j)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
    assert channels.dtype == ad.int32 and channels[0, 1].tolist() == [[6, 7, 8], [9, 10, 11]]


def naive_bins(rois, scale, bins, size, closed):
    """For each region and bin its image and pixels. `closed`: whether the last row of pixels belongs to the region and to the image."""
    for k, (image, *corners) in enumerate(rois.numpy()):
        left, top, right, bottom = (math.floor(abs(c * scale) + 0.5) * (1 if c >= 0 else -1) for c in corners)
        height, width = max(bottom - top + closed, 1), max(right - left + closed, 1)
        for i, j in np.ndindex(bins):
            rows = range(math.floor(i * height / bins[0]) + top, math.ceil((i + 1) * height / bins[0]) + top)
            columns = range(math.floor(j * width / bins[1]) + left, math.ceil((j + 1) * width / bins[1]) + left)
            limits = (size[0], size[1]) if closed else (size[0] - 1, size[1] - 1)
            yield k, int(image), i, j, [r for r in rows if 0 <= r < limits[0]], [c for c in columns if 0 <= c < limits[1]]


def test_roi_pool():
    x = images()
    found, places = vision.roi_pool(x, ROIS, 0.75, 2, 3)
    for k, image, i, j, rows, columns in naive_bins(ROIS, 0.75, (2, 3), (8, 9), True):
        for c in range(3):
            pixels = {(r, column): x[image, c, r, column].item() for r in rows for column in columns}
            best = max(pixels, key=pixels.get) if pixels else None
            assert found[k, c, i, j] == (pixels[best] if best else 0)
            assert places[k, c, i, j] == (best[0] * 9 + best[1] if best else -1)


def test_ps_roi_pool():
    x = images(12)
    found, _ = vision.ps_roi_pool(x, ROIS, 0.75, 2, 3)
    for k, image, i, j, rows, columns in naive_bins(ROIS, 0.75, (2, 3), (8, 9), False):
        for c in range(2):
            pixels = [x[image, c * 6 + i * 3 + j, r, column].item() for r in rows for column in columns]
            assert found[k, c, i, j].item() == pytest.approx(sum(pixels) / len(pixels) if pixels else 0, abs=1e-12)


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"])
def test_gradients_of_regions(name):
    """Each is linear in the input around a point, so the backward pass is the forward pass turned round."""
    x = images(12)
    extra = {"roi_align": (2, True), "ps_roi_align": (2,)}.get(name, ())
    forward, backward = getattr(vision, name), getattr(vision, f"_{name}_backward")

    def pooled(x):
        found = forward(x, ROIS, 0.75, 2, 3, *extra)
        return found if name == "roi_align" else found[0]

    result = forward(x, ROIS, 0.75, 2, 3, *extra)
    g = ad.from_numpy(RNG.standard_normal(pooled(x).shape))
    shape = (2, 12, 8, 9)
    if name == "roi_align":
        back = backward(g, ROIS, 0.75, 2, 3, *shape, *extra)
    elif name == "ps_roi_align":
        back = backward(g, ROIS, result[1], 0.75, 2, 3, *extra, *shape)
    else:
        back = backward(g, ROIS, result[1], 0.75, 2, 3, *shape)
    direction = ad.from_numpy(RNG.standard_normal(shape)) * 1e-6
    change = (g * (pooled(x + direction) - pooled(x - direction))).sum() / 2
    assert (back * direction).sum().item() == pytest.approx(change.item(), rel=1e-4)


def naive_deform(x, weight, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    n, channels, _, _ = x.shape
    out_channels, _, rows, columns = weight.shape
    height, width = offset.shape[2:]
    out = np.zeros((n, out_channels, height, width))
    for b, o, h, w in np.ndindex(out.shape):
        total = bias[o]
        for c in range(channels // groups):
            channel = o // (out_channels // groups) * (channels // groups) + c
            group = channel // (channels // offset_groups)
            for i, j in np.ndindex(rows, columns):
                place = (group * rows + i) * columns + j
                y = h * stride[0] - pad[0] + i * dilation[0] + offset[b, 2 * place, h, w]
                z = w * stride[1] - pad[1] + j * dilation[1] + offset[b, 2 * place + 1, h, w]
                total += weight[o, c, i, j] * pixel(x[b, channel], y, z, edge=False) * (1 if mask is None else mask[b, place, h, w])
        out[b, o, h, w] = total
    return out


@pytest.mark.parametrize("masked", [False, True])
def test_deform_conv2d(masked):
    x, weight, bias = RNG.standard_normal((2, 4, 5, 6)), RNG.standard_normal((4, 2, 3, 2)), RNG.standard_normal(4)
    offset, mask = RNG.standard_normal((2, 24, 3, 5)) * 2, RNG.standard_normal((2, 12, 3, 5))
    expected = naive_deform(x, weight, offset, mask if masked else None, bias, (2, 1), (1, 0), (1, 1), 2, 2)
    given = [ad.from_numpy(array) for array in (x, weight, offset, mask if masked else np.zeros((2, 1)), bias)]
    settings: Any = (2, 1, 1, 0, 1, 1, 2, 2, masked)
    np.testing.assert_allclose(vision.deform_conv2d(*given, *settings).numpy(), expected, atol=1e-12)
    assert ad.autograd.gradcheck(lambda *args: vision.deform_conv2d(*args, *settings), [one.requires_grad_() for one in given])
    g = ad.from_numpy(RNG.standard_normal(expected.shape))
    found = vision._deform_conv2d_backward(g, *given, *settings)
    direct = ad.autograd.grad(vision.deform_conv2d(*given, *settings), given, g, allow_unused=True, materialize_grads=True)
    assert all(ad.equal(one, other) for one, other in zip(found, direct, strict=True))


def naive_nms(boxes, scores, threshold):
    def overlap(a, b):
        width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        shared = max(width, 0) * max(height, 0)
        return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)

    kept: list[int] = []
    for place in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[place], boxes[other]) <= threshold for other in kept):
            kept.append(place)
    return kept


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms(threshold):
    corners = RNG.uniform(0, 10, (40, 2))
    boxes, scores = np.hstack([corners, corners + RNG.uniform(1, 6, (40, 2))]), RNG.uniform(size=40)
    assert vision.nms(ad.from_numpy(boxes), ad.from_numpy(scores), threshold).tolist() == naive_nms(boxes, scores, threshold)
    assert vision.nms(ad.zeros(0, 4), ad.zeros(0), threshold).shape == (0,)


def test_arguments_are_checked():
    for call, message in (
        (lambda: vision.nms(ad.ones(2, 3), ad.ones(2), 0.5), "4 elements in dimension 1"),
        (lambda: vision.nms(ad.ones(2, 4), ad.ones(3), 0.5), "2 elements, one for each box"),
        (lambda: vision.roi_align(images(), ROIS[:, :4], 1.0, 2, 2, -1, True), r"Tensor\[K, 5\]"),
        (lambda: vision.roi_align(images().float(), ROIS, 1.0, 2, 2, -1, True), "does not equal torch.float64"),
        (lambda: vision.ps_roi_pool(images(3), ROIS, 1.0, 2, 2), "multiple of pooling height"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_the_library_of_torchvision_stands_for_these():
    ad.ops.load_library("/somewhere/torchvision/_C.so")
    ad.ops.load_library("/somewhere/torchvision/_C.so")  # once is enough
    boxes = ad.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.1], [3.0, 3.0, 5.0, 5.0]])
    assert ad.ops.torchvision.nms(boxes, ad.tensor([0.5, 0.9, 0.3]), 0.5).tolist() == [1, 2]
    assert ad.ops.torchvision._cuda_version() == -1
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        ad.ops.torchvision.qnms(boxes, ad.ones(3), 0.5)
    with pytest.raises(OSError, match="Could not load this library"):
        ad.ops.load_library("/somewhere/torchvision/image.so")
