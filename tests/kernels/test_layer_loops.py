"""Kernels of layers against what NumPy computes: values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import (
    direction_loops,
    gate_loops,
    grid_loops,
    loops,
    norm_loops,
    pixel_loops,
    pool_loops,
    random_loops,
    resample_loops,
)
from adjoint._kernels.loops import unable
from adjoint.nn import functional as F
from adjoint.ops import _pool_windows

FAMILIES = (direction_loops, gate_loops, grid_loops, norm_loops, pixel_loops, pool_loops, random_loops, resample_loops)
KERNELS = [*resample_loops.KERNELS, *(k for family in FAMILIES for k in vars(family).values() if isinstance(k, loops.Loop))]


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def dropped(fn):
    def with_seed(x, *args):
        ad.manual_seed(0)
        return fn(x, *args)

    return with_seed


CASES = {
    "normalize": (lambda x: F.normalize(x, dim=-1), [normal(5, 33)]),
    "normalize short": (lambda x: F.normalize(x, dim=-1, eps=3.0), [normal(9, 5)]),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, dim=-1), [normal(3, 4, 70), normal(3, 4, 70) + 1]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [normal(70, 130), normal(130), normal(130)]),
    "batch_norm eval": (lambda x: F.batch_norm(x, ad.ones(9, dtype=x.dtype), ad.full((9,), 2.0, dtype=x.dtype)), [normal(5, 9)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (33,), w, b), [normal(70, 33), normal(33), normal(33)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (33,), w), [normal(3, 33), normal(33)]),
    "glu": (lambda x: F.glu(x * 30), [normal(70, 66)]),
    "glu of one long row": (lambda x: F.glu(x), [normal(20_002)]),
    "glu along 0": (lambda x: F.glu(x, 0), [normal(6, 5, 4)]),
    "unfold": (lambda x: F.unfold(x, (3, 2), 2, 3, (2, 1)), [normal(2, 3, 9, 10)]),
    "fold": (lambda x: F.fold(x, (9, 10), 3, 1, 1, 2), [normal(2, 27, 25)]),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 3), [normal(2, 18, 4, 5)]),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), [normal(2, 3, 8, 6)]),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 3), [normal(2, 6, 3, 5)]),
    "dropout2d": (dropped(lambda x: F.dropout2d(x, 0.4)), [normal(4, 9, 3, 5)]),
    "feature_alpha_dropout": (dropped(lambda x: F.feature_alpha_dropout(x, 0.4, True)), [normal(4, 9, 3, 5)]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1), [normal(2, 3, 40)]),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), [normal(2, 3, 40)]),
    "max_unpool2d": (lambda x: F.max_unpool2d(x, ad.arange(12).reshape(1, 3, 4).flip(0) * 3, 2), [normal(1, 3, 4)]),
    "pad": (lambda x: F.pad(x, (2, 1, 1, -1), value=2.5), [normal(2, 3, 7, 20)]),
    "pad to little": (lambda x: F.pad(x, (-1, 2)), [normal(3, 2)]),
    "circular": (lambda x: F.pad(x, (3, 2, 1, 0), mode="circular"), [normal(2, 3, 7, 20)]),
    "reflect": (lambda x: F.pad(x, (3, 2), mode="reflect"), [normal(2, 3, 3000)]),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), [normal(2, 3, 7, 20)]),
    "bilinear of wide rows": (lambda x: F.interpolate(x, size=(5, 2500), mode="bilinear"), [normal(1, 1, 3, 2100)]),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), [normal(2, 9, 5, 6), normal(2, 9, 8, 2)]),
    "grid_sample, border": (lambda x, g: F.grid_sample(x, g, "bilinear", "border", True), [normal(2, 3, 5, 6), normal(2, 70, 3, 2)]),
    "grid_sample, mirror": (lambda x, g: F.grid_sample(x, g, "bilinear", "reflection", False), [normal(1, 1, 5, 6), normal(1, 7, 3, 2)]),
    "grid_sample, nearest": (lambda x, g: F.grid_sample(x, g, "nearest", align_corners=False), [normal(2, 3, 5, 6), normal(2, 7, 3, 2)]),
    "grid_sample, bicubic": (lambda x, g: F.grid_sample(x, g, "bicubic", align_corners=False), [normal(2, 3, 5, 6), normal(2, 7, 3, 2)]),
    "grid_sample in space": (lambda x, g: F.grid_sample(x, g, align_corners=True), [normal(2, 3, 4, 5, 6), normal(2, 7, 3, 2, 3)]),
    "nearest": (lambda x: F.interpolate(x, size=(9, 31)), [normal(2, 3, 7, 20)]),
}  # fmt: skip


def outcome(fn, arrays, dtype):
    inputs = [ad.tensor(x).to(dtype).requires_grad_() for x in arrays]
    result = fn(*inputs)
    result.backward(ad.tensor(np.cos(np.arange(result.numel()))).to(dtype).reshape(result.shape))
    return [x.detach().to(ad.float64).numpy() for x in (result, *(x.grad for x in inputs))]


def by_loops(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(_pool_windows, "serves", lambda *arrays: False)
    for kernel in KERNELS:
        monkeypatch.setattr(kernel, "run", kernel.first if compiled else unable)


@pytest.mark.parametrize("dtype", [ad.float32, ad.float64, ad.float16])
@pytest.mark.parametrize("name", CASES)
def test_kernels_compute_what_numpy_does(monkeypatch, name, dtype):
    fn, arrays = CASES[name]
    by_loops(monkeypatch, False)
    expected = outcome(fn, arrays, dtype)
    by_loops(monkeypatch, True)
    tolerance = {ad.float32: 2e-5, ad.float64: 1e-12, ad.float16: 2e-2}[dtype]
    for found, wanted in zip(outcome(fn, arrays, dtype), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(1, np.abs(wanted).max()))


def test_a_position_outside_is_refused(monkeypatch):
    by_loops(monkeypatch, True)
    for place in (-1, 16, 10**12):
        with pytest.raises(RuntimeError, match=f"Found an invalid max index: {place}"):
            F.max_unpool2d(ad.ones(1, 2, 2), ad.full((1, 2, 2), place), 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_is_outside_an_image_does_not_matter(monkeypatch, compiled):
    by_loops(monkeypatch, compiled)
    x = ad.full((1, 1, 2, 2), math.inf)
    x[..., 1, 1] = 1.0
    points = ad.tensor([[[[3.0, 3.0], [1.0, 1.0], [math.nan, 0.0]]]])
    found = F.grid_sample(x, points, align_corners=True).reshape(-1)
    np.testing.assert_array_equal(found.numpy()[[0, 2]], [0.0, math.nan])
    assert F.grid_sample(x, points, padding_mode="border", align_corners=True).reshape(-1)[1] == 1.0
