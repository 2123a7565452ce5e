"""Samples of comparison, logic, bits, and of complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples
from tests.ops.samples.elementwise import EDGES, INF, NAN, PAIRS

# ---- complex numbers ------------------------------------------------------------------------------------------------


@samples("complex", "polar")
def made_of_parts(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2, low=0.2), make(3, 2))
    yield Sample(make(3, 1, low=0.2), make(2))
    yield Sample(np.array([INF, NAN, 1.0]), np.array([0.0, 1.0, 0.5])).no_gradient()


@error_samples("complex", "polar")
def unequal_parts(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Expected both inputs to be Half, Float or Double tensors", np.array([1, 2]), np.array([1, 2]))
    yield ErrorSample(RuntimeError, "Expected object of scalar type Float but got scalar type Double", make(2, dtype="float32"), make(2))


@samples("conj", "conj_physical", "angle")
def complex_functions(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2, dtype="complex128", low=0.3))
    yield Sample(make(0, dtype="complex128"))


@samples("_neg_view")
def pending_negatives(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2))
    yield Sample(make(2, dtype="complex128"))


@samples("angle")
def angles(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, avoid=(0.0,)))
    yield Sample(EDGES).only_values()
    yield Sample(np.array([0j, -1 + 0j, 1j])).only_values()
    yield Sample(np.array([-1, 0, 1])).no_gradient()


@samples("real", "imag", "view_as_real")
def parts(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2, dtype="complex128"))
    yield Sample(make(dtype="complex128"))
    yield Sample(make(2, 3, dtype="complex64").T).only_values()


@samples("view_as_complex")
def joined(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2)).only_contiguous()
    yield Sample(make(2)).only_contiguous()


@error_samples("view_as_real")
def no_parts(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "view_as_real is only supported for complex tensors", make(2))


@error_samples("imag")
def no_imaginary_part(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "imag is not implemented for tensors with non-complex dtypes", make(2))


@error_samples("view_as_complex")
def no_pairs(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Tensor must have a last dimension of size 2", make(3))
    yield ErrorSample(RuntimeError, "Input tensor must have one or more dimensions", make())
    yield ErrorSample(RuntimeError, "view_as_complex is only supported for half, float and double tensors", np.array([1, 2]))


# ---- comparison, logic, bits ----------------------------------------------------------------------------------------


@samples("eq", "ne", "lt", "le", "gt", "ge")
def comparisons(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0, high=2, dtype="int64"), make(4, low=0, high=2, dtype="int64"))
    yield Sample(*PAIRS)
    yield Sample(make(3), 0.5)
    yield Sample(make(3, dtype="float32"), make(3))
    yield Sample(make(3, dtype="int32"), 1.5)
    yield Sample(np.array([1, 200], dtype="uint8"), -1)
    yield Sample(make(3, dtype="bool"), make(3, dtype="bool"))
    yield Sample(make(3, dtype="bool"), True)


@samples("eq", "ne")
def equality(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([1j, 2, 3]), np.array([1j, 2j, 3]))


@error_samples("lt", "ge")
def no_order(make: Make) -> Iterator[ErrorSample]:
    number = make(2, dtype="complex64")
    yield ErrorSample(NotImplementedError, "not implemented for 'ComplexFloat'", number, number)


@samples("logical_and", "logical_or", "logical_xor")
def logic(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="bool"), make(4, dtype="bool"))
    yield Sample(np.array([0, 1, 2]), np.array([0.0, NAN, 0.0]))
    yield Sample(np.array([0j, 1j, 0]), np.array([1.0, 1.0, 0.0]))


@samples("logical_not", "isnan", "isinf", "isfinite", "isreal")
def questions(make: Make) -> Iterator[Sample]:
    yield Sample(EDGES)
    yield Sample(np.array([0, 1, 2]))
    yield Sample(np.array([True, False]))
    yield Sample(np.array([0j, 1j, complex(NAN, 1), complex(1, INF)]))


@samples("isposinf", "isneginf", "signbit")
def real_questions(make: Make) -> Iterator[Sample]:
    yield Sample(EDGES)
    yield Sample(np.array([0, 1, -2]))
    yield Sample(np.array([True, False]))


@samples("bitwise_and", "bitwise_or", "bitwise_xor")
def bits(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=-99, high=99, dtype="int64"), make(4, low=-99, high=99, dtype="int64"))
    yield Sample(make(3, 4, dtype="bool"), make(4, dtype="bool"))
    yield Sample(make(3, dtype="int8"), 3)
    yield Sample(3, make(3, dtype="int8"))
    yield Sample(make(3, dtype="int8"), make(3, dtype="int32"))
    yield Sample(make(3, dtype="bool"), 1)


@samples("bitwise_not")
def inverted(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([0, 1, -5]))
    yield Sample(np.array([0, 1, 255], dtype="uint8"))
    yield Sample(np.array([True, False]))


@samples("bitwise_left_shift", "bitwise_right_shift")
def shifts(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([1, -5, 100]), np.array([1, 2, 3]))
    yield Sample(np.array([1, -5, 100], dtype="int8"), 2)
    yield Sample(np.array([1, -5, 100], dtype="int8"), 9)
    yield Sample(np.array([1, 5, 100], dtype="uint8"), np.array([0, 1, 7], dtype="uint8"))
    yield Sample(2, np.array([1, 2, 3]))


@error_samples("bitwise_not")
def float_bit(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'Float'", make(2, dtype="float32"))


@error_samples("bitwise_and", "bitwise_left_shift")
def float_bits(make: Make) -> Iterator[ErrorSample]:
    operand = make(2, dtype="float32")
    yield ErrorSample(NotImplementedError, "not implemented for 'Float'", operand, operand)


@samples("gcd", "lcm")
def divisors(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([12, -18, 0, 7]), np.array([18, 12, 5, 0]))
    yield Sample(np.array([12, 18], dtype="int16"), np.array([8], dtype="int16"))


@samples("isclose", "allclose")
def nearly_equal(make: Make) -> Iterator[Sample]:
    x = make(3, 4)
    yield Sample(x, x + 1e-9)
    yield Sample(x, x + make(3, 4) * 1e-5, rtol=1e-6, atol=1e-6)
    yield Sample(np.array([INF, -INF, NAN, 1.0]), np.array([INF, INF, NAN, 1.0]))
    yield Sample(np.array([INF, NAN]), np.array([INF, NAN]), equal_nan=True)
    yield Sample(np.array([1, 2, 3]), np.array([1, 3, 3]), atol=1)
    yield Sample(np.array([1j, 2]), np.array([1j, 2.1]))


@samples("equal")
def same(make: Make) -> Iterator[Sample]:
    x = make(3)
    yield Sample(x, x.copy())
    yield Sample(x, x + 1)
    yield Sample(x, make(2))
    yield Sample(make(0), make(0))


@error_samples("isclose", "allclose")
def not_comparable(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Float did not match Double", make(2, dtype="float32"), make(2))
    yield ErrorSample(RuntimeError, "rtol must be greater than or equal to zero, but got -1", make(2), make(2), rtol=-1)
