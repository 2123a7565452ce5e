"""Pooling, interpolation and their layers, by values worked out here."""

from __future__ import annotations

import time

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint._kernels import pool_loops, resample_loops
from adjoint._kernels.loops import unable
from adjoint.nn import functional as F
from adjoint.ops import _pool_windows


@pytest.fixture(params=[False, True], ids=["numpy", "compiled"], autouse=True)
def compiled(request, monkeypatch):
    """Every test on NumPy and by compiled code. (Without llvmlite there is only one way.)"""
    if request.param:
        return
    monkeypatch.setattr(_pool_windows, "serves", lambda *arrays: False)
    for kernel in (pool_loops.means, pool_loops.add_to_windows, pool_loops.put, *resample_loops.KERNELS):
        monkeypatch.setattr(kernel, "run", unable)


IMAGE = [[1.0, 2.0, 3.0, 4.0], [5.0, 9.0, 7.0, 8.0], [4.0, 3.0, 2.0, 1.0], [0.0, 6.0, 5.0, 6.0]]


@pytest.mark.parametrize("dtype", [ad.float32, ad.float64, ad.int64])
def test_max_pool2d(dtype):
    values, index = F.max_pool2d(ad.tensor([IMAGE]).to(dtype), 2, return_indices=True)
    assert values.tolist() == [[[9, 8], [6, 6]]] and values.dtype is dtype
    assert index.tolist() == [[[5, 7], [13, 15]]]


@pytest.mark.parametrize(
    ("options", "values", "index"),
    [
        ({"stride": 1}, [[9, 9, 8], [9, 9, 8], [6, 6, 6]], [[5, 5, 7], [5, 5, 7], [13, 13, 15]]),
        ({"stride": 2, "padding": 1}, [[1, 3, 4], [5, 9, 8], [0, 6, 6]], [[0, 2, 3], [4, 5, 7], [12, 13, 15]]),
        ({"stride": 1, "dilation": 2}, [[4, 4], [7, 9]], [[8, 3], [6, 5]]),
        ({"stride": 3, "ceil_mode": True}, [[9, 8], [6, 6]], [[5, 7], [13, 15]]),
    ],
)
def test_max_pool2d_with_options(options, values, index):
    found = F.max_pool2d(ad.tensor([IMAGE]), 2, return_indices=True, **options)
    assert found[0][0].tolist() == values
    assert found[1][0].tolist() == index


def slow_maxima(x, kernel, stride, padding, dilation):
    """Windows one by one, for each plane of `x`."""
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(x.shape[1:], kernel, stride, padding, dilation, strict=True)]
    values, index = np.empty((len(x), *counts)), np.empty((len(x), *counts), int)
    for place in np.ndindex(len(x), *counts):
        best, where = -np.inf, None
        for tap in np.ndindex(*kernel):
            at = tuple(p * s - q + t * d for p, s, q, t, d in zip(place[1:], stride, padding, tap, dilation, strict=True))
            if all(0 <= a < n for a, n in zip(at, x.shape[1:], strict=True)):
                value = x[(place[0], *at)]
                if where is None or value > best or np.isnan(value):
                    best, where = value, int(np.ravel_multi_index(at, x.shape[1:]))
        values[place], index[place] = best, where
    return values, index


def test_maxima_of_many_windows():
    """All strides and widths, ties, infinities and NaN."""
    rng = np.random.default_rng(0)
    for number in range(80):
        kernel, stride, dilation = (tuple(int(v) for v in rng.integers(1, high, 2)) for high in (5, 5, 3))
        padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
        size = tuple(int(rng.integers(d * (k - 1) + 1, 30)) for k, d in zip(kernel, dilation, strict=True))
        x = rng.integers(-3, 4, (3, *size)).astype(["float32", "float64"][number % 2])
        if number % 3 == 0:
            x[rng.random(x.shape) < 0.1] = np.nan
            x[rng.random(x.shape) < 0.3] = -np.inf
        values, index = F.max_pool2d(ad.tensor(x), kernel, stride, padding, dilation, return_indices=True)
        expected = slow_maxima(x, kernel, stride, padding, dilation)
        what = f"{size} {kernel} {stride} {padding} {dilation}"
        np.testing.assert_array_equal(values.numpy(), expected[0], err_msg=what)
        np.testing.assert_array_equal(index.numpy(), expected[1], err_msg=what)


