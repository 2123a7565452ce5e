"""Linear algebra, under the names of `torch.linalg`. The ops are in `ops/linalg.py` and `ops/decompose.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _return_types as _types
from ._creation import eye as _eye
from ._creation import ones_like as _ones_like
from ._layer import deepest as _deepest
from ._linalg_norms import cond, matrix_norm, matrix_rank, norm, pinv
from ._state import GRAD as _GRAD
from ._state import get_mode as _get_mode
from ._tensor import wrap as _wrap
from .ops import _matrices as _check
from .ops import decompose as _decompose
from .ops import exponential as _exponential
from .ops import factored as _factored
from .ops import linalg as _linalg
from .ops import lu as _lu
from .ops._generated import documented as _documented
from .ops._generated import publish as _publish
from .ops._out import into as _into
from .ops._out import several_into as _several_into
from .ops._registry import FUNCTIONS as _FUNCTIONS
from .ops._registry import SAME as _SAME
from .ops._rules import call as _call
from .ops._rules import holds as _holds
from .ops._rules import wrap_dim as _wrap_dim
from .ops.contract import multi_dot
from .ops.contract import vector_product as _vector_product
from .ops.linalg import LinAlgError
from .ops.vector_norm import vector_norm

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv",
    "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip

matmul = _FUNCTIONS["matmul"]


def _results(kind: Any, values: Any, out: Any) -> Any:
    """A named tuple, written into the tensors of `out` if they are given."""
    return kind(_several_into(out, values))


def _cat(parts: Any, dim: int) -> Any:
    return _FUNCTIONS["cat"](parts, dim)


def _identity(like: Any, rows: int, columns: int) -> Any:
    return _eye(rows, columns, dtype=like.dtype, device=like.device)


def _nothing(A: Any) -> Any:
    """Zeros that depend on A, so that a result has a history even where A does not matter."""
    return A.tril(-A.shape[-2])


def _unrecorded(A: Any) -> bool:
    """Whether what is computed from A is certain to have no derivative, of any kind."""
    return _get_mode() <= _GRAD and A._data.__class__ is np.ndarray and not A.requires_grad


def _attempt(name: str, compute: Any, A: Any, otherwise: Any, check_errors: bool) -> tuple[Any, Any]:
    """A result, and for each matrix the number that LAPACK reports: 0, or the row at which it failed. Then `otherwise` says what there is
    instead of the result."""
    try:
        return compute(), _wrap(np.zeros(A.shape[:-2], np.int32)).to(A.device)
    except LinAlgError as error:
        if check_errors:
            raise LinAlgError(f"{name}: {str(error).partition(': ')[2]}") from None
    return otherwise()  # type: ignore[no-any-return]


# ---- inverse and equations ----------------------------------------------------------------------------------------------------------


def inv(A: Any, *, out: Any = None) -> Any:
    """The inverse of each square matrix."""
    return _linalg.linalg_inv(A, out=out)


def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> Any:
    """The inverse and, instead of an error, the row at which a matrix turned out to be singular."""
    def divided() -> Any:
        return _divided(A, _identity(A, A.shape[-1], A.shape[-1]).expand(A.shape))

    return _results(_types.linalg_inv_ex, _attempt("linalg.inv_ex", lambda: inv(A), A, divided, check_errors), out)


def _divided(A: Any, B: Any, left: bool = True) -> tuple[Any, Any]:
    """The solution with matrices of which some are singular: division by zero there, and the rows where it happens."""
    packed, pivots, info = lu_factor_ex(A)
    return lu_solve(packed, pivots, B, left=left), info


def _is_vector(A: Any, B: Any) -> bool:
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))


def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """The solution X of A X = B, or of X A = B with `left=False`."""
    _check.check_matrices("linalg.solve", A)
    _check.check_floating("linalg.solve", A._data, "lu_cpu")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype.scalar_name} and B of type "
            f"{B.dtype.scalar_name} instead\n  fix: B.to({A.dtype})"
        )
    vector = _is_vector(A, B)
    right = B.unsqueeze(-1) if vector else B
    _check.check_equation("linalg.solve", A, right, left)
    result = _linalg.linalg_solve(A, right) if left else _linalg.linalg_solve(A.mT, right.mT).mT
    return _into(out, result.squeeze(-1) if vector else result, _SAME)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """The solution, and for each matrix 0 or the row at which it turned out to be singular."""
    def divided() -> Any:
        vector = _is_vector(A, B)
        solution, info = _divided(A, B.unsqueeze(-1) if vector else B, left)
        return solution.squeeze(-1) if vector else solution, info

    found = _attempt("torch.linalg.solve_ex", lambda: solve(A, B, left=left), A, divided, check_errors)
    return _results(_types.linalg_solve_ex, found, out)


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None) -> Any:
    """The solution X of A X = B for a triangular A; its other triangle is not read."""
    _check.check_matrices("linalg.solve_triangular", A._data)
    _check.check_equation("linalg.solve_triangular", A._data, B._data, left)
    _check.check_supported("triangular_solve_cpu", A._data)
    if unitriangular:
        A = (A.triu(1) if upper else A.tril(-1)) + _identity(A, A.shape[-1], A.shape[-1])
    triangle = _linalg.UPPER if upper == left else _linalg.LOWER  # of A, or of its transpose
    solved = _linalg.linalg_solve(A, B, triangle) if left else _linalg.linalg_solve(A.mT, B.mT, triangle).mT
    return _into(out, solved, "expected scalar type {wanted} but found {given}")


def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None, out: Any = None) -> Any:
    """The X with the smallest ‖A X - B‖, and among those the smallest X."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    data = A._data
    if len(data.shape) < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype.scalar_name} and other's dtype {B.dtype.scalar_name}\n  fix: B.to({A.dtype})"
        )
    vector = len(data.shape) - 1 == len(B._data.shape)
    if not vector and len(data.shape) != len(B._data.shape):
        raise RuntimeError("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    right = B.unsqueeze(-1) if vector else B
    rows, columns = data.shape[-2:]
    _check.check_batches(data.shape, right._data.shape)
    if rows != right._data.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    if data.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double\n  fix: A.float(), B.float()")
    rtol = float(np.finfo(data.dtype).eps * max(rows, columns)) if rcond is None else float(rcond)
    if rtol < 0:  # LAPACK's sign for its own precision
        rtol = float(np.finfo(data.dtype).eps)
    if driver == "gels":
        rtol = 0.0  # which takes every matrix as one of full rank
    cut = driver in ("gelsd", "gelss")
    if _unrecorded(A) and _unrecorded(right) and (arrays := _linalg.least_squares(data, right._data, rtol, cut)) is not None:
        solution, rank = map(_wrap, arrays)
        residuals = _wrap(np.empty(0, data.dtype))
    else:
        found, rank = _linalg.linalg_lstsq_found(A.detach(), right.detach(), rtol, cut)
        solution = _linalg.linalg_lstsq(A, right, rtol, found._data if found._data.__class__ is np.ndarray else None)
        residuals = solution.reshape(-1)[:0].abs() if solution.requires_grad else A.new_zeros(0).real
    values = residuals.detach()
    if cut:
        values = svdvals(A.detach())
    if rows > columns and (driver == "gels" or (cut and not _holds((rank < columns).any()))):
        residuals = (right - A @ solution).abs().square().sum(-2)
    if driver == "gels":
        rank = rank.new_zeros(0)
    return _types.linalg_lstsq(_several_into(out, (solution.squeeze(-1) if vector else solution, residuals, rank, values), ""))


def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of what `tensordot(A, x, x.ndim)` does; the first `ind` dimensions are the rows."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, rest = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(first) != math.prod(rest):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(rest)} != {math.prod(first)}"
        )
    try:
        inverse = inv(A.reshape(math.prod(first), -1))
    except LinAlgError as error:
        raise LinAlgError(str(error).removeprefix("linalg.")) from None
    return _into(out, inverse.reshape(rest + first))


