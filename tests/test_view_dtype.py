"""`x.view(dtype)`: memory read as another type, and what is refused."""

from __future__ import annotations

import pytest

import adjoint as ad


@pytest.mark.parametrize(
    ("make", "dtype", "words"),
    [
        (lambda: ad.arange(8).int()[1:7], ad.int64, r"storage_offset\(\) must be divisible by 2 to view Int as Long .*, but got 1"),
        (lambda: ad.tensor(1.0), ad.float64, r"dim\(\) cannot be 0 to view Float as Double \(different element sizes\)"),
        (lambda: ad.ones(3), ad.float64, r"size\(-1\) must be divisible by 2 to view Float as Double .*, but got 3"),
        (lambda: ad.ones(2, 4).t(), ad.float16, r"stride\(-1\) must be 1 to view Float as Half .*, but got 4"),
        (lambda: ad.ones(4, 3)[:, :2], ad.float64, r"stride\(0\) must be divisible by 2 to view Float as Double .*, but got 3"),
        (lambda: ad.empty(2, 0), ad.float64, r"stride\(0\) must be divisible by 2"),
    ],
)
def test_elements_that_would_not_begin_where_others_do_are_refused(make, dtype, words):
    with pytest.raises(RuntimeError, match=words):
        make().view(dtype)


def test_nothing_can_be_viewed_as_anything():
    assert ad.empty(0).view(ad.uint8).shape == (0,)
    assert ad.empty(0).view(ad.float64).stride() == (1,)
    assert ad.empty(0, 2).view(ad.float64).shape == (0, 1)


def test_memory_is_shared():
    x = ad.ones(2, 4)
    x[:, 2:].view(ad.int64).zero_()
    assert x.tolist() == [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
