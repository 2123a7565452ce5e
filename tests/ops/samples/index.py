"""Samples of indexing: reading and writing at indices, by masks, along dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

ALL = slice(None)


# ---- x[...] ---------------------------------------------------------------------------------------------------------


@samples("select_part", torch="Tensor.__getitem__")
def with_numbers(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), (1, ...))
    yield Sample(make(3, 4), (ALL, -1, ...))
    yield Sample(make(3), (2, ...))


@samples("slice_part", torch="Tensor.__getitem__")
def with_slices(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), (slice(1, None), ...))
    yield Sample(make(3, 4), (0, slice(None, None, 2), ...))
    yield Sample(make(3, 4), (slice(2, 1), ...))


@samples("unsqueeze_part", torch="Tensor.__getitem__")
def with_none(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), (None, 0, None, ...))
    yield Sample(make(), (None, ...))


@samples("place")
def placed(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4), (3, 4), (slice(1, None), ...)).not_in_torch()  # internal: the transpose of basic indexing


@samples("index", torch="Tensor.__getitem__", ours="Tensor.__getitem__")
def at_indices(make: Make) -> Iterator[Sample]:
    x = make(3, 4, 2)
    yield Sample(x, np.array([0, 2, 0]))
    yield Sample(x, np.array([[0, -1], [1, 1]]))
    yield Sample(x, (ALL, np.array([3, 3])))
    yield Sample(x, (np.array([0, 1]), np.array([3, -1])))
    yield Sample(x, (np.array([[0], [1]]), ALL, np.array([0, 1, 1])))
    yield Sample(x, (0, ALL, np.array([0, 1, 1])))
    yield Sample(x, (..., None, np.array([0, 0])))
    yield Sample(x, (slice(1, None), [0, 2, 2], 1))
    yield Sample(x, x[..., 0] > 0)
    yield Sample(x, (ALL, x[0, :, 0] > 0, [1]))
    yield Sample(x, True)
    yield Sample(x, (False, 0))
    yield Sample(x, np.zeros(0, np.int64))
    yield Sample(make(3, dtype="complex128"), np.array([0, 0, 2]))
    yield Sample(make(3, dtype="int32"), np.array([0, 0, 2]))


@error_samples("index")
def bad_indices(make: Make) -> Iterator[ErrorSample]:
    x = make(3, 4)
    yield ErrorSample(IndexError, "index 5 is out of bounds for dimension 0 with size 3", x, 5)
    yield ErrorSample(IndexError, "index -4 is out of bounds for dimension 0 with size 3", x, np.array([0, -4]))
    yield ErrorSample(IndexError, "too many indices for tensor of dimension 2", x, (0, 0, 0))
    yield ErrorSample(IndexError, "invalid index of a 0-dim tensor", make(), 0)
    yield ErrorSample(IndexError, "shape mismatch: indexing tensors could not be broadcast together", x, ([0, 1], [0, 1, 2]))
    yield ErrorSample(IndexError, r"The shape of the mask \[2\] at index 0 does not match", x, np.array([True, False]))
    yield ErrorSample(IndexError, "tensors used as indices must be long, int, byte or bool", x, np.array([1.0]))
    yield ErrorSample(IndexError, "only integers, slices .* are valid indices .got float", x, 1.5)
    yield ErrorSample(ValueError, "step must be greater than zero", x, slice(None, None, -1))
    yield ErrorSample(ValueError, "slice step cannot be zero", x, slice(None, None, 0))
    yield ErrorSample(TypeError, "slice indices must be integers or None", x, slice(0.5, None))


@samples("place_at")
def placed_at(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 2), (3, 2), (np.array([0, 2, 0, -1]),)).not_in_torch()  # internal: the transpose of indexing
    yield Sample(make(3, 2), (3, 4), (ALL, np.array([3, 3]))).not_in_torch()
    yield Sample(make(2), (3, 4), (np.array([1, 1]), np.array([3, -1]))).not_in_torch()
    yield Sample(make(2), (3,), (np.array([True, False, True]),)).not_in_torch()


@samples("index_put")
def put(make: Make) -> Iterator[Sample]:
    x = make(3, 4)
    yield Sample(x, (np.array([0, 2]),), make(2, 4))
    yield Sample(x, (np.array([0, 2]),), make(4))
    yield Sample(x, (np.array([0, 2]), np.array([1, 1])), make())
    yield Sample(x, (x > 0,), make())
    yield Sample(x, (np.array([0, 0]), np.array([1, 1])), make(2), True)
    yield Sample(x, (np.array([0, 0, 1]),), make(3, 4), accumulate=True)


@error_samples("index_put")
def bad_put(make: Make) -> Iterator[ErrorSample]:
    x, where = make(3, 4), (np.array([0, 2]),)
    yield ErrorSample(RuntimeError, "shape mismatch: value tensor of shape", x, where, make(3))
    yield ErrorSample(RuntimeError, "Index put requires the source and destination dtypes match", x, where, make(4, dtype="float32"))
    yield ErrorSample(TypeError, "must be tuple of Tensors, not Tensor", x, np.array([0]), make())


# ---- copy, fill -----------------------------------------------------------------------------------------------------


@samples("copy", torch="ops.aten.copy")
def copied(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4)).gradient_differs()  # PyTorch has one only for copy_
    yield Sample(make(3, 4), make(4)).gradient_differs()
    yield Sample(make(3, 4), make(3, 1, dtype="float32")).no_gradient()
    yield Sample(make(3, dtype="int64"), make(3, low=0)).no_gradient()


@samples("fill")
def filled(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2.5)
    yield Sample(make(3, dtype="int32"), 2.7)
    yield Sample(make(3, 4), make())


@samples("fill_tensor", torch="fill")
def filled_with_tensor(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make())


@error_samples("fill")
def bad_fill(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "only supports 0-dimension value tensor", make(3), make(3))
    yield ErrorSample(RuntimeError, "value cannot be converted to type double without overflow", make(3), 1j)
    yield ErrorSample(RuntimeError, "value cannot be converted to type int8_t without overflow", make(3, dtype="int8"), 1000)


@samples("zero", torch="ops.aten.zero")
def zeroed(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))


@samples("fill_diagonal")
def diagonal_filled(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2.0).not_in_torch()  # there only in place
    yield Sample(make(7, 2), 2.0, True).not_in_torch()


# ---- masks ----------------------------------------------------------------------------------------------------------


@samples("where")
def chosen(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="bool"), make(3, 4), make(3, 4))
    yield Sample(make(3, 1, dtype="bool"), make(4), make())
    yield Sample(make(3, 4, dtype="bool"), make(3, 4), 2.0)
    yield Sample(make(3, 4, dtype="bool"), 1, 2).no_gradient()
    yield Sample(make(3, 4, dtype="bool"), True, 2.5).no_gradient()
    yield Sample(make(3, dtype="bool"), make(3, dtype="int32"), make(3, dtype="float32")).no_gradient()
    yield Sample(make(3, dtype="bool"), make(3), make(3, dtype="complex128")).gradient_differs()  # PyTorch raises in backward
    yield Sample(make(3, 4, dtype="bool")).no_gradient()


@error_samples("where")
def bad_where(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "where expected condition to be a boolean tensor", make(3), make(3), make(3))
    yield ErrorSample(RuntimeError, "The size of tensor a", make(3, dtype="bool"), make(3), make(4))


@samples("masked_fill")
def masked(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype="bool"), 2.0)
    yield Sample(make(4), make(3, 4, dtype="bool"), -np.inf).no_gradient()
    yield Sample(make(3, dtype="int32"), make(3, dtype="bool"), 2.7).no_gradient()


@samples("masked_fill_tensor", torch="masked_fill")
def masked_with_tensor(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 1, dtype="bool"), make())


@error_samples("masked_fill")
def bad_mask(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "masked_fill_ only supports boolean masks", make(3), make(3), 1.0)
    yield ErrorSample(RuntimeError, "masked_fill_ only supports a 0-dimensional value", make(3), make(3, dtype="bool"), make(3))
    yield ErrorSample(RuntimeError, "The size of tensor a", make(3), make(4, dtype="bool"), 1.0)


@samples("masked_select")
def masked_elements(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype="bool"))
    yield Sample(make(4), make(3, 1, dtype="bool"))
    yield Sample(make(), np.array(True))


@error_samples("masked_select")
def bad_select(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "masked_select: expected BoolTensor for mask", make(3), make(3))


@samples("place_masked")
def placed_masked(make: Make) -> Iterator[Sample]:
    mask = make(3, 4, dtype="bool")
    yield Sample(make(int(mask.sum())), mask).not_in_torch()  # internal: the transpose of masked_select


@samples("masked_scatter")
def scattered(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype="bool"), make(3, 5))
    yield Sample(make(3, 4), make(4, dtype="bool"), make(12))


@error_samples("masked_scatter")
def bad_scatter(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Number of elements of source < number of ones in mask", make(3), np.ones(3, bool), make(2))
    yield ErrorSample(RuntimeError, "expected self and source to have same dtypes", make(3), np.ones(3, bool), make(3, dtype="float32"))


@samples("nonzero", "argwhere")
def not_zero(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype="bool")).no_gradient()
    yield Sample(make(3, 4, dtype="int32")).no_gradient()
    yield Sample(np.array(1.0)).no_gradient()


# ---- along a dimension ----------------------------------------------------------------------------------------------

WHERE = np.array([[2, 0, 2], [1, 2, 2]])


@samples("gather")
def gathered(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, WHERE)
    yield Sample(make(3, 4), 1, WHERE)
    yield Sample(make(3, 4), -1, np.zeros((3, 0), np.int64))
    yield Sample(make(), 0, np.array(0))
    yield Sample(make(3), 0, np.array([2, 2], np.int32))
    yield Sample(make(2, 3, 4), 1, make.indices(2, 2, 3, size=3))


@error_samples("gather")
def bad_gather(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Index tensor must have the same number of dimensions as input tensor", make(3, 4), 0, np.array([0]))
    yield ErrorSample(RuntimeError, "index 3 is out of bounds for dimension 0 with size 3", make(3, 4), 0, WHERE + 1)
    yield ErrorSample(RuntimeError, "index -1 is out of bounds for dimension 0 with size 3", make(3, 4), 0, WHERE - 1)
    yield ErrorSample(RuntimeError, "Expected dtype int32/int64 for index", make(3, 4), 0, make(2, 3))
    yield ErrorSample(RuntimeError, "Size does not match at dimension 0 expected index", make(1, 4), 1, WHERE)


@samples("scatter")
def scattered_along(make: Make) -> Iterator[Sample]:
    places = np.array([[2, 0, 3], [1, 2, 0]])
    yield Sample(make(3, 4), 1, places, make(2, 3))
    yield Sample(make(3, 4), 1, places, 2.5)
    yield Sample(make(3, 4), 1, places, make(3, 4)).not_in_torch()  # PyTorch has no gradient for a larger src
    yield Sample(make(3, 4), 1, WHERE, make(2, 3), reduce="add").not_in_torch()  # nor for reduce
    yield Sample(make(3, 4), 1, WHERE, 2.0, reduce="multiply").not_in_torch()
    yield Sample(make(3), 0, np.array([1]), value=2.0)


@samples("scatter_value", torch="scatter")
def scattered_value(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, WHERE, 2.5)


@samples("scatter_add")
def scattered_sum(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, WHERE, make(2, 3))
    yield Sample(make(3, 4), 0, WHERE, make(2, 3))
    yield Sample(make(), 0, np.array(0), make())


@error_samples("scatter")
def bad_scatter_along(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Expected self.dtype to be equal to src.dtype", make(3, 4), 1, WHERE, make(2, 3, dtype="float32"))
    yield ErrorSample(RuntimeError, "is out of bounds for dimension 1 with size 4", make(3, 4), 1, WHERE + 9, 1.0)
    yield ErrorSample(RuntimeError, r"Expected index \[2, 3\] to be no larger than self", make(3, 4), 1, WHERE, make(1, 3))
    yield ErrorSample(RuntimeError, "reduce argument must be either add or multiply", make(3, 4), 1, WHERE, make(2, 3), reduce="mean")


@samples("scatter_reduce")
def combined(make: Make) -> Iterator[Sample]:
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            yield Sample(make.distinct(3, 4), 1, WHERE, make.distinct(2, 3) + 0.01, reduce, include_self=include_self)
    zeros = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
    yield Sample(make(3, 4), 1, WHERE, zeros, "prod").only_values()
    yield Sample(make(3, 4, dtype="int64"), 1, WHERE, make(2, 3, dtype="int64"), "amax").no_gradient()


@samples("once", ours="ops.scatter_reduce.once")
def not_twice(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), "not again").not_in_torch().only_values()


@error_samples("scatter_reduce")
def badly_combined(make: Make) -> Iterator[ErrorSample]:
    words = "reduce argument must be either sum, prod, mean, amax or amin"
    yield ErrorSample(RuntimeError, words, make(3, 4), 1, WHERE, make(2, 3), "median")


@samples("index_reduce")
def slices_combined(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, np.array([0, 0]), make(2, 4), "prod")
    yield Sample(make(3, 4), 1, np.array([0, 0, 3]), make(3, 3), "mean", include_self=False)


@samples("take_along_dim")
def taken_along(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), np.array([[0, 2]]), 1)
    yield Sample(make(3, 4), np.array([5, 0]))


@samples("index_select")
def slices(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, np.array([0, 0, 3]))
    yield Sample(make(3, 4), -2, np.array(1))
    yield Sample(make(), 0, np.array([0]))


@error_samples("index_select")
def bad_slices(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "index out of range in self", make(3), 0, np.array([3]))
    yield ErrorSample(IndexError, "Index is supposed to be a vector", make(3), 0, np.array([[0]]))
    yield ErrorSample(RuntimeError, "Expected dtype int32 or int64 for index", make(3), 0, make(2))


@samples("index_add")
def slices_added(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, np.array([0, 0, 3]), make(3, 3))
    yield Sample(make(3, 4), 0, np.array([1]), make(1, 4), alpha=2)


@samples("index_copy")
def slices_copied(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, np.array([0, 2, 3]), make(3, 3))


@samples("index_fill")
def slices_filled(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, np.array([0, 0, 3]), 2.0)
    yield Sample(make(3, 4), 0, np.array([-1]), 2)


@samples("index_fill_tensor", torch="index_fill")
def slices_filled_with_tensor(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, np.array([0, 2]), make())


@error_samples("index_add")
def badly_added(make: Make) -> Iterator[ErrorSample]:
    x, where = make(3, 4), np.array([0, 1])
    yield ErrorSample(RuntimeError, r"index_add_\(\): Number of indices .2. should be equal to source.size", x, 1, where, make(3, 3))
    yield ErrorSample(RuntimeError, r"index_add_\(\): self .Double. and source .Float.", x, 1, where, make(3, 2, dtype="float32"))
    yield ErrorSample(RuntimeError, "index 5 is out of bounds for dimension 1 with size 4", x, 1, where + 5, make(3, 2))


@error_samples("index_fill")
def badly_filled(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "index_fill_ only supports a 0-dimensional value tensor", make(3), 0, np.array([0]), make(1))


@samples("take")
def taken(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), np.array([[0, 11], [-1, 0]]))
    yield Sample(make(), np.array([0]))


@samples("put", torch="Tensor.put")
def put_flat(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), np.array([[0, 11], [-2, 5]]), make(2, 2))
    yield Sample(make(3, 4), np.array([0, 0, -1]), make(3), True)


@error_samples("take")
def badly_taken(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "out of range: tried to access index 9 on a tensor of 3 elements", make(3), np.array([9]))
    yield ErrorSample(RuntimeError, r"take\(\): Expected a long tensor for index, but got Double", make(3), make(2))


@error_samples("put")
def badly_put(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "Expected source and index to have the same number of elements", make(3), np.array([0]), make(2))