def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Any:
    """The X with `tensordot(A, X, X.ndim) = B`."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    rest = tuple(A.shape[B.ndim :])
    if math.prod(rest) != math.prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(rest)} != {math.prod(A.shape[: B.ndim])}"
        )
    _check.check_castable("tensorsolve", out, A.dtype)
    return _into(out, solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(rest))


# ---- determinants -------------------------------------------------------------------------------------------------------------------


def det(A: Any, *, out: Any = None) -> Any:
    """The determinant of each square matrix."""
    return _linalg.linalg_det(A, out=out)


def slogdet(A: Any, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    _check.check_matrices("linalg.slogdet", A)
    _check.check_floating("linalg.slogdet", A._data)
    return _results(_types.linalg_slogdet, _linalg.linalg_slogdet(A), out)


# ---- decompositions -----------------------------------------------------------------------------------------------------------------


def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:
    """The lower triangular L with L Lᴴ = A, or the upper triangular U with Uᴴ U = A."""
    if upper:
        return _into(out, _linalg.linalg_cholesky(A, True).mH, _SAME)
    return _linalg.linalg_cholesky(A, out=out)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The factor and, instead of an error, the order of the first minor that is not positive-definite."""
    def unfinished() -> Any:
        data = (A.mH if upper else A).detach().numpy(force=True)
        found = [_linalg.unfinished_cholesky(matrix) for matrix in data.reshape(-1, *data.shape[-2:])]
        factors = _wrap(_linalg.by_columns(np.stack([factor for factor, _ in found]).reshape(data.shape)))
        return factors.mH if upper else factors, _wrap(np.asarray([info for _, info in found], np.int32).reshape(data.shape[:-2]))

    found = _attempt("linalg.cholesky_ex", lambda: cholesky(A, upper=upper), A, unfinished, check_errors)
    return _results(_types.linalg_cholesky_ex, found, out)