def test_gradient_of_maxima_adds_up_where_windows_overlap():
    x = ad.tensor([IMAGE], requires_grad=True)
    F.max_pool2d(x, 2, stride=1).sum().backward()
    expected = np.zeros((4, 4))
    expected[1, 1], expected[1, 3], expected[3, 1], expected[3, 3] = 4, 2, 2, 1
    assert x.grad.tolist() == [expected.tolist()]


def test_indices_cannot_be_changed_behind_the_back_of_the_gradient():
    x = ad.tensor([IMAGE], requires_grad=True)
    values, index = F.max_pool2d(x, 2, return_indices=True)
    index.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()


def test_avg_pool_counts():
    x = ad.ones(1, 1, 4)
    assert F.avg_pool1d(x, 3, 2, 1).tolist() == [[[pytest.approx(2 / 3), 1.0]]]
    assert F.avg_pool1d(x, 3, 2, 1, count_include_pad=False).tolist() == [[[1.0, 1.0]]]
    assert F.avg_pool1d(ad.ones(1, 1, 5), 2, ceil_mode=True).tolist() == [[[1.0, 1.0, 1.0]]]
    assert F.avg_pool2d(ad.ones(1, 4, 4), 2, divisor_override=3).tolist() == [[[pytest.approx(4 / 3)] * 2] * 2]


def test_adaptive_pooling_covers_everything():
    x = ad.arange(7.0).reshape(1, 1, 7)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[1.0, 3.0, 5.0]]]
    assert F.adaptive_max_pool1d(x, 3).tolist() == [[[2.0, 4.0, 6.0]]]
    assert F.adaptive_avg_pool1d(x, 9)[0, 0, [0, 8]].tolist() == [0.0, 6.0]
    assert F.adaptive_avg_pool2d(ad.ones(2, 3, 4, 5), (None, 2)).shape == (2, 3, 4, 2)


def test_unpooling_puts_maxima_back():
    x = ad.tensor([IMAGE])
    values, index = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, index, 2)
    assert back[0].tolist() == [[0, 0, 0, 0], [0, 9, 0, 8], [0, 0, 0, 0], [0, 6, 0, 6]]


def test_fractional_pooling_draws_where_regions_begin():
    x = ad.arange(64.0).reshape(1, 1, 8, 8)
    ad.manual_seed(1)
    first = F.fractional_max_pool2d(x, 2, output_size=3)
    ad.manual_seed(1)
    assert ad.equal(F.fractional_max_pool2d(x, 2, output_size=3), first)
    assert first[0, 0, -1, -1].item() == 63.0  # the last region ends with the image


def test_lp_pool():
    assert F.lp_pool1d(ad.tensor([[[3.0, 4.0, 0.0, 5.0]]]), 2, 2).tolist() == [[[pytest.approx(5.0), pytest.approx(5.0)]]]


# ---- interpolation ------------------------------------------------------------------------------------------------------------------


def test_interpolation_of_a_line():
    x = ad.tensor([[[0.0, 2.0, 4.0]]])
    assert F.interpolate(x, 6).tolist() == [[[0.0, 0.0, 2.0, 2.0, 4.0, 4.0]]]
    assert F.interpolate(x, 5, mode="linear", align_corners=True).tolist() == [[[0.0, 1.0, 2.0, 3.0, 4.0]]]
    assert F.interpolate(x, 6, mode="linear").tolist() == [[[0.0, 0.5, 1.5, 2.5, 3.5, 4.0]]]
    assert F.interpolate(x, 1, mode="area").tolist() == [[[2.0]]]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(9, 7), (3, 4), (4, 9)])
