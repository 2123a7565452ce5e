"""Convolution, pooling, interpolation and their layers against PyTorch: values, first and second derivatives, layers, reprs, node names."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import pool_loops, resample_loops
from adjoint._kernels.loops import unable
from adjoint.ops import _convolve, _pool_windows

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=[False, True], ids=["numpy", "compiled"])
def compiled(request, monkeypatch):
    if request.param:
        return
    for module in (_convolve, _pool_windows):
        monkeypatch.setattr(module, "serves", lambda *arrays: False)
    for kernel in (pool_loops.means, pool_loops.add_to_windows, pool_loops.put, *resample_loops.KERNELS):
        monkeypatch.setattr(kernel, "run", unable)


def outcome(call, library, arrays):
    """Outputs, and first and second derivatives of a polynomial of them; or the error."""
    inputs = [library.tensor(a, requires_grad=True) for a in arrays]
    try:
        outputs = call(library, library.nn.functional, *inputs)
    except (RuntimeError, ValueError, TypeError) as error:
        return error
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    first = library.autograd.grad((outputs[0] ** 3).sum(), inputs, create_graph=True)
    second = library.autograd.grad(sum((g * g).sum() for g in first), inputs, allow_unused=True)
    return [x.detach().numpy() for x in (*outputs, *first, *(g for g in second if g is not None))]


def same(call, *arrays, rtol=1e-9):
    ours, theirs = (outcome(call, library, arrays) for library in LIBRARIES)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{theirs!r} in PyTorch, but not here"
        return
    assert not isinstance(ours, Exception), ours
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.abs(b).max(initial=0)))


rng = np.random.default_rng(0)

# ---- convolution --------------------------------------------------------------------------------------------------------------------

NUMBERS = list(itertools.product((1, 2, 3), (0, 1, 2), (1, 2), (1, 2)))


@pytest.mark.parametrize("batch", [(2,), ()], ids=["batch", "unbatched"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(compiled, dims, batch):
    for stride, padding, dilation, groups in NUMBERS:
        x, w, b = (rng.normal(size=s) for s in ((*batch, 4, *(7, 6, 5)[:dims]), (6, 4 // groups, *(3, 2, 2)[:dims]), (6,)))
        how = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
        same(lambda t, F, *args, how=how: getattr(F, f"conv{dims}d")(*args, **how), x, w, b)


@pytest.mark.parametrize("batch", [(2,), ()], ids=["batch", "unbatched"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution(compiled, dims, batch):
    for stride, padding, dilation, groups in NUMBERS:
        x, w, b = (rng.normal(size=s) for s in ((*batch, 4, *(4, 3, 3)[:dims]), (4, 6 // groups, *(3, 2, 2)[:dims]), (6,)))
        for output_padding in (0, 1):
            how = dict(stride=stride, padding=padding, dilation=dilation, groups=groups, output_padding=output_padding)
            same(lambda t, F, *args, how=how: getattr(F, f"conv_transpose{dims}d")(*args, **how), x, w, b)


# Shapes of real networks, in single precision.
NETWORKS = [
    ((4, 1, 28, 28), (32, 1, 3, 3), {}),
    ((2, 32, 26, 26), (64, 32, 3, 3), {}),
    ((2, 64, 28, 28), (64, 64, 3, 3), {"padding": 1}),
    ((1, 16, 14, 14), (48, 16, 1, 1), {}),
    ((1, 3, 64, 64), (16, 3, 7, 7), {"stride": 2, "padding": 3}),
    ((2, 24, 15, 15), (24, 1, 3, 3), {"groups": 24, "padding": 1}),
    ((2, 24, 15, 15), (24, 6, 3, 3), {"groups": 4, "stride": 2, "padding": 1}),
    ((2, 8, 3, 5), (8, 8, 3, 3), {"padding": 1}),
]


@pytest.mark.parametrize(("x", "w", "how"), NETWORKS)
def test_networks(compiled, x, w, how):
    arrays = rng.normal(size=x).astype("float32"), (rng.normal(size=w) / math.prod(w[1:])).astype("float32")
    same(lambda t, F, *args: F.conv2d(*args, **how), *arrays, rtol=2e-5)


# ---- pooling ------------------------------------------------------------------------------------------------------------------------

WINDOWS = list(itertools.product((1, 2, 3, 4), (None, 1, 2, 3), (0, 1, 2), (False, True)))


@pytest.mark.parametrize("batch", [(2,), ()], ids=["batch", "unbatched"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pooling(compiled, dims, batch):
    x = rng.normal(size=(*batch, 3, *(9, 8, 6)[:dims]))
    for kernel, stride, padding, ceil_mode in WINDOWS if dims < 3 else WINDOWS[::3]:
        for dilation in (1, 2):
            same(lambda t, F, x, h=(kernel, stride, padding, dilation, ceil_mode, True): getattr(F, f"max_pool{dims}d")(x, *h), x)
        for include in (True, False):
            same(lambda t, F, x, h=(kernel, stride, padding, ceil_mode, include): getattr(F, f"avg_pool{dims}d")(x, *h), x)
        if dims > 1:
            same(lambda t, F, x, h=(kernel, stride, padding, ceil_mode, True, 5): getattr(F, f"avg_pool{dims}d")(x, *h), x)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_and_norm_pooling(compiled, dims):
    x = rng.normal(size=(2, 3, *(9, 8, 6)[:dims]))
    for size in (1, 2, 3, 5, 9, 12):
        same(lambda t, F, x, size=size: getattr(F, f"adaptive_avg_pool{dims}d")(x, size), x)
        same(lambda t, F, x, size=size: getattr(F, f"adaptive_max_pool{dims}d")(x, size, return_indices=True), x)
    same(lambda t, F, x: getattr(F, f"lp_pool{dims}d")(x, 2, 3, 2, True), x)
    same(lambda t, F, x: getattr(F, f"lp_pool{dims}d")(x, 2.5, 2), np.abs(x))


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pooling_from_the_same_seed(dims):
    x = rng.normal(size=(2, 3, *(9, 8, 10)[:dims]))
    for library in LIBRARIES:
        library.manual_seed(5)
    results = [
        getattr(t.nn.functional, f"fractional_max_pool{dims}d")(t.tensor(x), 2, (4, 3, 5)[:dims], return_indices=True) for t in LIBRARIES
    ]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


# ---- interpolation, grids, padding --------------------------------------------------------------------------------------------------

MODES = [
    ("nearest", 1), ("nearest", 2), ("nearest", 3), ("nearest-exact", 1), ("nearest-exact", 2), ("nearest-exact", 3), ("linear", 1),
    ("bilinear", 2), ("bicubic", 2), ("trilinear", 3), ("area", 1), ("area", 2), ("area", 3),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "dims"), MODES)
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 3e-5)])
def test_interpolation(compiled, mode, dims, dtype, rtol):
    x = rng.normal(size=(2, 3, *(7, 6, 5)[:dims])).astype(dtype)
    sizes = [
        {"size": (3, 4, 5)[:dims]}, {"size": 1}, {"size": (14, 12, 10)[:dims]}, {"size": (7, 12, 5)[:dims]}, {"scale_factor": 2},
        {"scale_factor": 1.7}, {"scale_factor": (0.6, 1.3, 2.5)[:dims]}, {"scale_factor": 1.7, "recompute_scale_factor": True},
    ]  # fmt: skip
    smooth = mode not in ("nearest", "nearest-exact", "area")
    for how, align in itertools.product(sizes, (False, True) if smooth else (None,)):
        same(lambda t, F, x, how=how, align=align: F.interpolate(x, mode=mode, align_corners=align, **how), x, rtol=rtol)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_antialiased_interpolation(compiled, mode):
    x = rng.normal(size=(2, 3, 17, 12))
    for how in ({"size": (5, 13)}, {"size": (17, 4)}, {"scale_factor": 0.4}, {"scale_factor": (2.3, 0.7)}):
        same(lambda t, F, x, how=how: F.interpolate(x, mode=mode, antialias=True, **how), x)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_grid_sample(dims, padding_mode, align_corners):
    """Values and first derivatives; PyTorch has no second ones."""
    x, grid = rng.normal(size=(2, 3, *(5, 4, 6)[:dims])), rng.uniform(-1.9, 1.9, (2, *(3, 4, 5)[:dims], dims))
    grid.reshape(-1)[:6] = [-1, 1, 0, -1, 1, 1]
    for mode in ("bilinear", "nearest", "bicubic")[: 5 - dims]:
        found = []
        for t in LIBRARIES:
            image, points = t.tensor(x, requires_grad=True), t.tensor(grid, requires_grad=True)
            out = t.nn.functional.grid_sample(image, points, mode, padding_mode, align_corners)
            found.append([out, *t.autograd.grad((out**3).sum(), (image, points))])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("align_corners", [False, True])
def test_affine_grid(align_corners):
    for size in ((2, 3, 4, 5), (2, 3, 1, 5), (2, 3, 4, 5, 6)):
        count = len(size) - 2
        theta = rng.normal(size=(2, count, count + 1))
        same(lambda t, F, theta, size=size: F.affine_grid(theta, size, align_corners), theta)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_padding(mode, dims):
    x = rng.normal(size=(2, 3, *(6, 5, 4)[-dims:]))
    for pads in ((1, 2, 0, 1, 2, 1), (-1, 2, 0, 1, -1, -2), (0,) * 6, (3, -1, 2, -2, 1, 1), (9, 9, 9, 9, 9, 9)):
        same(lambda t, F, x, pads=pads: F.pad(x, pads[: 2 * dims], mode), x)


def test_blocks():
    x = rng.normal(size=(2, 3, 7, 6))
    for how in itertools.product((1, 2, (3, 2)), (1, 2), (0, 1), (1, 2)):
        same(lambda t, F, x, how=how: (F.unfold(x, *how), F.fold(F.unfold(x, *how), (7, 6), *how)), x)


# ---- layers -------------------------------------------------------------------------------------------------------------------------

LAYERS = [
    ("Conv1d", (4, 6, 3), {}, 1),
    ("Conv2d", (4, 6, (3, 2)), {"groups": 2, "stride": 2, "padding": 1}, 2),
    ("Conv3d", (4, 3, 2), {"bias": False}, 3),
    ("Conv2d", (4, 6, 3), {"padding": "same", "padding_mode": "reflect", "dilation": 2}, 2),
    ("Conv2d", (4, 6, 2), {"padding": "same", "padding_mode": "circular"}, 2),
    ("Conv1d", (4, 6, 3), {"padding": 2, "padding_mode": "replicate"}, 1),
    ("ConvTranspose1d", (4, 6, 3), {"dilation": 2}, 1),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, 2),
    ("ConvTranspose3d", (4, 2, 2), {"stride": (1, 2, 2)}, 3),
    ("MaxPool1d", (2,), {}, 1),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1}, 2),
    ("MaxPool3d", (2,), {"ceil_mode": True}, 3),
    ("AvgPool1d", (2,), {}, 1),
    ("AvgPool2d", ((2, 3),), {"stride": 1, "padding": (1, 1), "count_include_pad": False}, 2),
    ("AvgPool3d", (2,), {"divisor_override": 3}, 3),
    ("AdaptiveAvgPool1d", (3,), {}, 1),
    ("AdaptiveAvgPool2d", ((1, None),), {}, 2),
    ("AdaptiveMaxPool3d", (2,), {}, 3),
    ("LPPool2d", (2, 3), {"stride": 2}, 2),
    ("Upsample", (), {"scale_factor": 2}, 2),
    ("Upsample", (), {"size": (5, 9), "mode": "bicubic", "align_corners": True}, 2),
    ("UpsamplingBilinear2d", (), {"scale_factor": 1.5}, 2),
    ("UpsamplingNearest2d", (), {"size": 3}, 2),
    ("Unfold", (2,), {"stride": 2}, 2),
    ("PixelShuffle", (2,), {}, 2),
    ("ReflectionPad2d", (2,), {}, 2),
    ("ZeroPad3d", ((1, 2, 0, 1, 1, 1),), {}, 3),
    ("ReplicationPad1d", ((1, 3),), {}, 1),
    ("LocalResponseNorm", (3,), {}, 2),
]


@pytest.mark.parametrize(("name", "args", "options", "dims"), LAYERS)
def test_layers(name, args, options, dims):
    made = []
    for library in LIBRARIES:
        library.manual_seed(3)
        made.append(getattr(library.nn, name)(*args, **options))
    ours, theirs = made
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    x = rng.normal(size=(2, 4, *(7, 6, 5)[:dims])).astype("float32")
    results = []
    for library, layer in zip(LIBRARIES, made, strict=True):
        given = library.tensor(x, requires_grad=True)
        out = layer(given)
        (out * out).sum().backward()
        results.append([out, given.grad, *(p.grad for p in layer.parameters())])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-4)


# ---- nodes --------------------------------------------------------------------------------------------------------------------------

NODES = [
    (lambda F, x: F.conv2d(x, x.detach()[:, :, :2, :2]), (2, 2, 5, 5)),
    (lambda F, x: F.conv1d(x, x.detach().unsqueeze(0)[:, :, :2]), (2, 5)),
    (lambda F, x: F.conv_transpose2d(x, x.detach()[:, :, :2, :2]), (2, 2, 5, 5)),
    (lambda F, x: F.max_pool1d(x, 2), (2, 3, 6)),
    (lambda F, x: F.max_pool2d(x, 2), (2, 3, 6, 6)),
    (lambda F, x: F.max_pool3d(x, 2), (2, 3, 6, 6, 6)),
    (lambda F, x: F.avg_pool1d(x, 2), (2, 3, 6)),
    (lambda F, x: F.avg_pool2d(x, 2), (2, 3, 6, 6)),
    (lambda F, x: F.avg_pool3d(x, 2), (2, 3, 6, 6, 6)),
    (lambda F, x: F.adaptive_avg_pool2d(x, 3), (2, 3, 7, 7)),
    (lambda F, x: F.adaptive_avg_pool2d(x, 1), (2, 3, 7, 7)),
    (lambda F, x: F.adaptive_avg_pool3d(x, 2), (2, 3, 4, 4, 4)),
    (lambda F, x: F.adaptive_max_pool1d(x, 2), (2, 3, 6)),
    (lambda F, x: F.adaptive_max_pool2d(x, 2), (2, 3, 6, 6)),
    (lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), (2, 3, 6, 6)),
    (lambda F, x: F.lp_pool2d(x, 2, 2), (2, 3, 6, 6)),
    (lambda F, x: F.fractional_max_pool2d(x, 2, 3), (2, 3, 6, 6)),
    (lambda F, x: F.unfold(x, 2), (2, 3, 6, 6)),
    (lambda F, x: F.fold(x, (4, 4), 2), (2, 8, 9)),
    (lambda F, x: F.pixel_shuffle(x, 2), (2, 8, 2, 2)),
    (lambda F, x: F.channel_shuffle(x, 2), (2, 8, 2, 2)),
    (lambda F, x: F.grid_sample(x, x.detach()[:, :, :2].transpose(1, 3), align_corners=True), (2, 2, 3, 2)),
    (lambda F, x: F.affine_grid(x, (2, 1, 3, 3), True), (2, 2, 3)),
    (lambda F, x: F.interpolate(x, 3), (2, 3, 6)),
    (lambda F, x: F.interpolate(x, 3, mode="nearest-exact"), (2, 3, 6, 6)),
    (lambda F, x: F.interpolate(x, 3, mode="bilinear"), (2, 3, 6, 6)),
    (lambda F, x: F.interpolate(x, 3, mode="bicubic", antialias=True), (2, 3, 6, 6)),
    (lambda F, x: F.interpolate(x, 3, mode="trilinear"), (2, 3, 6, 6, 6)),
    (lambda F, x: F.interpolate(x, 3, mode="area"), (2, 3, 6, 6)),
    (lambda F, x: F.pad(x, (1, 1), "reflect"), (2, 3, 6)),
    (lambda F, x: F.pad(x, (1, 1, 1, 1), "replicate"), (2, 3, 6, 6)),
    (lambda F, x: F.pad(x, (1, 1)), (2, 3, 6)),
]


@pytest.mark.parametrize(("call", "shape"), NODES)
def test_nodes_have_the_same_names(call, shape):
    chains = []
    for library in LIBRARIES:
        node = call(library.nn.functional, library.ones(shape, requires_grad=True)).grad_fn
        chain = []
        while node is not None:
            chain.append(node.name().rsplit("::")[-1])
            node = node.next_functions[0][0] if node.next_functions else None
        chains.append(chain)
    assert chains[0] == chains[1]
