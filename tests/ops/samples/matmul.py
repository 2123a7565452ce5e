"""Samples of matrix products and other sums of products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

NO_PRODUCT = r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"


@samples("mm")
def matrices(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, 4))
    yield Sample(make(3, 2).T, make(4, 3).T)
    yield Sample(make(2, 3, dtype="complex128"), make(3, 4, dtype="complex128"))
    yield Sample(make(2, 3, dtype="int64"), make(3, 4, dtype="int64"))
    yield Sample(make(0, 3), make(3, 4))
    yield Sample(make(2, 0), make(0, 4))
    yield Sample(make(2, 3, dtype="float16"), make(3, 4, dtype="float16")).only_values()


@samples("bmm")
def batches(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(2, 4, 5))
    yield Sample(make(2, 4, 3).transpose(0, 2, 1), make(2, 5, 4).transpose(0, 2, 1))
    yield Sample(make(2, 3, 4, dtype="complex128"), make(2, 4, 5, dtype="complex128"))
    yield Sample(make(0, 3, 4), make(0, 4, 5))
    yield Sample(make(2, 3, 4, dtype="int64"), make(2, 4, 5, dtype="int64"))


@samples("mv")
def matrix_and_vector(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3))
    yield Sample(make(3, 2).T, make(6)[::2])
    yield Sample(make(2, 3, dtype="complex128"), make(3, dtype="complex128"))


@samples("dot", "vdot")
def vectors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3), make(3))
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128"))
    yield Sample(make(3, dtype="int64"), make(3, dtype="int64"))
    yield Sample(make(0), make(0))


@samples("matmul")
def any_product(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, 4))
    yield Sample(make(3), make(3))
    yield Sample(make(2, 3), make(3))
    yield Sample(make(3), make(3, 4))
    yield Sample(make(3), make(2, 3, 4))
    yield Sample(make(2, 3, 4), make(4))
    yield Sample(make(2, 3, 4), make(4, 5))
    yield Sample(make(3, 4), make(2, 4, 5))
    yield Sample(make(2, 1, 3, 4), make(5, 4, 2))
    yield Sample(make(1, 3, 4), make(6, 4, 5))
    yield Sample(make(2, 3, 4, dtype="complex128"), make(4, 5, dtype="complex128"))
    yield Sample(make(2, 0, 4), make(4, 5))


@samples("matmul_batched", torch="matmul")
def broadcast_batches(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(4, 5))
    yield Sample(make(2, 1, 3, 4), make(5, 4, 2))
    yield Sample(make(4, 3, 2).T, make(2, 4, 5))


@samples("linear", ours="nn.functional.linear", torch="nn.functional.linear")
def layers(make: Make) -> Iterator[Sample]:
    yield Sample(make(5, 4), make(3, 4), make(3))
    yield Sample(make(5, 4), make(3, 4))
    yield Sample(make(2, 5, 4), make(3, 4), make(3))
    yield Sample(make(2, 5, 4), make(3, 4))
    yield Sample(make(4), make(3, 4), make(3))
    yield Sample(make(4), make(3, 4))
    yield Sample(make(5, 4), make(4))
    yield Sample(make(4), make(4))
    yield Sample(make(4, 5).T, make(4, 3).T, make(3))
    yield Sample(make(5, 4), make(3, 4), make(1))
    yield Sample(make(0, 4), make(3, 4), make(3))
    yield Sample(make(5, 4, dtype="complex128"), make(3, 4, dtype="complex128"), make(3, dtype="complex128"))
    yield Sample(make(5, 4, dtype="float16"), make(3, 4, dtype="float16"), make(3, dtype="float16")).only_values()


@error_samples("linear")
def bad_layers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)", make(2, 3), make(5, 4))
    yield ErrorSample(RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(4x3 and 4x5\)", make(2, 2, 3), make(5, 4))
    yield ErrorSample(
        RuntimeError, "expected m1 and m2 to have the same dtype, but got: double != float", make(2, 3), make(4, 3, dtype="float32")
    )
    yield ErrorSample(
        RuntimeError, "expected m1 and m2 to have the same dtype, but got: long int != double", make(2, 3, dtype="int64"), make(4, 3)
    )
    yield ErrorSample(
        RuntimeError, r"The expanded size of the tensor \(4\) must match the existing size \(3\)", make(2, 3), make(4, 3), make(3)
    )
    yield ErrorSample(
        RuntimeError, "self and mat2 must have the same dtype, but got Float and Double", make(2, 3), make(4, 3), make(4, dtype="float32")
    )


@error_samples("mm", "matmul")
def bad_matrices(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, NO_PRODUCT, make(2, 3), make(4, 5))
    yield ErrorSample(
        RuntimeError, "expected m1 and m2 to have the same dtype, but got: double != float", make(2, 3), make(3, 4, dtype="float32")
    )
    yield ErrorSample(NotImplementedError, "not implemented for 'Bool'", make(2, 3, dtype="bool"), make(3, 4, dtype="bool"))


@error_samples("mm")
def not_matrices(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "self must be a matrix", make(3), make(3, 4))
    yield ErrorSample(RuntimeError, "mat2 must be a matrix", make(2, 3), make(3))


@error_samples("matmul")
def bad_products(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"size mismatch, got input \(2\), mat \(2x3\), vec \(4\)", make(2, 3), make(4))
    yield ErrorSample(RuntimeError, r"inconsistent tensor size, expected tensor \[3\] and src \[4\]", make(3), make(4))
    yield ErrorSample(
        RuntimeError, r"dimensions of batch2 tensor to be: \[4, 3\] but got: \[4, 2\]", make(4, 2, 3), make(4, 2, 3)
    )
    yield ErrorSample(
        RuntimeError, r"tensor a \(4\) must match the size of tensor b \(5\) at non-singleton dimension 0", make(4, 2, 3), make(5, 3, 2)
    )
    yield ErrorSample(RuntimeError, "expected scalar type Double but found Float", make(4, 2, 3), make(4, 3, 2, dtype="float32"))
    yield ErrorSample(RuntimeError, "both arguments to matmul need to be at least 1D, but they are 2D and 0D", make(2, 3), make())
    yield ErrorSample(TypeError, r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not float", make(2, 3), 2.0)


@error_samples("bmm")
def bad_batches(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "batch1 must be a 3D tensor", make(2, 3), make(2, 3))
    yield ErrorSample(
        RuntimeError, r"Expected size for first two dimensions of batch2 tensor to be: \[4, 3\]", make(4, 2, 3), make(3, 3, 2)
    )


@error_samples("dot")
def bad_vectors(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "1D tensors expected, but got 2D and 2D tensors", make(2, 2), make(2, 2))
    yield ErrorSample(
        RuntimeError, "expected both vectors to have same dtype, but found Double and Float", make(2), make(2, dtype="float32")
    )


# ---- a product added to something ---------------------------------------------------------------------------------------------------


@samples("addmm")
def added_matrices(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4), make(2, 3), make(3, 4))
    yield Sample(make(4), make(2, 3), make(3, 4), beta=0.5, alpha=2)
    yield Sample(make(2, 1), make(2, 3), make(3, 4), beta=0)
    yield Sample(np.full((2, 4), np.nan), make(2, 3), make(3, 4), beta=0).only_values()
    yield Sample(make(2, 4, dtype="complex128"), make(2, 3, dtype="complex128"), make(3, 4, dtype="complex128"), alpha=0.5)
    yield Sample(make(2, 4, dtype="int64"), make(2, 3, dtype="int64"), make(3, 4, dtype="int64"), alpha=2)


@samples("addmv")
def added_vector(make: Make) -> Iterator[Sample]:
    yield Sample(make(2), make(2, 3), make(3))
    yield Sample(make(1), make(2, 3), make(3), beta=0.5, alpha=2)


@samples("addbmm")
def added_sum_of_batches(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 5), make(2, 3, 4), make(2, 4, 5))
    yield Sample(make(5), make(2, 3, 4), make(2, 4, 5), beta=0.5, alpha=2)


@samples("baddbmm")
def added_batches(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5), make(2, 3, 4), make(2, 4, 5))
    yield Sample(make(1, 5), make(2, 3, 4), make(2, 4, 5), beta=0.5, alpha=2)


@samples("addr")
def added_outer(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2), make(3))
    yield Sample(make(3), make(2), make(3), beta=0.5, alpha=2)


@error_samples("addmm")
def bad_addmm(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(
        RuntimeError, r"The expanded size of the tensor \(4\) must match the existing size \(3\)", make(3), make(2, 3), make(3, 4)
    )
    yield ErrorSample(RuntimeError, NO_PRODUCT, make(5), make(2, 3), make(4, 5))


# ---- other sums of products ---------------------------------------------------------------------------------------------------------


@samples("outer", "ger")
def outer(make: Make) -> Iterator[Sample]:
    yield Sample(make(2), make(3))
    yield Sample(make(2), make(3, dtype="int64"))


@samples("inner")
def inner(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(4, 3))
    yield Sample(make(3), make(3))
    yield Sample(make(2, 3), make())
    yield Sample(make(2, 3), make(4, 5, 3))


@samples("kron")
def kronecker(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(4, 2))
    yield Sample(make(2, 3), make(2))
    yield Sample(make(2), make(2, 2, 3))
    yield Sample(make(2), make(3, dtype="int64"))
    yield Sample(make(2, dtype="float32"), make(dtype="float64"))
    yield Sample(make(dtype="float64"), make(2, 2, dtype="float32"))


@samples("tensordot")
def tensor_products(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(3, 4, 5))
    yield Sample(make(2, 3), make(3, 4), 1)
    yield Sample(make(2, 3), make(4), 0)
    yield Sample(make(2, 3, 4), make(2, 4, 5), ([2, 0], [1, 0]))
    yield Sample(make(2, 3), make(3, 4), dims=([-1], [0]))


@samples("chain_matmul")
def chains(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, 4))
    yield Sample(make(2, 3), make(3, 4), make(4, 5), make(5, 1))
    yield Sample(make(2, 3))


@error_samples("inner")
def bad_inner(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "the last dimension must match on both input tensors", make(2, 3), make(2, 4))


@error_samples("outer")
def bad_outer(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "outer: Expected 1-D argument self, but got 2-D", make(2, 3), make(2))


@error_samples("tensordot")
def bad_tensordot(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "contracted dimensions need to match, but first has size 3", make(2, 3), make(2, 3), 1)
    yield ErrorSample(RuntimeError, "both dimension lists should have same length", make(2, 3), make(2, 3), ([0, 1], [0]))
    yield ErrorSample(RuntimeError, "tensordot expects dims < ndim_a or ndim_b, but got dims=3", make(2, 3), make(2, 3), 3)
    yield ErrorSample(RuntimeError, "both inputs should have same dtype", make(2, 3), make(3, 2, dtype="float32"), 1)


@samples("einsum")
def einstein(make: Make) -> Iterator[Sample]:
    yield Sample("ij,jk->ik", make(2, 3), make(3, 4))
    yield Sample("ij,jk", make(2, 3), make(3, 4))
    yield Sample("ba", make(2, 3))
    yield Sample("ij->", make(2, 3))
    yield Sample("ij->i", make(2, 3))
    yield Sample("ii", make(3, 3))
    yield Sample("iij->ji", make(3, 3, 2))
    yield Sample("iii->i", make(2, 2, 2))
    yield Sample("i,j->ij", make(2), make(3))
    yield Sample("bij,bjk->bik", make(2, 3, 4), make(2, 4, 5))
    yield Sample("...ij,...jk", make(2, 1, 3, 4), make(3, 4, 5))
    yield Sample("ij,jk,ki->", make(2, 3), make(3, 4), make(4, 2))
    yield Sample("bn,anm,bm->ba", make(2, 3), make(4, 3, 5), make(2, 5))
    yield Sample("ij,ij->ij", make(2, 3), make(2, 3))
    yield Sample("ij,ij->i", make(1, 3), make(2, 1))
    yield Sample("i j, j k -> i k", make(2, 1), make(3, 4))
    yield Sample("Ab,b->A", make(2, 3), make(3))
    yield Sample("i...->...", make(2, 3, 4))
    yield Sample("...->", make(2, 3))
    yield Sample(",ij->ij", make(), make(2, 3))
    yield Sample("bhqd,bhkd->bhqk", make(2, 2, 3, 4), make(2, 2, 5, 4))
    yield Sample("ij,jk->ik", [make(2, 3), make(3, 4)])
    yield Sample(make(2, 3), [0, 1], make(3, 4), [1, 2], [0, 2])
    yield Sample(make(5, 2, 3), [..., 1], make(3, 4), [1, 2])
    yield Sample("ij,jk->ik", make(2, 3, dtype="complex128"), make(3, 4, dtype="complex128"))


@error_samples("einsum")
def bad_einstein(make: Make) -> Iterator[ErrorSample]:
    for equation, words in (
        ("ij,jk->ik", "fewer operands were provided than specified in the equation"),
        ("ij->ik", "output subscript k does not appear in the equation for any input operand"),
        ("ij->ii", "output subscript i appears more than once in the output"),
        ("ijk->i", r"the number of subscripts in the equation \(3\) does not match the number of dimensions \(2\)"),
        ("i1->i", r"invalid subscript given at index 1 in the equation string, subscripts must be in \[a-zA-Z\]"),
        ("ii", "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
        ("i..->i", "found '.' for operand 0 that is not part of any ellipsis"),
        ("ij......->i", "found '.' for operand 0 for which an ellipsis was already found"),
        ("ijk...->i", r"the number of subscripts in the equation \(3\) is more than the number of dimensions \(2\)"),
    ):
        yield ErrorSample(RuntimeError, words, equation, make(2, 3))
    yield ErrorSample(RuntimeError, "more operands were provided than specified in the equation", "ij", make(2, 3), make(2, 3))
    yield ErrorSample(
        RuntimeError, "j has size 2 for operand 1 which does not broadcast with previously seen size 3", "ij,jk", make(2, 3), make(2, 3)
    )
    yield ErrorSample(RuntimeError, "expected scalar type Double but found Long", "ij,j->i", make(2, 3), make(3, dtype="int64"))


# ---- distances ----------------------------------------------------------------------------------------------------------------------


@samples("cdist")
def all_distances(make: Make) -> Iterator[Sample]:
    for p in (2.0, 1.0, 3.0, 0.5, float("inf")):
        yield Sample(make(3, 4), make(5, 4), p)
    yield Sample(make(2, 3, 4), make(2, 5, 4))
    yield Sample(make(3, 4), make(5, 4), compute_mode="use_mm_for_euclid_dist")
    yield Sample(make(2, 3, 4), make(5, 4), compute_mode="use_mm_for_euclid_dist")
    yield Sample(make(3, 4), make(5, 4), compute_mode="donot_use_mm_for_euclid_dist")
    same = make(2, 3)
    yield Sample(same, same).only_values()


@samples("euclidean_distances", torch="cdist")
def distances_by_products(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(5, 4))
    yield Sample(make(2, 3, 4), make(5, 4))


@samples("distances", torch="cdist")
def distances_by_differences(make: Make) -> Iterator[Sample]:
    for p in (1.0, 2.0, 3.0, float("inf")):
        yield Sample(make(3, 4), make(5, 4), p)
    yield Sample(make(2, 3, 4), make(5, 4), 1.0)


@samples("distances_of_pairs", torch="nn.functional.pdist")
def pairs(make: Make) -> Iterator[Sample]:
    for p in (1.0, 2.0, 3.0, float("inf")):
        yield Sample(make(4, 3), p)
    yield Sample(make(1, 3), 2.0)


@samples("pdist", torch="nn.functional.pdist")
def distances_of_pairs(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3))
    yield Sample(make(4, 3), 3.0)


@error_samples("cdist")
def bad_distances(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "cdist only supports at least 2D tensors, X2 got: 1D", make(3, 4), make(4))
    yield ErrorSample(RuntimeError, "X1 and X2 must have the same number of columns. X1: 4 X2: 3", make(2, 4), make(2, 3))


@samples("pairwise_distance")
def distances_of_rows(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(3, 4), 1.0, keepdim=True)
    yield Sample(make(4), make(4))


@samples("cosine_similarity", "cosines", ours="cosine_similarity", torch="cosine_similarity")
def cosines(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 4), make(3, 4), dim=0)
    yield Sample(make(3, 4), make(4), 1)
    yield Sample(np.zeros((2, 3)), make(2, 3)).only_values()


@samples("normalize", "unit_vectors", ours="nn.functional.normalize", torch="nn.functional.normalize")
def unit_vectors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1.0, 0)
    yield Sample(np.zeros((2, 3))).only_values()
