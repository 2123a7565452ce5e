"""The compiled normal numbers are those of NumPy, bit for bit."""

import numpy as np
import pytest

from adjoint import _random
from adjoint._kernels.random import box_muller
from adjoint._random import _continuous, _generator


@pytest.fixture(scope="module")
def kernel():
    return box_muller()


@pytest.mark.parametrize("seed", range(3))
def test_equal_bits(kernel, seed):
    integers = np.random.default_rng(seed).integers(0, 2**24, 80_000).astype(np.float32)
    integers[:64] = np.arange(64)
    integers[64:128] = 2**24 - 1 - np.arange(64)
    for std, mean in ((1.0, 0.0), (0.25, 3.5)):
        ours, theirs = integers.copy(), integers.copy()
        kernel(ours, std, mean)
        _continuous._by_numpy(theirs, std, mean)
        np.testing.assert_array_equal(ours.view(np.int32), theirs.view(np.int32))


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-1.0, 3.0), (1.0, 1.0000001)])
def test_uniform_numbers_are_the_same_compiled_or_not(monkeypatch, low, high):
    def filled(size):
        array = np.empty(size, np.float32)
        _random.uniform(array, low, high)
        return array

    sizes = [3, 624, 1000, 100_000] * 60  # the kernel comes into use on the way
    _random.manual_seed(4)
    first = [filled(size) for size in sizes]
    monkeypatch.setattr(_generator.Generator, "_draw24", lambda *args: None)
    _random.manual_seed(4)
    for numbers in first:
        np.testing.assert_array_equal(numbers, filled(numbers.size))


def test_no_blocks(kernel):
    kernel(np.empty(0, np.float32), 1.0, 0.0)


def test_it_is_used_after_some_numbers_and_changes_none(monkeypatch):
    monkeypatch.setattr(_continuous, "_kernel", _continuous._until_warm)
    monkeypatch.setattr(_continuous, "_made", 0)
    _random.manual_seed(3)
    first = [_random.randn((1000,)) for _ in range(8)]
    assert _continuous._kernel is not _continuous._until_warm
    assert _continuous._kernel is not _continuous._by_numpy
    monkeypatch.setattr(_continuous, "_kernel", _continuous._by_numpy)
    _random.manual_seed(3)
    for numbers in first:
        np.testing.assert_array_equal(numbers, _random.randn((1000,)))
