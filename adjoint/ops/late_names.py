"""Functions and methods that are rarely used: what they do is imported when one is first called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .._layout import memory_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._tensor import Tensor, wrap_result
from ._out import into
from ._registry import Array, composite
from ._rules import normalize_dims
from .complex_view import is_conj, is_neg
from .memory import owner_of


@composite()
def stft(
    input: Array, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
    pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The Fourier transforms of the pieces of a signal under a moving window: frequencies by times, for each signal of a batch."""
    return import_module("adjoint._spectral").stft(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window
    )


@composite()
def istft(
    input: Array, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
    normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signal of which `stft` gives these transforms."""
    return import_module("adjoint._spectral").istft(
        input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
    )


# ---- facts --------------------------------------------------------------------------------------------------------------------------


@composite()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return bool(input._data.shape == other._data.shape)


@composite(function=False)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors are the same view of the same memory."""
    if is_conj(input) != is_conj(tensor) or is_neg(input) != is_neg(tensor):
        return False
    same = owner_of(input._data) is owner_of(tensor._data) and input.storage_offset() == tensor.storage_offset()
    return bool(same and input.stride() == tensor.stride() and input.shape == tensor.shape)


@composite(function=False)
def dim_order(input: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, the outermost first. `ambiguity_check`: refuse where several would do; or a
    list of the formats, one of which it must be in."""
    strides = input.stride()
    formats: Any = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all(isinstance(one, memory_format) for one in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    several = len(set(strides)) != len(strides) or 1 in input.shape
    if ambiguity_check is not False and several and sum(input.is_contiguous(memory_format=one) for one in formats) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(input.ndim), key=lambda dim: -strides[dim]))


@composite()
def is_distributed(input: Tensor) -> bool:
    """Whether the elements are spread over several processes: never."""
    return False


@composite(method=False)
def get_device(input: Tensor) -> int:
    """The number of the device; -1 for the CPU."""
    return input.get_device()


# ---- sparse tensors -----------------------------------------------------------------------------------------------------------------


def _sparse() -> Any:
    return import_module("adjoint.sparse._methods")


@composite(function=False)
def sparse_dim(input: Tensor) -> int:
    """How many of the dimensions, the first ones, are sparse: none of a dense tensor."""
    return _sparse().sparse_dim(input)  # type: ignore[no-any-return]


@composite("dense_dim", "_dimV", function=False)
def dense_dim(input: Tensor) -> int:
    """How many of the dimensions, the last ones, are not sparse: all of a dense tensor."""
    return _sparse().dense_dim(input)  # type: ignore[no-any-return]


@composite(function=False)
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements of a sparse tensor, those too that are 0. A dense tensor is returned as it is."""
    return _sparse().to_dense(input, dtype, masked_grad)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse(
    input: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Tensor:
    """The elements that are not 0, with their places; of the last dimensions whole parts, if only `sparse_dim` are to be sparse."""
    return _sparse().to_sparse(input, sparse_dim, layout, blocksize, dense_dim)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse_coo(input: Tensor) -> Tensor:
    """The same in coordinate form."""
    return _sparse().to_sparse(input, None, sparse_coo, None, None)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The same by rows."""
    return _sparse().to_sparse(input, None, sparse_csr, None, dense_dim)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """The same by columns."""
    return _sparse().to_sparse(input, None, sparse_csc, None, dense_dim)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse_bsr(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The same in blocks, by rows of them."""
    return _sparse().to_sparse(input, None, sparse_bsr, blocksize, dense_dim)  # type: ignore[no-any-return]


@composite(function=False)
def to_sparse_bsc(input: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The same in blocks, by columns of them."""
    return _sparse().to_sparse(input, None, sparse_bsc, blocksize, dense_dim)  # type: ignore[no-any-return]


@composite(function=False)
def coalesce(input: Tensor) -> Tensor:
    """A sparse tensor in coordinate form, sorted, with the values at one place added up."""
    return _sparse().coalesce(input)  # type: ignore[no-any-return]


@composite(function=False)
def is_coalesced(input: Tensor) -> bool:
    """Whether it is."""
    return _sparse().is_coalesced(input)  # type: ignore[no-any-return]


@composite(function=False)
def _coalesced_(input: Tensor, coalesced: bool) -> Tensor:
    """Say whether it is."""
    return _sparse()._coalesced_(input, coalesced)  # type: ignore[no-any-return]


@composite(function=False)
def indices(input: Tensor) -> Tensor:
    """The places of the values of a coalesced sparse tensor, one in each column."""
    return _sparse().indices(input)  # type: ignore[no-any-return]


@composite(function=False)
def values(input: Tensor) -> Tensor:
    """The values of a sparse tensor, through which gradients flow."""
    return _sparse().values(input)  # type: ignore[no-any-return]


@composite(function=False)
def _indices(input: Tensor) -> Tensor:
    """The places of the values of a sparse tensor, coalesced or not."""
    return _sparse()._indices(input)  # type: ignore[no-any-return]


@composite(function=False)
def _values(input: Tensor) -> Tensor:
    """The values of a sparse tensor, coalesced or not, on their memory and without history."""
    return _sparse()._values(input)  # type: ignore[no-any-return]


@composite(function=False)
def _nnz(input: Tensor) -> int:
    """How many values a sparse tensor has."""
    return _sparse()._nnz(input)  # type: ignore[no-any-return]


@composite(function=False)
def crow_indices(input: Tensor) -> Tensor:
    """Where each row begins among the values of a matrix that is kept by rows."""
    return _sparse().compressed_part("crow_indices", input)  # type: ignore[no-any-return]


@composite(function=False)
def col_indices(input: Tensor) -> Tensor:
    """The columns of the values of a matrix that is kept by rows."""
    return _sparse().compressed_part("col_indices", input)  # type: ignore[no-any-return]


@composite(function=False)
def ccol_indices(input: Tensor) -> Tensor:
    """Where each column begins among the values of a matrix that is kept by columns."""
    return _sparse().compressed_part("ccol_indices", input)  # type: ignore[no-any-return]


@composite(function=False)
def row_indices(input: Tensor) -> Tensor:
    """The rows of the values of a matrix that is kept by columns."""
    return _sparse().compressed_part("row_indices", input)  # type: ignore[no-any-return]


@composite(function=False)
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix."""
    return import_module("adjoint.sparse").smm(input, mat)  # type: ignore[no-any-return]


@composite(function=False)
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` for a sparse `input`, as a sparse matrix."""
    return import_module("adjoint.sparse").sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)  # type: ignore[no-any-return]


@composite(function=False)
def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor in the places where a sparse one has values."""
    return _sparse().sparse_mask(input, mask)  # type: ignore[no-any-return]


@composite(function=False)
def sparse_resize_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the shape of a sparse tensor in place."""
    return _sparse().sparse_resize_(input, size, sparse_dim, dense_dim, False)  # type: ignore[no-any-return]


@composite(function=False)
def sparse_resize_and_clear_(input: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """The same, and drop all values."""
    return _sparse().sparse_resize_(input, size, sparse_dim, dense_dim, True)  # type: ignore[no-any-return]


# ---- the history ends here ----------------------------------------------------------------------------------------------------------


@composite(method=False)
def detach(input: Tensor) -> Tensor:
    """The same values without their history."""
    return input.detach()


@composite(method=False)
def detach_(input: Tensor) -> Tensor:
    """Forget the history of a tensor."""
    return input.detach_()


# ---- element by element, in Python --------------------------------------------------------------------------------------------------


def _each(target: Tensor, values: Any) -> Tensor:
    found = np.fromiter(values, object, target.numel())
    for value in found:
        if not isinstance(value, int | float | complex):
            raise TypeError(f"must be real number, not {type(value).__name__}")
    filled = found.astype(target._data.dtype).reshape(target.shape)
    return target.copy_(wrap_result(filled))


@composite(function=False)
def apply_(input: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it."""
    return _each(input, (callable(x) for x in input.detach().reshape(-1).tolist()))


@composite(function=False)
def map_(input: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it and of that of another tensor."""
    pairs = zip(input.detach().reshape(-1).tolist(), tensor.expand(input.shape).reshape(-1).tolist(), strict=True)
    return _each(input, (callable(x, y) for x, y in pairs))


@composite(function=False)
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """The same with two other tensors."""
    others = (other.expand(input.shape).reshape(-1).tolist() for other in (x, y))
    return _each(input, (callable(*three) for three in zip(input.detach().reshape(-1).tolist(), *others, strict=True)))


# ---- older names --------------------------------------------------------------------------------------------------------------------


@composite(function=False)
def resize(input: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape of the same size. (An older name of `view`.)"""
    result: Tensor = input.view(*sizes)
    return result


@composite(function=False)
def resize_as(input: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in the shape of another tensor."""
    result: Tensor = input.view(tensor.shape)
    return result


# ---- checksums ----------------------------------------------------------------------------------------------------------------------


@composite()
def hash_tensor(input: Tensor, dim: Any = None, *, keepdim: bool = False, mode: int = 0, out: Tensor | None = None) -> Tensor:
    """The exclusive or of the bits of all elements, or along dimensions: two tensors that differ will rarely agree in it."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown HashMode {mode}; 0 is the only one")
    data = input._data
    wide = data.astype(np.float64).view(np.uint64) if data.dtype.kind in "fV" else data.astype(np.int64).view(np.uint64)
    combine: Any = np.bitwise_xor.reduce
    result = wrap_result(combine(wide, axis=normalize_dims(dim, data.ndim) if data.ndim else (), keepdims=keepdim))
    return into(out, result)  # type: ignore[no-any-return]
