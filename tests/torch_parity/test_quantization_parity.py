"""Fake quantisation with adjoint and with PyTorch: values, gradients, messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
X = [[-9.0, -1.0, -0.26, -0.25, 0.0, 0.25], [0.26, 0.75, 1.0, 9.0, math.nan, -0.6]]  # (of inf by channels, PyTorch makes the lower bound)
FUNCTIONS = {
    "numbers": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.5, 0, -2, 3),
    "a zero point": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.3, 1, 0, 3),
    "tensors": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, lib.tensor(0.1), lib.tensor(2), -8, 7),
    "by rows": lambda lib, x: lib.fake_quantize_per_channel_affine(x, lib.tensor([0.5, 0.1]), lib.tensor([0, 1]).int(), 0, -8, 7),
    "by columns": lambda lib, x: lib.fake_quantize_per_channel_affine(
        x, lib.linspace(0.1, 0.6, 6), lib.zeros(6, dtype=lib.int32), 1, -4, 3),
    "fractions": lambda lib, x: lib.fake_quantize_per_channel_affine(x, lib.tensor([0.5, 0.1]), lib.tensor([0.4, 0.7]), 0, -8, 7),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_and_gradients(function, dtype):
    results = []
    for lib in LIBRARIES:
        x = lib.tensor(X, dtype=getattr(lib, dtype), requires_grad=True)
        out = function(lib, x)
        (grad,) = lib.autograd.grad(out.sum(), x)
        results.append((out.detach().numpy(), grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def scales(lib, n=2, **options):
    return lib.full((n,), 0.1, **options)


MISTAKES = {
    "zero point": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.5, 9, 0, 3),
    "bounds": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.5, 0, 3, 0),
    "zero point that is a float": lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.5, 0.0, 0, 3),
    "sizes": lambda lib, x: lib.fake_quantize_per_channel_affine(x, scales(lib, 3), lib.zeros(2, dtype=lib.int32), 0, 0, 3),
    "size": lambda lib, x: lib.fake_quantize_per_channel_affine(x, scales(lib, 3), lib.zeros(3, dtype=lib.int32), 0, 0, 3),
    "axis": lambda lib, x: lib.fake_quantize_per_channel_affine(x, scales(lib), lib.zeros(2, dtype=lib.int32), 3, 0, 3),
    "scale": lambda lib, x: lib.fake_quantize_per_channel_affine(x, scales(lib, dtype=lib.float64), lib.zeros(2, dtype=lib.int32), 0, 0, 3),
    "dtype of zero points": lambda lib, x: lib.fake_quantize_per_channel_affine(x, scales(lib), lib.zeros(2, dtype=lib.int64), 0, 0, 3),
    "whole numbers": lambda lib, x: lib.fake_quantize_per_tensor_affine(lib.arange(3), 0.5, 0, 0, 3),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(mistake):
    errors = []
    for lib in LIBRARIES:
        with pytest.raises(Exception) as caught:
            mistake(lib, lib.ones(2, 3))
        errors.append(caught.value)
    ours, theirs = errors
    assert type(ours) is type(theirs)
    assert str(ours).split()[:2] == str(theirs).split()[:2] or "fake_quantize" in str(theirs)