def test_smooth_interpolation_keeps_a_constant(mode, size):
    for options in ({}, {"align_corners": True}, {"antialias": True}):
        out = F.interpolate(ad.full((1, 2, 5, 6), 3.0), size=size, mode=mode, **options)
        np.testing.assert_allclose(out.numpy(), 3.0, rtol=1e-5)


def test_bilinear_interpolation_is_exact_on_a_plane():
    rows, columns = np.meshgrid(np.arange(4.0), np.arange(5.0), indexing="ij")
    x = ad.tensor((2 * rows + 3 * columns)[None, None])
    out = F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True).numpy()[0, 0]
    rows, columns = np.meshgrid(np.linspace(0, 3, 7), np.linspace(0, 4, 9), indexing="ij")
    np.testing.assert_allclose(out, 2 * rows + 3 * columns, atol=1e-12)


def test_gradient_of_interpolation_is_its_transpose():
    rng = np.random.default_rng(0)
    for mode, shape in (("nearest", (5,)), ("linear", (5,)), ("bilinear", (5, 6)), ("bicubic", (5, 6)), ("trilinear", (3, 4, 5))):
        x = ad.tensor(rng.normal(size=(2, 3, *shape)), requires_grad=True)
        out = F.interpolate(x, scale_factor=1.6, mode=mode)
        g = ad.tensor(rng.normal(size=out.shape))
        out.backward(g)
        assert (x.grad * x).sum().item() == pytest.approx((out * g).sum().item())


# ---- grids and blocks ---------------------------------------------------------------------------------------------------------------


