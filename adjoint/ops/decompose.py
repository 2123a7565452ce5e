"""Decompositions: eigenvalues, singular values, QR. Their factors are determined up to signs (phases, for complex matrices), so only
functions that do not depend on that choice have a gradient; the rules assume it, as PyTorch's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._errors import spelled
from .._state import GRAD, get_mode
from ._matrices import check_floating, check_matrices, check_supported, scalar_name
from ._primitives import loops
from ._registry import LEADING, Array, op
from ._rules import call, cast, conjugate, holds
from .linalg import (
    HIDDEN,
    UPPER,
    LinAlgError,
    added,
    by_columns,
    first_failure,
    hermitian,
    is_complex,
    main_diagonal,
    on_diagonal,
    real,
    solved,
    times,
)

# Note [What is kept]
# The backward pass of a decomposition needs its results, and that of eigenvalues also vectors that are no results at all. So the forward
# fills a list that it is given, which is saved with the node and freed with it; vectors are computed only where there is one. Transforms
# and batches give none, and where gradients are recorded themselves the rule decomposes again, for a derivative of its own.

Kept = list[Any] | None


def kept_for(A: Any) -> Kept:
    """Room for what the backward pass will need of the decomposition of a Tensor."""
    return [] if get_mode() & GRAD and A.requires_grad else None


def keep(kept: Kept, results: Sequence[Array]) -> None:
    """Keep copies: what is done to the results does not change the gradient."""
    if kept is not None and results[0].__class__ is np.ndarray:
        kept.extend(x.copy("K") for x in results)


def recalled(kept: Kept, g: Sequence[Array]) -> Kept:
    """What was kept, for gradients that are arrays."""
    return kept if kept and all(x is None or x.__class__ is np.ndarray for x in g) else None


def off_diagonal(matrix: Array, divisor: Array) -> Array:
    """`matrix / divisor`, and zero on the diagonal."""
    diagonal = np.eye(matrix.shape[-1], dtype=bool)
    return np.where(diagonal, 0, matrix / np.where(diagonal, 1, divisor))


def differences(values: Array) -> Array:
    """The differences `values[j] - values[i]`."""
    return values[..., None, :] - values[..., :, None]


def check_finite(name: str, a: Array) -> None:
    if holds(~np.all(np.isfinite(a))):
        batch, _ = first_failure(a, lambda matrix: not np.all(np.isfinite(matrix)))
        raise LinAlgError(
            spelled(
                f"{name}: {batch}The algorithm failed to converge because the input matrix contained non-finite values.\n"
                "  fix: torch.isfinite(A).all() tells before the call"
            )
        )


# ---- eigenvalues --------------------------------------------------------------------------------------------------------------------


def _eigh_rule(g: Sequence[Array], A: Array, UPLO: str, kept: Kept) -> Array:
    (g_values, g_vectors), (values, vectors) = g, recalled(kept, g) or call(linalg_eigh, A, UPLO)
    inner = added(
        None if g_values is None else on_diagonal(g_values),
        None if g_vectors is None else off_diagonal(turning(times(hermitian(vectors), g_vectors)), differences(values)),
    )
    return cast_like(times(vectors, cast_like(inner, vectors), hermitian(vectors)), vectors)


def turning(x: Array) -> Array:
    """The part of a gradient that turns orthonormal vectors; they cannot move otherwise."""
    return (x - hermitian(x)) / 2


def cast_like(x: Array, like: Array) -> Array:
    """Real numbers as complex ones, next to complex ones."""
    return x + 0j if is_complex(like) and not is_complex(x) else x


def _eigh_jvp(A_t: Array, out: Any) -> Any:
    values, vectors = out
    inner = times(hermitian(vectors), A_t, vectors)
    return np.real(main_diagonal(inner)) + 0, times(vectors, off_diagonal(inner, differences(values)))


@op(batch=lambda A, UPLO: linalg_eigh(A, UPLO), several=True, holomorphic=False, jvp=_eigh_jvp, A=_eigh_rule, **HIDDEN)
def linalg_eigh(A: Array, UPLO: Any, kept: Kept = None) -> tuple[Array, Array]:
    """Eigenvalues in ascending order, and eigenvectors, of Hermitian matrices of which one triangle is read."""
    check_matrices("linalg.eigh", A)
    check_supported("linalg_eigh_cpu", A)
    found = eigenvectors(A, UPLO == "U")
    keep(kept, found)
    return found


def eigenvectors(a: Array, upper: bool) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    if real(a) and (found := loops("lapack").eigen(a, upper, True)) is not None:
        return found  # type: ignore[no-any-return]
    check_finite("linalg.eigh", a)
    values, vectors = np.linalg.eigh(a, "U" if upper else "L")
    return values, by_columns(vectors)


def _eigvalsh_rule(g: Array, A: Array, UPLO: str, kept: Kept) -> Array:
    (vectors,) = recalled(kept, [g]) or call(linalg_eigh, A, UPLO)[1:]
    return times(vectors * cast_like(g, vectors)[..., None, :], hermitian(vectors))


def _eigvalsh_jvp(A: Array, A_t: Array, UPLO: str) -> Array:
    vectors = call(linalg_eigh, A, UPLO)[1]
    return np.real(main_diagonal(times(hermitian(vectors), A_t, vectors))) + 0


@op(batch=lambda A, UPLO: linalg_eigvalsh(A, UPLO), nodes="LinalgEighBackward0", holomorphic=False, jvp=_eigvalsh_jvp, A=_eigvalsh_rule,
    **HIDDEN)  # fmt: skip
def linalg_eigvalsh(A: Array, UPLO: Any, kept: Kept = None) -> Array:
    """Eigenvalues of Hermitian matrices, in ascending order."""
    check_matrices("linalg.eigh", A)
    check_supported("linalg_eigh_cpu", A)
    if real(A) and (found := loops("lapack").eigenvalues(A, UPLO == "U", kept is not None)) is not None:
        if kept is not None:
            kept.append(found[1])
        return found[0]
    check_finite("linalg.eigh", A)
    return np.linalg.eigvalsh(A, UPLO)


def _eig_rule(g: Sequence[Array], A: Array, A_dtype: Any, kept: Kept) -> Array:
    (g_values, g_vectors), (values, vectors) = g, recalled(kept, g) or call(linalg_eig, A)
    turned = hermitian(vectors)
    inner = None if g_values is None else on_diagonal(g_values)
    if g_vectors is not None:
        along = times(turned, g_vectors)
        lengths = times(turned, vectors) * np.real(main_diagonal(along))[..., None, :]  # eigenvectors keep their length
        inner = added(inner, off_diagonal(along - lengths, conjugate(differences(values))))
    return cast(solved(turned, times(inner, turned)), A_dtype)


def _eig_jvp(A_t: Array, out: Any) -> Any:
    values, vectors = out
    inner = solved(vectors, times(cast_like(A_t, vectors), vectors))
    moved = off_diagonal(inner, differences(values))
    lengths = np.real(main_diagonal(times(hermitian(vectors), vectors, moved)))
    return main_diagonal(inner) * 1, times(vectors, moved) - vectors * lengths[..., None, :]


@op(batch=lambda A: linalg_eig(A), several=True, holomorphic=False, jvp=_eig_jvp, A=_eig_rule, **HIDDEN)
def linalg_eig(A: Array, kept: Kept = None) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors, complex even where the matrix is real."""
    check_matrices("linalg.eig", A)
    check_complex(A)
    check_supported("linalg_eig_out_cpu", A)
    found = loops("lapack").general(A, True) if real(A) else None
    if found is None:
        values, vectors = general(np.linalg.eig, A)
        dtype = np.result_type(A.dtype, np.complex64)
        found = values.astype(dtype), by_columns(vectors.astype(dtype))
    keep(kept, found)
    return found


