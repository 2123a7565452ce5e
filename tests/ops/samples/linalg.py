"""Samples of linear algebra. Decompositions whose factors are free to turn are differentiated in `test_linalg.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import adjoint.linalg  # noqa: F401  (its ops are registered when it is first used)
from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

KINDS = ("float64", "complex128")


def regular(make: Make, *shape: int, dtype: str = "float64") -> Any:
    """Matrices that are far from singular."""
    return make(*shape, dtype=dtype) + 3 * np.eye(shape[-1])


def positive(make: Make, *shape: int, dtype: str = "float64") -> Any:
    x = make(*shape, dtype=dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])


def linalg(name: str) -> dict[str, str]:
    return {"ours": f"linalg.{name}", "torch": f"linalg.{name}"}


for _name, _where in (
    ("linalg_inv", linalg("inv")), ("inverse", {}), ("linalg_det", linalg("det")), ("det", {}), ("linalg_matrix_exp", linalg("matrix_exp")),
    ("matrix_exp", {}), ("linalg_slogdet", linalg("slogdet")), ("slogdet", {}), ("logdet", {}),
):  # fmt: skip

    @samples(_name, **_where)
    def square(make: Make) -> Iterator[Sample]:
        for dtype in KINDS:
            yield Sample(regular(make, 3, 3, dtype=dtype))
            yield Sample(regular(make, 2, 3, 3, dtype=dtype))
        yield Sample(np.zeros((2, 0, 0)))

    @error_samples(_name)
    def not_square(make: Make) -> Iterator[ErrorSample]:
        yield ErrorSample(RuntimeError, "A must be batches of square matrices, but they are 2 by 3 matrices", make(2, 3))
        yield ErrorSample(RuntimeError, "The input tensor A must have at least 2 dimensions.", make(3))
        yield ErrorSample(RuntimeError, "Expected a floating point or complex tensor as input. Got Long", make(3, 3, dtype="int64"))


@samples("linalg_det", "det")
def singular(make: Make) -> Iterator[Sample]:
    # The derivatives are the cofactors, of which PyTorch loses some where a pivot is exactly zero.
    yield Sample(np.diag([1.0, 2.0, 0.0])).gradient_differs()
    yield Sample(np.diag([2.0, 0.0, 3.0])[[1, 0, 2]]).gradient_differs()


@samples("linalg_matrix_exp")
def sizes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4, 4) * np.array([0.01, 8.0])[:, None, None]).tolerance(1e-4)


@error_samples("linalg_inv", "inverse")
def no_inverse(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "linalg.inv: The diagonal element 1 is zero", np.zeros((3, 3)))
    yield ErrorSample(RuntimeError, r"linalg.inv: \(Batch element 0\): The diagonal element 2 is zero", np.ones((2, 3, 3)))
    yield ErrorSample(RuntimeError, "Low precision dtypes not supported. Got Half", np.ones((3, 3), np.float16))


@samples("linalg_solve", **linalg("solve"))
def equations(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(regular(make, 3, 3, dtype=dtype), make(3, dtype=dtype))
        yield Sample(regular(make, 3, 3, dtype=dtype), make(3, 2, dtype=dtype))
    yield Sample(regular(make, 2, 3, 3), make(2, 3))
    yield Sample(regular(make, 2, 3, 3), make(3, 2))
    yield Sample(regular(make, 3, 3), make(4, 3, 2))
    yield Sample(regular(make, 3, 3), make(2, 3), left=False)


@error_samples("linalg_solve")
def no_solution(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.linalg.solve: The solver failed because the input matrix is singular", np.zeros((3, 3)), make(3))
    yield ErrorSample(RuntimeError, r"\(Batch element 0\): The solver failed", np.zeros((2, 3, 3)), make(2, 3))
    yield ErrorSample(RuntimeError, r"Incompatible shapes of A and B for the equation AX = B \(3x3 and 4x1\)", make(3, 3), make(4))
    single = make(3, dtype="float32")
    yield ErrorSample(RuntimeError, "Expected A and B to have the same dtype, but found A of type Double", make(3, 3), single)


@samples("solve_triangular", **linalg("solve_triangular"))
def triangular(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(regular(make, 3, 3, dtype=dtype), make(3, 2, dtype=dtype), upper=True)
    yield Sample(regular(make, 2, 3, 3), make(3, 2), upper=False)
    yield Sample(regular(make, 3, 3), make(2, 3), upper=False, left=False)
    yield Sample(regular(make, 3, 3), make(3, 2), upper=True, unitriangular=True)
    yield Sample(np.zeros((3, 3)), np.ones((3, 2)), upper=True).not_in_torch().no_gradient()  # NaN here, infinite there


@samples("linalg_cholesky", **linalg("cholesky"))
@samples("cholesky")
def definite(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(positive(make, 3, 3, dtype=dtype)).only_values()
        yield Sample(positive(make, 2, 3, 3, dtype=dtype), upper=True).only_values()
    yield Sample(np.array([[4.0, 1.0], [2.0, 5.0]]), upper=True).no_gradient()


@error_samples("linalg_cholesky", "cholesky")
def indefinite(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"not positive-definite \(the leading minor of order 1 is not positive-definite\)", np.zeros((3, 3)))
    yield ErrorSample(RuntimeError, r"\(Batch element 0\): The factorization.*order 2 is", np.ones((2, 3, 3)))
    yield ErrorSample(RuntimeError, "A must be batches of square matrices, but they are 2 by 3 matrices", make(2, 3))


@samples("linalg_lu_packed", torch="linalg.lu")
def ordered(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        for rows, columns in ((3, 3), (3, 4), (4, 3)):
            yield Sample(make(rows, columns, dtype=dtype) + 5 * np.eye(rows, columns), np.arange(rows)).not_in_torch()


@samples("linalg_lu", **linalg("lu"))
def factors(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(3, 3, dtype=dtype))
        yield Sample(make(2, 3, 4, dtype=dtype))
        yield Sample(make(4, 3, dtype=dtype))


@samples("linalg_lu_factor", **linalg("lu_factor"))
def packed(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 3))
    yield Sample(make(2, 3, 4))
    yield Sample(make(4, 3))


@samples("linalg_lu_found")
def found_factors(make: Make) -> Iterator[Sample]:
    for pivot in (True, False):
        yield Sample(make(2, 3, 4), pivot).not_in_torch()


@samples("linalg_lu_order")
def exchanged_rows(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[3, 3], [1, 2]], np.int32), 3).not_in_torch()


@samples("linalg_lu_permutation")
def permutations(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([[2, 0, 1], [0, 1, 2]]), np.dtype(np.float64)).not_in_torch()


@samples("linalg_lstsq_found")
def found_least_squares(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make(2, 4, 2), 1e-6).not_in_torch()


@samples("linalg_pinv", **linalg("pinv"))
def pseudoinverse(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(3, 2, dtype=dtype))
        yield Sample(make(2, 2, 3, dtype=dtype))
    yield Sample(regular(make, 3, 3)).tolerance(1e-3)
    yield Sample(positive(make, 3, 3), hermitian=True).only_values().tolerance(1e-3)
    yield Sample(np.diag([3.0, 2.0, 0.1]), atol=0.5).no_gradient()
    yield Sample(np.diag([3.0, 2.0, 0.1]), rtol=0.5).no_gradient()
    yield Sample(np.zeros((0, 3)))


@samples("linalg_eigh", **linalg("eigh"))
def symmetric(make: Make) -> Iterator[Sample]:
    yield Sample(np.diag([3.0, 1.0, 2.0])).no_gradient()


@samples("linalg_eigvalsh", **linalg("eigvalsh"))
def symmetric_values(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(positive(make, 3, 3, dtype=dtype)).only_values()
    yield Sample(positive(make, 2, 3, 3), "U").only_values()


@samples("linalg_eig", **linalg("eig"))
def general(make: Make) -> Iterator[Sample]:
    yield Sample(np.diag([3.0, 1.0, 2.0])).no_gradient()


@samples("linalg_eigvals", **linalg("eigvals"))
def general_values(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(np.triu(make(3, 3, dtype=dtype), 1) + np.diag([3.0, 1.0, 2.0]))
    yield Sample(np.diag([3.0, 1.0, 2.0]) + np.zeros((2, 3, 3)))


@samples("linalg_svdvals", **linalg("svdvals"))
def singular_values(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(3, 3, dtype=dtype))
        yield Sample(make(2, 4, 3, dtype=dtype))
        yield Sample(make(3, 4, dtype=dtype))


@samples("linalg_svd", **linalg("svd"))
def singular_vectors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 3)).no_gradient().not_in_torch()  # signs are the library's choice
    yield Sample(make(2, 4, 3), full_matrices=False).not_in_torch()
    yield Sample(make(3, 4), False).not_in_torch()


@samples("svd", "linalg_svd")
def singular_diagonal(make: Make) -> Iterator[Sample]:
    yield Sample(np.diag([3.0, 2.0, 1.0])).no_gradient()


@samples("linalg_qr", **linalg("qr"))
def orthogonal(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(3, 3, dtype=dtype))
        yield Sample(make(2, 4, 3, dtype=dtype))
        yield Sample(make(3, 4, dtype=dtype))
    yield Sample(make(4, 3), "complete").no_gradient()
    yield Sample(make(4, 3), mode="r").no_gradient()


@samples("qr")
def orthogonal_too(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3))


@samples("linalg_matrix_norm", **linalg("matrix_norm"))
def norms(make: Make) -> Iterator[Sample]:
    for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), float("-inf")):
        yield Sample(make(3, 4), order)
        yield Sample(make(3, 4, 2, dtype="complex128"), order, (0, -1), True)
    yield Sample(make(3, 4, dtype="float32"), dtype=None).only_values()


@samples("linalg_norm", **linalg("norm"))
def all_norms(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(3), 3)
    yield Sample(make(3, 4), 1)
    yield Sample(make(3, 4), 2.5, 1)
    yield Sample(make(3, 4), "nuc", (0, 1), keepdim=True)


@error_samples("linalg_norm")
def no_norm(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "If dim is not specified but ord is, the input must be 1D or 2D. Got 3D", make(2, 2, 2), 2)
    yield ErrorSample(RuntimeError, "Order 3 not supported", make(2, 2), 3)
    yield ErrorSample(RuntimeError, "dim must be a 2-tuple. Got 0", make(2, 2), "fro", 0)


@samples("linalg_cond", **linalg("cond"))
def conditions(make: Make) -> Iterator[Sample]:
    for order in (None, 2, -2, "fro", "nuc", 1, float("inf")):
        yield Sample(regular(make, 3, 3), order).gradient_differs()  # PyTorch writes over a value that its second backward needs
    yield Sample(make(2, 3, 4))


@samples("linalg_matrix_rank", **linalg("matrix_rank"))
def ranks(make: Make) -> Iterator[Sample]:
    yield Sample(np.diag([3.0, 1.0, 0.0])).no_gradient()
    yield Sample(make(2, 3, 4)).no_gradient()
    yield Sample(np.diag([3.0, 1.0, 0.0]), atol=1.5).no_gradient()
    yield Sample(np.diag([3.0, -1.0, 0.0]), 1.5, True).no_gradient()


@samples("linalg_lstsq", **linalg("lstsq"))
def least_squares(make: Make) -> Iterator[Sample]:
    # Empty residuals require grad in PyTorch; the gradients themselves are compared in test_linalg_parity.py.
    for dtype in KINDS:
        yield Sample(make(4, 3, dtype=dtype), make(4, 2, dtype=dtype)).gradient_differs()
        yield Sample(make(3, 4, dtype=dtype), make(3, 2, dtype=dtype)).gradient_differs()
    yield Sample(make(2, 4, 3), make(2, 4, 2), driver="gelsd").no_gradient()
    yield Sample(make(4, 3), make(4, 2), driver="gels").gradient_differs()


@samples("linalg_matrix_power", **linalg("matrix_power"))
@samples("matrix_power")
def powers(make: Make) -> Iterator[Sample]:
    for n in (1, 2, 3, 5, -1, -2):
        yield Sample(regular(make, 3, 3), n)
    yield Sample(make(2, 3, 3), 0).no_gradient()
    yield Sample(regular(make, 2, 3, 3, dtype="complex128"), 3)


@samples("linalg_cross", **linalg("cross"))
@samples("cross")
def vector_products(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(4, 3))
    yield Sample(make(1, 3), make(4, 3))
    yield Sample(make(3, 4, dtype="complex128"), make(3, 4, dtype="complex128"), dim=0)
    yield Sample(make(3, dtype="int64"), make(3, dtype="int64"))


@samples("linalg_vecdot", **linalg("vecdot"))
def scalar_products(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(2, 3, dtype=dtype), make(3, dtype=dtype))
    yield Sample(make(3, 2), make(3, 2), dim=0)


@samples("trace")
def traces(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 3, dtype="int64"))


@samples("linalg_vander", **linalg("vander"))
def power_tables(make: Make) -> Iterator[Sample]:
    yield Sample(make(3))
    yield Sample(make(3), N=5)


@samples("vander")
def old_power_tables(make: Make) -> Iterator[Sample]:
    yield Sample(make(3)).gradient_differs()  # PyTorch's backward refuses: it wrote in place
    yield Sample(make(3), N=5, increasing=True).gradient_differs()


@samples("linalg_tensorinv", **linalg("tensorinv"))
def tensor_inverse(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 6))
    yield Sample(make(6, 2, 3), ind=1)


@samples("linalg_tensorsolve", **linalg("tensorsolve"))
def tensor_equations(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 6), make(2, 3))
    yield Sample(make(6, 2, 3), make(2, 3), dims=(0,))


@samples("linalg_householder_product", **linalg("householder_product"))
def reflections(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(3))
    yield Sample(make(2, 4, 3, dtype="complex128"), make(2, 2, dtype="complex128"))


@samples("linalg_diagonal", **linalg("diagonal"))
def diagonals(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4))
    yield Sample(make(2, 3, 4), offset=1, dim1=0)


@samples("pinverse")
def old_pseudoinverse(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2))


@samples("triangular_solve")
def old_triangular(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2), regular(make, 3, 3))
    yield Sample(make(3, 2), regular(make, 3, 3), upper=False, transpose=True)


# ---- factors that are at hand -------------------------------------------------------------------------------------------------------


def factor(make: Make, *shape: int, dtype: str, upper: bool) -> Any:
    lower = np.linalg.cholesky(positive(make, *shape, dtype=dtype))
    return np.swapaxes(lower, -1, -2).conj() if upper else lower


@samples("cholesky_solve")
def with_factor(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        for upper in (False, True):
            # The derivative by the factor is that of the full product L Lᴴ, of which differences see one triangle only.
            yield Sample(make(2, 3, 2, dtype=dtype), factor(make, 3, 3, dtype=dtype, upper=upper), upper).only_values()


@samples("cholesky_inverse")
def inverse_from_factor(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        for upper in (False, True):
            yield Sample(factor(make, 2, 3, 3, dtype=dtype, upper=upper), upper).only_values()


def symmetric_matrices(make: Make, *shape: int, dtype: str = "float64", hermitian: bool = False) -> Any:
    x = make(*shape, dtype=dtype)
    turned = np.swapaxes(x, -1, -2)
    return x + (turned.conj() if hermitian else turned)


@samples("linalg_ldl_factor_ex", **linalg("ldl_factor_ex"))
def symmetric_factors(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        for hermitian in (False, True):
            yield Sample(symmetric_matrices(make, 2, 5, 5, dtype=dtype, hermitian=hermitian), hermitian=hermitian).no_gradient()
    yield Sample(np.zeros((3, 3))).no_gradient()


@samples("linalg_ldl_solve", **linalg("ldl_solve"))
def from_symmetric_factors(make: Make) -> Iterator[Sample]:
    packed = np.diag([2.0, 3.0, 5.0]) + np.tril(make(3, 3), -1)
    yield Sample(packed, np.array([1, 3, 3], np.int32), make(3, 2)).no_gradient()
    yield Sample(packed, np.array([-2, -2, 3], np.int32), make(2, 3, 2)).no_gradient()


@error_samples("linalg_ldl_factor_ex")
def no_symmetric_factors(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "must be batches of square matrices, but they are 2 by 3 matrices", make(2, 3))
    yield ErrorSample(RuntimeError, "The diagonal element 1 is zero", np.zeros((2, 2)), check_errors=True).not_in_torch()


@samples("geqrf")
def packed_reflections(make: Make) -> Iterator[Sample]:
    for dtype in KINDS:
        yield Sample(make(4, 3, dtype=dtype)).no_gradient()
        yield Sample(make(2, 2, 3, dtype=dtype)).no_gradient()


@samples("ormqr")
def reflected(make: Make) -> Iterator[Sample]:
    for left in (True, False):
        for transpose in (False, True):
            other = make(4, 2) if left else make(2, 4)
            yield Sample(np.tril(make(4, 3), -1), make(3), other, left, transpose).gradient_differs()  # PyTorch's reads R too


@samples("lu")
def packed_factors(make: Make) -> Iterator[Sample]:
    yield Sample(regular(make, 3, 3))
    yield Sample(make(2, 3, 4), True, True)
