"""Samples of views, and of what joins, repeats and rearranges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import Dtype, ErrorSample, Make, Sample, error_samples, samples

# ---- another shape --------------------------------------------------------------------------------------------------


@samples("view", torch="Tensor.view")
@samples("reshape", "_unsafe_view", torch="reshape")
def in_another_shape(make: Make) -> Iterator[Sample]:
    for shape in ((2, 6), (-1,), (4, 1, 3), (12,)):
        sample = Sample(make(3, 4), shape)
        yield sample.only_contiguous() if make.name == "view" else sample
    yield Sample(make(1), ()).only_contiguous()
    yield Sample(make(), (1, 1)).only_contiguous()
    yield Sample(make(0, 3), (0, 5)).only_contiguous()
    yield Sample(make(2, 3, dtype="complex128"), (6,)).only_contiguous()
    yield Sample(make(2, 3, dtype="int32"), (3, 2)).only_contiguous()


@error_samples("view", "reshape")
def bad_shapes(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"shape '\[2, 3\]' is invalid for input of size 4", make(4), (2, 3))
    yield ErrorSample(RuntimeError, r"shape '\[3, -1\]' is invalid for input of size 4", make(4), (3, -1))
    yield ErrorSample(RuntimeError, "only one dimension can be inferred", make(4), (-1, -1))
    yield ErrorSample(RuntimeError, r"invalid shape dimension -2 at index 0 of shape \[-2, 2\]", make(4), (-2, 2))
    yield ErrorSample(RuntimeError, "cannot reshape tensor of 0 elements into shape", make(0), (0, -1))


@samples("view_dtype", torch="Tensor.view")
def other_bits(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), Dtype("int64")).no_gradient().only_contiguous()
    yield Sample(make(3, 4), Dtype("uint8")).no_gradient().only_contiguous()
    yield Sample(make(3, 4, dtype="float32"), Dtype("complex64")).no_gradient().only_contiguous()


@error_samples("view_dtype")
def bad_bits(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"self.size\(-1\) must be divisible by 2 to view", make(3, dtype="float32"), Dtype("float64"))
    yield ErrorSample(RuntimeError, r"self.dim\(\) cannot be 0 to view", make(), Dtype("uint8"))


@samples("flatten")
def flattened(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(2, 3, 4), 1)
    yield Sample(make(2, 3, 4), 0, -2)
    yield Sample(make(2, 3), 1, 1)
    yield Sample(make())


@error_samples("flatten")
def badly_flattened(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"flatten\(\) has invalid args: start_dim cannot come after end_dim", make(2, 3), 1, 0)
    yield ErrorSample(IndexError, "Dimension out of range", make(2, 3), 2)


@samples("unflatten")
def unflattened(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 6), 1, (2, 3))
    yield Sample(make(2, 6), -1, (-1, 2))


@samples("unflatten")
def unflattened_of_nothing(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 0), 0, (-1,)).only_values()
    yield Sample(make(0, 4), 1, (-1, 2)).only_values()


@error_samples("unflatten")
def badly_unflattened(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"only one dimension can be inferred", make(4), 0, (-1, -1))
    yield ErrorSample(RuntimeError, r"Dimension specified as 0 but tensor has no dimensions", make(), 0, (1,))
    yield ErrorSample(RuntimeError, r"unflatten: Provided sizes \[2, 2\] don't multiply up", make(2, 6), 1, (2, 2))
    yield ErrorSample(RuntimeError, "unflatten: sizes must be non-empty", make(2, 6), 1, ())


@samples("ravel", "contiguous", "clone")
def whole(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make())
    yield Sample(make(2, 3, dtype="complex128"))


@samples("alias", "primal", torch="ops.aten.alias")
def the_same_again(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))


# ---- another order of dimensions ------------------------------------------------------------------------------------


@samples("transpose", "swapaxes")
def two_exchanged(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), 0, 1)
    yield Sample(make(2, 3, 4), -1, 0)
    yield Sample(make(), 0, -1)
    yield Sample(make(2, 3, dtype="complex128"), 0, 1)


@samples("t")
def matrices(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3))
    yield Sample(make())


@samples("adjoint")
def conjugate_transposes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(3, 4, dtype="complex128"))


@samples("permute")
def permuted(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), (2, 0, 1))
    yield Sample(make(2, 3, 4), (-1, 1, 0))
    yield Sample(make(2, 3, 4), dims=(1, 0, 2))
    yield Sample(make(), ())


@samples("movedim", "moveaxis")
def moved(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), 0, 2)
    yield Sample(make(2, 3, 4), (0, 1), (2, 0))
    yield Sample(make(2, 3, 4), -1, 0)


@error_samples("transpose")
def bad_transpose(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)", make(2, 3), 0, 2)


@error_samples("t")
def not_a_matrix(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D", make(2, 3, 4))


@error_samples("permute")
def bad_permute(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "number of dimensions in the tensor input does not match the length", make(2, 3), (0,))
    yield ErrorSample(RuntimeError, r"permute\(\): duplicate dims are not allowed", make(2, 3), (0, 0))
    yield ErrorSample(IndexError, "Dimension out of range", make(2, 3), (0, 2))


@error_samples("movedim")
def bad_movedim(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "movedim: repeated dim in `source`", make(2, 3), (0, 0), (0, 1))
    yield ErrorSample(RuntimeError, "movedim: Invalid source or destination dims", make(2, 3), (0,), (0, 1))


# ---- dimensions of size one, and repeated ones ----------------------------------------------------------------------


@samples("unsqueeze")
def one_more(make: Make) -> Iterator[Sample]:
    for dim in (0, 1, -1):
        yield Sample(make(2, 3), dim)
    yield Sample(make(), 0)


@samples("squeeze")
def fewer(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1))
    yield Sample(make(1, 3, 1), 0)
    yield Sample(make(1, 3, 1), 1)
    yield Sample(make(1, 3, 1), (0, -1))
    yield Sample(make())


@samples("squeeze_dim", torch="squeeze")
def one_fewer(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), -1)
    yield Sample(make(2, 3), 0)


@samples("squeeze_dims", torch="squeeze")
def some_fewer(make: Make) -> Iterator[Sample]:
    yield Sample(make(1, 3, 1), (0, 1))


@error_samples("unsqueeze")
def bad_unsqueeze(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)", make(2, 3), 3)


@error_samples("squeeze")
def bad_squeeze(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "dim 0 appears multiple times in the list of dims", make(1, 3), (0, 0))
    yield ErrorSample(IndexError, "Dimension out of range", make(1, 3), 2)


@samples("expand", torch="Tensor.expand")
@samples("broadcast_to")
def expanded(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 1), (3, 4))
    yield Sample(make(3, 1), (2, -1, 4))
    yield Sample(make(), (2, 3))
    yield Sample(make(2, 3), (2, 3))
    yield Sample(make(1, 3), (0, 3))


@error_samples("expand")
def bad_expand(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"The expanded size of the tensor \(5\) must match the existing size \(3\)", make(2, 3), (2, 5))
    yield ErrorSample(RuntimeError, r"the number of sizes provided \(1\) must be greater or equal", make(2, 3), (3,))
    yield ErrorSample(RuntimeError, r"\(-1\) isn't allowed in a leading, non-existing dimension 0", make(2, 3), (-1, 2, 3))


@samples("expand_as", "view_as", "reshape_as")
def like_another(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3)).only_contiguous()


@samples("broadcast_tensors")
def broadcast(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 1), make(4))
    yield Sample(make(2, 3), make(2, 3), make())


@error_samples("broadcast_tensors")
def bad_broadcast(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "The size of tensor a", make(3), make(4))


@samples("broadcast_shapes")
def shapes(make: Make) -> Iterator[Sample]:
    yield Sample((3, 1), (4,), ())


# ---- parts ----------------------------------------------------------------------------------------------------------


@samples("select")
def selected(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0, 1)
    yield Sample(make(3, 4), -1, -2)


@samples("narrow")
def narrowed(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 1, 2)
    yield Sample(make(3, 4), 0, -2, 2)
    yield Sample(make(3, 4), 0, 3, 0)


@samples("narrow_copy")
def narrowed_copy(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 1, 2)


@error_samples("select")
def bad_select(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, r"select\(\): index 5 out of range for tensor of size \[3\] at dimension 0", make(3), 0, 5)
    yield ErrorSample(IndexError, r"select\(\) cannot be applied to a 0-dim tensor", make(), 0, 0)


@error_samples("narrow")
def bad_narrow(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"start \(1\) \+ length \(5\) exceeds dimension size \(3\)", make(3), 0, 1, 5)
    yield ErrorSample(IndexError, "start out of range", make(3), 0, 5, 1)
    yield ErrorSample(RuntimeError, "length must be non-negative", make(3), 0, 0, -1)


@samples("unbind")
def unbound(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2))
    yield Sample(make(3, 2), -1)


@samples("split")
def split(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, 2), 2)
    yield Sample(make(2, 5), (1, 4), 1)
    yield Sample(make(0, 2), 3)


@samples("split_with_sizes")
def split_by_sizes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 5), (1, 0, 4), -1)


@samples("chunk")
def chunks(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, 2), 3)
    yield Sample(make(2, 6), 4, 1)


@samples("tensor_split")
def nearly_equal(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, 2), 3)
    yield Sample(make(2, 6), (1, 4), 1)


@samples("hsplit", "vsplit")
def split_along(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 4), 2)
    yield Sample(make(4, 4), (1, 2))


@samples("dsplit")
def split_deep(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 2, 4), 2)


@error_samples("unbind")
def bad_unbind(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "Dimension specified as 0 but tensor has no dimensions", make())


@error_samples("split")
def bad_split(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "split_size can only be 0 if dimension size is 0", make(3), 0)
    yield ErrorSample(RuntimeError, "split expects split_size be non-negative", make(3), -1)
    yield ErrorSample(RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 3", make(3), (1, 1))


@error_samples("chunk")
def bad_chunk(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "chunk expects `chunks` to be greater than 0", make(3), 0)


@error_samples("hsplit")
def bad_hsplit(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.hsplit attempted to split along dimension 1", make(2, 3), 2)


# ---- diagonals, windows, strides ------------------------------------------------------------------------------------


@samples("diagonal")
def diagonals(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), -1)
    yield Sample(make(2, 3, 4), 1, -1, 0)
    yield Sample(make(3, 3), 5)
    yield Sample(make(2, 3), -(2**31))
    yield Sample(make(2, 3), 2**63 - 1)


@samples("diag")
def diag(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)
    yield Sample(make(3), -1)


@samples("diagflat", "diag_embed")
def on_a_diagonal(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(2, 3), -1)


@samples("diag_embed")
def on_other_dimensions(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), 1, 0, 2)


@error_samples("diagonal")
def bad_diagonal(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "diagonal dimensions cannot be identical", make(2, 3), 0, 1, 1)


@error_samples("diag")
def bad_diag(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"diag\(\): Supports 1D or 2D tensors. Got 3D", make(2, 3, 4))


@samples("unfold", torch="Tensor.unfold")
def windows(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 5), 1, 2, 1)
    yield Sample(make(3, 5), 1, 3, 2)
    yield Sample(make(3, 5), 0, 1, 2)
    yield Sample(make(), 0, 1, 1)


@samples("add_windows")
def windows_added(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), (3, 5), 1, 2, 1).not_in_torch()  # internal: the transpose of unfold
    yield Sample(make(1), (), 0, 1, 1).not_in_torch()


@error_samples("unfold")
def bad_windows(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 5", make(3), 0, 5, 1)
    yield ErrorSample(RuntimeError, "step is 0 but must be > 0", make(3), 0, 2, 0)


@samples("as_strided")
def strided(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), (2, 3), (4, 1)).only_contiguous()
    yield Sample(make(3, 4), (3, 3), (1, 1), 2).only_contiguous()
    yield Sample(make(3, 4), (5,), (0,)).only_contiguous()


@error_samples("as_strided")
def bad_strides(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "setStorage: sizes .* are out of bounds for storage of size", make(3), (9,), (1,))
    yield ErrorSample(RuntimeError, "mismatch in length of strides and shape", make(3), (2,), (1, 1))


@samples("select_scatter")
def selection_replaced(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), 0, 1)


@samples("slice_scatter")
def slice_replaced(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 2), 1, 0, 4, 2)


@samples("diagonal_scatter")
def diagonal_replaced(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3), 1)


@error_samples("diagonal_scatter")
def bad_diagonal_replaced(make: Make) -> Iterator[ErrorSample]:
    for offset in (-(2**31), 2**62):  # NumPy's own diagonal overflows there
        yield ErrorSample(RuntimeError, "expected src to have a size equal to the slice of self", make(2, 3), make(3), offset)


@samples("as_strided_scatter")
def strided_replaced(make: Make) -> Iterator[Sample]:
    # PyTorch's gradient of the input is zero where nothing was replaced, and not where something was.
    yield Sample(make(3, 4), make(2, 2), (2, 2), (5, 1)).only_contiguous().gradient_differs()


# ---- joined ---------------------------------------------------------------------------------------------------------


@samples("cat", "concat")
def joined(make: Make) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(1, 3)])
    yield Sample((make(2, 3), make(2, 1), make(2, 2)), -1)
    yield Sample([make(2, 3), np.zeros(0)])
    yield Sample([make(2, dtype="int32"), make(2, dtype="float32")])
    yield Sample([make(2), make(2, dtype="complex128")])


@samples("stack")
def stacked(make: Make) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(2, 3)])
    yield Sample((make(2), make(2)), -1)
    yield Sample([make(), make()])


@samples("hstack", "vstack", "row_stack", "dstack", "column_stack")
def stacks(make: Make) -> Iterator[Sample]:
    yield Sample([make(3), make(3)])
    yield Sample([make(2, 3), make(2, 3)])
    yield Sample([make(), make()])


@error_samples("cat")
def bad_cat(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "expected a non-empty list of Tensors", [])
    yield ErrorSample(RuntimeError, "Tensors must have same number of dimensions: got 2 and 1", [make(2, 3), make(3)])
    yield ErrorSample(RuntimeError, "Sizes of tensors must match except in dimension 0. Expected size 3", [make(2, 3), make(2, 2)])
    yield ErrorSample(RuntimeError, "zero-dimensional tensor .at position 0. cannot be concatenated", [make(), make()])
    yield ErrorSample(TypeError, "must be tuple of Tensors, not Tensor", make(2, 3))


@error_samples("stack")
def bad_stack(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "stack expects a non-empty TensorList", [])
    yield ErrorSample(RuntimeError, r"stack expects each tensor to be equal size, but got \[2\] at entry 0", [make(2), make(3)])
    yield ErrorSample(IndexError, "Dimension out of range", [make(2), make(2)], 5)


@samples("atleast_1d", "atleast_2d", "atleast_3d")
def at_least(make: Make) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        yield Sample(make(*shape))
    yield Sample(make(), make(3))


@samples("block_diag")
def blocks(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2), make())


@error_samples("block_diag")
def bad_blocks(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.block_diag: Input tensors must have 2 or fewer dimensions", make(2, 3, 4))


@samples("meshgrid")
def grids(make: Make) -> Iterator[Sample]:
    for indexing in ("ij", "xy"):
        yield Sample(make(2), make(3), indexing=indexing)
        yield Sample([make(2), make(3), make(2)], indexing=indexing)
    yield Sample(make(2), make(), indexing="ij")


@error_samples("meshgrid")
def bad_grids(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.meshgrid: indexing must be one of", make(2), indexing="yx")
    yield ErrorSample(RuntimeError, "torch.meshgrid: Expected 0D or 1D tensor", make(2, 2), indexing="ij")


@samples("cartesian_prod")
def products(make: Make) -> Iterator[Sample]:
    yield Sample(make(2), make(3))
    yield Sample(make(2))


@samples("combinations")
def chosen(make: Make) -> Iterator[Sample]:
    yield Sample(make(4))
    yield Sample(make(3), 3, True)
    yield Sample(make(2), 3)


# ---- rearranged -----------------------------------------------------------------------------------------------------


@samples("repeat", torch="Tensor.repeat")
@samples("tile")
def repeated(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), (2, 1))
    yield Sample(make(2, 3), (2, 1, 3))
    yield Sample(make(), (2,))
    yield Sample(make(2), (0,))


@samples("tile")
def tiled(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), (2,))


@error_samples("repeat")
def bad_repeat(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Number of dimensions of repeat dims can not be smaller", make(2, 3), (2,))
    yield ErrorSample(RuntimeError, "Trying to create tensor with negative dimension -2", make(2), (-1,))


@samples("repeat_interleave")
def interleaved(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), 2)
    yield Sample(make(2, 3), 2, 1)
    yield Sample(make(2, 3), np.array([2, 0]), 0)
    yield Sample(np.array([1, 3]))


@error_samples("repeat_interleave")
def badly_interleaved(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "repeats must have the same size as input along dim", make(2, 3), np.array([1, 2, 3]), 0)
    yield ErrorSample(RuntimeError, "repeats can not be negative", make(2), np.array([1, -1]))


@samples("flip")
def flipped(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), (0,))
    yield Sample(make(2, 3), dims=(0, -1))
    yield Sample(make(), ())


@samples("fliplr", "flipud")
def mirrored(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3))


@error_samples("flip")
def bad_flip(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "dim 0 appears multiple times in the list of dims", make(2, 3), (0, 0))


@samples("roll")
def rolled(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), 1)
    yield Sample(make(2, 3), -1, 1)
    yield Sample(make(2, 3), (1, 5), (0, 1))


@error_samples("roll")
def badly_rolled(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1", make(2, 3), (1, 2), 0)


@samples("rot90")
def turned(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3))
    yield Sample(make(2, 3), 2)
    yield Sample(make(2, 3, 4), -1, (2, 0))


@error_samples("rot90")
def badly_turned(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "expected rotation dims to be different", make(2, 3), 1, (0, 0))
    yield ErrorSample(RuntimeError, "expected total rotation dims == 2, but got dims = 1", make(2, 3), 1, (0,))


@samples("tril", "triu")
def triangles(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1)
    yield Sample(make(2, 4, 3), -1)
    yield Sample(make(3, 3, dtype="complex128"))


@error_samples("tril")
def no_triangle(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "tril: input tensor must have at least 2 dimensions", make(3))


@samples("tril_indices", "triu_indices")
def triangle_indices(make: Make) -> Iterator[Sample]:
    yield Sample(3, 4).no_gradient()
    yield Sample(3, 3, -1).no_gradient()
    yield Sample(2, 3, 1, dtype=Dtype("int32")).no_gradient()
    yield Sample(0, 3).no_gradient()


@samples("unravel_index")
def coordinates(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[0, 5], [3, 1]]), (2, 3)).no_gradient()
