"""What the samples of losses do not say: constants, warnings, the old arguments, and agreement among losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.nn.functional as F
from adjoint.autograd.gradcheck import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(0)
LOGITS = ad.from_numpy(RANDOM.standard_normal((4, 3)))
CLASSES = ad.tensor([0, 2, -100, 1])
WEIGHT = ad.tensor([0.5, 2.0, 1.0], dtype=ad.float64)
CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "nll_loss": lambda x: F.nll_loss(x, CLASSES, WEIGHT),
    "cross_entropy": lambda x: F.cross_entropy(x, CLASSES, WEIGHT),
    "cross_entropy, smooth": lambda x: F.cross_entropy(x, CLASSES, WEIGHT, label_smoothing=0.1),
    "cross_entropy, none": lambda x: F.cross_entropy(x, CLASSES, WEIGHT, reduction="none"),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), ad.ones_like(x) * 0.3, WEIGHT),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, ad.ones_like(x) * 0.3, WEIGHT, pos_weight=WEIGHT),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, CLASSES.clamp(min=0), p=2, weight=WEIGHT),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_gradients_with_constant_weights(name: str) -> None:
    x = LOGITS.clone().requires_grad_()
    assert gradcheck(CONSTANTS[name], (x,), check_forward_ad=True)
    assert gradgradcheck(CONSTANTS[name], (x,))


@pytest.mark.parametrize(
    "call",
    [
        lambda w: F.nll_loss(LOGITS, CLASSES, w),
        lambda w: F.cross_entropy(LOGITS, CLASSES, w),
        lambda w: F.binary_cross_entropy(LOGITS.sigmoid(), LOGITS.sigmoid(), w),
        lambda w: F.binary_cross_entropy_with_logits(LOGITS, LOGITS, pos_weight=w),
    ],
)
def test_weights_are_constants(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)is not differentiable with respect to argument '.*weight'.*weight.detach\(\)"):
        call(WEIGHT.clone().requires_grad_())


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_broadcast_target_is_computed_with_a_warning(loss: Callable[..., Any]) -> None:
    words = r"(?s)Using a target size \(torch.Size\(\[4, 1\]\)\) that is different to the input size .*fix: target.reshape"
    with pytest.warns(UserWarning, match=words):
        result = loss(ad.zeros(4), ad.ones(4, 1), reduction="none")
    assert result.shape == (4, 4)


def test_the_old_way_to_ask_for_a_reduction() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert F.mse_loss(ad.zeros(4), ad.ones(4), size_average=False).item() == 4
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.mse_loss(ad.zeros(4), ad.ones(4), reduce=False).shape == (4,)


def test_kl_div_warns_about_its_mean() -> None:
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(LOGITS, LOGITS.softmax(1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_is_log_softmax_and_nll_loss(reduction: str) -> None:
    whole, parts = (LOGITS.clone().requires_grad_() for _ in range(2))
    one = F.cross_entropy(whole, CLASSES, WEIGHT, reduction=reduction)
    two = F.nll_loss(parts.log_softmax(1), CLASSES, WEIGHT, reduction=reduction)
    assert ad.allclose(one, two)
    one.sum().backward()
    two.sum().backward()
    assert whole.grad is not None
    assert parts.grad is not None
    assert ad.allclose(whole.grad, parts.grad)


def test_cross_entropy_of_a_sure_prediction_is_exact() -> None:
    logits = ad.tensor([[10000.0, 9995.0], [1000.0, 0.0]])
    losses = F.cross_entropy(logits, ad.tensor([0, 1]), reduction="none").tolist()
    assert losses == pytest.approx([np.log1p(np.exp(-5.0)), 1000.0], rel=1e-5)


def test_an_ignored_infinity_is_no_loss() -> None:
    logits = ad.tensor([[0.0, -np.inf], [0.0, 0.0]], requires_grad=True)
    loss = F.cross_entropy(logits, ad.tensor([1, 0]), ignore_index=1)
    assert loss.item() == pytest.approx(np.log(2))
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0, 0], [-0.5, 0.5]]


def test_the_second_derivative_at_a_logit_of_zero() -> None:
    x = ad.zeros(3, dtype=ad.float64, requires_grad=True)
    (grad,) = ad.autograd.grad(F.binary_cross_entropy_with_logits(x, ad.ones(3, dtype=ad.float64), reduction="sum"), x, create_graph=True)
    (second,) = ad.autograd.grad(grad.sum(), x)
    assert second.tolist() == [0.25, 0.25, 0.25]