@op(differentiable=False, batch=LEADING, **HIDDEN)
def linalg_eigvals(A: Array) -> Array:
    """Eigenvalues alone, complex even where the matrix is real."""
    check_complex(A)
    check_supported("linalg_eig_out_cpu", A)
    if real(A) and (found := loops("lapack").general(A, False)) is not None:
        return found[0]
    return general(np.linalg.eigvals, A).astype(np.result_type(A.dtype, np.complex64))


def check_complex(a: Array) -> None:
    if a.dtype.kind in "biu":
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(a)}\n  fix: A.float()")


def general(decompose: Callable[[Array], Any], a: Array) -> Any:
    """What NumPy finds for a matrix of any kind."""
    try:
        return decompose(a)
    except np.linalg.LinAlgError:
        raise RuntimeError(
            spelled(
                "torch.linalg.eig: input tensor should not contain infs or NaNs.\n  fix: torch.isfinite(A).all() tells before the call"
            )
        ) from None


# ---- singular values ----------------------------------------------------------------------------------------------------------------


def _svd_rule(g: Sequence[Array], A: Array, A_shape: Any, full_matrices: bool, kept: Kept) -> Array:
    (g_u, g_s, g_vh), (u, s, vh) = g, recalled(kept, g) or call(linalg_svd, A, full_matrices)
    k = min(A_shape[-2:])
    u, v = u[..., :k], hermitian(vh[..., :k, :])
    g_u = None if g_u is None else g_u[..., :k]
    g_v = None if g_vh is None else hermitian(g_vh[..., :k, :])
    gaps = differences(s * s)
    inner = None if g_s is None else cast_like(on_diagonal(g_s), u)
    grad = None
    if g_u is not None:
        along = times(hermitian(u), g_u)
        turned = off_diagonal(along, gaps)
        inner = added(inner, (turned + hermitian(turned)) * s[..., None, :], phases(along, s))
        if A_shape[-2] > k:
            grad = times((g_u - times(u, along)) / s[..., None, :], hermitian(v))
    if g_v is not None:
        along = times(hermitian(v), g_v)
        turned = off_diagonal(along, gaps)
        back = phases(along, s)
        inner = added(inner, (turned + hermitian(turned)) * s[..., :, None], None if back is None else -back)
        if A_shape[-1] > k:
            grad = added(grad, times(u, hermitian((g_v - times(v, along)) / s[..., None, :])))
    return added(times(u, inner, hermitian(v)), grad)


