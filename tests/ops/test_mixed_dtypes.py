"""Whole numbers among floating ones, and numbers in the place of tensors: what comes of them and of their history."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

WHOLE = ad.tensor([1, 2, 3])
TRUTH = ad.tensor([True, False, True])
REAL = ad.tensor([0.5, -1.5, 2.5])

RESULTS = [
    (WHOLE * REAL, [0.5, -3.0, 7.5], ad.float32),
    (REAL * TRUTH, [0.5, -0.0, 2.5], ad.float32),
    (WHOLE / 2, [0.5, 1.0, 1.5], ad.float32),
    (WHOLE * 0.5, [0.5, 1.0, 1.5], ad.float32),
    (WHOLE // 2, [0, 1, 1], ad.int64),
    (WHOLE % 2, [1, 0, 1], ad.int64),
    (WHOLE + TRUTH, [2, 2, 4], ad.int64),
    (TRUTH * 3, [3, 0, 3], ad.int64),
    (WHOLE == 2.0, [False, True, False], ad.bool),
    (WHOLE.double() * WHOLE, [1.0, 4.0, 9.0], ad.float64),
    (ad.atan2(WHOLE, WHOLE), [np.pi / 4] * 3, ad.float32),
    (2**WHOLE, [2, 4, 8], ad.int64),
    (2.0**REAL, [2**0.5, 2**-1.5, 2**2.5], ad.float32),
]


@pytest.mark.parametrize("result, expected, dtype", RESULTS)
def test_results(result, expected, dtype):
    assert result.dtype == dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_a_power_of_a_number_has_a_gradient():
    for base in (2, 0.5, 0):
        x = ad.tensor([0.5, 2.0], requires_grad=True)
        (base**x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.log(base) * base ** np.array([0.5, 2.0]) if base else [0, 0], rtol=1e-6)


def test_truth_values_are_still_refused():
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        TRUTH - REAL


def test_the_gradient_uses_the_numbers_and_notices_that_they_were_changed():
    x, whole = REAL.clone().requires_grad_(), WHOLE.clone()
    (whole * x).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]
    result = whole * x
    whole += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_history_that_ended_in_whole_numbers_is_passed_on():
    x = REAL.clone().requires_grad_()
    assert not (x.argmax(keepdim=True) * 0.5).requires_grad
    with pytest.raises(RuntimeError, match="argmax"):
        (x.argmax(keepdim=True) * 0.5).sum().backward()
