"""Clipping gradients, and parameters as a vector."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


def parameters(*gradients):
    made = []
    for gradient in gradients:
        parameter = nn.Parameter(ad.zeros(len(gradient)))
        parameter.grad = ad.tensor(gradient)
        made.append(parameter)
    return made


@pytest.mark.parametrize(("norm_type", "norm"), [(2, 13), (1, 19), (math.inf, 12), (0, 2)])  # of order 0: how many tensors are not zero
def test_clip_grad_norm(norm_type, norm):
    ps = parameters([3.0, 4.0], [12.0])
    ps.append(nn.Parameter(ad.zeros(1)))  # without a gradient
    total = nn.utils.clip_grad_norm_(ps, 1.0, norm_type, foreach=True)
    assert total.item() == norm and total.dtype is ad.float32
    expected = np.array([3, 4, 12], np.float32) / (norm + 1e-6)
    assert np.allclose(np.concatenate([p.grad.numpy() for p in ps[:2]]), expected)


def test_small_gradients_stay_as_they_are():
    (p,) = parameters([0.3, 0.4])
    nn.utils.clip_grad_norm_(p, 1.0)
    assert p.grad.tolist() == ad.tensor([0.3, 0.4]).tolist()


def test_clipping_is_a_write_that_autograd_sees():
    (p,) = parameters([3.0, 4.0])
    before = p.grad._version
    nn.utils.clip_grad_norm_([p], 1.0)
    assert p.grad._version == before + 1


def test_non_finite():
    ps = parameters([math.inf])
    assert nn.utils.clip_grad_norm_(ps, 1.0).item() == math.inf
    ps = parameters([math.nan])
    with pytest.raises(RuntimeError, match=r"The total norm of order 2\.0 for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)


def test_no_gradients():
    assert nn.utils.clip_grad_norm_([nn.Parameter(ad.ones(1))], 1.0).item() == 0
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        nn.utils.clip_grad_norm_(iter(()), 1.0)


def test_two_steps():
    ps = parameters([3.0, 4.0])
    total = nn.utils.get_total_norm([p.grad for p in ps])
    nn.utils.clip_grads_with_norm_(ps, 2.5, total)
    assert np.allclose(ps[0].grad.numpy(), [1.5, 2])


def test_clip_grad_value():
    ps = parameters([-3.0, 0.5, 7.0])
    nn.utils.clip_grad_value_(ps, 1)
    assert ps[0].grad.tolist() == [-1, 0.5, 1]


def test_parameters_as_a_vector():
    model = nn.Linear(2, 1)
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.tolist() == [*model.weight.view(-1).tolist(), *model.bias.tolist()]
    weight = model.weight
    nn.utils.vector_to_parameters(ad.tensor([1.0, 2.0, 3.0]), model.parameters())
    assert model.weight is weight and weight.tolist() == [[1, 2]] and model.bias.tolist() == [3]
    with pytest.raises(TypeError, match=r"expected torch\.Tensor, but got: list"):
        nn.utils.vector_to_parameters([1], model.parameters())
