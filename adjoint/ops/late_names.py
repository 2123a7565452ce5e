"""Functions and methods that are rarely used: what they do is imported when one is first called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .._layout import memory_format
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
def sparse_dim(input: Tensor) -> int:
    """How many of the dimensions are sparse: none."""
    return 0


@composite(function=False)
def dense_dim(input: Tensor) -> int:
    """How many of the dimensions are not sparse: all of them."""
    return input.ndim


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


@composite(function=False)
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The tensor itself: here every tensor is dense."""
    return input if dtype is None else input.to(dtype)


@composite("to_sparse", "to_sparse_coo", function=False)
def to_sparse(input: Tensor, sparse_dim: int | None = None) -> Any:
    """The elements that are not 0, with their places."""
    from ..sparse import to_sparse as made_sparse

    return made_sparse(input)


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
