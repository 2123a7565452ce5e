"""A product added to something: `addmm` and its relatives, `beta * input + alpha * product`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.regions import PARTIAL
from ._batching import behind_batch
from ._primitives import loops
from ._registry import COMMON, Array, op
from ._rules import cast, sum_to
from .matmul import (
    ADDED,
    KERNELS,
    bmm,
    check_batches,
    check_bias,
    check_examples,
    check_expands,
    check_matrices,
    check_vector,
    matmul,
    mm,
    mv,
    outer_product,
    plain_pair,
    product,
    transposed,
)


def added(input: Array, x: Array, beta: float, alpha: float) -> Array:
    """`beta * input + alpha * x`, in the memory of `x`; with beta = 0 the input is ignored, NaN and all."""
    if beta != 0 and loops("outer").mixed(x, input, alpha, beta):
        return x
    if input.dtype != x.dtype:
        check_bias(x.shape, input, x)
    check_expands(input.shape, x.shape)
    x = scaled(x, alpha)
    if beta == 0:
        return x
    known = scaled(input, beta)
    return np.add(x, known, x) if x.__class__ is known.__class__ is np.ndarray and x.dtype is known.dtype else x + known


def scaled(x: Array, factor: float) -> Array:
    """`x * factor` in the dtype of `x`, to which the factor is converted too."""
    if factor == 1:
        return x
    if x.__class__ is not np.ndarray:
        return x * factor
    return cast(x * (int(factor) if x.dtype.kind in "iu" else factor), x.dtype)


def added_input(g: Array, input_shape: tuple[int, ...], beta: float) -> Array:
    return sum_to(scaled(g, beta), input_shape)


def added_batch(name: str, ranks: tuple[int, int], multiply: Any) -> Any:
    """The batching rule of `beta * input + alpha * multiply(a, b)`."""

    def rule(input: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
        check_examples(name, a, b, ranks)
        product = multiply(a, b) * alpha
        return product + behind_batch(input, product.ndim) * beta if beta else product

    return rule


def added_jvp(out: Array, beta: float, alpha: float, input_t: Array, multiply: Any, a: Array, b: Array, a_t: Array, b_t: Array) -> Array:
    """Forward mode of `beta * input + alpha * multiply(a, b)`."""
    tangent = out.new_zeros(out.shape) if input_t is None else np.broadcast_to(input_t * beta, out.shape)
    if a_t is not None:
        tangent = tangent + multiply(a_t, b) * alpha
    return tangent if b_t is None else tangent + multiply(a, b_t) * alpha


@op(inplace=True, wide=True, input=added_input,
    mat1=lambda g, mat2, alpha: scaled(product(g, transposed(mat2)), alpha),
    mat2=lambda g, mat1, alpha: scaled(product(transposed(mat1), g), alpha),
    holomorphic=True, jvp=lambda out, beta, alpha, input_t, mat1, mat2, mat1_t, mat2_t: added_jvp(
        out, beta, alpha, input_t, mm, mat1, mat2, mat1_t, mat2_t),
    batch=lambda input, mat1, mat2, beta, alpha: added_batch("mm", (2, 2), matmul)(input, mat1, mat2, beta, alpha))  # fmt: skip
def addmm(input: Array, mat1: Array, mat2: Array, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * mat1 @ mat2`."""
    if (kernel := KERNELS.get(mat1.dtype)) and mat1.ndim == 2 == mat2.ndim:
        alone = beta == 1 == alpha
        result = kernel(mat1, mat2, input if alone else None)
        if result is not None:
            return result if alone else added(input, result, beta, alpha)
    check_matrices("mat1", mat1, "mat2", mat2, ADDED)
    return added(input, product(mat1, mat2), beta, alpha)


@op(inplace=True, wide=True, input=added_input,
    mat=lambda g, vec, alpha: scaled(outer_product(g, vec), alpha),
    vec=lambda g, mat, alpha: scaled(product(transposed(mat), g), alpha),
    holomorphic=True, jvp=lambda out, beta, alpha, input_t, mat, vec, mat_t, vec_t: added_jvp(
        out, beta, alpha, input_t, mv, mat, vec, mat_t, vec_t),
    batch=lambda input, mat, vec, beta, alpha: added_batch("mv", (2, 1), lambda a, b: matmul(a, b.unsqueeze(-1)).squeeze(-1))(
        input, mat, vec, beta, alpha))  # fmt: skip
