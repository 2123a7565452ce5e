"""In deterministic mode, memory that nobody has written to is filled."""

from collections.abc import Iterator

import pytest

import adjoint as ad


@pytest.fixture
def deterministic() -> Iterator[None]:
    ad.use_deterministic_algorithms(True)
    yield
    ad.use_deterministic_algorithms(False)


WAYS = {
    "empty": lambda dtype: ad.empty(3, 2, dtype=dtype),
    "empty, kept in order": lambda dtype: ad.empty((1, 2, 2, 2), dtype=dtype, memory_format=ad.channels_last),
    "empty_like": lambda dtype: ad.empty_like(ad.zeros(3, 2, dtype=dtype).t()),
    "new_empty": lambda dtype: ad.zeros(1, dtype=dtype).new_empty(3, 2),
    "empty_strided": lambda dtype: ad.empty_strided((3, 2), (1, 3), dtype=dtype),
    "new_empty_strided": lambda dtype: ad.zeros(1, dtype=dtype).new_empty_strided((3, 2), (1, 3)),
    "empty_permuted": lambda dtype: ad.empty_permuted((3, 2), (1, 0), dtype=dtype),
    "resize_": lambda dtype: ad.zeros(0, dtype=dtype).resize_(6),
    "new": lambda dtype: ad.zeros(1, dtype=dtype).new(3, 2),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [ad.float32, ad.float16, ad.bfloat16, ad.complex64, ad.int16, ad.uint8, ad.int64, ad.bool])
def test_new_memory_is_filled(way, dtype, deterministic):
    for _ in range(20):
        x = WAYS[way](dtype)
        if dtype.is_floating_point or dtype.is_complex:
            assert x.isnan().all()
        else:
            assert (x == (True if dtype is ad.bool else ad.iinfo(dtype).max)).all()


def test_elements_that_were_there_stay(deterministic):
    x = ad.arange(3.0)
    x.resize_(5)
    assert x[:3].tolist() == [0.0, 1.0, 2.0]
    assert x[3:].isnan().all()


def test_it_can_be_left_as_it_is(deterministic):
    assert ad.utils.deterministic.fill_uninitialized_memory is True
    ad.utils.deterministic.fill_uninitialized_memory = False
    try:
        ad.ones(64).mul_(2)
        assert not ad.empty(0).numel()
        x = ad.zeros(0).resize_(4)
        assert not x.isnan().any()
    finally:
        ad.utils.deterministic.fill_uninitialized_memory = True
