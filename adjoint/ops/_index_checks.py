"""What functions that take indices refuse, before anything is read or written: one look at bounds for all of them, and PyTorch's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._primitives import loops
from ._registry import Array
from ._rules import wrap_dim

INT64, INT32 = np.dtype(np.int64), np.dtype(np.int32)


def first_outside(index: Array, low: int, high: int, like: Array | None = None) -> int | None:
    """The first index below `low`, or not below `high`; None if there is none, or if the values are not known (a batch, a shape).

    Indices are compared as they are, before anything is added to them or multiplied: what is computed from one that is out of bounds
    may wrap around to a place within. `like` is an array of the type that kernels are chosen by.
    """
    if index.__class__ is not np.ndarray or not index.size or (like is not None and loops("index").within(index, low, high, like)):
        return None
    if low <= int(index.min()) and int(index.max()) < high:
        return None
    return int(index[(index < low) | (index >= high)].reshape(-1)[0])


def check_bounds(index: Array, size: int, dim: int, like: Array, kind: type[Exception] = RuntimeError, whose: str = "") -> None:
    """Refuse an index that is negative or too large. `like` is an array of the type that kernels are chosen by."""
    if (bad := first_outside(index, 0, size, like)) is not None:
        raise kind(f"{whose}index {bad} is out of bounds for dimension {dim} with size {size}")


def check_along(name: str, input: Array, dim: int, index: Array, src: Array | None = None, whose: str = "self") -> int:
    """Refuse what does not fit together, before anything is read or written. The dimension, counted from the front."""
    dim = wrap_dim(dim, len(input.shape))
    if index.dtype not in (INT64, INT32) and index.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index\n  fix: index.long()")
    if src is not None and src.dtype != input.dtype:
        raise RuntimeError(
            f"scatter(): Expected self.dtype to be equal to src.dtype\n  fix: src.to({from_numpy_dtype(input.dtype)})"
        )
    if index.size == 0:
        return dim
    shape, indexed = input.shape or (1,), index.shape or (1,)
    if len(shape) != len(indexed):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    if src is not None and len(src.shape or (1,)) != len(indexed):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for d, size in enumerate(indexed):
        if d != dim and size > shape[d]:
            if src is None and name == "gather":
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(indexed)} to be no larger than self {list(shape)} "
                    f"apart from dimension {dim}"
                )
            raise RuntimeError(f"Expected index {list(indexed)} to be no larger than self {list(shape)} apart from dimension {dim}")
        if src is not None and size > (src.shape or (1,))[d]:
            raise RuntimeError(
                f"Expected index {list(indexed)} to be no larger than self {list(shape)} apart from dimension {dim} and to be no larger "
                f"size than src {list(src.shape)}"
            )
    check_bounds(index, shape[dim], dim, input)
    return dim


def check_selected(input: Array, dim: int, index: Array) -> int:
    """The dimension that `index_select` reads from, counted from the front, if index and tensor fit together."""
    dim = wrap_dim(dim, len(input.shape))
    if len(index.shape) > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector (it has {len(index.shape)} dimensions)")
    if index.dtype not in (INT64, INT32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index\n  fix: index.long()")
    if not input.shape and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    size = input.shape[dim] if input.shape else 1
    if first_outside(index, 0, size) is not None:
        if not size and len(input.shape) > 1:
            raise RuntimeError(f"index_select(): self indexing axis dim should be positive (dimension {dim} has size 0)")
        raise IndexError(f"index out of range in self (dimension {dim} has size {size})")
    return dim


def check_filled(input: Array, dim: int, index: Array, value: Any) -> int:
    """The same for `index_fill`."""
    if index.dtype != INT64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.\n  fix: index.long()")
    if input.dtype.kind != "c" and (isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    dim = wrap_dim(dim, len(input.shape))
    if len(index.shape) > 1:
        raise RuntimeError(f"Index has to be a vector/scalar (it has {len(index.shape)} dimensions)")
    size = input.shape[dim] if input.shape else 1
    if (bad := first_outside(index, -size, size, input)) is not None:
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
    return dim


def without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def check_combined(name: str, input: Array, dim: int, index: Array, source: Array) -> int:
    """The same for `index_add` and `index_reduce`."""
    dim = wrap_dim(dim, len(input.shape))
    if len(index.shape) > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {len(index.shape)} with type: "
            f"{from_numpy_dtype(index.dtype).scalar_name} and size: {list(index.shape)}"
        )
    if index.dtype not in (INT64, INT32):
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {from_numpy_dtype(index.dtype).scalar_name}")
    if input.dtype != source.dtype:
        names = [from_numpy_dtype(array.dtype).scalar_name for array in (input, source)]
        raise RuntimeError(f"{name}_(): self ({names[0]}) and source ({names[1]}) must have the same scalar type")
    if dim and dim >= len(source.shape):
        raise RuntimeError(f"{name}_(): Indexing dim {dim} is out of bounds of the source tensor with dim {len(source.shape)}")
    count = source.shape[dim] if source.shape else 1
    if index.size != count:
        raise RuntimeError(f"{name}_(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {dim}")
    if len(input.shape) != len(source.shape) or without(input.shape, dim) != without(source.shape, dim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    size = input.shape[dim] if input.shape else 1
    if name == "index_add" and len(input.shape) > 1:
        check_bounds(index, size, dim, input)
    else:
        check_bounds(index, size, dim, input, IndexError, "index out of range in self: ")
    return dim


def check_copied(input: Array, dim: int, index: Array, source: Array) -> int:
    """The same for `index_copy`."""
    dim = wrap_dim(dim, len(input.shape))
    if len(index.shape) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index.shape)})")
    if not source.shape and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.shape and input.shape and len(source.shape) != len(input.shape):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({len(source.shape)}), destination dimensionality ({len(input.shape)})"
        )
    if index.dtype != INT64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {from_numpy_dtype(index.dtype).scalar_name}")
    if input.dtype != source.dtype:
        names = [from_numpy_dtype(array.dtype).scalar_name for array in (input, source)]
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {names[0]} and (source) {names[1]}"
        )
    own, others = without(input.shape, dim), without(source.shape, dim)
    if own != others:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. "
            f"Destination slice shape: {' '.join(map(str, own))} at dimension {dim} and "
            f"source slice shape: {' '.join(map(str, others))} at dimension 0."
        )
    if source.shape and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    check_bounds(index, input.shape[dim] if input.shape else 1, dim, input, IndexError, "index_copy_(): ")
    return dim
