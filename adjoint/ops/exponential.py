"""The exponential of a matrix. A rule needs its derivative in a direction, which for arrays is computed along with it, and for everything
else is the corner of the exponential of a matrix of twice the size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._matrices import check_floating, check_matrices
from ._precision import FLOAT32, is_half
from ._primitives import loops, opaque
from ._registry import LEADING, Array, op
from ._rules import call, cast
from .linalg import HIDDEN, real, times
from .matmul import transposed


@opaque("exponential.matrices", meta=lambda a: a * 1)
def exponential(a: Array) -> Array:
    """The exponentials of matrices."""
    if not a.size:
        return a * 1
    if real(a) and (found := loops("exponential").exponential(a)) is not None:
        return found[0]
    return squared_series(a, halvings_of(a), times)


def exponential_along(A: Array, A_t: Array) -> Array:
    """The derivative of the exponential in a direction."""
    if A.__class__ is A_t.__class__ is np.ndarray and A.shape == A_t.shape and A.size and not is_half(A.dtype):
        if real(A) and (found := loops("exponential").exponential(A, A_t)) is not None:
            return found[1]
        return squared_series(np.stack([A, A_t]), halvings_of(A), product_of_pairs)[1]
    n = A.shape[-1]
    top = np.concatenate([A, A_t], axis=-1)
    bottom = np.concatenate([np.zeros_like(A), A], axis=-1)
    return call(linalg_matrix_exp, np.concatenate([top, bottom], axis=-2))[..., :n, n:] * 1


def product_of_pairs(x: Array, y: Array) -> Array:
    """The product of two matrices, and its derivative."""
    return np.stack([times(x[0], y[0]), times(x[0], y[1]) + times(x[1], y[0])])


def halvings_of(a: Array) -> Array:
    """How often each matrix is to be halved until few terms of the series are enough."""
    norm = np.max(np.sum(np.abs(a), axis=-2), axis=-1)
    halvings = np.ceil(np.log2(np.where(norm > 0, norm, 1) / loops("exponential").REACH[a.real.dtype.char]))
    return np.where(np.isfinite(halvings), np.maximum(halvings, 0), 0).astype(int)


def squared_series(a: Array, halvings: Array, product: Callable[[Array, Array], Array]) -> Array:
    """Halve matrices, take the first terms of the series, and square. `a` may be pairs of matrices, the second the derivative of the
    first; then so is the result."""
    coefficients = loops("exponential").COEFFICIENTS
    identity = np.zeros_like(a)
    np.einsum("...ii->...i", identity if product is times else identity[0])[...] = 1
    a = a * np.exp2(-halvings).astype(a.real.dtype)[..., None, None]
    square = product(a, a)
    powers, fourth = (identity, a, square, product(square, a)), product(square, square)
    total = coefficients[-1] * fourth
    for first in range(len(coefficients) - 5, -1, -4):
        total = total if first == len(coefficients) - 5 else product(total, fourth)
        for k, power in enumerate(powers, first):
            total += coefficients[k] * power
    for k in range(int(np.max(halvings, initial=0))):
        total = np.where((k < halvings)[..., None, None], product(total, total), total)
    return total


def _exp_rule(g: Array, A: Array) -> Array:
    return exponential_along(transposed(A), g)


@op(batch=LEADING, holomorphic=True, jvp=exponential_along, A=_exp_rule, **HIDDEN)
def linalg_matrix_exp(A: Array) -> Array:
    """The exponential of each matrix."""
    check_matrices("linalg.matrix_exp", A)
    if A.dtype.kind in "iub":
        check_floating("linalg.matrix_exp", A)
    return cast(exponential(cast(A, FLOAT32)), A.dtype) if is_half(A.dtype) else exponential(A)
