"""`lobpcg`: some eigenvalues of large symmetric matrices."""

from __future__ import annotations

from typing import Any

from . import linalg
from ._tensor import Tensor
from .ops._matrices import check_matrices


def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None, niter: int | None = None,
    tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: dict[str, int] | None = None, ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The `k` largest (or smallest) eigenvalues E of A x = E B x for symmetric A and positive-definite B, and their eigenvectors.

    The matrices are decomposed as a whole, which for what fits into memory here is faster than to iterate. So there is nothing to start
    from (`X`), to precondition (`iK`), to bound (`niter`, `tol`) or to watch (`tracker`): the result is as exact as it can be.
    """
    if A.is_sparse:
        A = A.to_dense()
    check_matrices("lobpcg", A)
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method should be 'basic' or 'ortho', but got {method!r}")
    size = A.shape[-1]
    wanted = (1 if X is None else X.shape[-1]) if k is None else k
    if size < 3 * wanted:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number of requested "
            f"eigenpairs (={wanted})"
        )
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"lobpcg: expected A with floating dtype but got {A.dtype}")
    if B is None:
        values, vectors = linalg.eigh(A)
    else:
        factor = linalg.cholesky(B.to_dense() if B.is_sparse else B)
        half = linalg.solve_triangular(factor, A, upper=False)
        values, vectors = linalg.eigh(linalg.solve_triangular(factor, half.mH, upper=False).mH)
        vectors = linalg.solve_triangular(factor.mH, vectors, upper=True)
    if largest is None or largest:
        return values[..., -wanted:].flip(-1), vectors[..., -wanted:].flip(-1)
    return values[..., :wanted], vectors[..., :wanted]