def test_the_identity_grid_gives_the_image_back():
    image = ad.randn(2, 3, 4, 5, dtype=ad.float64)
    theta = ad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]] * 2, dtype=ad.float64)
    for align_corners in (False, True):
        grid = F.affine_grid(theta, image.shape, align_corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            np.testing.assert_allclose(F.grid_sample(image, grid, mode, align_corners=align_corners).numpy(), image.numpy(), atol=1e-12)


def test_points_outside_the_image():
    image = ad.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    grid = ad.tensor([[[[-3.0, -1.0], [3.0, 1.0]]]])
    assert F.grid_sample(image, grid, "nearest", "zeros", True).tolist() == [[[[0.0, 0.0]]]]
    assert F.grid_sample(image, grid, "nearest", "border", True).tolist() == [[[[1.0, 4.0]]]]
    assert F.grid_sample(image, grid, "nearest", "reflection", True).tolist() == [[[[2.0, 3.0]]]]


def test_fold_undoes_unfold_where_blocks_do_not_overlap():
    x = ad.randn(2, 3, 6, 4)
    assert ad.equal(F.fold(F.unfold(x, 2, stride=2), (6, 4), 2, stride=2), x)
    counts = F.fold(F.unfold(ad.ones(1, 1, 3, 3), 2), (3, 3), 2)
    assert counts[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_pixel_shuffle_and_its_inverse():
    x = ad.arange(16.0).reshape(1, 4, 2, 2)
    shuffled = F.pixel_shuffle(x, 2)
    assert shuffled[0, 0, :2, :2].tolist() == [[0.0, 4.0], [8.0, 12.0]]
    assert ad.equal(F.pixel_unshuffle(shuffled, 2), x)
    assert F.channel_shuffle(ad.arange(6.0).reshape(1, 6, 1), 2).flatten().tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]


# ---- layers -------------------------------------------------------------------------------------------------------------------------

REPRS = [
    (lambda: nn.MaxPool2d(2), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (lambda: nn.MaxPool1d(3, 1, 1), "MaxPool1d(kernel_size=3, stride=1, padding=1, dilation=1, ceil_mode=False)"),
    (lambda: nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    (lambda: nn.AvgPool2d((2, 3), padding=1), "AvgPool2d(kernel_size=(2, 3), stride=(2, 3), padding=1)"),
    (lambda: nn.AdaptiveAvgPool2d((1, None)), "AdaptiveAvgPool2d(output_size=(1, None))"),
    (lambda: nn.AdaptiveMaxPool3d(2), "AdaptiveMaxPool3d(output_size=2)"),
    (lambda: nn.LPPool2d(2, 3), "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    (lambda: nn.MaxUnpool2d(2, padding=1), "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(1, 1))"),
    (lambda: nn.FractionalMaxPool2d(2, 3), "FractionalMaxPool2d()"),
    (lambda: nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')"),
    (lambda: nn.Upsample(size=(2, 3), mode="bilinear"), "Upsample(size=(2, 3), mode='bilinear')"),
    (lambda: nn.UpsamplingBilinear2d(size=3), "UpsamplingBilinear2d(size=3, mode='bilinear')"),
    (lambda: nn.Unfold(2, stride=3), "Unfold(kernel_size=2, dilation=1, padding=0, stride=3)"),
    (lambda: nn.Fold((4, 4), 2), "Fold(output_size=(4, 4), kernel_size=2, dilation=1, padding=0, stride=1)"),
]


@pytest.mark.parametrize(("made", "text"), REPRS)
def test_repr(made, text):
    assert repr(made()) == text


X4, X5 = (2, 3, 8, 6), (2, 3, 4, 6, 5)
LAYERS = [
    (lambda: nn.MaxPool2d(3, 2, 1), X4, (2, 3, 4, 3)),
    (lambda: nn.MaxPool3d(2), X5, (2, 3, 2, 3, 2)),
    (lambda: nn.AvgPool2d(2, ceil_mode=True), X4, (2, 3, 4, 3)),
    (lambda: nn.AvgPool3d(2), X5, (2, 3, 2, 3, 2)),
    (lambda: nn.AdaptiveAvgPool2d(1), X4, (2, 3, 1, 1)),
    (lambda: nn.AdaptiveAvgPool3d((2, None, 1)), X5, (2, 3, 2, 6, 1)),
    (lambda: nn.AdaptiveMaxPool2d((5, 7)), X4, (2, 3, 5, 7)),
    (lambda: nn.LPPool3d(2, 2), X5, (2, 3, 2, 3, 2)),
    (lambda: nn.FractionalMaxPool2d(2, output_ratio=0.5), X4, (2, 3, 4, 3)),
    (lambda: nn.FractionalMaxPool3d(2, output_size=2), X5, (2, 3, 2, 2, 2)),
    (lambda: nn.Upsample(scale_factor=(2, 0.5)), X4, (2, 3, 16, 3)),
    (lambda: nn.UpsamplingNearest2d(scale_factor=3), X4, (2, 3, 24, 18)),
    (lambda: nn.Unfold(2, stride=2), X4, (2, 12, 12)),
]


@pytest.mark.parametrize(("made", "given", "expected"), LAYERS)
def test_layers(made, given, expected):
    x = ad.rand(given, requires_grad=True)
    out = made()(x)
    assert out.shape == expected
    out.sum().backward()
    assert x.grad.shape == given


def test_layers_return_indices():
    values, index = nn.MaxPool1d(2, return_indices=True)(ad.tensor([[1.0, 3.0, 2.0, 0.0]]))
    assert values.tolist() == [[3.0, 2.0]] and index.tolist() == [[1, 2]]
    assert nn.MaxUnpool1d(2)(values, index).tolist() == [[0.0, 3.0, 2.0, 0.0]]
    assert len(nn.AdaptiveMaxPool2d(2, return_indices=True)(ad.ones(1, 4, 4))) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio"),
        ({"output_size": 2, "output_ratio": 0.5}, "only one of output_size and output_ratio may be specified"),
        ({"output_ratio": 1.5}, "output_ratio must be between 0 and 1"),
    ],
)
def test_fractional_layer_errors(options, words):
    with pytest.raises(ValueError, match=words):
        nn.FractionalMaxPool2d(2, **options)


def test_maxima_are_the_same_where_nobody_asks_for_their_places():
    x = ad.randn(3, 20, 21)
    for kernel in (2, 3):
        values, _ = F.max_pool2d(x, kernel, padding=1, return_indices=True)
        assert F.max_pool2d(x, kernel, padding=1).equal(values)
        assert F.max_pool2d(x.clone().requires_grad_(), kernel, padding=1).detach().equal(values)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "uint8"])
