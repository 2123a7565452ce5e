"""Discrete Fourier transforms, under the names of `torch.fft`. The ops are in `ops/fft.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._dtype import as_dtype as _as_dtype
from ._dtype import default_numpy as _default_numpy
from ._dtype import from_numpy_dtype as _from_numpy_dtype
from ._dtype import promote_types as _promote_types
from ._errors import spelled as _spelled
from ._tensor import wrap as _wrap
from .ops import fft as _ops
from .ops._generated import documented as _documented
from .ops._generated import publish as _publish
from .ops._out import into as _into
from .ops._registry import FUNCTIONS as _FUNCTIONS
from .ops._rules import wrap_dim as _wrap_dim
from .ops.rearrange import on_device as _on_device

_COMPLEX64 = _from_numpy_dtype(np.dtype("complex64"))


def _ready(name: str, input: Any, real: bool = False) -> Any:
    """The input in floating point; complex numbers unless `real`."""
    dtype = input._data.dtype
    if (dtype.kind == "f" and dtype.itemsize >= 4) if real else dtype.kind == "c":
        return input
    if real and input.is_complex():
        words = {
            "ihfftn": "Only supports floating-point dtypes, but found: ", "rfftn": "rfftn expects a real-valued input tensor, but got ",
        }.get(name, f"{name} expects a real input tensor, but got ")  # fmt: skip
        raise RuntimeError(_spelled(f"{words}{input.dtype.scalar_name}\n  fix: torch.fft.fftn, or x.real"))
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(_from_numpy_dtype(_default_numpy()))
    if input.dtype.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {input.dtype.scalar_name}\n  fix: x.float()")
    return input if real or input.is_complex() else input.to(_promote_types(input.dtype, _COMPLEX64))


def _resized(x: Any, dim: int, n: int | None) -> Any:
    """The first `n` elements along a dimension, with zeros after the end."""
    size = x.shape[dim]
    if n is None or n == size:
        n = size
    elif n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    elif n < size:
        x = x.narrow(dim, 0, n)
    else:
        shape = list(x.shape)
        shape[dim] = n - size
        x = _FUNCTIONS["cat"]([x, x.new_zeros(shape)], dim)
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return x


def _scale(norm: str | None, size: int, inverse: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(size)
    return 1 / size if (norm == "forward") != inverse else 1.0


def _one_dim(input: Any, dim: int) -> int:
    ndim = len(input._data.shape)
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim + ndim if -ndim <= dim < 0 else _wrap_dim(dim, ndim)


def _dims_and_sizes(input: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int | None]]:
    """The dimensions to transform, and their sizes after padding (None is the present one)."""
    s = [s] if isinstance(s, int) else s
    if dim is not None:
        given = [dim] if isinstance(dim, int) else list(dim)
        if given and not input.ndim:
            raise IndexError(f"Dimension specified as {given[0]} but tensor has no dimensions")
        dims = tuple(_wrap_dim(int(d), input.ndim) for d in given)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        dims = tuple(range(input.ndim - len(s), input.ndim))
    else:
        dims = tuple(range(input.ndim))
    return dims, [None if n in (None, -1) else int(n) for n in (s or [None] * len(dims))]


def _given(name: str, out: Any, result: Any) -> Any:
    """The result, in the tensor given for it, which need not have its precision but be of its kind."""
    if out is not None and not (out.is_complex() if result.is_complex() else out.is_floating_point()):
        kind = "complex" if result.is_complex() else "floating point"
        raise RuntimeError(f"{name} expects a {kind} output tensor, but got {out.dtype.scalar_name}")
    return _into(out, result)


def _line(name: str, input: Any, n: int | None, dim: int, norm: str | None, inverse: bool, out: Any) -> Any:
    """The transform of complex numbers along one dimension."""
    x, dim = _ready(name, input), _one_dim(input, dim)
    size = x._data.shape[dim]
    if n is not None or not size:
        x, size = _resized(x, dim, n), n
    result = _ops.fft_c2c(x, (dim,), 1.0 if norm is None and not inverse else _scale(norm, size, inverse), inverse)
    return result if out is None else _given(name, out, result)


def _complex_transform(name: str, input: Any, s: Any, dim: Any, norm: str | None, inverse: bool, out: Any) -> Any:
    x = _ready(name, input)
    dims, sizes = _dims_and_sizes(x, s, dim)
    for d, n in zip(dims, sizes, strict=True):
        x = _resized(x, d, n)
    size = math.prod(x.shape[d] for d in dims)
    return _given(name, out, _ops.fft_c2c(x, dims, _scale(norm, size, inverse), inverse))


def _real_line(name: str, input: Any, n: int | None, dim: int, norm: str | None, inverse: bool, out: Any) -> Any:
    """The first half of the transform of real numbers along one dimension."""
    x, dim = _ready(name, input, real=True), _one_dim(input, dim)
    size = x._data.shape[dim]
    if n is not None or not size:
        x, size = _resized(x, dim, n), n
    half = _ops.fft_r2c(x, dim, 1.0 if norm is None and not inverse else _scale(norm, size, inverse))
    half = half.conj_physical() if inverse else half
    return half if out is None else _given(name, out, half)


def _from_real(name: str, input: Any, s: Any, dim: Any, norm: str | None, inverse: bool, out: Any) -> Any:
    x = _ready(name, input, real=True)
    dims, sizes = _dims_and_sizes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    for d, n in zip(dims, sizes, strict=True):
        x = _resized(x, d, n)
    scale = _scale(norm, math.prod(x.shape[d] for d in dims), inverse)
    half = _ops.fft_r2c(x, dims[-1], scale)
    if inverse:
        half = half.conj_physical()
    return _given(name, out, _ops.fft_c2c(half, dims[:-1], 1.0, inverse) if dims[1:] else half)


def _line_to_real(name: str, input: Any, n: int | None, dim: int, norm: str | None, inverse: bool, out: Any) -> Any:
    """The transform to real numbers along one dimension."""
    x, dim = _ready(name, input), _one_dim(input, dim)
    n = 2 * (x._data.shape[dim] - 1) if n is None else n
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    if x._data.shape[dim] != n // 2 + 1:
        x = _resized(x, dim, n // 2 + 1)
    return _given(name, out, _ops.fft_c2r(x if inverse else x.conj_physical(), dim, _scale(norm, n, inverse), n))


def _to_real(name: str, input: Any, s: Any, dim: Any, norm: str | None, inverse: bool, out: Any) -> Any:
    x = _ready(name, input)
    dims, sizes = _dims_and_sizes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = dims[-1]
    n = 2 * (x._data.shape[last] - 1) if sizes[-1] is None else sizes[-1]
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    for d, size in zip(dims, [*sizes[:-1], n // 2 + 1], strict=True):
        x = x if size == x._data.shape[d] else _resized(x, d, size)
    scale = _scale(norm, math.prod([x._data.shape[d] for d in dims[:-1]]) * n, inverse)
    if dims[1:]:
        x = _ops.fft_c2c(x, dims[:-1], 1.0, inverse)
    return _given(name, out, _ops.fft_c2r(x if inverse else x.conj_physical(), last, scale, n))


# ---- one dimension ------------------------------------------------------------------------------------------------------------------


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The Fourier transform along a dimension."""
    return _line("fft", input, n, dim, norm, False, out)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse Fourier transform along a dimension."""
    return _line("ifft", input, n, dim, norm, True, out)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The first half of the Fourier transform of real numbers."""
    return _real_line("rfft", input, n, dim, norm, False, out)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `rfft`, to `n` real numbers."""
    return _line_to_real("irfft", input, n, dim, norm, True, out)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The Fourier transform, real, of what is the first half of a Hermitian signal."""
    return _line_to_real("hfft", input, n, dim, norm, False, out)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `hfft`."""
    return _real_line("ihfft", input, n, dim, norm, True, out)


# ---- several dimensions -------------------------------------------------------------------------------------------------------------


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The Fourier transform along several dimensions, all of them by default."""
    return _complex_transform("fftn", input, s, dim, norm, False, out)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse Fourier transform along several dimensions, all of them by default."""
    return _complex_transform("ifftn", input, s, dim, norm, True, out)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The Fourier transform of real numbers along several dimensions, of which the last is halved."""
    return _from_real("rfftn", input, s, dim, norm, False, out)


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `rfftn`."""
    return _to_real("irfftn", input, s, dim, norm, True, out)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The Fourier transform, real, along several dimensions of a signal that is Hermitian in the last."""
    return _to_real("hfftn", input, s, dim, norm, False, out)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Any:
    """The inverse of `hfftn`."""
    return _from_real("ihfftn", input, s, dim, norm, True, out)


