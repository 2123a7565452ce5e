"""Half precision with adjoint and with PyTorch: layers with parameters in single precision, norms of gradients, means."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

LIBRARIES = (ad, torch)
DTYPES = "bfloat16", "float16"
NORMS = {
    "batch": lambda nn: nn.BatchNorm2d(4), "evaluation": lambda nn: nn.BatchNorm2d(4).eval(), "group": lambda nn: nn.GroupNorm(2, 4),
    "instance": lambda nn: nn.InstanceNorm2d(4, affine=True, track_running_stats=True), "layer": lambda nn: nn.LayerNorm(6),
    "rms": lambda nn: nn.RMSNorm(6),
}  # fmt: skip


def rounded_once(ours, theirs, dtype):
    """The numbers are equal, but for those that lie between two in half precision."""
    step = {"bfloat16": 2**-8, "float16": 2**-11}[dtype]
    assert np.mean(ours != theirs) < 0.02
    np.testing.assert_allclose(ours, theirs, rtol=2 * step, atol=step)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", NORMS.values(), ids=NORMS)
def test_norms_with_parameters_in_single_precision(make, dtype, autocast):
    results = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        norm = make(lib.nn)
        norm.weight.data.uniform_(0.5, 1.5)
        x, g = (lib.randn(3, 4, 6, 6).to(getattr(lib, dtype)) for _ in range(2))
        with warnings.catch_warnings(), lib.autocast("cpu", dtype=getattr(lib, dtype), enabled=autocast):
            warnings.simplefilter("ignore")  # PyTorch notes that it does not fuse these
            out = norm(x.requires_grad_())
        out.backward(g)
        buffers = [b for b in norm.buffers() if b.is_floating_point()]
        results.append([t.detach() for t in (out, x.grad, *buffers, *(p.grad for p in norm.parameters()))])
    for ours, theirs in zip(*results, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        if ours.dtype is ad.float32:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0.05, atol=0.05)  # PyTorch adds some up in half precision
        else:
            rounded_once(ours.float().numpy(), theirs.float().numpy(), dtype)


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("dtypes", [("bfloat16",), ("float16",), ("bfloat16", "float32"), ("float16", "float16")])
def test_clipping_of_gradients(dtypes, norm_type):
    results = []
    for lib in LIBRARIES:
        lib.manual_seed(0)
        parameters = [lib.nn.Parameter(lib.zeros(50, dtype=getattr(lib, dtype))) for dtype in dtypes]
        for parameter in parameters:
            parameter.grad = lib.randn(50).to(parameter.dtype)
        total = lib.nn.utils.clip_grad_norm_(parameters, 1.0, norm_type)
        results.append([total, *(p.grad for p in parameters)])
    for ours, theirs in zip(*results, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        rounded_once(ours.float().numpy(), theirs.float().numpy(), dtypes[0])


@pytest.mark.parametrize("dim", [0, 1, 2, (0, 1), (1, 2), None])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_mean_is_rounded_once(dtype, dim):
    ours, theirs = (np.random.default_rng(0).standard_normal((50, 7, 33)).astype(np.float32) for _ in LIBRARIES)
    means = [lib.tensor(x).to(getattr(lib, dtype)).mean(dim).float() for lib, x in zip(LIBRARIES, (ours, theirs), strict=True)]
    rounded_once(means[0].numpy(), means[1].numpy(), dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["addmm", "baddbmm"])
def test_a_product_with_factors_is_rounded_once(name, dtype):
    part = 0 if name == "addmm" else slice(None)
    arrays = [np.random.default_rng(place).standard_normal((3, 17, 17)).astype(np.float32)[part] for place in range(3)]
    ours, theirs = (
        getattr(lib, name)(*(lib.from_numpy(x).to(getattr(lib, dtype)) for x in arrays), beta=-4.775, alpha=2.0315).float().numpy()
        for lib in (ad, torch)
    )
    assert np.mean(ours != theirs) < 0.01  # sums of float32 in another order may be rounded the other way
