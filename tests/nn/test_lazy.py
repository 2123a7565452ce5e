"""Lazy layers: what they are before the first call, and what they become."""

from __future__ import annotations

import copy

import pytest

import adjoint as ad
from adjoint import nn


def test_a_lazy_model_becomes_an_ordinary_one():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert "LazyLinear(in_features=0, out_features=2, bias=True)" in repr(model) and model[3].has_uninitialized_params()
    weight = model[3].weight
    twin = copy.deepcopy(model)
    assert model(ad.ones(2, 3, 5, 5)).shape == (2, 2)
    assert model[3].weight is weight and type(weight) is nn.Parameter and weight.shape == (2, 36)
    assert [type(layer) for layer in model] == [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear]
    assert twin[3].has_uninitialized_params() and twin(ad.ones(1, 1, 4, 4).double().float()).shape == (1, 2)


def test_loading_decides_the_shape():
    known = nn.Linear(3, 2)
    lazy = nn.LazyLinear(2)
    lazy.load_state_dict(known.state_dict())
    assert lazy.weight.tolist() == known.weight.tolist() and isinstance(lazy, nn.LazyLinear)
    assert lazy(ad.ones(1, 3)).tolist() == known(ad.ones(1, 3)).tolist() and repr(lazy) == repr(known)


def test_an_optimizer_may_be_made_before():
    lazy = nn.LazyLinear(1)
    optimizer = ad.optim.SGD(lazy.parameters(), lr=1.0)
    lazy(ad.ones(1, 2)).sum().backward()
    before = lazy.bias.item()
    optimizer.step()
    assert abs(lazy.bias.item() - before + 1) < 1e-6


def test_conversion_before_the_first_call():
    layer = nn.LazyBatchNorm1d().double()
    assert layer.running_mean.dtype is ad.float64 and repr(layer.running_mean) == "<UninitializedBuffer>"
    assert layer(ad.ones(3, 2).double()).dtype is ad.float64 and layer.running_mean.shape == (2,)


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda: nn.LazyLinear(2).weight.shape, RuntimeError, "Can't access the shape of an uninitialized parameter"),
        (lambda: nn.LazyLinear(2).weight * 2, ValueError, "Attempted to use an uninitialized parameter in mul"),
        (lambda: nn.init.ones_(nn.LazyLinear(2).weight), ValueError, "Attempted to use an uninitialized parameter in constant_"),
        (lambda: nn.LazyConv1d(2, 1)(ad.ones(3)), RuntimeError, r"Expected 2D \(unbatched\) or 3D \(batched\) input to LazyConv1d"),
    ],
)
def test_errors(do, error, message):
    with pytest.raises(error, match=message):
        do()