def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which the lower or the upper triangle is read."""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _results(_types.linalg_eigh, _decompose.linalg_eigh(A, UPLO.upper(), _decompose.kept_for(A)), out)


def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues of Hermitian matrices, in ascending order."""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _decompose.linalg_eigvalsh(A, UPLO.upper(), _decompose.kept_for(A), out=out)


def eig(A: Any, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors, complex even where the matrix is real."""
    return _types.linalg_eig(_several_into(out, _decompose.linalg_eig(A, _decompose.kept_for(A)), ""))


def eigvals(A: Any, *, out: Any = None) -> Any:
    """Eigenvalues, complex even where the matrix is real."""
    _check.check_matrices("linalg.eigvals", A)
    if A.is_floating_point() or A.is_complex():
        _check.check_castable("torch.linalg.eigvals", out, A.dtype.to_complex(), "eigenvalues")
    if _unrecorded(A):
        return _into(out, _decompose.linalg_eigvals(A))
    return _into(out, _decompose.linalg_eig(A, _decompose.kept_for(A))[0])


def _refuse_driver(driver: Any) -> None:
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, the singular values in descending order, and Vᴴ."""
    _refuse_driver(driver)
    return _results(_types.linalg_svd, _decompose.linalg_svd(A, full_matrices, _decompose.kept_for(A)), out)


def svdvals(A: Any, *, driver: str | None = None, out: Any = None) -> Any:
    """The singular values in descending order."""
    _refuse_driver(driver)
    return _decompose.linalg_svdvals(A, _decompose.kept_for(A), out=out)


def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q with orthonormal columns and the upper triangular R with Q R = A."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    data = A._data
    _check.check_matrices("linalg.qr", data, square=False)
    if data.dtype.kind in "biu":
        _check.check_floating("linalg.qr", data)
    _check.check_supported("geqrf_cpu", data)
    if _unrecorded(A):
        return _results(_types.linalg_qr, map(_wrap, _call(_decompose.linalg_qr, data, mode)), out)
    rows, columns = data.shape[-2:]
    if mode == "r" or rows >= columns:
        return _results(_types.linalg_qr, _decompose.linalg_qr(A, mode, _decompose.kept_for(A)), out)
    square = A[..., :rows]
    q, r = _decompose.linalg_qr(square, "reduced", _decompose.kept_for(square))
    return _results(_types.linalg_qr, (q, _cat([r.mT, A[..., rows:].mT @ q.conj()], -2).mT), out)


def _factored_lu(A: Any, pivot: bool) -> tuple[Any, Any, Any, Any]:
    """L and U in one matrix, the exchanges, the first zero on the diagonal of U, and the order of rows."""
    _check.check_supported("lu_cpu", A._data)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if A._data.__class__ is np.ndarray and (arrays := _lu.factors(A._data)) is not None:
        found, pivots, info, orders = arrays[0], *map(_wrap, arrays[1:])
        return _lu.linalg_lu_packed(A, orders, found), pivots, info, orders
    packed, pivots, info, orders = _lu.linalg_lu_found(A.detach(), pivot)
    found = packed._data
    return _lu.linalg_lu_packed(A, orders, found if found.__class__ is np.ndarray else None), pivots, info, orders


def _in_order(A: Any, orders: Any) -> Any:
    return A.clone() if A.is_meta else _FUNCTIONS["gather"](A, -2, orders.unsqueeze(-1).expand(A.shape))


def _triangles(LU: Any) -> tuple[Any, Any]:
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    left, top = LU if k == columns else LU[..., :k], LU if k == rows else LU[..., :k, :]
    return left.tril(-1) + _identity(LU, rows, k), top.triu()


def lu(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """The permutation P, the lower triangular L with ones on its diagonal, and the upper triangular U with P L U = A."""
    if A.ndim < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    packed, _, _, orders = _factored_lu(A, pivot)
    return _results(_types.linalg_lu, (_lu.linalg_lu_permutation(orders, A._data.dtype), *_triangles(packed)), out)


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None, _name: str = "lu_factor_ex") -> Any:
    """L and U in one matrix, the row exchanges, and the row of the first zero on the diagonal of U."""
    if A.ndim < 2:
        raise RuntimeError(f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    packed, pivots, info, _ = _factored_lu(A, pivot)
    if check_errors and (np.count_nonzero(info._data) if info._data.__class__ is np.ndarray else _holds(info.any())):
        codes = np.ravel(_deepest(info))
        place = int(np.flatnonzero(codes)[0])
        row, batch = int(codes[place]), f"(Batch element {place}): " if A.ndim > 2 else ""
        raise RuntimeError(
            f"torch.linalg.{_name}: {batch}U[{row},{row}] is zero and using it on lu_solve would result in a division by zero. If you "
            "still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return _results(_types.linalg_lu_factor_ex, (packed, pivots, info), out)


def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U in one matrix, and the row exchanges."""
    if pivot and _unrecorded(A) and (found := _lu.regular_factors(A._data)) is not None:
        return _results(_types.linalg_lu_factor, map(_wrap, found), out)
    return _results(_types.linalg_lu_factor, lu_factor_ex(A, pivot=pivot, check_errors=True, _name="lu_factor")[:2], out)


def _unpacked(LU: Any, pivots: Any, data: bool, permutation: bool) -> tuple[Any, Any, Any]:
    """P, L and U; empty where they are not wanted."""
    if LU.ndim < 2:
        raise RuntimeError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU.shape)} instead")
    if permutation and pivots._data.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if permutation and (tuple(pivots.shape) != (*LU.shape[:-2], min(LU.shape[-2:])) or not _lu.within(pivots._data, LU.shape[-2])):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )
    lower, upper = _triangles(LU) if data else (LU.new_zeros(0), LU.new_zeros(0))
    if not permutation:
        return LU.new_zeros(0), lower, upper
    return _lu.linalg_lu_permutation(_lu.linalg_lu_order(pivots, LU.shape[-2]), LU._data.dtype), lower, upper


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:
    """The solution of A X = B from the factors that `lu_factor` gives for A."""
    _check.check_matrices("torch.linalg.lu_solve", LU)
    _check.check_floating("torch.linalg.lu_solve", LU._data, "linalg.lu_solve_cpu")
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.scalar_name} and B of type "
            f"{B.dtype.scalar_name} instead"
        )
    _check.check_equation("linalg.lu_solve", LU, B, left)
    _check.check_pivots("linalg.lu_solve", pivots._data, LU.shape[-1], LU.shape[:-2], LU.shape[-1])
    _check.check_batches(B.shape, LU.shape)
    if not left:
        solution = lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
        return _into(out, solution)
    orders = _lu.linalg_lu_order(pivots, LU.shape[-1])
    if adjoint:
        inner = solve_triangular(LU.mH, B, upper=False)
        inner = solve_triangular(LU.mH, inner, upper=True, unitriangular=True)
        return _into(out, _in_order(inner, orders.argsort(-1)))
    ordered = _in_order(B.expand(*np.broadcast_shapes(LU.shape[:-2], B.shape[:-2]), *B.shape[-2:]), orders)
    return _into(out, solve_triangular(LU, solve_triangular(LU, ordered, upper=False, unitriangular=True), upper=True))


def householder_product(A: Any, tau: Any, *, out: Any = None) -> Any:
    """The first columns of the product of the reflections whose vectors are below the diagonal of A."""
    _check.check_reflections("torch.linalg.householder_product", A._data, tau._data, "orgqr_cpu")
    _check.check_castable("torch.linalg.householder_product", out, A.dtype)
    rows, columns = A.shape[-2:]
    identity = _identity(A, rows, columns)
    result = identity + _nothing(A)
    for k in reversed(range(tau.shape[-1])):
        vector = A[..., :, k : k + 1].tril(-k - 1) + identity[:, k : k + 1]
        result = result - tau[..., k, None, None] * (vector @ (vector.mH @ result))
    return _into(out, _columns(result))


def _columns(x: Any) -> Any:
    """The same matrices one column after the other, as LAPACK leaves them, where nothing is recorded."""
    return _wrap(_linalg.by_columns(x._data)) if _unrecorded(x) or (x.is_meta and not x.requires_grad) else x


def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """L and D with A = L D Lᵀ (or L D Lᴴ) in one matrix, the exchanges, and the row of the first zero in D."""
    _check.check_matrices("torch.linalg.ldl_factor_ex", A)
    _check.check_floating("torch.linalg.ldl_factor_ex", A._data, "ldl_factor_kernel_cpu")
    results = _factored.linalg_ldl_factor_ex(A, hermitian)
    if check_errors and _holds(results[2].any()):
        row = int(_deepest(results[2]).max())
        raise LinAlgError(
            f"torch.linalg.ldl_factor_ex: The diagonal element {row} is zero. The factorization has been completed, but the factor D is "
            "exactly singular, and solving a system with it would divide by zero."
        )
    return _results(_types.linalg_ldl_factor_ex, results, out)


def ldl_factor(A: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """L and D with A = L D Lᵀ (or L D Lᴴ) in one matrix, and the exchanges."""
    return _results(_types.linalg_ldl_factor, ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2], out)


def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False, out: Any = None) -> Any:
    """The solution X of A X = B from the factors that `ldl_factor` gives for A."""
    _check.check_matrices("torch.linalg.ldl_solve", LD)
    _check.check_floating("torch.linalg.ldl_solve", LD._data)
    if B.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got -2): B has {B.ndim} dimensions")
    _check.check_older_equation("torch.linalg.ldl_solve", B._data, LD._data)
    _factored.check_exchanges(LD._data, pivots._data)
    return _into(out, _factored.linalg_ldl_solve(LD, pivots, B, hermitian), _SAME)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of `other` and of the reflections that `geqrf` has found, on the left or the right of it."""
    for name, tensor in (("input", input), ("other", other)):
        if tensor.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    size = input.shape[-2]
    for name, tensor, missing in (("tau", tau, 1), ("other", other, 0)):
        if tensor.ndim != input.ndim - missing:
            wanted = "one dimension less than" if missing else "the same number of dimensions as"
            raise RuntimeError(
                f"torch.ormqr: Expected {name} to have {wanted} input, but got {name}.ndim equal to {tensor.ndim} and input.ndim is equal "
                f"to {input.ndim}"
            )
        batch = tensor.shape[: input.ndim - 2]
        if batch != input.shape[:-2]:
            raise RuntimeError(f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], but got {list(batch)}")
        if tensor.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype{input.dtype.scalar_name} and {name} "
                f"has dtype {tensor.dtype.scalar_name}"
            )
    if tau.shape[-1] != min(other.shape[-2 if left else -1], input.shape[-1]):
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{-2 if left else -1}], input.shape[-1]), but is {tau.shape[-1]}"
        )
    if other.shape[-2 if left else -1] != size:
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]")
    _check.check_supported("ormqr_cpu", input._data)
    identity = _identity(input, size, input.shape[-1])
    order = range(tau.shape[-1])
    result = other + 0
    for k in reversed(order) if left != transpose else order:
        vector = input[..., :, k : k + 1].tril(-k - 1) + identity[:, k : k + 1]
        factor = tau[..., k, None, None]
        factor = factor.conj() if transpose else factor
        result = result - factor * (vector @ (vector.mH @ result) if left else (result @ vector) @ vector.mH)
    return _columns(result)