def addmv(input: Array, mat: Array, vec: Array, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * mat @ vec`."""
    if plain_pair(mat, vec) and mat.ndim == 2 and mat.shape[1:] == vec.shape:
        return added(input, mat.dot(vec), beta, alpha)
    check_vector(mat, vec)
    return added(input, product(mat, vec), beta, alpha)


@op(inplace=True, wide=True, input=added_input,
    batch1=lambda g, batch2, alpha: scaled(product(g, transposed(batch2)), alpha),
    batch2=lambda g, batch1, alpha: scaled(product(transposed(batch1), g), alpha),
    holomorphic=True, jvp=lambda out, beta, alpha, input_t, batch1, batch2, batch1_t, batch2_t: added_jvp(
        out, beta, alpha, input_t, bmm, batch1, batch2, batch1_t, batch2_t),
    batch=lambda input, batch1, batch2, beta, alpha: added_batch("bmm", (3, 3), matmul)(input, batch1, batch2, beta, alpha))  # fmt: skip
def baddbmm(input: Array, batch1: Array, batch2: Array, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * batch1 @ batch2`, for each pair of matrices."""
    check_batches(batch1, batch2)
    return added(input, product(batch1, batch2), beta, alpha)


@op(inplace=True, input=added_input,
    batch1=lambda g, batch2, alpha: scaled(product(np.expand_dims(g, 0), transposed(batch2)), alpha),
    batch2=lambda g, batch1, alpha: scaled(product(transposed(batch1), np.expand_dims(g, 0)), alpha),
    holomorphic=True, jvp=lambda out, beta, alpha, input_t, batch1, batch2, batch1_t, batch2_t: added_jvp(
        out, beta, alpha, input_t, lambda a, b: np.sum(bmm(a, b), axis=0), batch1, batch2, batch1_t, batch2_t),
    batch=lambda input, batch1, batch2, beta, alpha: added_batch("bmm", (3, 3), lambda a, b: matmul(a, b).sum(1))(
        input, batch1, batch2, beta, alpha))  # fmt: skip
def addbmm(input: Array, batch1: Array, batch2: Array, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * (the sum of the products of each pair of matrices)`."""
    check_batches(batch1, batch2)
    return added(input, np.add.reduce(product(batch1, batch2), axis=0, dtype=batch1.dtype), beta, alpha)


@op(inplace=True, promote=COMMON, overlap=PARTIAL, input=added_input,
    vec1=lambda g, vec2, alpha: scaled(product(g, vec2), alpha),
    vec2=lambda g, vec1, alpha: scaled(product(transposed(g), vec1), alpha),
    holomorphic=True, jvp=lambda out, beta, alpha, input_t, vec1, vec2, vec1_t, vec2_t: added_jvp(
        out, beta, alpha, input_t, lambda a, b: np.expand_dims(a, -1) * b, vec1, vec2, vec1_t, vec2_t),
    batch=lambda input, vec1, vec2, beta, alpha: added_batch("addr", (1, 1), lambda a, b: a.unsqueeze(-1) * b.unsqueeze(-2))(
        input, vec1, vec2, beta, alpha))  # fmt: skip
def addr(input: Array, vec1: Array, vec2: Array, beta: float = 1, alpha: float = 1) -> Array:
    """`beta * input + alpha * outer(vec1, vec2)`."""
    if len(vec1.shape) != 1 or len(vec2.shape) != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1 and vec2, but got {len(vec1.shape)}-D and {len(vec2.shape)}-D")
    common = np.result_type(input.dtype, vec1.dtype, vec2.dtype) if input.dtype != vec1.dtype or vec1.dtype != vec2.dtype else input.dtype
    if common.kind in "biu":
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if isinstance(factor, float):
                raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return added(cast(input, common), outer_product(cast(vec1, common), cast(vec2, common)), beta, alpha)
