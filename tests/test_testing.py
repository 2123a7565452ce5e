"""`testing.assert_close` and `make_tensor`: what is close, what is said if it is not, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import assert_allclose, assert_close, make_tensor

ONE, TWO = ad.tensor([1.0, 2.0]), ad.tensor([1.0, 3.0])


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (ONE, ONE + 1e-7, {}), (1.0, 1 + 1e-9, {}), (1, 1.0, {"check_dtype": False}), (ONE, ONE.double(), {"check_dtype": False}),
        ([1, {"a": ONE}], (1, {"a": ONE}), {}), (None, None, {}), (True, True, {}), (math.nan, math.nan, {"equal_nan": True}),
        (ad.nn.Parameter(ONE), ONE, {}), (np.ones(2), np.ones(2), {}), (np.float64(1), 1.0, {}), (ONE.to("meta"), ONE.to("meta"), {}),
        (ad.zeros(0), ad.zeros(0), {}), (1.0, 2.0, {"rtol": 0.0, "atol": 1.0}),
    ],
)  # fmt: skip
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "error", "message"),
    [
        (ONE, TWO, {}, AssertionError,
         "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
         "Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)\n"
         "Greatest relative difference: 0.3333333432674408 at index (1,) (up to 1.3e-06 allowed)"),
        (1, 2, {}, AssertionError,
         "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
        (1, 1.0, {}, AssertionError, "The (d)types do not match: <class 'int'> != <class 'float'>."),
        (True, False, {}, AssertionError, "Booleans mismatch: True is not False"),
        (None, 1, {}, AssertionError, "None mismatch: None is not 1"),
        ([1], [1, 2], {"msg": "mine"}, AssertionError, "The length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, AssertionError,
         "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"),
        ({"a": [1, 2]}, {"a": [1, 3]}, {}, AssertionError,
         "Scalars are not equal!\n\nExpected 3 but got 2.\nAbsolute difference: 1\nRelative difference: 0.3333333333333333\n\n"
         "The failure occurred for item ['a'][1]"),
        (ONE, TWO, {"msg": "mine"}, AssertionError, "mine"),
        (1, 2, {"msg": lambda text: text[:7]}, AssertionError, "Scalars"),
        (ONE, TWO[:1], {}, AssertionError, "The values for attribute 'shape' do not match: torch.Size([2]) != torch.Size([1])."),
        (ONE, ONE.double(), {}, AssertionError, "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
        (ONE, ONE.to("meta"), {}, AssertionError, "The values for attribute 'device' do not match: cpu != meta."),
        (1.0, 2.0, {"rtol": 0.1}, ValueError, "Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."),
        ("a", "a", {}, TypeError, "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>."),
    ],
)  # fmt: skip
def test_not_close(actual, expected, options, error, message):
    with pytest.raises(error) as caught:
        assert_close(actual, expected, **options)
    assert str(caught.value) == message


def test_subclasses_can_be_refused():
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(ad.nn.Parameter(ONE), ONE, allow_subclasses=False)


def test_the_older_form():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        assert_allclose([1.0, 2.0], ad.tensor([1.0, 2.00001]))


@pytest.mark.parametrize("dtype", [ad.bool, ad.uint8, ad.int64, ad.float16, ad.float32, ad.complex128])
def test_made_tensors(dtype):
    made = make_tensor((4, 5), dtype=dtype, device="cpu", exclude_zero=True)
    assert made.dtype is dtype and made.shape == (4, 5) and bool((made != 0).all())
    assert not make_tensor(4, 5, dtype=dtype, device="cpu", noncontiguous=True).is_contiguous()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 2, "high": 1}, "`low` must be less than `high`"),
        ({"low": math.nan}, "cannot be NaN"),
        ({"requires_grad": True, "dtype": ad.int64}, "not supported for boolean and integral"),
        ({"noncontiguous": True, "memory_format": ad.contiguous_format}, "mutually exclusive"),
        ({"dtype": ad.uint8, "low": 300, "high": 400}, "only supports"),
    ],
)
def test_refused_tensors(options, message):
    with pytest.raises(ValueError, match=message):
        make_tensor(2, **{"dtype": ad.float32, "device": "cpu", **options})