# ---- functions of matrices and products ---------------------------------------------------------------------------------------------


def matrix_exp(A: Any) -> Any:
    """The exponential of each square matrix."""
    return _exponential.linalg_matrix_exp(A)


def matrix_power(A: Any, n: int, *, out: Any = None) -> Any:
    """The product of `n` copies of each square matrix; of its inverse for a negative `n`."""
    if isinstance(n, float) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    _check.check_matrices("linalg.matrix_power", A)
    _check.check_castable("matrix_power", out, A.dtype)
    if n == 0:
        return _into(out, _identity(A, A.shape[-1], A.shape[-1]) + _nothing(A))
    square = inv(A) if n < 0 else A
    result, n = None, abs(n)
    while n:
        if n % 2:
            result = square if result is None else result @ square
        n //= 2
        square = square @ square if n else square
    return _into(out, result.clone() if result is A else result, _SAME)


def cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Any:
    """The vector product along a dimension of size three."""
    shape, others = input._data.shape, other._data.shape
    if len(shape) != len(others):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = _wrap_dim(dim, len(shape))
    if input._data.dtype.kind == "b":
        raise NotImplementedError("\"cross\" not implemented for 'Bool'\n  fix: x.int()")
    if shape[dim] != 3 or others[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {shape[dim]} and {others[dim]}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {other.dtype.scalar_name}\n  fix: y.to(x.dtype)")
    if shape != others:
        input, other = _FUNCTIONS["broadcast_tensors"](input, other)
    return _into(out, _vector_product(input, other, dim), _SAME, (input, other))


def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    """The scalar products of vectors along a dimension, the first conjugated."""
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.scalar_name} and y of type "
            f"{y.dtype.scalar_name} instead"
        )
    return _into(out, ((x.conj() if x.is_complex() else x) * y).sum(dim), "linalg.vecdot: Expected out of dtype{wanted} but found {given}")


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of each matrix, as a view."""
    return _FUNCTIONS["diagonal"](A, offset, dim1, dim2)


def vander(x: Any, N: int | None = None) -> Any:
    """The powers 0, 1, ... N - 1 of each element, in a new last dimension."""
    if x._data.dtype.kind == "b":
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool\n  fix: x.long()")
    x = x.reshape(1) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, count)


def _powers(x: Any, count: int) -> Any:
    x = x if x.is_floating_point() or x.is_complex() else x.long()
    if not count:
        return x.new_empty((*x.shape, 0))
    columns = [_ones_like(x)]
    for _ in range(1, count):
        columns.append(columns[-1] * x)
    return _FUNCTIONS["stack"](columns, -1)


def __dir__() -> list[str]:
    return __all__


_publish(globals(), "linalg_", __all__)
_documented(globals(), "linalg.")
