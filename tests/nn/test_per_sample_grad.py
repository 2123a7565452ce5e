"""Gradients of each sample by one backward pass."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn.utils._per_sample_grad import call_for_per_sample_grads


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_samples_have_the_gradients_that_they_have_alone(reduction):
    ad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x = ad.randn(5, 3, dtype=ad.float64, requires_grad=True)
    losses = call_for_per_sample_grads(model, loss_reduction=reduction)(x).pow(2).sum(-1)
    getattr(losses, reduction)().backward()
    assert x.grad is not None
    for i in range(5):
        alone = ad.autograd.grad(model(x[i : i + 1]).pow(2).sum(), list(model.parameters()))
        for parameter, gradient in zip(model.parameters(), alone, strict=True):
            assert parameter.grad is None and ad.allclose(parameter.grad_sample[i], gradient)
    with pytest.raises(RuntimeError, match="Please clear out the grad_sample parameter"):
        call_for_per_sample_grads(model)


def test_the_batch_may_be_the_second_dimension():
    layer = nn.Linear(2, 2)
    assert call_for_per_sample_grads(layer, batch_first=False)(ad.ones(3, 4, 2)).shape == (3, 4, 2)


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda m: call_for_per_sample_grads(m, loss_reduction="max"), "to be sum or mean, got max"),
        (lambda m: call_for_per_sample_grads(len), "Module passed must be nn.Module"),
        (lambda m: call_for_per_sample_grads(m, batch_size=1.5), "None or an integer, got float"),
        (lambda m: call_for_per_sample_grads(m, batch_size=0), "must be positive, got 0"),
        (lambda m: call_for_per_sample_grads(m)(ad.ones(2, 2), ad.ones(3, 2)), "one input with batch size 2 and one with batch size 3"),
        (lambda m: call_for_per_sample_grads(m)(3), "Unable to find a tensor"),
    ],
)
def test_what_does_not_fit_is_refused(do, message):
    with pytest.raises(RuntimeError, match=message):
        do(nn.Linear(2, 2))
