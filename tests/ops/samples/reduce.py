"""Samples of reductions, running sums and order statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.samples import Dtype, ErrorSample, Make, Sample, error_samples, samples

ZEROS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [4.0, 5.0, 6.0]])
NANS = np.array([[1.0, np.nan, 3.0, 2.0], [2.0, 2.5, 1.0, 0.5]])
TIES = np.array([[3.0, 1.0, 3.0], [1.0, 1.0, 2.0]])
OUT_OF_RANGE = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)"


def over_dims(make: Make, *, several: bool = True, whole: bool = True) -> Iterator[Sample]:
    """The ways to say which dimensions are reduced."""
    if whole:
        yield Sample(make.distinct(3, 4))
    yield Sample(make.distinct(3, 4), 0)
    yield Sample(make.distinct(3, 4), -1, True)
    yield Sample(make.distinct(2, 3, 4), 1)
    yield Sample(make.distinct(3, 4), dim=1, keepdim=True)
    yield Sample(make(), 0)
    yield Sample(make.distinct(3, 4).T, 1)
    if several:
        yield Sample(make.distinct(2, 3, 4), (0, -1))
        yield Sample(make.distinct(2, 3, 4), [1, 2], True)


# ---- sums, means, products ----------------------------------------------------------------------------------------------------------


@samples("sum", "mean", "nansum", "nanmean")
def sums(make: Make) -> Iterator[Sample]:
    yield from over_dims(make)
    yield Sample(make())
    yield Sample(make(3, 4), axis=1, keepdims=True)
    yield Sample(make(2, 3), dtype=Dtype("float32")).no_gradient()
    yield Sample(make(3, 4, dtype="float16")).only_values()


@samples("sum", "mean")
def sums_of_everything(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), ())
    yield Sample(make(3, 4), None, True)
    yield Sample(make(3, 4, dtype="complex128"), 0)
    yield Sample(make(3, 4, dtype="complex128"))
    yield Sample(make(0, 3), 0).only_values()
    yield Sample(make(0, 3)).only_values()
    yield Sample(make(0, 3), 1)


@samples("sum", "prod", "nansum")
def integer_sums(make: Make) -> Iterator[Sample]:
    for dtype in ("int64", "int32", "uint8", "bool"):
        yield Sample(make(3, 4, dtype=dtype), 0)


@samples("sum", "mean", "prod")
def converted_sums(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="int64"), 0, dtype=Dtype("float64"))
    yield Sample(make(3, 4, dtype="int32"), dtype=Dtype("float32"))


@samples("sum_all", torch="sum")
@samples("mean_all", torch="mean")
@samples("prod_all", torch="prod")
@samples("max_all", torch="max")
@samples("min_all", torch="min")
@samples("median_all", torch="median")
@samples("nanmedian_all", torch="nanmedian")
def of_everything(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4))
    yield Sample(make())
    yield Sample(TIES).only_values()


@samples("sum_dim", torch="sum")
@samples("mean_dim", torch="mean")
def along_dims(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), (0, 1), True)
    yield Sample(make(300, 0), 0, False)


@samples("prod_dim", torch="prod")
def along_one_dim(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, True)


@samples("prod")
def products(make: Make) -> Iterator[Sample]:
    yield from over_dims(make, several=False)
    yield Sample(ZEROS)
    yield Sample(ZEROS, 0)
    yield Sample(ZEROS, 1, True)
    yield Sample(make(0, 3), 0)
    yield Sample(make(2, 3, dtype="complex128"), 1)


@samples("nansum", "nanmean")
def sums_without_nan(make: Make) -> Iterator[Sample]:
    yield Sample(NANS, 1).only_values()
    yield Sample(NANS).only_values()


@samples("logsumexp")
def log_sums(make: Make) -> Iterator[Sample]:
    yield from over_dims(make, whole=False)
    yield Sample(np.array([[-np.inf, 1.0], [1000.0, -1000.0]]), 1).only_values()
    yield Sample(np.array([[np.inf, 1.0]]), 1).no_gradient()
    yield Sample(np.array([[-np.inf, -np.inf]]), 1).no_gradient()
    yield Sample(make(0, 3), 0).no_gradient()
    yield Sample(make(2, 3, dtype="int64"), 0)


@error_samples("sum", "mean", "prod", "amax", "logsumexp", "all", "var", "argmax", "max", "median", "cumsum", "softmax")
def bad_dims(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, OUT_OF_RANGE, make(2, 3), dim=5)


@error_samples("sum", "mean", "amax", "logsumexp", "var")
def repeated_dims(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "dim 0 appears multiple times in the list of dims", make(2, 3), dim=(0, -2))


@error_samples("mean")
def integer_mean(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"mean\(\): could not infer output dtype.*Got: Long", make(3, dtype="int64"))


# ---- extremes -----------------------------------------------------------------------------------------------------------------------


@samples("max", "min")
def extremes(make: Make) -> Iterator[Sample]:
    yield from over_dims(make, several=False)
    yield Sample(make(3, 4), make(4))
    yield Sample(make(3, 4), other=make(3, 4))
    yield Sample(TIES).only_values()
    yield Sample(TIES, 1).only_values()
    yield Sample(NANS, 1).only_values()
    yield Sample(NANS).only_values()
    yield Sample(make(0, 3), 1)
    for dtype in ("int64", "uint8", "bool"):
        yield Sample(make(3, 4, dtype=dtype), 0)
        yield Sample(make(3, 4, dtype=dtype))


@samples("max_values", torch="max", ours="max")
@samples("min_values", torch="min", ours="min")
@samples("median_values", "search", torch="median", ours="median")
@samples("nanmedian_values", torch="nanmedian", ours="nanmedian")
@samples("mode_values", torch="mode", ours="mode")
def selected_elements(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 1)
    yield Sample(make.distinct(3, 4), 0, True)


@samples("amax", "amin")
def shared_extremes(make: Make) -> Iterator[Sample]:
    yield from over_dims(make)
    yield Sample(TIES).only_values()
    yield Sample(TIES, 1).only_values()
    yield Sample(make(0, 3), 1)
    yield Sample(make(3, 4, dtype="int64"), 0)
    yield Sample(make(3, 4, dtype="bool"), 0)


@samples("aminmax")
def both_extremes(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4))
    yield Sample(make.distinct(3, 4), dim=1)
    yield Sample(make.distinct(3, 4), dim=0, keepdim=True)
    yield Sample(TIES, dim=1).only_values()


@samples("argmax", "argmin")
def positions(make: Make) -> Iterator[Sample]:
    yield from over_dims(make, several=False)
    yield Sample(TIES, 1)
    yield Sample(NANS, 1)
    yield Sample(make(3, 4), keepdim=True)
    yield Sample(make(3, 4, dtype="int32"), 0)


@error_samples("max", "min", "amax", "amin", "argmax", "argmin", "median", "mode")
def nothing_along(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"\(\): Expected reduction dim 0 to have non-zero size", make(0, 3), 0)


@error_samples("max", "min", "amax", "amin")
def nothing_at_all(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"\(\): Expected reduction dim to be specified for input.numel\(\) == 0", make(0))


@error_samples("argmax", "argmin")
def bad_positions(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"\(\): Expected reduction dim to be specified for input.numel\(\) == 0", make(0))
    yield ErrorSample(RuntimeError, "does not support complex input", make(3, dtype="complex64"))


@error_samples("aminmax")
def no_extremes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "cannot compute aminmax over an empty dimension", make(0))


@error_samples("max", "min", "amax", "amin")
def without_order(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'ComplexDouble'", make(3, dtype="complex128"))


# ---- truth and counts ---------------------------------------------------------------------------------------------------------------


@samples("all", "any")
def truth(make: Make) -> Iterator[Sample]:
    yield from over_dims(make)
    yield Sample(make(3, 4, dtype="bool"), 1)
    yield Sample(make(3, 4, dtype="uint8"), 1)
    yield Sample(np.array([0.0, np.nan]))
    yield Sample(make(0, 3), 0)


@samples("count_nonzero")
def counts(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="int64"))
    yield Sample(make(3, 4, dtype="int64"), 0)
    yield Sample(make(3, 4, dtype="bool"), dim=(0, 1))


# ---- variance and norms -------------------------------------------------------------------------------------------------------------


@samples("var", "std")
def spreads(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), (0, 1), True, True)
    yield Sample(make(3, 4), 0, unbiased=False)
    yield Sample(make(3, 4), False)
    yield Sample(make(2, 3, 4), dim=(0, 2), correction=2, keepdim=True)
    yield Sample(make(3, 4), dim=1, correction=0.5)
    yield Sample(make(3, 4).T, -1)
    yield Sample(make(3, 4, dtype="complex128"), 1)
    yield Sample(make(3, 4, dtype="float16"), 1).only_values()
    yield Sample(np.ones((2, 3)), 1).only_values()  # the slope of a standard deviation of zero is zero


@samples("var_mean", "std_mean")
def spreads_and_means(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), dim=0, correction=0, keepdim=True)
    yield Sample(make(3, 4), False)


@error_samples("var", "std")
def integer_spread(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "std and var only support floating point and complex dtypes", make(3, dtype="int64"))


ORDERS: tuple[Any, ...] = (2, 1, 3, 1.5, 0.5, 4.0, float("inf"), -float("inf"), -2, 2.0)


@samples("linalg_vector_norm", torch="linalg.vector_norm", ours="ops.vector_norm.vector_norm")
def vector_norms(make: Make) -> Iterator[Sample]:
    for order in ORDERS:
        far_from_zero = make(3, 4, avoid=(0.0,))
        yield Sample(far_from_zero, order)
        yield Sample(far_from_zero, order, 1)
        yield Sample(make(2, 3, 4, avoid=(0.0,)), order, (0, 2), True)
    for order in (2, 1, 3, float("inf")):
        yield Sample(make(3, 4, dtype="complex128", low=0.5), order, 1)
    yield Sample(make(3, 4), 0).only_values()
    yield Sample(make(3, 4), 0, 1).only_values()
    yield Sample(make(3, 4, dtype="float32"), dim=1, dtype=Dtype("float64")).only_values()
    yield Sample(make(0, 3), 2, 0).only_values()
    yield Sample(make(3, 4, dtype="float16"), 2).only_values()


@samples("renorm")
def shortened(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2, 0, 1.0)
    yield Sample(make(3, 4), 1, -1, 2.0)
    yield Sample(make(2, 3, 4), 3, 1, 100.0)


@error_samples("renorm")
def bad_renorm(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "renorm: input needs at least 2 dimensions, got 1 dimensions", make(3), 2, 0, 1.0)
    yield ErrorSample(RuntimeError, "renorm: non-positive-norm not supported", make(2, 3), -1, 0, 1.0)
    yield ErrorSample(RuntimeError, "renorm: expected maxnorm to be >= 0 but got -1", make(2, 3), 2, 0, -1.0)


@samples("cov")
def covariances(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 5))
    yield Sample(make(3, 5), correction=0)
    yield Sample(make(5))
    yield Sample(make(3, 4), fweights=np.array([1, 2, 1, 3]))
    yield Sample(make(3, 4), aweights=make(4, low=0.1))
    yield Sample(make(3, 4), fweights=np.array([1, 2, 1, 3]), aweights=make(4, low=0.1))
    yield Sample(make(3, 5, dtype="complex128"))
    yield Sample(make(3, 5, dtype="int64"))


@samples("corrcoef")
def correlations(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 5))
    yield Sample(make(3, 5, dtype="complex128")).only_values()


@error_samples("cov")
def bad_covariances(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "expected input to have two or fewer dimensions but got an input with 3", make(2, 2, 2))
    yield ErrorSample(RuntimeError, "expected fweights to have integral dtype but got fweights with Double", make(2, 3), fweights=make(3))
    yield ErrorSample(RuntimeError, "the same numel as there are observations in the input but got 2 != 3", make(2, 3), aweights=make(2))
    yield ErrorSample(RuntimeError, "aweights cannot be negative", make(2, 3), aweights=-np.ones(3))


@samples("linalg_vector_norm")
def norms_of_zero(make: Make) -> Iterator[Sample]:
    for order in (2, 1, 3, 1.5, float("inf")):
        yield Sample(np.zeros((2, 3)), order).only_values()
        yield Sample(np.array([[0.0, 0.0], [3.0, 0.0]]), order, 1).only_values()


@samples("norm", torch="norm")
def norms(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), dim=1)
    yield Sample(make(3, 4), 3, 0, True)
    yield Sample(make(3, 4), "fro", dim=(0, 1))
    yield Sample(make(3, 4), p=1, dim=-1)


@samples("dist")
def distances(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(4), 3)


@error_samples("linalg_vector_norm")
def bad_norms(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "cannot compute the inf norm on an empty tensor because", make(0, 3), float("inf"))
    yield ErrorSample(RuntimeError, "cannot compute the inf norm on the dimension 0", make(0, 3), float("inf"), 0)
    yield ErrorSample(RuntimeError, "Expected a floating point or complex tensor as input. Got Long", make(3, dtype="int64"))
    yield ErrorSample(RuntimeError, r"convertible without narrowing to the specified dtype \(Float\)", make(3), dtype=Dtype("float32"))
    yield ErrorSample(IndexError, OUT_OF_RANGE, make(2, 3), 2, 5)


# ---- running ------------------------------------------------------------------------------------------------------------------------


@samples("cumsum", "cumprod", "logcumsumexp")
def running(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0)
    yield Sample(make(3, 4), -1)
    yield Sample(make(2, 3, 4).T, 1)
    yield Sample(make(), 0)
    yield Sample(make(0, 3), 0)


@samples("cumsum", "cumprod")
def running_of_other_types(make: Make) -> Iterator[Sample]:
    for dtype in ("int64", "int32", "uint8", "bool"):
        yield Sample(make(3, 4, dtype=dtype), 0)
    yield Sample(make(3, 4, dtype="complex128"), 1)
    yield Sample(make(3, 4, dtype="int64"), 1, dtype=Dtype("float64"))
    yield Sample(make(3, 4, dtype="float16"), 1).only_values()


@samples("cumprod")
def running_zeros(make: Make) -> Iterator[Sample]:
    yield Sample(ZEROS, 0)
    yield Sample(ZEROS, 1)


@samples("logcumsumexp")
def running_logs(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([-1000.0, 0.0, 500.0, 1000.0, 200.0]), 0).only_values()


@samples("cummax", "cummin")
def records(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 0)
    yield Sample(make.distinct(3, 4), -1)
    yield Sample(make(), 0)
    yield Sample(TIES, 1).only_values()
    yield Sample(NANS, 1).only_values()
    yield Sample(make(3, 4, dtype="int64"), 0)
    yield Sample(make(0, 3), 0)


@samples("cummax_values", "record_index", torch="cummax", ours="cummax")
@samples("cummin_values", torch="cummin", ours="cummin")
def record_values(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 1)


@error_samples("logcumsumexp")
def integer_logs(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"logcumsumexp_out_cpu\" not implemented for 'Long'", make(3, dtype="int64"), 0)


@samples("diff")
def differences(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 2, 0)
    yield Sample(make(3, 4), n=0)
    yield Sample(make(3, 4), n=9)
    yield Sample(make(3, 4), prepend=make(3, 2), append=make(3, 1))
    yield Sample(make(3, 4, dtype="bool"))
    yield Sample(make(3, 4, dtype="int64"), dim=0)


@error_samples("diff")
def bad_differences(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "diff expects input to be at least one-dimensional", make())
    yield ErrorSample(RuntimeError, "order must be non-negative but got -1", make(3), -1)
    yield ErrorSample(RuntimeError, "diff expects prepend or append to be the same dimension as input", make(3, 4), prepend=make(3))
    yield ErrorSample(RuntimeError, r"diff expects the shape of tensor to prepend.*input.size\(0\) = 3", make(3, 4), append=make(2, 4))


@samples("trapezoid", "cumulative_trapezoid", "trapz")
def integrals(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), dim=0)
    yield Sample(make(3, 4), make(4))
    yield Sample(make(3, 4), make(3, 4), dim=0)


@samples("trapezoid", "cumulative_trapezoid")
def even_integrals(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), dx=0.5)


@error_samples("trapezoid")
def bad_integrals(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "trapezoid: There must be one `x` value for each sample point", make(3, 4), make(3))


@samples("gradient")
def slopes(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), dim=1, spacing=2.0)
    yield Sample(make(3, 4), spacing=(2.0, 3.0))
    yield Sample(make(3, 4), dim=1, edge_order=2)
    yield Sample(make(3, 4), dim=(1,), spacing=(np.array([0.0, 1.0, 3.0, 7.0]),)).gradient_differs()  # PyTorch takes points as constants
    yield Sample(make(3, 4), dim=1, spacing=(np.array([0.0, 1.0, 3.0, 7.0]),), edge_order=2).gradient_differs()


@error_samples("gradient")
def bad_slopes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.gradient expected each dimension size to be at least edge_order", make(1))
    yield ErrorSample(RuntimeError, "torch.gradient only supports edge_order=1 and edge_order=2", make(5), edge_order=3)


@samples("sum_to_size")
def sums_to_sizes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), 1, 3)
    yield Sample(make(2, 3), 3)
    yield Sample(make(4, 2, 3), (2, 1))
    yield Sample(make(2, 3), 2, 3)
    yield Sample(make(2, 3, dtype="bool"), 1, 3).only_values()
    yield Sample(make(2, 3, dtype="uint8"), 2, 3).only_values()


@error_samples("sum_to_size")
def bad_sums_to_sizes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"size \{\[2, 2\]\} is not expandable to size \{\[2, 3\]\}", make(2, 3), 2, 2)


# ---- order statistics ---------------------------------------------------------------------------------------------------------------


@samples("median", "nanmedian")
def medians(make: Make) -> Iterator[Sample]:
    yield from over_dims(make, several=False)
    yield Sample(TIES).only_values()
    yield Sample(TIES, 1).only_values()
    yield Sample(NANS).only_values()
    yield Sample(NANS, 1).only_values()
    yield Sample(make(3, 4, dtype="int64"), 0)
    yield Sample(make(0)).no_gradient()


@samples("mode")
def modes(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[1.0, 2.0, 2.0, 3.0], [5.0, 5.0, 1.0, 1.0]])).only_values()
    yield Sample(make.distinct(3, 4), 0, True)
    yield Sample(np.array([3, 3, 1, 1, 2, 2, 2, 1]))
    yield Sample(make())


@samples("kthvalue")
def ranks(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 2)
    yield Sample(make.distinct(3, 4), 3, 0, True)
    yield Sample(make(), 1)
    yield Sample(NANS, 4, 1).only_values()


@samples("kthvalue_values", torch="kthvalue", ours="kthvalue")
def rank_values(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 2)


@error_samples("kthvalue")
def bad_ranks(make: Make) -> Iterator[ErrorSample]:
    for k in (0, 5):
        yield ErrorSample(RuntimeError, r"kthvalue\(\): selected number k out of range for dimension 1", make(3, 4), k)


@samples("quantile", "nanquantile")
def quantiles(make: Make) -> Iterator[Sample]:
    yield Sample(make.distinct(3, 4), 0.3)
    yield Sample(make.distinct(3, 4), 0.3, 1, True)
    yield Sample(make.distinct(3, 4), np.array([0.1, 0.5, 1.0]), 0).only_values()  # no gradient for the fractions
    yield Sample(make.distinct(3, 4), np.array([0.1, 0.5]), keepdim=True).only_values()
    yield Sample(make(), 0.3)
    for interpolation in ("lower", "higher", "midpoint", "nearest"):
        yield Sample(make.distinct(3, 4), 0.4, 1, interpolation=interpolation)
    yield Sample(NANS, 0.5, 1).no_gradient()
    yield Sample(NANS, 0.3).no_gradient()


@error_samples("quantile")
def bad_quantiles(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"q must be in the range \[0, 1\] but got 1.5", make(3), 1.5)
    yield ErrorSample(RuntimeError, "q must be a scalar or 1D tensor", make(3), np.array([[0.5]]))
    yield ErrorSample(RuntimeError, "interpolation must be one of linear, lower, higher", make(3), 0.5, interpolation="cubic")
    yield ErrorSample(RuntimeError, "input tensor must be either float or double dtype", make(3, dtype="int64"), 0.5)
    yield ErrorSample(RuntimeError, "input tensor must be non-empty", make(0), 0.5)
    yield ErrorSample(RuntimeError, "q tensor must be same dtype as the input tensor", make(3), np.array(0.5, "float32"))
