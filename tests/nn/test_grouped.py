"""Products by groups, and masks for them as libraries write them."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint.nn import functional as F


def test_groups_of_rows_columns_and_summands():
    ad.manual_seed(0)
    a, b, ends = ad.randn(6, 4), ad.randn(2, 4, 3), ad.tensor([2, 6])
    ad.testing.assert_close(F.grouped_mm(a, b, offs=ends), ad.cat([a[:2] @ b[0], a[2:] @ b[1]]))
    ad.testing.assert_close(ad._grouped_mm(b.mT, a.mT.contiguous(), offs=ends), ad.cat([b[0].mT @ a[:2].mT, b[1].mT @ a[2:].mT], 1))
    ad.testing.assert_close(F.grouped_mm(a.mT, a, offs=ends), ad.stack([a[:2].mT @ a[:2], a[2:].mT @ a[2:]]))
    assert F.grouped_mm(b, b.mT, out_dtype=ad.bfloat16).dtype == ad.bfloat16
    with pytest.raises(RuntimeError, match="write offs="):
        F.grouped_mm(a, b)


def test_gradients_by_groups():
    a, b = ad.ones(3, 2, requires_grad=True), ad.ones(2, 2, 1, requires_grad=True)
    F.grouped_mm(a, b, offs=ad.tensor([1, 3])).sum().backward()
    assert a.grad.tolist() == [[1, 1]] * 3 and b.grad.flatten().tolist() == [1, 1, 2, 2]


def test_masks_that_are_added():
    found = F._canonical_mask(ad.tensor([True, False]), "mask", None, "", ad.float32)
    assert found.tolist() == [-ad.inf, 0] and F._none_or_dtype(None) is None and F._none_or_dtype(found) == ad.float32
    with pytest.raises(AssertionError, match="only bool and floating"):
        F._canonical_mask(ad.tensor([1]), "mask", None, "", ad.float32)


def test_what_is_being_recorded():
    assert not ad.autograd._profiler_enabled()
    with ad.profiler.profiler.profile():
        assert ad.autograd._profiler_enabled()
    assert ad.profiler.profiler._default_schedule_fn(0) is ad.profiler.ProfilerAction.RECORD
    ad.autograd._disable_profiler()
    assert not ad.autograd._profiler_enabled()
