"""Sparse tensors: what PyTorch has in `torch.sparse`.

A sparse tensor is a Tensor that holds a pattern and the values in its places (_array.py). Two ops take it apart and put it together
(_ops.py), and everything else is written with ordinary ops on the values: so gradients reach them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._standing import refused
from .._tensor import Tensor
from ._construct import sparse_bsc_tensor as sparse_bsc_tensor
from ._construct import sparse_bsr_tensor as sparse_bsr_tensor
from ._construct import sparse_compressed_tensor as sparse_compressed_tensor
from ._construct import sparse_coo_tensor as sparse_coo_tensor
from ._construct import sparse_csc_tensor as sparse_csc_tensor
from ._construct import sparse_csr_tensor as sparse_csr_tensor
from ._invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._make import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from ._make import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from ._products import hspmm as hspmm
from ._products import reduced_product
from ._products import sampled_addmm as sampled_addmm
from ._products import smm as smm
from ._products import sspaddmm as sspaddmm
from ._reductions import softmax as _softmax
from ._reductions import sum_dim
from ._rows import step_sparse as step_sparse


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of a sparse matrix with a dense or sparse one. `reduce`: what is made of the products that meet in an element, their
    "sum", "mean", "amax" or "amin".

    >>> import adjoint as ad
    >>> graph = ad.sparse_coo_tensor([[0, 0, 1], [1, 2, 0]], [1.0, 1.0, 1.0], (3, 3))
    >>> ad.sparse.mm(graph, ad.tensor([[1.0], [2.0], [4.0]]))
    tensor([[6.],
            [1.],
            [0.]])
    """
    if reduce == "sum":
        return mat1.mm(mat2)
    return reduced_product(mat1, mat2, reduce)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`."""
    return mat.addmm(mat1, mat2, beta=beta, alpha=alpha)


hsmm, saddmm = hspmm, addmm  # older names


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all values, or along dimensions: sparse, if sparse dimensions are left."""
    return input.sum(dtype=dtype) if dim is None else sum_dim(input, dim, False, dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension. Only the values take part: what has no value counts as minus infinity."""
    return _softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _softmax(input, dim, dtype, log=True)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of `diagonals` on its diagonals, as many places beside the main one as `offsets` says."""
    from ._make import diagonals_in

    return diagonals_in(diagonals, offsets, shape, layout)


@refused("adjoint solves no sparse systems; make the matrix dense, torch.linalg.solve(A.to_dense(), b), or hand SciPy its parts")
def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor: ...  # type: ignore[empty-body]


@refused("adjoint has no 2:4 sparse tensors, which are a format of GPUs; use the dense tensor, or x.to_sparse_csr()")
def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Tensor: ...  # type: ignore[empty-body]


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A `gradcheck` that takes sparse inputs and results; the one of `adjoint.autograd` does already."""
    return gradcheck


def _legacy(kind: str) -> Callable[..., Tensor]:
    def make(indices: Any = None, values: Any = None, size: Any = None, **options: Any) -> Tensor:
        given = values if values is None else values.type(f"torch.{kind}Tensor")
        return sparse_coo_tensor(indices, given, size, **options)

    make.__name__ = make.__qualname__ = f"{kind}Tensor"
    make.__doc__ = f"A sparse tensor of the dtype of `{kind}Tensor`. (An older name of `sparse_coo_tensor`.)"
    return make


FloatTensor, DoubleTensor, LongTensor, IntTensor = map(_legacy, ("Float", "Double", "Long", "Int"))
HalfTensor, BFloat16Tensor, ShortTensor, CharTensor, ByteTensor = map(_legacy, ("Half", "BFloat16", "Short", "Char", "Byte"))
