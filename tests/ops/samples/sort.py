"""Samples of sorting, searching and counting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

TIES = np.array([[2.0, 1.0, 2.0, np.nan], [1.0, 1.0, -np.inf, 3.0]])


@samples("sort")
def in_order(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4))
    yield Sample(make.distinct(3, 4), 0)
    yield Sample(make.distinct(3, 4), descending=True)
    yield Sample(make.distinct(1).reshape(()))
    yield Sample(make(0, 3))
    yield Sample(TIES, stable=True).only_values()
    yield Sample(TIES, descending=True, stable=True).only_values()
    yield Sample(make(5, dtype="int32")).no_gradient()


@samples("argsort")
def order(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4))
    yield Sample(TIES, dim=-1, descending=True, stable=True)


@samples("msort")
def in_order_down(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4))


@error_samples("sort")
def bad_sort(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "Dimension out of range", make(3), 1)
    yield ErrorSample(RuntimeError, "ort does not support complex dtypes on CPU", make(3, dtype="complex128"))


@samples("sort_values", "topk_values", torch="take_along_dim")
def looked_up(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), np.array([[2, 0], [1, 0]]), 1)  # no index twice in a row, nor when a test turns the elements by one


@samples("topk")
def largest(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 5), 2)
    yield Sample(make.distinct(3, 5), 2, 0, False)
    yield Sample(make.distinct(3, 5), 0)
    yield Sample(make.distinct(1, 3000), 4)
    yield Sample(make.distinct(3000), 4, largest=False)
    yield Sample(np.array([1.0, np.nan, 3.0]), 2).only_values()
    yield Sample(make(), 1)


@samples("argtopk")
def of_largest(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 5), 2, 1, True).not_in_torch()  # internal: the indices of topk


@error_samples("topk")
def bad_topk(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "selected index k out of range", make(3), 4)


SORTED = np.array([[0.0, 1.0, 1.0, 2.5], [-1.0, 0.5, 3.0, 3.0]])


@samples("searchsorted")
def found(make: Make) -> Iterator[Sample]:
    yield Sample(SORTED[0], make(3, 4)).no_gradient()
    yield Sample(SORTED, np.array([[1.0, 9.0], [3.0, -5.0]])).no_gradient()
    yield Sample(SORTED, np.array([[1.0, 9.0], [3.0, -5.0]]), right=True).no_gradient()
    yield Sample(SORTED[0], np.array([1.0]), side="right", out_int32=True).no_gradient()
    yield Sample(SORTED[0][::-1].copy(), np.array([1.0, 0.5]), sorter=np.array([3, 2, 1, 0])).no_gradient()
    yield Sample(SORTED[0], 1.0).no_gradient()


@error_samples("searchsorted")
def not_found(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"torch.searchsorted\(\): boundaries tensor should be 1 dimension", SORTED, make(3))


@samples("bucketize")
def buckets(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), SORTED[0]).no_gradient()
    yield Sample(np.array([1.0, 0.0]), SORTED[0], right=True).no_gradient()
    yield Sample(2.0, SORTED[0]).no_gradient()


@error_samples("bucketize")
def bad_buckets(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"boundaries tensor must be 1 dimension, but got dim\(2\)", make(3), SORTED)


REPEATED = np.array([[3, 1, 1], [3, 1, 1], [0, 2, 0]])


@samples("unique", "unique_consecutive")
def distinct(make: Make) -> Iterator[Sample]:
    yield Sample(REPEATED).no_gradient()
    yield Sample(REPEATED, return_inverse=True, return_counts=True).no_gradient()
    yield Sample(REPEATED, dim=0).no_gradient()
    yield Sample(REPEATED, dim=1, return_inverse=True, return_counts=True).no_gradient()
    yield Sample(np.array([1.5, np.nan, np.nan]), return_counts=True).no_gradient()
    yield Sample(np.zeros(0)).no_gradient()


@samples("bincount")
def counted(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([3, 1, 1])).no_gradient()
    yield Sample(np.array([3, 1, 1]), np.array([0.5, 1.0, 2.0])).no_gradient()
    yield Sample(np.array([3, 1, 1], np.int32), minlength=6).no_gradient()
    yield Sample(np.zeros(0, np.int64)).no_gradient()


@error_samples("bincount")
def not_counted(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "bincount only supports 1-d non-negative integral inputs", np.array([-1]))
    yield ErrorSample(NotImplementedError, "\"bincount_cpu\" not implemented for 'Double'", make(3))


@samples("histc")
def histograms(make: Make) -> Iterator[Sample]:
    yield Sample(make(20), 5).no_gradient()
    yield Sample(make(20), 4, -1, 1).no_gradient()
    yield Sample(np.ones(3), 3).no_gradient()


@samples("histogram")
def histograms_with_edges(make: Make) -> Iterator[Sample]:
    yield Sample(make(20)).no_gradient()
    yield Sample(make(20), 5).no_gradient()
    yield Sample(make(20), 4, range=(-1.0, 1.0), density=True).no_gradient()
    yield Sample(make(20), np.array([-1.0, 0.0, 2.0])).no_gradient()


@error_samples("histc")
def no_histogram(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "bins must be > 0", make(3), 0)
    yield ErrorSample(RuntimeError, "max must be larger than min", make(3), 3, 5, 1)


@samples("isin")
def members(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[1, 2], [3, 4]]), np.array([2, 3, 9])).no_gradient()
    yield Sample(np.array([1, 2]), np.array([2]), invert=True).no_gradient()
