"""Sums of products over chosen dimensions: tensordot and its relatives. `einsum` is in einsum.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._methods import OpMethods
from ._batching import expanded
from ._out import into
from ._primitives import loops
from ._registry import FUNCTIONS, MULTILINEAR, RANKED, Array, composite, op
from ._rules import call, wrap_dim
from .matmul import C_NAMES, dot, mm
from .parts import EVERYTHING

Shape = tuple[int, ...]

# ---- two vectors --------------------------------------------------------------------------------------------------------------------


@composite("outer", "ger")
def outer(input: Array, vec2: Array, *, out: Any = None) -> Array:
    """All products of an element of one vector with an element of another."""
    for name, x in (("self", input), ("vec2", vec2)):
        if len(x.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(x.shape)}-D")
    return FUNCTIONS["mul"](input[:, None], vec2, out=out)


@composite()
def vdot(input: Array, other: Array, *, out: Any = None) -> Array:
    """The scalar product, with the first vector conjugated."""
    return dot(input.conj() if input.is_complex() else input, other, out=out)


@composite()
def inner(input: Array, other: Array, *, out: Any = None) -> Array:
    """The scalar products of the vectors in the last dimension of each."""
    shape, second = input._data.shape, other._data.shape
    if not shape or not second:
        return FUNCTIONS["mul"](input, other, out=out)
    if shape[-1] != second[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(shape)} and {list(second)}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"both inputs should have same dtype: they have {input.dtype} and {other.dtype}\n  fix: b.to({input.dtype})")
    left = input if len(shape) == 2 else input.reshape(math.prod(shape[:-1]), shape[-1])
    right = other if len(second) == 2 else other.reshape(math.prod(second[:-1]), second[-1])
    result = mm(left, right.t())
    return into(out, result if len(shape) == len(second) == 2 else result.reshape(shape[:-1] + second[:-1]), _TENSORDOT)


@lru_cache(256)
def _woven(a: Shape, b: Shape) -> tuple[Shape, Shape, Shape]:
    """Shapes in which two tensors, multiplied, have the elements of their Kronecker product in order; and the shape of that."""
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
    ones = (1,) * ndim
    spaced, tiles = (tuple([size for pair in zip(*pairs, strict=True) for size in pair]) for pairs in ((a, ones), (ones, b)))
    return spaced, tiles, tuple([m * n for m, n in zip(a, b, strict=True)])


def _kron_factor(g: Array, x: Array, of_first: bool, shape: Shape, other: Shape) -> Array:
    """The gradient of a factor, of this shape; `x` is the other."""
    spaced, tiles, _ = _woven(shape, other) if of_first else _woven(other, shape)
    places = tuple(range(int(of_first), len(spaced), 2))
    whole = x.reshape(tuple([(tiles if of_first else spaced)[place] for place in places]))
    products = g.reshape(tuple([m * n for m, n in zip(spaced, tiles, strict=True)]))
    return np.tensordot(products, whole, (places, tuple(range(len(places))))).reshape(shape)


def _kron_examples(input: Any, other: Any, examples: int, batched: list[bool]) -> Any:
    whole, tile = expanded(input, examples, batched[0]), expanded(other, examples, batched[1])
    spaced, tiles, shape = _woven(tuple(whole.shape[1:]), tuple(tile.shape[1:]))
    return (whole.reshape(examples, *spaced) * tile.reshape(examples, *tiles)).reshape(examples, *shape)


@op(
    promote=RANKED, wide=True, jvp=MULTILINEAR, nodes="UnsafeViewBackward0", batch=_kron_examples,
    input=lambda g, other, input_shape, other_shape: _kron_factor(g, other, True, input_shape, other_shape),
    other=lambda g, input, input_shape, other_shape: _kron_factor(g, input, False, other_shape, input_shape),
)  # fmt: skip
def kron(input: Array, other: Array) -> Array:
    """The Kronecker product: each element of `input`, replaced by its product with `other`."""
    if input.__class__ is np.ndarray and (found := loops("outer").kron(input, other)) is not None:
        return found
    spaced, tiles, shape = _woven(tuple(input.shape), tuple(other.shape))
    return (input.reshape(spaced) * other.reshape(tiles)).reshape(shape)


@op(
    "linalg_cross", method=False, function=False, out=False, wide=True, jvp=MULTILINEAR,
    batch=lambda input, other, dim, examples, batched: vector_product(
        expanded(input, examples, batched[0]), expanded(other, examples, batched[1]), dim + 1
    ),
    input=lambda g, other, dim: call(vector_product, other, g, dim),
    other=lambda g, input, dim: call(vector_product, g, input, dim),
)  # fmt: skip
def vector_product(input: Array, other: Array, dim: int) -> Array:
    """The vector product of tensors of one shape along a dimension of size three, counted from the front."""
    if input.__class__ is np.ndarray and (found := loops("outer").cross(input, other, dim)) is not None:
        return found
    lead = (EVERYTHING,) * dim
    (ax, ay, az), (bx, by, bz) = ([x[(*lead, place)] for place in range(3)] for x in (input, other))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=dim)


_TENSORDOT = "tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {given}"


@composite(method=False)
def tensordot(a: Array, b: Array, dims: Any = 2, out: Any = None) -> Array:
    """The sum of products over the last `dims` dimensions of `a` and the first of `b`, or over a list of dimensions of each."""
    over_a, over_b = contracted_dims(a, b, dims)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"both inputs should have same dtype: they have {a.dtype} and {b.dtype}\n  fix: b.to({a.dtype})")
    for i, j in zip(over_a, over_b, strict=True):
        if a.shape[i] != b.shape[j] and a.shape[i] != 1 and b.shape[j] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}"
            )
    for i, j in zip(over_a, over_b, strict=True):  # a dimension of size one goes with any: it is summed on the other side
        if a.shape[i] != b.shape[j]:
            summed = (b.sum(j, keepdim=True, dtype=b.dtype)) if a.shape[i] == 1 else (a.sum(i, keepdim=True, dtype=a.dtype))
            a, b = (a, summed) if a.shape[i] == 1 else (summed, b)
    free_a = [d for d in range(a.ndim) if d not in over_a]
    free_b = [d for d in range(b.ndim) if d not in over_b]
    inner_size = math.prod(a.shape[d] for d in over_a)
    left = a.permute([*free_a, *over_a]).reshape(math.prod(a.shape[d] for d in free_a), inner_size)
    right = b.permute([*over_b, *free_b]).reshape(inner_size, math.prod(b.shape[d] for d in free_b))
    result = mm(left, right).reshape([a.shape[d] for d in free_a] + [b.shape[d] for d in free_b])
    return into(out, result, _TENSORDOT)


def contracted_dims(a: Array, b: Array, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, OpMethods):
        dims = dims.tolist()  # type: ignore[attr-defined]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(a.shape), len(b.shape)):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(len(a.shape) - dims, len(a.shape))), list(range(dims))
    first, second = (list(x) if isinstance(x, Sequence) else [x] for x in dims)
    if len(first) != len(second):
        raise RuntimeError(f"both dimension lists should have same length, got {first} and {second}")
    return [wrap_dim(d, len(a.shape)) for d in first], [wrap_dim(d, len(b.shape)) for d in second]


# ---- chains of matrices -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def best_order(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split each part of a chain for the fewest multiplications. Matrix i has `sizes[i]` rows and `sizes[i + 1]` columns."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def multi_dot(tensors: Sequence[Array], *, out: Any = None) -> Array:
    """The product of several matrices, in the order that takes the fewest multiplications. The first and the last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    chain = list(tensors)
    row, column = len(chain[0].shape) == 1, len(chain[-1].shape) == 1
    for end, place in (("first", 0), ("last", -1)):
        if len(chain[place].shape) not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {end} tensor must be 1D or 2D but got {len(chain[place].shape)}D")
    if row:
        chain[0] = chain[0][None]
    if column:
        chain[-1] = chain[-1][:, None]
    for i, x in enumerate(chain):
        if x.dtype != chain[0].dtype:
            kinds = C_NAMES[chain[0].dtype.name], C_NAMES[x.dtype.name]
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {kinds[0]} and tensor {i} {kinds[1]}")
        if len(x.shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(x.shape)}D")
        if i and chain[i - 1].shape[1] != x.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].shape)} and {list(tensors[i].shape)} "
                "cannot be multiplied"
            )
    split = best_order((chain[0].shape[0], *(x.shape[1] for x in chain)))

    def product(i: int, j: int) -> Array:
        return chain[i] if i == j else mm(product(i, split[i, j]), product(split[i, j] + 1, j))

    if out is not None and out.dtype is not chain[0].dtype:
        kinds = C_NAMES[chain[0].dtype.name], C_NAMES[out.dtype.name]
        raise RuntimeError(f"multi_dot(): expected out tensor to have dtype {kinds[0]} but got {kinds[1]}")
    result = product(0, len(chain) - 1)
    if row:
        result = result[0]
    if column:
        result = result[..., 0]
    return into(out, result, "multi_dot(): expected out tensor to have dtype {wanted} but got {given}")


@composite(method=False)
def chain_matmul(*matrices: Array, out: Any = None) -> Array:
    """The product of several matrices; `torch.linalg.multi_dot` under its older name."""
    from ._deprecation import warn_once

    warn_once("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return into(out, matrices[0].clone()) if len(matrices) == 1 else multi_dot(matrices, out=out)
