"""Singular values of large matrices of low rank, by Halko's, Martinsson's and Tropp's random projections."""

from __future__ import annotations

from typing import Any

from . import linalg
from ._sampling import randn


def _range(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that span nearly what the columns of A span."""
    basis = linalg.qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        basis = linalg.qr(A.mH @ basis).Q
        basis = linalg.qr(A @ basis).Q
    return basis


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Any, Any, Any]:
    """The `q` largest singular values of A (or A - M), with their vectors U and V, nearly."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    matrix = A.mH if wide else A
    basis = _range(matrix, q, niter)
    U, S, Vh = linalg.svd(basis.mH @ matrix, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """The `q` principal components of the rows of A, nearly: U, the singular values, and the directions V."""
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
