"""Autocast in half precision, and scaled gradients, without PyTorch and without bfloat16."""

from __future__ import annotations

import math

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.amp import GradScaler


def test_products_are_computed_in_half_precision():
    x = ad.ones(2, 2, requires_grad=True)
    with ad.autocast("cpu", ad.float16):
        y = x @ x
        assert y.dtype is ad.float16 and (x + x).dtype is ad.float32 and (x.double() @ x.double()).dtype is ad.float64
        assert nn.functional.mse_loss(y, y).dtype is ad.float32
    assert (x @ x).dtype is ad.float32
    y.sum().backward()
    assert x.grad.dtype is ad.float32 and x.grad.tolist() == [[4, 4], [4, 4]]


def test_gradients_can_be_differentiated_again():
    x = ad.tensor([[2.0]], requires_grad=True)
    with ad.autocast("cpu", ad.float16):
        y = x @ x @ x
    (g,) = ad.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = ad.autograd.grad(g.sum(), x)
    assert g.item() == 12 and gg.item() == 12


def test_a_decorator():
    @ad.autocast("cpu", ad.float16)
    def product(x):
        return x @ x

    assert product(ad.ones(2, 2)).dtype is ad.float16 and not ad.is_autocast_enabled("cpu")


@pytest.mark.parametrize(("values", "scale", "moved"), [([1.0], 8.0, True), ([math.inf], 2.0, False), ([math.nan], 2.0, False)])
def test_steps_with_infinite_gradients_are_left_out(values, scale, moved):
    p = nn.Parameter(ad.ones(1))
    optimizer = ad.optim.SGD([p], lr=0.5)
    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale((p * ad.tensor(values)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == scale and (p.item() == 0.5) == moved


def test_several_optimizers():
    a, b = nn.Parameter(ad.ones(1)), nn.Parameter(ad.ones(1))
    first, second = ad.optim.SGD([a], lr=1.0), ad.optim.SGD([b], lr=1.0)
    scaler = GradScaler("cpu", init_scale=4.0)
    scaler.scale(a * 1 + b * math.inf).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert a.item() == 0 and b.item() == 1 and scaler.get_scale() == 2