def phases(along: Array, s: Array) -> Array | None:
    """The part of complex singular vectors that only turns their phase, shared equally between left and right."""
    return on_diagonal(1j * np.imag(main_diagonal(along)) / (2 * s)) if is_complex(along) else None


def _svd_jvp(A_t: Array, full_matrices: bool, out: Any) -> Any:
    u, s, vh = out
    k = s.shape[-1]
    if u.shape[-1] > k or vh.shape[-2] > k:
        raise NotImplementedError("svd: forward mode needs full_matrices=False: the other singular vectors are arbitrary")
    v = hermitian(vh)
    inner = times(hermitian(u), A_t, v)
    gaps = differences(s * s)
    left, right = inner * s[..., None, :], inner * s[..., :, None]
    turn = phases(inner, s)
    u_t = times(u, added(off_diagonal(left + hermitian(left), gaps), turn))
    v_t = times(v, added(off_diagonal(right + hermitian(right), gaps), None if turn is None else -turn))
    if u.shape[-2] > k:
        u_t = u_t + (times(A_t, v) - times(u, inner)) / s[..., None, :]
    if v.shape[-2] > k:
        v_t = v_t + (times(hermitian(A_t), u) - times(v, hermitian(inner))) / s[..., None, :]
    return u_t, np.real(main_diagonal(inner)) + 0, hermitian(v_t) * 1


@op(batch=lambda A, full_matrices: linalg_svd(A, full_matrices), several=True, holomorphic=False, jvp=_svd_jvp, A=_svd_rule, **HIDDEN)
def linalg_svd(A: Array, full_matrices: bool, kept: Kept = None) -> tuple[Array, Array, Array]:
    """U, the singular values in descending order, and Vᴴ."""
    check_matrices("linalg.svd", A, square=False)
    if A.dtype.kind in "biu":
        check_floating("linalg.svd", A)
    check_supported("linalg_svd_cpu", A)
    found = singular_vectors(A, full_matrices)
    keep(kept, found)
    return found


def singular_vectors(a: Array, full: bool) -> tuple[Array, Array, Array]:
    lapack = loops("lapack")
    if real(a) and (found := lapack.singular(a, lapack.ALL if full else lapack.SOME)) is not None:
        return found  # type: ignore[no-any-return]
    check_finite("linalg.svd", a)
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    return by_columns(u), s, by_columns(vh)


