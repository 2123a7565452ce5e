"""How the results of layers lie in memory, and that they are computed so: by the strides of what goes in."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint._layout import by_pixels, suggests_channels_last
from adjoint.nn import functional as F

FORMATS = {4: ad.channels_last, 5: ad.channels_last_3d}


def images(*shape, dtype=ad.float32):
    ad.manual_seed(0)
    return ad.randn(shape).to(dtype).contiguous(memory_format=FORMATS[len(shape)])


def is_last(x):
    return x.is_contiguous(memory_format=FORMATS[x.ndim]) and not x.is_contiguous()


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(4, 6, 3), nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 6, 1), nn.ConvTranspose2d(4, 6, 2), nn.BatchNorm2d(4),
        nn.BatchNorm2d(4).eval(), nn.GroupNorm(2, 4), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(3), nn.AdaptiveMaxPool2d(3),
        nn.LPPool2d(2, 2), nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="bicubic"), nn.PixelUnshuffle(2), nn.ReLU(),
        nn.ChannelShuffle(2), nn.ZeroPad2d(1), nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.Dropout(), nn.Dropout2d(),
        nn.LocalResponseNorm(2), nn.PReLU(4), nn.GELU(), nn.Hardtanh(),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("whole", [True, False])
def test_layers_keep_channels_last(layer, whole):
    x = images(2, 4, 8, 8) if whole else images(2, 4, 9, 10)[:, :, 1:, 2:]
    x, layer = x.detach().requires_grad_(), copy.deepcopy(layer)
    y = layer(x)
    assert is_last(y)
    y.sum().backward()
    assert x.grad.is_contiguous(memory_format=ad.channels_last if whole else ad.contiguous_format)
    plain = layer.eval()(x.detach().contiguous())
    assert plain.is_contiguous()
    np.testing.assert_allclose(layer(x).detach().numpy(), plain.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "layer", [nn.Conv3d(4, 6, 3), nn.BatchNorm3d(4), nn.MaxPool3d(2), nn.Upsample(scale_factor=2), nn.ConstantPad3d(1, 2.0)], ids=repr
)
def test_volumes_keep_channels_last(layer):
    x = images(2, 4, 6, 6, 6).requires_grad_()
    y = layer(x)
    assert is_last(y)
    y.sum().backward()
    assert is_last(x.grad)


def test_a_module_is_laid_out_where_it_has_four_dimensions():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2)).to(memory_format=ad.channels_last)
    assert is_last(model[0].weight) and model[3].weight.is_contiguous()
    model(ad.ones(2, 3, 3, 3)).sum().backward()
    assert is_last(model[0].weight.grad)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        nn.Conv3d(1, 1, 2).to(memory_format=ad.channels_last)


def test_the_first_operand_that_tells_decides():
    x, plain = images(2, 3, 4, 5), ad.ones(2, 3, 4, 5)
    assert is_last(x + plain) and (plain + x).is_contiguous() and is_last(x * 2) and is_last(1 - x) and is_last(plain[:1, :1, :1, 0] + x)
    assert is_last(ad.where(x > 0, plain, plain)) and ad.where(plain > 0, x, x).is_contiguous()
    turned = ad.arange(6.0).reshape(2, 3).t()
    assert (turned + ad.ones(3, 2)).stride() == turned.exp().stride() == turned.double().stride() == (1, 3)
    assert turned.expand(2, 3, 2).clone().stride() == (6, 1, 3)


def test_joined_images_have_channels_last_if_all_have():
    x = images(2, 16, 32, 32)
    for size in (2, 32):
        part = x[:, :, :size]
        for dim in range(4):
            whole = ad.cat([part, part], dim)
            assert is_last(whole)
            np.testing.assert_array_equal(whole.numpy(), np.concatenate([part.numpy()] * 2, dim))
            assert ad.cat([part, part.contiguous()], dim).is_contiguous()


@pytest.mark.parametrize("dtype", [ad.float32, ad.float64, ad.float16, ad.uint8])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(5, 3), (8, 16), (12, 8), (8, 8)])
def test_pixels_are_resampled_like_planes(mode, size, dtype):
    x = (images(2, 3, 8, 8) * 40 + 100).to(dtype)
    there, plain = F.interpolate(x, size, mode=mode), F.interpolate(x.contiguous(), size, mode=mode)
    assert is_last(there) and plain.is_contiguous()
    np.testing.assert_allclose(there.double().numpy(), plain.double().numpy(), rtol=2e-3 if dtype is ad.float16 else 1e-5)


def test_what_looks_like_channels_last():
    data = images(2, 3, 4, 5)._data
    assert suggests_channels_last(data) and suggests_channels_last(data[:, :2, ::2, 1:]) and by_pixels(data).base is not None
    nothing = np.ones((0, 4, 5, 3)).transpose(0, 3, 1, 2)
    for other in (np.ones((2, 3, 4, 5)), data[:, :, :, :1].copy(), np.ones((2, 1, 4, 5)), data[0], nothing):
        assert not suggests_channels_last(other)


def test_contiguous_takes_a_format_and_not_preserve():
    x = images(2, 3, 4, 5)
    assert x.contiguous(memory_format=ad.channels_last) is x and x.to(memory_format=ad.channels_last) is x
    assert x[:, :, ::2].to(memory_format=ad.channels_last).stride() == (60, 1, 30, 3)  # gaps are no reason to copy
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contiguous operator"):
        x.contiguous(memory_format=ad.preserve_format)
