"""Calls that PyTorch refuses: numbers where tensors are wanted, sizes that are none, results that do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, error_samples

# ---- numbers instead of tensors -------------------------------------------------------------------------------------


@error_samples("eq", "ne", "lt", "le", "gt", "ge", "fmod", "copysign", "clamp_min", "clamp_max", "rsub")
def a_number_first(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(TypeError, "received an invalid combination of arguments", 2, make(3))
    yield ErrorSample(TypeError, "received an invalid combination of arguments", 2.5, 3)


@error_samples("remainder", "pow", "float_power", "bitwise_and", "bitwise_or", "bitwise_left_shift", "xlogy", "max", "min")
def only_numbers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(TypeError, "received an invalid combination of arguments", 2, 3)


@error_samples("exp", "neg", "sigmoid", "floor", "abs", "logical_not")
def a_number(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(TypeError, r"argument 'input' \(position 1\) must be Tensor, not float", 2.0)


@error_samples("narrow")
def a_start_that_is_no_number(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "start must be an 0-dim integral Tensor", make(4, 3), 0, np.array([1, 2]), 1)
    yield ErrorSample(RuntimeError, "start must be an 0-dim integral Tensor", make(4, 3), 0, np.array(True), 1)
    yield ErrorSample(RuntimeError, "start must be an 0-dim integral Tensor", make(4, 3), 0, np.array(1.0), 1)


# ---- sizes ----------------------------------------------------------------------------------------------------------


@error_samples("reshape")
def sizes_that_are_no_integers(make: Make) -> Iterator[ErrorSample]:
    for x in (make(6), make(3, 2).T):
        yield ErrorSample(TypeError, "must be tuple of ints", x, (2.0, 3))
        yield ErrorSample(TypeError, "must be tuple of ints", x, (3, 2.0))


# ---- dtypes ---------------------------------------------------------------------------------------------------------


@error_samples("abs_")
def no_modulus_in_place(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "In-place abs is not supported for complex tensors", make(3, dtype="complex128"))


@error_samples("masked_fill")
def no_complex_value(make: Make) -> Iterator[ErrorSample]:
    value, mask = np.array(1 + 2j), np.array([True, False])
    yield ErrorSample(RuntimeError, "value cannot be converted to type", make(2, dtype="int64"), mask, value)
    yield ErrorSample(RuntimeError, "value cannot be converted to type", make(2), mask, value)


@error_samples("dot")
def vectors_of_truth_values(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"dot\" not implemented for 'Bool'", make(3, dtype="bool"), make(3, dtype="bool"))


@error_samples("addcmul", "clamp")
def three_of_truth_values(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'Bool'", *(make(3, dtype="bool") for _ in range(3)))


@error_samples("median", "nanmedian")
def no_order_of_truth_values(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"median_cpu\" not implemented for 'Bool'", make(3, dtype="bool"))
    yield ErrorSample(NotImplementedError, "\"median_cpu\" not implemented for 'ComplexDouble'", make(3, dtype="complex128"))
    yield ErrorSample(NotImplementedError, "\"median_out\" not implemented for 'Bool'", make(3, dtype="bool"), 0)


@error_samples("kthvalue", "topk")
def no_rank_of_truth_values(make: Make) -> Iterator[ErrorSample]:
    kind = NotImplementedError if make.name == "kthvalue" else RuntimeError
    yield ErrorSample(kind, "not implemented for 'Bool'|does not support bool dtypes", make(3, dtype="bool"), 1)
    yield ErrorSample(kind, "not implemented for 'Complex|does not support complex dtypes", make(3, dtype="complex64"), 1)


@error_samples("isin")
def no_membership(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"Unsupported input type encountered for isin\(\): Bool", make(3, dtype="bool"), make(2, dtype="bool"))


@error_samples("gradient")
def no_differences(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.gradient does not support uint8 input", make(4, dtype="uint8"))


@error_samples("softmax", "log_softmax")
def no_shares_of_complex_numbers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'ComplexFloat'", make(3, dtype="complex64"), 0)


@error_samples("cdist")
def no_distances(make: Make) -> Iterator[ErrorSample]:
    x = make(2, 3, dtype="complex64")
    yield ErrorSample(RuntimeError, "cdist only supports floating-point dtypes, X1 got: ComplexFloat", x, x)


@error_samples("cosine_similarity")
def no_angle(make: Make) -> Iterator[ErrorSample]:
    x = make(2, 3, dtype="complex64")
    yield ErrorSample(RuntimeError, "expected common dtype to be floating point", x, x)


@error_samples("mse_loss", "smooth_l1_loss", "huber_loss")
def no_loss_of_complex_numbers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'ComplexFloat'", make(3, dtype="complex64"), make(3, dtype="complex64"))


@error_samples("unique", "unique_consecutive")
def no_order_of_complex_numbers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"unique\" not implemented for 'ComplexFloat'", make(3, dtype="complex64"))


@error_samples("nansum")
def no_sum_of_complex_numbers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "nansum on CPU does not support complex inputs", make(3, dtype="complex64"))


@error_samples("trapezoid", "cumulative_trapezoid")
def no_areas(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "trapezoid: received a bool input for `y`, but bool is not supported", make(3, dtype="bool"))


@error_samples("searchsorted")
def no_places(make: Make) -> Iterator[ErrorSample]:
    x = np.array([False, True])
    yield ErrorSample(NotImplementedError, "\"searchsorted_out_cpu\" not implemented for 'Bool'", x, x)


@error_samples("histogram")
def no_intervals(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"histogram", make(3, dtype="int64"), 2)


@error_samples("unravel_index")
def no_index(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(TypeError, "expected 'indices' to be integer dtype", make(3), (4, 5))


@error_samples("hardtanh")
def no_negative_limits(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "cannot do hardtanh on an unsigned type with negative limits", make(3, dtype="uint8"))


@error_samples("binary_cross_entropy_with_logits")
def no_logits(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"log_sigmoid_cpu\" not implemented for 'Long'", make(3, dtype="int64"), make(3, dtype="int64"))


@error_samples("max_pool1d")
def no_maxima_of_integers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "\"max_pool1d_impl\" not implemented for 'Long'", make(1, 2, 4, dtype="int64"), 2)


@error_samples("aminmax")
def no_elements_along(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "aminmax: Expected reduction dim 1 to have non-zero size", make(2, 0), dim=-1)


@error_samples("prelu")
def several_weights_for_one_number(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Not allow zero-dim input tensor", make(), make(3))