def _svdvals_rule(g: Array, A: Array, kept: Kept) -> Array:
    u, _, vh = recalled(kept, [g]) or call(linalg_svd, A, False)
    return times(u * cast_like(g, u)[..., None, :], vh)


def _svdvals_jvp(A: Array, A_t: Array) -> Array:
    u, _, vh = call(linalg_svd, A, False)
    return np.real(main_diagonal(times(hermitian(u), A_t, hermitian(vh)))) + 0


@op(batch=lambda A: linalg_svdvals(A), nodes="LinalgSvdBackward0", holomorphic=False, jvp=_svdvals_jvp, A=_svdvals_rule, **HIDDEN)
def linalg_svdvals(A: Array, kept: Kept = None) -> Array:
    """The singular values in descending order."""
    check_matrices("linalg.svd", A, square=False)
    if A.dtype.kind in "biu":
        check_floating("linalg.svd", A)
    check_supported("linalg_svd_cpu", A)
    if real(A) and (found := loops("lapack").singular_values(A, kept is not None)) is not None:
        if kept is not None:
            kept.extend(found)
        return found[1]
    infinite = np.isinf(A)
    check_finite("linalg.svd", np.where(infinite, 0, A))
    values = np.linalg.svd(np.where(infinite, 0, A), compute_uv=False)
    return np.where(np.any(infinite, (-2, -1))[..., None], values.dtype.type(np.nan), values)  # as LAPACK finds them


# ---- QR -----------------------------------------------------------------------------------------------------------------------------


def _qr_rule(g: Sequence[Array], A: Array, mode: str, kept: Kept) -> Array:
    (g_q, g_r), (q, r) = g, recalled(kept, g) or call(linalg_qr, A, mode)
    if mode == "r":
        raise RuntimeError(
            "linalg.qr_backward: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "torch.linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if q.shape[-2] == q.shape[-1] != r.shape[-1]:
        raise RuntimeError(
            spelled(
                "linalg.qr_backward: The QR decomposition is not differentiable when mode='complete' and nrows > ncols.\n"
                "  fix: torch.linalg.qr(A, mode='reduced')"
            )
        )
    turn = added(None if g_q is None else times(hermitian(q), g_q), None if g_r is None else -times(g_r, hermitian(r)))
    inner = np.tril(turn - hermitian(turn), -1) - turn
    if is_complex(q):
        inner = inner + on_diagonal(1j * np.imag(main_diagonal(turn)))
    whole = added(g_q, times(q, inner))
    return hermitian(solved(r, hermitian(whole), UPPER))


def _qr_jvp(A_t: Array, out: Any, mode: str) -> Any:
    q, r = out
    if mode == "r" or q.shape[-1] != r.shape[-1]:
        raise RuntimeError("linalg.qr: forward mode needs mode='reduced' (or a square matrix)")
    whole = np.swapaxes(solved(np.swapaxes(r, -1, -2), np.swapaxes(A_t, -1, -2)), -1, -2)
    inner = times(hermitian(q), whole)
    below = np.tril(inner, -1)
    turn = below - hermitian(below)
    if is_complex(q):
        turn = turn + on_diagonal(1j * np.imag(main_diagonal(inner)))
    return times(q, turn) + whole - times(q, inner), np.triu(times(inner - turn, r))


def _qr_examples(A: Any, mode: Any, examples: int) -> tuple[Any, Any]:
    q, r = linalg_qr(A, mode)
    return (q.new_zeros((examples, 0)) if mode == "r" else q), r


@op(several=True, holomorphic=False, jvp=_qr_jvp, A=_qr_rule, batch=_qr_examples, **HIDDEN)
def linalg_qr(A: Array, mode: Any, kept: Kept = None) -> tuple[Array, Array]:
    """Q with orthonormal columns and the upper triangular R with Q R = A."""
    found = loops("lapack").orthogonal(A, mode) if real(A) else None
    if found is None:
        found = (None, np.linalg.qr(A, mode="r")) if mode == "r" else np.linalg.qr(A, mode=mode)
        found = found[0] if mode == "r" else by_columns(found[0]), by_columns(found[1])
    q, r = np.empty(0, A.dtype, like=A) if mode == "r" else found[0], found[1]
    keep(kept, (q, r))
    return q, r
