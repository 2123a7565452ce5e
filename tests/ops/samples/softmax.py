"""Samples of softmax and its relatives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import Dtype, ErrorSample, Make, Sample, error_samples, samples


@samples("softmax", "log_softmax")
@samples("softmin", torch="nn.functional.softmin")
def probabilities(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), 0)
    yield Sample(make(2, 3, 4), -2)
    yield Sample(make(4, 3).T, -1)
    yield Sample(make(), 0)
    yield Sample(make(0, 3), 0)
    yield Sample(make(0, 3), 1)
    yield Sample(make(3, 4, low=-1000, high=1000), 1).only_values()
    yield Sample(make(3, 4, dtype="float32"), 1, dtype=Dtype("float64")).only_values()
    yield Sample(make(3, 4, dtype="int64"), 1, dtype=Dtype("float32"))
    yield Sample(make(3, 4, dtype="float16"), 1).only_values()


@samples("softmax", "log_softmax")
def with_infinities(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[0.0, -np.inf, 1.0], [np.nan, 1.0, 2.0]]), 1).only_values()
    yield Sample(np.array([[-np.inf, -np.inf], [np.inf, 1.0]]), 1).no_gradient()


@error_samples("softmax", "log_softmax")
def bad_softmax(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", make(2, 3), 2)
    yield ErrorSample(NotImplementedError, "softmax_lastdim_kernel_impl\" not implemented for 'Long'", make(2, 3, dtype="int64"), 1)
    yield ErrorSample(TypeError, r"softmax\(\): argument 'dim' \(position 2\) must be int, not NoneType", make(2, 3), None)
