"""Random numbers drawn by kernels are those drawn by NumPy, bit for bit."""

import numpy as np
import pytest

from adjoint import _random
from adjoint._kernels import random_loops
from adjoint._kernels.random import box_muller
from adjoint._random import _continuous, _generator
from adjoint.nn import functional as F


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
        kernel(ours, std, mean, ours.size // 16, 16)
        _continuous._by_numpy(theirs, std, mean, theirs.size // 16, 16)
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


def randperm(size, dtype):
    return _random.randperm(min(size, 127), dtype)


def filled(draw, *numbers):
    def new(size, dtype):
        array = np.empty(size, dtype)
        draw(array, *numbers)
        return array

    return new


def chances(size):
    array = np.empty(size, np.float32)
    _random.bernoulli(array, np.linspace(0, 1, size, dtype=np.float32))
    return array


@pytest.mark.parametrize("wrong", [np.nan, -1e-9, 1.0000001, np.inf])
def test_no_probability_is_refused_before_a_number_is_drawn(monkeypatch, wrong):
    monkeypatch.setattr(random_loops.chances, "run", random_loops.chances.compiled())
    _random.manual_seed(0)
    expected = _random.rand((3,))
    _random.manual_seed(0)
    array = np.full(4, 7, np.float32)
    with pytest.raises(RuntimeError, match="p is a probability"):
        _random.bernoulli(array, np.array([0.5, 1, wrong, 0], np.float32))
    assert (array == 7).all()
    np.testing.assert_array_equal(_random.rand((3,)), expected)


# What is drawn, the dtypes it is drawn in, and the kernel that does it.
DRAWS = {
    "integers": (filled(_random.random, 3, 120), "int64 int32 int16 int8 uint8 float32 float64", "integers"),
    "negative integers": (filled(_random.random, -(2**40), -(2**40) + 7), "int64 float64", "integers"),
    "bits": (filled(_random.random, 0, 2), "bool int64", "integers"),
    "bernoulli": (filled(_random.bernoulli, 0.3), "bool uint8 int64 float32 float64", "flips"),
    "bernoulli of each": (lambda size, dtype: chances(size), "float32", "chances"),
    "slopes": (lambda size, dtype: F._slopes(np.sin(np.arange(size)).astype(dtype), 0.125, 0.5), "float32 float64", "slopes"),
    "never": (filled(_random.bernoulli, 0.0), "float32", "flips"),
    "always": (filled(_random.bernoulli, 1.0), "float32", "flips"),
    "uniform": (filled(_random.uniform), "float64", "fractions"),
    "exponential": (filled(_random.exponential), "float32 float64", "fractions"),
    "permutation": (randperm, "int64 int32 int16 int8 uint8 float32 float64", "permutation"),
}


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name, (_, dtypes, _) in DRAWS.items() for dtype in dtypes.split()])
def test_numbers_are_the_same_compiled_or_not(monkeypatch, name, dtype):
    draw, _, kernel = DRAWS[name]
    served = []

    def drawn(run, start):
        monkeypatch.setattr(getattr(random_loops, kernel), "run", run)
        _random.manual_seed(5)
        _random.rand((start,))
        return [draw(size, dtype) for size in (1, 310, 311, 312, 313, 2000, 9000)], _random.rand((3,))

    compiled = getattr(random_loops, kernel).compiled()
    for start in range(2):  # also in the middle of a pair of words
        fast, after = drawn(lambda *args: served.append(compiled(*args)) or served[-1], start)
        slow, after_too = drawn(lambda *args: None, start)
        for ours, theirs in zip(fast, slow, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(after, after_too)
    assert all(served)


def test_no_blocks(kernel):
    kernel(np.empty(0, np.float32), 1.0, 0.0, 0, 16)


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
