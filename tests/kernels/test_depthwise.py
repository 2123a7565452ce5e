"""Convolutions of one channel each with a kernel of its own give what as many convolutions of one channel give."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.functional as F
from adjoint.ops import _convolve
from adjoint.ops._depthwise import Depthwise

# size, kernel, stride, padding, dilation
CASES = [
    ((9,), (3,), 1, 1, 1), ((30,), (5,), 2, 3, 2), ((14, 14), (7, 7), 1, 3, 1), ((9, 11), (3, 2), (2, 1), (0, 2), (1, 3)),
    ((6, 1), (3, 1), 3, (2, 0), 1), ((1, 40), (1, 4), 1, 0, 1), ((4, 5, 6), (3, 2, 3), (1, 2, 1), 1, 1), ((60, 70), (3, 3), 1, 1, 1),
]  # fmt: skip


def numbers(shape, dtype, seed):
    return ad.tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("channels", [1, 4, 5, 8, 19])
@pytest.mark.parametrize("case", CASES)
def test_channel_by_channel(case, channels, transposed, dtype):
    size, kernel, stride, padding, dilation = case
    convolve = getattr(F, f"conv_transpose{len(size)}d" if transposed else f"conv{len(size)}d")
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    x, weight = numbers((3, channels, *size), dtype, 0), numbers((channels, 1, *kernel), dtype, 1)
    bias = numbers(channels, dtype, 2)
    given = [t.requires_grad_() for t in (x, weight, bias)]
    found = convolve(*given, **options, groups=channels)
    expected = ad.cat([convolve(x[:, c : c + 1], weight[c : c + 1], bias[c : c + 1], **options) for c in range(channels)], 1)
    g = numbers(found.shape, dtype, 3)
    results = [found, *ad.autograd.grad(found, given, g)], [expected, *ad.autograd.grad(expected, given, g)]
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for ours, theirs in zip(*results, strict=True):
        scale = float(theirs.detach().abs().max())
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance * scale)


def test_which_convolutions_these_are():
    ones = (1, 1)
    plan = _convolve.correlation_for((2, 16, 9, 9), (16, 1, 3, 3), (2, 16, 9, 9), ones, ones, ones, 16, "f32")
    assert isinstance(plan, Depthwise)
    several = _convolve.correlation_for((2, 16, 9, 9), (32, 1, 3, 3), (2, 32, 9, 9), ones, ones, ones, 16, "f32")
    few = _convolve.correlation_for((2, 1, 9, 9), (1, 1, 3, 3), (2, 1, 9, 9), ones, ones, ones, 1, "f32")
    nothing = _convolve.correlation_for((0, 16, 9, 9), (16, 1, 3, 3), (0, 16, 9, 9), ones, ones, ones, 16, "f32")
    assert not any(isinstance(other, Depthwise) for other in (several, few, nothing))


def test_other_layouts(monkeypatch):
    used, compute = [], Depthwise.__call__
    monkeypatch.setattr(Depthwise, "__call__", lambda self, *arrays: used.append(compute(self, *arrays)) or used[-1])
    x, weight = numbers((2, 9, 12, 10), "float64", 0), numbers((10, 1, 3, 3), "float64", 1)
    turned = F.conv2d(x.permute(0, 3, 1, 2), weight.mT, padding=1, groups=10)
    straight = F.conv2d(x.permute(0, 3, 1, 2).contiguous(), weight.mT.contiguous(), padding=1, groups=10)
    np.testing.assert_array_equal(turned.numpy(), straight.numpy())
    assert [result.shape for result in used] == [(2, 10, 9, 12)] * 2
