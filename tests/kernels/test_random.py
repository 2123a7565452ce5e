"""The compiled normal numbers are those of NumPy, bit for bit."""

import numpy as np
import pytest

from adjoint import _random
from adjoint._kernels.random import box_muller
from adjoint._random import _continuous


@pytest.fixture(scope="module")
def kernel():
    return box_muller()


@pytest.mark.parametrize("seed", range(3))
def test_equal_bits(kernel, seed):
    integers = np.random.default_rng(seed).integers(0, 2**24, (5000, 2, 8), np.int32)
    integers.reshape(-1)[:64] = np.arange(64)
    integers.reshape(-1)[64:128] = 2**24 - 1 - np.arange(64)
    np.testing.assert_array_equal(kernel(integers).view(np.int32), _continuous._box_muller(integers).view(np.int32))


def test_no_blocks(kernel):
    assert kernel(np.empty((0, 2, 8), np.int32)).shape == (0, 2, 8)


def test_it_is_used_after_some_numbers_and_changes_none(monkeypatch):
    monkeypatch.setattr(_continuous, "_kernel", _continuous._until_warm)
    monkeypatch.setattr(_continuous, "_made", 0)
    _random.manual_seed(3)
    first = [_random.randn((1000,)) for _ in range(8)]
    assert _continuous._kernel is not _continuous._until_warm
    assert _continuous._kernel is not _continuous._box_muller
    monkeypatch.setattr(_continuous, "_kernel", _continuous._box_muller)
    _random.manual_seed(3)
    for numbers in first:
        np.testing.assert_array_equal(numbers, _random.randn((1000,)))