def test_nearest_elements_for_all_pairs_of_sizes(dtype):
    for size in range(1, 12):
        x = ad.arange(4 * size).reshape(2, 2, size).to(getattr(ad, dtype))
        for count in range(1, 12):
            places = [place * size // count for place in range(count)]
            assert F.interpolate(x, size=count, mode="nearest").tolist() == x[:, :, places].tolist()


@pytest.mark.parametrize(("norm", "expected"), [(float("inf"), [3.0, 2.0]), (float("-inf"), [1.0, 0.0])])
def test_the_limits_of_norms_are_the_largest_and_the_smallest_size(norm, expected):
    x = ad.tensor([[[1.0, -3.0, 2.0, 0.0]]], requires_grad=True)
    for pooled in (F.lp_pool1d(x, norm, 2), F.lp_pool2d(x.unsqueeze(2), norm, (1, 2)), F.lp_pool3d(x[:, :, None, None], norm, (1, 1, 2))):
        assert pooled.flatten().tolist() == expected
    F.lp_pool1d(x, float("inf"), 2).sum().backward()
    assert x.grad.tolist() == [[[0.0, -1.0, 1.0, 0.0]]]


@pytest.mark.parametrize("pool", [F.adaptive_avg_pool2d, F.adaptive_max_pool2d, F.adaptive_avg_pool3d, F.adaptive_max_pool3d])
def test_adaptive_pooling_to_nothing_has_no_backward_pass(pool):
    dims = int(pool.__name__[-2])
    x = ad.ones(1, 2, *[4] * dims, requires_grad=True)
    pooled = pool(x, 0)
    assert pooled.numel() == 0
    with pytest.raises(RuntimeError, match=rf"{pool.__name__}_backward\(\): Expected grad_output to have non-zero size"):
        pooled.sum().backward()


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling_of_nothing_and_to_nothing(dims):
    pool = getattr(F, f"fractional_max_pool{dims}d")
    x = ad.rand(0, 3, *[8] * dims, requires_grad=True)
    pool(x, 2, output_size=4).sum().backward()
    assert x.grad.shape == x.shape
    x = ad.rand(1, 3, *[8] * dims, requires_grad=True)
    values, places = pool(x, 2, output_size=(0, *[4] * (dims - 1)), return_indices=True)
    assert values.shape == places.shape == (1, 3, 0, *[4] * (dims - 1))
    values.sum().backward()
    assert not x.grad.any()
    with pytest.raises(RuntimeError, match="Expected input to have non-zero size for non-batch dimensions"):
        pool(ad.rand(1, 0, *[8] * dims), 2, output_size=4)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((0, 0, None), r"size\(0\) no less then input batch size"), ((2, 1, None), r"size\(1\) equals to input channel size"),
        ((2, 3, 1), r"size\(2\) equals to"), ((2, 3), "to have 3 dimensions, got 2"),
    ],
)  # fmt: skip
def test_random_samples_must_fit(dims, shape, words):
    samples = ad.rand(*[dims if n is None else n for n in shape])
    with pytest.raises(RuntimeError, match=f"Expect _random_samples.*{words}"):
        getattr(F, f"fractional_max_pool{dims}d")(ad.rand(2, 3, *[8] * dims), 2, output_size=4, _random_samples=samples)


