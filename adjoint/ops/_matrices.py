"""What functions of linear algebra ask of their arguments, in PyTorch's words. Everything is asked before anything is computed."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .._dtype import can_cast, from_numpy_dtype
from .._errors import spelled
from ._rules import holds

Shape = tuple[int, ...]


def scalar_name(x: Any) -> str:
    return from_numpy_dtype(x.dtype).scalar_name


def check_matrices(name: str, a: Any, square: bool = True, called: str = "A") -> None:
    """Refuse what is no batch of matrices."""
    if len(a.shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {called} must have at least 2 dimensions.")
    rows, columns = a.shape[-2:]
    if square and rows != columns:
        raise RuntimeError(f"{name}: {called} must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_square(a: Any, name: str = "") -> None:
    rows, columns = a.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_floating(name: str, a: Any, kernel: str | None = None) -> None:
    """Refuse integers, and half precision: that as what `kernel` does not do, where one is named."""
    if a.dtype.char not in "fdFD":
        kind = from_numpy_dtype(a.dtype)
        if kind.is_floating_point:
            if kernel is not None:
                not_implemented(kernel, a)
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {kind.scalar_name}\n  fix: A.float()")
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {kind.scalar_name}\n  fix: A.float()")


def check_supported(kernel: str, a: Any) -> None:
    if a.dtype.char not in "fdFD":
        not_implemented(kernel, a)


def check_castable(name: str, out: Any, kind: Any, called: str = "result") -> None:
    """Refuse a tensor for the result whose dtype loses more than precision."""
    if out is not None and not can_cast(kind, out.dtype):
        raise RuntimeError(
            spelled(
                f"{name}: Expected {called} to be safely castable from {kind.scalar_name} dtype, but got {called} with dtype "
                f"{out.dtype.scalar_name}\n  fix: out=torch.empty(0, dtype={kind})"
            )
        )


def not_implemented(kernel: str, a: Any) -> NoReturn:
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(a)}'\n  fix: A.float()")


def check_batches(first: Shape, second: Shape) -> None:
    """Refuse batches of matrices that do not broadcast."""
    a, b = first[:-2], second[:-2]
    for step in range(1, min(len(a), len(b)) + 1):
        if a[-step] != b[-step] and 1 not in (a[-step], b[-step]):
            raise RuntimeError(
                f"The size of tensor a ({a[-step]}) must match the size of tensor b ({b[-step]}) at non-singleton dimension "
                f"{max(len(a), len(b)) - step}: the batches are {list(a)} and {list(b)}"
            )


def check_equation(name: str, a: Any, b: Any, left: bool = True) -> None:
    """Refuse a right side that does not fit the matrices."""
    check_matrices(name, b, square=False, called="B")
    if a.shape[-1] != b.shape[-2 if left else -1]:
        sizes = f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} {sizes}")


def check_older_equation(name: str, b: Any, a: Any) -> None:
    """The same for the functions that were there before `torch.linalg`."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_name(b)} and A of type {scalar_name(a)} instead."
        )
    check_square(a)
    if a.shape[-2] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {a.shape[-1]} by {a.shape[-1]} but each b matrix is {b.shape[-2]} by "
            f"{b.shape[-1]}"
        )
    check_batches(b.shape, a.shape)


def check_pivots(name: str, pivots: Any, limit: int, batch: Shape, count: int) -> None:
    """Refuse exchanges of rows that are not there."""
    if pivots.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if tuple(pivots.shape) != (*batch, count):
        if not pivots.shape or pivots.shape[-1] != count:
            raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    if holds(np.any((pivots < 1) | (pivots > limit))):
        raise RuntimeError(
            f"Pivots given to {name.rpartition('.')[2]} must all be greater or equal to 1. Did you properly pass the result of lu_factor?"
            if pivots.min() < 1
            else f"Pivots given to {name.rpartition('.')[2]} must all be smaller or equal to LU.size(-2). "
            "Did you properly pass the result of lu_factor?"
        )


def check_reflections(name: str, a: Any, tau: Any, kernel: str) -> None:
    """Refuse factors of reflections that do not belong to the vectors in the columns of a matrix."""
    if len(a.shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if not tau.shape:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if a.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if len(tau.shape) != len(a.shape) - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(tau.shape)} and input.ndim is "
            f"equal to {len(a.shape)}"
        )
    if tau.shape[:-1] != a.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}")
    if tau.dtype != a.dtype:
        raise RuntimeError(f"{name}: tau dtype {scalar_name(tau)} does not match input dtype {scalar_name(a)}")
    check_supported(kernel, a)
