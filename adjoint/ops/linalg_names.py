"""The functions of linear algebra that PyTorch has at the top and as methods. `adjoint.linalg` is imported when one is first called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import _return_types as types
from ._out import into, several_into
from ._registry import FUNCTIONS, Array, composite


def linalg() -> Any:
    return import_module("adjoint.linalg")


def deprecated(name: str, other: str, example: str) -> None:
    from . import _deprecation

    _deprecation.deprecated(name, other, example)


@composite("inverse")
def inverse(input: Array, *, out: Any = None) -> Array:
    """The inverse of each square matrix."""
    return linalg().inv(input, out=out)


@composite()
def det(input: Array) -> Array:
    """The determinant of each square matrix."""
    return linalg().det(input)


@composite()
def slogdet(input: Array, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return types.slogdet(linalg().slogdet(input, out=out))


@composite()
def logdet(input: Array) -> Array:
    """The logarithm of the determinant; of a negative one, NaN."""
    module = linalg()
    module._linalg.check_matrices("logdet", input)
    module._linalg.check_floating("logdet", input._data)
    sign, size = module.slogdet(input)
    if input.is_complex():
        return sign.log() + size
    return FUNCTIONS["where"](sign == -1, float("nan"), size)


@composite()
def cholesky(input: Array, upper: bool = False, *, out: Any = None) -> Array:
    """The triangular factor of positive-definite matrices."""
    deprecated("cholesky", "torch.linalg.cholesky", "L = torch.linalg.cholesky(A)")
    linalg()._check.check_square(input, "cholesky: ")
    try:
        return into(out, linalg().cholesky(input, upper=upper))
    except linalg().LinAlgError as error:
        raise type(error)(str(error).removeprefix("linalg.")) from None


@composite()
def cholesky_solve(input: Array, L: Array, upper: bool = False, *, out: Any = None) -> Array:
    """The solution X of A X = input, from the triangular factor of A."""
    for name, x in (("b", input), ("u", L)):
        if x.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    linalg()._check.check_older_equation("cholesky_solve", input._data, L._data)
    linalg()._check.check_supported("cholesky_solve_cpu", input._data)
    linalg()._check.check_castable("cholesky_solve", out, input.dtype)
    return linalg()._factored.cholesky_solve(input, L, upper, out=out)


@composite()
def cholesky_inverse(input: Array, upper: bool = False, *, out: Any = None) -> Array:
    """The inverse of A from its triangular factor."""
    linalg()._check.check_castable("cholesky_inverse", out, input.dtype)
    return linalg()._factored.cholesky_inverse(input, upper, out=out)


@composite()
def qr(input: Array, some: bool = True, *, out: Any = None) -> Any:
    """Q with orthonormal columns and the upper triangular R with Q R = input."""
    deprecated("qr", "torch.linalg.qr", "Q, R = torch.linalg.qr(A, mode)")
    return types.qr(linalg().qr(input, "reduced" if some else "complete", out=out))


@composite()
def svd(input: Array, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, the singular values, and V (not its transpose, which `linalg.svd` gives)."""
    if input.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    rows, columns = input.shape[-2:]
    if compute_uv:
        u, s, vh = linalg().svd(input, not some)
        results = (u, s, vh.mH)
    else:
        batch = input.shape[:-2]
        results = (input.new_zeros((*batch, rows, rows)), linalg().svdvals(input), input.new_zeros((*batch, columns, columns)))
    return types.svd(several_into(out, results))


@composite()
def pinverse(input: Array, rcond: float = 1e-15) -> Array:
    """The pseudoinverse of each matrix."""
    return linalg().pinv(input, rcond)


@composite()
def matrix_exp(input: Array) -> Array:
    """The exponential of each square matrix."""
    return linalg().matrix_exp(input)


@composite()
def matrix_power(input: Array, n: int, *, out: Any = None) -> Array:
    """The product of `n` copies of each square matrix."""
    return linalg().matrix_power(input, n, out=out)


@composite()
def cross(input: Array, other: Array, dim: int | None = None, *, out: Any = None) -> Array:
    """The vector product along a dimension of size three: the first one, unless another is named."""
    if dim is None:
        from ._deprecation import warn_once

        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release."
        )
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg().cross(input, other, dim=dim, out=out)


@composite(method=False)
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    """The powers of each element of a vector, the highest first unless `increasing`."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    powers = linalg()._powers(x, x.shape[0] if N is None else N)
    return powers if increasing else powers.flip(-1)


@composite(method=False)
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None) -> Any:
    """P, L and U from the factors that `linalg.lu_factor` gives."""
    results = linalg()._unpacked(LU_data, LU_pivots, unpack_data, unpack_pivots)
    return types.lu_unpack(several_into(out, results))


@composite()
def lu(input: Array, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix, and the row exchanges. (The older form of `linalg.lu_factor`.)"""
    deprecated("lu", "torch.linalg.lu_factor / torch.linalg.lu_factor_ex", "LU, pivots = torch.linalg.lu_factor(A)")
    packed, pivots, infos = linalg().lu_factor_ex(input, pivot=pivot)
    if out is None:
        return types._lu_with_info((packed, pivots, infos)) if get_infos else (packed, pivots)
    results = (packed, pivots, infos) if get_infos else (packed, pivots)
    return several_into(out, results, "")


@composite()
def geqrf(input: Array, *, out: Any = None) -> Any:
    """R, with the vectors of the reflections below its diagonal, and the factors of the reflections."""
    results = linalg()._factored.geqrf(input)
    for target, called in zip(out or (), ("a", "tau"), strict=False):
        linalg()._check.check_castable("torch.geqrf", target, input.dtype, called)
    return types.geqrf(several_into(out, results, ""))


@composite()
def ormqr(input: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False, *, out: Any = None) -> Array:
    """The product of `input3` and of the reflections that `geqrf` has found, on the left or the right of it."""
    return into(out, linalg().ormqr(input, input2, input3, left, transpose))


@composite("orgqr")
def orgqr(input: Array, input2: Array, *, out: Any = None) -> Array:
    """`torch.linalg.householder_product` under its older name."""
    return linalg().householder_product(input, input2, out=out)


@composite()
def lu_solve(input: Array, LU_data: Array, LU_pivots: Array, *, out: Any = None) -> Array:
    """The solution of A X = input from the factors that `linalg.lu_factor` gives for A."""
    deprecated("lu_solve", "torch.linalg.lu_solve", "X = torch.linalg.lu_solve(LU, pivots, B)")
    return linalg().lu_solve(LU_data, LU_pivots, input, out=out)


@composite()
def triangular_solve(
    input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """The solution of A X = input for a triangular A."""
    for name, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            wanted = f"Expected {name} to have at least 2 dimensions, but it has {x.ndim} dimensions instead"
            raise RuntimeError(f"torch.triangular_solve: {wanted}")
    linalg()._check.check_older_equation("triangular_solve", input._data, A._data)
    deprecated("triangular_solve", "torch.linalg.solve_triangular", "X = torch.linalg.solve_triangular(A, B)")
    matrix = A.mT if transpose else A
    solution = linalg().solve_triangular(matrix, input, upper=upper != transpose, unitriangular=unitriangular)
    results = (solution, A.expand(*solution.shape[:-2], *A.shape[-2:]).clone())
    return types.triangular_solve(several_into(out, results))
