"""Norms of matrices and what follows from singular values: the part of `adjoint.linalg` about sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._dtype import int64
from ._errors import spelled
from ._tensor import Tensor, wrap
from .ops import _matrices, decompose, linalg
from .ops._generated import publish
from .ops._out import into
from .ops._registry import FUNCTIONS
from .ops._rules import wrap_dim
from .ops.vector_norm import vector_norm, widened


def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """A norm of each matrix: 'fro', 'nuc', 1, 2, inf, or the same with a minus sign for the smallest instead of the largest."""
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim if isinstance(dim, int) else ' '.join(map(str, dim))}")
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    linalg_name = "linalg.matrix_norm"
    if not (A.is_floating_point() or A.is_complex()):
        _matrices.check_floating(linalg_name, A._data)
    rows, columns = (wrap_dim(int(d), A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{linalg_name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if dtype is not None:
        A = widened(linalg_name, A, dtype)
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"{linalg_name}: Order {ord} not supported.")
    elif abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{linalg_name}: Order {ord:g} not supported.")
    if ord == "nuc" or ord in (2, -2):
        _matrices.check_floating(linalg_name, A._data)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, out=out)
    if ord == "nuc" or abs(ord) == 2:
        matrices = A if (rows, columns) == (A.ndim - 2, A.ndim - 1) else A.movedim((rows, columns), (-2, -1))
        values = decompose.linalg_svdvals(matrices, decompose.kept_for(matrices))
        result = values.sum(-1) if ord == "nuc" else largest_or_smallest(values, -1, ord, False)
        if keepdim:
            for d in sorted((rows, columns)):
                result = result.unsqueeze(d)
        return into(out, result)
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, summed, True)
    result = largest_or_smallest(sums, kept, ord, True)
    return into(out, result if keepdim else result.squeeze((rows, columns)))


def largest_or_smallest(x: Any, dim: int, ord: float, keepdim: bool) -> Any:
    """The maximum, which is 0 where there is nothing, or for a negative order the minimum, which must have something."""
    if ord < 0:
        return x.amin(dim, keepdim)
    return x.amax(dim, keepdim) if x.shape[dim] else x.sum(dim, keepdim)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None) -> Any:
    """The norm of vectors, if one dimension is meant, or of matrices, if two are."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            spelled(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.\n"
                "  fix: torch.linalg.vector_norm(A, ord), or say dim=(-2, -1)"
            )
        )
    if dim is not None and not isinstance(dim, int) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if isinstance(ord, str) or (A.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2):
        if dim is None and A.ndim == 1:
            raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype, out=out)


def cond(A: Any, p: Any = None, *, out: Any = None) -> Any:
    """The condition number: the norm of a matrix times that of its inverse."""
    _matrices.check_castable("linalg.cond", out, A.dtype.to_real())
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is None or p in (2, -2):
        values = decompose.linalg_svdvals(A, decompose.kept_for(A))
        if not values.shape[-1]:
            return into(out, values.sum(-1))
        largest, smallest = values[..., 0], values[..., -1]
        return into(out, smallest / largest if p == -2 else largest / smallest)
    if not isinstance(p, str) and abs(p) not in (1, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p:g}")
    _matrices.check_square(A, f"linalg.cond(ord={p}): ")
    if not A.shape[-1]:
        return into(out, matrix_norm(A))
    try:
        size = matrix_norm(A, p) * matrix_norm(linalg.linalg_inv(A), p)
        return into(out, size.nan_to_num(math.inf, math.inf, -math.inf))  # zero times infinity is no condition that anybody can work with
    except linalg.LinAlgError:
        from .linalg import inv_ex

        inverse, info = inv_ex(A)
        size = matrix_norm(A, p) * matrix_norm(inverse.masked_fill((info != 0)[..., None, None], 0), p)
        return into(out, FUNCTIONS["where"](info != 0, math.inf, size))


def tolerances(A: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The absolute and the relative size below which singular values count as zero."""
    if rtol is None:
        given = atol is not None and bool((atol > 0).any() if isinstance(atol, Tensor) else atol > 0)
        rtol = 0.0 if given else float(np.finfo(A._data.dtype).eps * max(A.shape[-2:]))
    return tuple(x.detach().numpy() if isinstance(x, Tensor) else x for x in (0.0 if atol is None else atol, rtol))  # type: ignore[return-value]


def check_tolerances(name: str, A: Any, atol: Any, rtol: Any) -> None:
    for kind, tolerance in (("atol", atol), ("rtol", rtol)):
        if isinstance(tolerance, Tensor):
            if tolerance.is_complex():
                raise RuntimeError(f"{name}: {kind} tensor of complex type is not supported. Got {tolerance.dtype.scalar_name}")
            _matrices.check_batches((*tolerance.shape, 1, 1), A.shape)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> Any:
    """How many singular values of each matrix are not zero."""
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if A._data.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double\n  fix: A.float()")
    _matrices.check_castable("torch.linalg.matrix_rank", out, int64)
    check_tolerances("torch.linalg.matrix_rank", A, tol if atol is None else atol, rtol)
    data = A.detach()
    values = decompose.linalg_eigvalsh(data, "L").abs() if hermitian else decompose.linalg_svdvals(data)
    if tol is not None:
        return into(out, (values > (tol.unsqueeze(-1) if isinstance(tol, Tensor) else tol)).sum(-1))
    absolute, relative = (wrap(np.asarray(x, values._data.dtype)[..., None]).to(A.device) for x in tolerances(A, atol, rtol))
    if not values.shape[-1]:
        return into(out, (values > 0).sum(-1))
    return into(out, (values > FUNCTIONS["maximum"](absolute, relative * values.amax(-1, True))).sum(-1))


def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> Any:
    """The pseudoinverse of each matrix."""
    if A.ndim < 2 or A._data.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise RuntimeError(
            f"linalg.pinv({A.dtype.scalar_name}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, cfloat "
            "or cdouble types"
        )
    rtol = rcond if rtol is None else rtol
    _matrices.check_castable("linalg.pinv", out, A.dtype)
    check_tolerances("torch.linalg.pinv", A, atol, rtol)
    if hermitian:
        _matrices.check_square(A, "linalg.eigh: ")
    absolute, relative = tolerances(A, atol, rtol)
    return linalg.linalg_pinv(A, absolute, relative, hermitian, out=out)


publish(globals(), "linalg_", ("cond", "matrix_norm", "matrix_rank", "norm", "pinv"))
