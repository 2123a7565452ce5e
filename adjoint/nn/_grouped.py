"""Products of groups of rows, each with a matrix of its own, as layers of experts need them."""

from __future__ import annotations

from typing import Any

from .._dtype import dtype
from .._tensor import Tensor
from ..ops.join import cat, stack


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: dtype | None = None
) -> Tensor:
    """Matrix products by groups. `offs` says where each group ends: along the rows of `mat_a`, if `mat_b` has a matrix for each group;
    along the columns of `mat_b`, if `mat_a` has; along the dimension that is summed, if both have two dimensions.

    >>> import adjoint as ad
    >>> rows, matrices = ad.ones(3, 2), ad.tensor([[[1.0], [1.0]], [[2.0], [2.0]]])
    >>> ad.nn.functional.grouped_mm(rows, matrices, offs=ad.tensor([1, 3])).flatten()
    tensor([2., 4., 4.])
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet: add it to the result")
    if mat_a.dim() not in (2, 3) or mat_b.dim() not in (2, 3):
        raise RuntimeError(f"mat_a and mat_b have to be 2 or 3 dimensional tensors, got {mat_a.dim()} and {mat_b.dim()}")
    if mat_a.dim() == mat_b.dim() == 3:
        if offs is not None:
            raise RuntimeError("Have to provide offsets if there is a 2d matrix, and no offset if both are 3d")
        return _cast(mat_a @ mat_b, out_dtype)
    if offs is None:
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both are 3d: write offs=...")
    ends = offs.tolist()
    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    if mat_b.dim() == 3:
        products = cat([mat_a[part] @ mat_b[group] for group, part in enumerate(parts)])
    elif mat_a.dim() == 3:
        products = cat([mat_a[group] @ mat_b[:, part] for group, part in enumerate(parts)], 1)
    else:
        products = stack([mat_a[:, part] @ mat_b[part] for part in parts])
    return _cast(products, out_dtype)


def _cast(tensor: Any, out_dtype: dtype | None) -> Tensor:
    return tensor if out_dtype is None else tensor.to(out_dtype)  # type: ignore[no-any-return]


_grouped_mm = grouped_mm  # torch._grouped_mm