def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`fftn` along two dimensions."""
    return fftn(input, s, dim, norm, out=out)


def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`ifftn` along two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`rfftn` along two dimensions."""
    return rfftn(input, s, dim, norm, out=out)


def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`irfftn` along two dimensions."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`hfftn` along two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Any:
    """`ihfftn` along two dimensions."""
    return ihfftn(input, s, dim, norm, out=out)


# ---- frequencies --------------------------------------------------------------------------------------------------------------------


def _shifted(input: Any, dim: Any, forward: bool) -> Any:
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    dims = tuple(_wrap_dim(d, input.ndim) for d in dims)
    sizes = [input.shape[d] for d in dims]
    return _FUNCTIONS["roll"](input, [n // 2 if forward else (n + 1) // 2 for n in sizes], list(dims)) if dims else input.clone()


def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequency zero moved to the middle."""
    return _shifted(input, dim, True)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _shifted(input, dim, False)


def _frequencies(values: Any, n: int, d: float, dtype: Any, device: Any, requires_grad: bool, out: Any) -> Any:
    kind = (_default_numpy() if out is None else out.dtype.numpy) if dtype is None else _as_dtype(dtype).numpy
    if kind.kind in "biu":
        raise RuntimeError("fftfreq requires a floating point or complex dtype")
    if kind.kind == "c":
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{_as_dtype(dtype).scalar_name}'")
    made = _wrap((values / (n * d)).astype(kind))
    made = _on_device(made, device)
    return _into(out, made._set_requires_grad(requires_grad))


def fftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies of the elements of `fft` of `n` samples that are `d` apart."""
    return _frequencies(np.fft.ifftshift(np.arange(-(n // 2), (n + 1) // 2)), n, d, dtype, device, requires_grad, out)


def rfftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The frequencies of the elements of `rfft` of `n` samples that are `d` apart."""
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device, requires_grad, out)


def __dir__() -> list[str]:
    return sorted(name for name in globals() if not name.startswith("_") and name not in ("annotations", "Any", "math", "np"))


_publish(globals(), "fft_", [name for name in globals() if not name.startswith("_")])
_documented(globals(), "fft.")