def test_kernel_sizes_of_fractional_pooling():
    with pytest.raises(ValueError, match="kernel_size must be greater than 0, but got 0"):
        nn.FractionalMaxPool3d(0, output_size=2)
    with pytest.raises(RuntimeError, match="kernel_size must either be a single Int or tuple of three Ints"):
        F.fractional_max_pool3d(ad.rand(1, 1, 8, 8, 8), (2, 2), output_size=2)


def test_whole_numbers_are_weighted_by_multiples_of_a_power_of_two():
    """A third of the way from 0 to 255, with weights in 16 bits, and not 85 after rounding of a float."""
    x = ad.tensor([[[[0, 255], [255, 0]]]], dtype=ad.uint8)
    rows = F.interpolate(x, size=(4, 2), mode="bilinear", align_corners=True)
    assert rows.dtype == ad.uint8 and rows[0, 0, :, 0].tolist() == [0, 85, 170, 255]
    assert F.interpolate(x, size=(2, 2), mode="bicubic").equal(x)


def test_a_grid_over_a_single_pixel_warns():
    with pytest.warns(UserWarning, match="affine_grid behavior has changed for unit-size grids"):
        F.affine_grid(ad.eye(2, 3)[None], (1, 1, 1, 3), align_corners=True)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grids_in_half_precision_have_gradients(mode):
    x, grid = ad.ones(1, 2, 4, 4, dtype=ad.bfloat16, requires_grad=True), ad.zeros(1, 3, 3, 2, dtype=ad.bfloat16, requires_grad=True)
    F.grid_sample(x, grid, mode=mode, align_corners=False).sum().backward()
    assert x.grad.dtype == grid.grad.dtype == ad.bfloat16
    assert x.grad.float().sum().item() == pytest.approx(18, abs=0.1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: F.max_pool2d(ad.ones(1, 4, 4), 2.0), TypeError, "argument 'kernel_size' .* must be tuple of ints, not float"),
        (lambda: F.avg_pool1d(ad.ones(1, 4), "a"), TypeError, "argument 'kernel_size' .* must be tuple of ints, not str"),
        (lambda: F.avg_pool2d(ad.ones(4), 2), IndexError, "Dimension out of range"),
        (lambda: F.avg_pool3d(ad.ones(1, 4, 4, 4, dtype=ad.float16), 2), NotImplementedError, '"avg_pool3d_out_frame" not implemented'),
        (lambda: F.max_unpool2d(ad.ones(2, 0, 4, 4), ad.ones(2, 0, 4, 4).long(), 2), RuntimeError, "non-zero size for non-batch"),
        (lambda: F.pad(ad.ones(4), (1.5, 1)), TypeError, "found element of type float at pos 0"),
        (lambda: F.pad(ad.ones(4, dtype=ad.uint8), (1, 1), value=300), RuntimeError, "without overflow"),
        (lambda: F.pad(ad.ones(1, 1, 4), (-5, 0), "circular"), RuntimeError, "resulting in an empty dimension"),
        (lambda: F.conv_transpose2d(ad.ones(1, 1, 4, 4).int(), ad.ones(1, 1, 2, 2).int()), NotImplementedError, "slow_conv_transpose2d"),
        (lambda: F.conv_transpose1d(ad.ones(1, 1, 4), ad.ones(1, 1, 2), stride=-1), RuntimeError, "non-positive stride"),
        (lambda: F.interpolate(ad.ones(2, 0, 4), 3), RuntimeError, "Non-empty 3D data tensor expected"),
        (lambda: F.interpolate(ad.ones(1, 1, 4, 4).half(), 3, mode="bilinear", antialias=True), NotImplementedError, "'Half'"),
        (lambda: F.interpolate(ad.ones(1, 1, 4, 4), (3.5, 3)), TypeError, "expected size to be one of int or Tuple"),
        (lambda: F.interpolate(ad.ones(1, 1, 4), 3, mode="lanczos"), NotImplementedError, "Only 3D, 4D and 5D input"),
        (lambda: F.grid_sample(ad.ones(1, 1, 4, 4).long(), ad.ones(1, 1, 1, 2), align_corners=False), NotImplementedError, "'Long'"),
        (lambda: F.dropout(ad.ones(4, dtype=ad.complex64)), NotImplementedError, "bernoulli_scalar_cpu_"),
    ],
)
def test_arguments_that_do_not_fit(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_no_channels_and_no_elements():
    assert F.adaptive_avg_pool2d(ad.ones(2, 0, 4, 4), 2).shape == (2, 0, 2, 2)
    assert F.pad(ad.ones(2, 0, 4), (1, 1), "circular").shape == (2, 0, 6)
    assert F.pad(ad.ones(2, 3, 4), (-4, 0), "circular").shape == (2, 3, 0)
    assert F.instance_norm(ad.ones(2, 0, 4, 4)).shape == (2, 0, 4, 4)


def test_long_dimensions():
    """Windows are not looked at one by one in Python, and those of a tile only once."""
    size = 1_000_003
    line = np.sin(np.arange(size)).astype("float32")
    x = ad.tensor(line.reshape(1, 1, -1), requires_grad=True)
    begin = time.process_time()
    mean, adapted, most = F.avg_pool1d(x, 3, 2, 1), F.adaptive_avg_pool1d(x, 700_001), F.adaptive_max_pool1d(x, 600_001)
    (mean.sum() + adapted.sum()).backward()
    assert time.process_time() - begin < 20  # it was minutes
    padded = np.pad(line, 1)
    np.testing.assert_allclose(mean.detach()[0, 0], (padded[:-2:2] + padded[1:-1:2] + padded[2::2]) / 3, rtol=1e-5, atol=1e-6)
    for found, reduce in ((adapted, np.mean), (most, np.max)):
        count = found.shape[-1]
        for place in (0, 1, 511, 512, 399_999, count - 1):
            window = line[place * size // count : -(-(place + 1) * size // count)]
            np.testing.assert_allclose(found.detach()[0, 0, place], reduce(window), rtol=1e-6)
    np.testing.assert_allclose(x.grad.sum(), mean.shape[-1] - 2 / 3 + adapted.shape[-1], rtol=1e-4)


@pytest.mark.parametrize("size", [2**62 - 1, 2**63 - 1])
@pytest.mark.parametrize(
    ("function", "dims", "words"),
    [
        (F.adaptive_max_pool1d, 1, "Storage size calculation overflowed"),
        (F.adaptive_avg_pool1d, 1, "numel: integer multiplication overflow"),
        (F.adaptive_max_pool2d, 2, "Storage size calculation overflowed"),
        (F.adaptive_avg_pool3d, 3, "numel: integer multiplication overflow"),
    ],
)
def test_more_places_than_can_be_counted(function, dims, words, size):
    with pytest.raises(RuntimeError, match=words):
        function(ad.ones(1, 2, *[4] * dims), (size,) + (2,) * (dims - 1) if dims > 1 else size)


def test_long_windows_that_are_far_apart():
    x = np.random.default_rng(0).standard_normal((2, 3, 3000))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (300, 300))), 600, -1)[:, :, ::100]
    t = ad.tensor(x, requires_grad=True)
    found = ad.nn.functional.avg_pool1d(t, 600, 100, 300)
    np.testing.assert_allclose(found.detach(), windows.mean(-1), rtol=1e-12, atol=1e-14)
    found.sum().backward()
    covered = np.array([sum(start <= k + 300 < start + 600 for start in range(0, 3001, 100)) for k in range(3000)])
    np.testing.assert_allclose(t.grad, np.broadcast_to(covered / 600, x.shape), rtol=1e-12)
    found, places = ad.nn.functional.max_pool1d(t, 600, 100, return_indices=True)
    windows = np.lib.stride_tricks.sliding_window_view(x, 600, -1)[:, :, ::100]
    np.testing.assert_array_equal(found.detach(), windows.max(-1))
    np.testing.assert_array_equal(places, windows.argmax(-1) + 100 * np.arange(windows.shape[2]))
