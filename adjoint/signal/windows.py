"""Window functions, under the names of `torch.signal.windows`. Each is computed in double precision from the positions of its points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._creation import make_array as _make_array
from .._dtype import as_dtype as _as_dtype
from .._dtype import as_numpy_dtype as _as_numpy_dtype
from .._tensor import wrap as _wrap
from ..ops._special_math import i0 as _i0

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip

Array = Any


def _window(
    name: str, M: int, values: Callable[[Array], Array], dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Any:
    """A window of M points, whose values are given for the points 0, 1, ... M - 1. A single point has the value 1."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    kind = _as_numpy_dtype(dtype)
    if dtype is not None and str(_as_dtype(dtype)) not in ("torch.float32", "torch.float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")

    def make() -> Array:
        return np.asarray(np.ones(M) if M < 2 else values(np.arange(M, dtype=np.float64))).astype(kind)

    return _wrap(_make_array(make, (M,), kind, device, None))._set_requires_grad(requires_grad)


def _intervals(M: int, sym: bool) -> int:
    """How many intervals the window covers: a periodic one leaves out its last point."""
    return M - 1 if sym else M


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The sum of a[i] cos(i x) with alternating signs, over one period."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")

    def values(n: Array) -> Array:
        angle = n * (2 * math.pi / _intervals(M, sym))
        return sum((-1) ** i * weight * np.cos(i * angle) for i, weight in enumerate(weights))

    return _window("general_cosine", M, values, dtype, layout, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Any:
    """`alpha - (1 - alpha) cos(x)`, over one period."""
    return general_cosine(M, a=(alpha, 1 - alpha), sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Any:
    """`0.54 - 0.46 cos(x)`, over one period."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Any:
    """`0.5 - 0.5 cos(x)`, over one period."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Any:
    """Blackman's three cosines."""
    return general_cosine(M, a=(0.42, 0.5, 0.08), sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The four cosines of Blackman and Harris with the lowest side lobes, as Nuttall chose them."""
    return general_cosine(M, a=(0.3635819, 0.4891775, 0.1365995, 0.0106411), sym=sym, **options)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A triangle."""
    return _window(
        "bartlett", M, lambda n: 1 - np.abs(2 * n / _intervals(M, sym) - 1), dtype, layout, device, requires_grad
    )


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Half a period of the sine."""
    return _window(
        "cosine", M, lambda n: np.sin((n + 0.5) * (math.pi / (M if sym else M + 1))), dtype, layout, device, requires_grad
    )


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`exp(-abs(n - center) / tau)`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _intervals(M, sym) / 2 if center is None else center
    return _window("exponential", M, lambda n: np.exp(-np.abs(n - middle) / tau), dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """The bell curve of a standard deviation."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian", M, lambda n: np.exp(-(((n - _intervals(M, sym) / 2) / std) ** 2) / 2), dtype, layout, device, requires_grad
    )


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Kaiser's window, made of Bessel functions; `beta` says how narrow it is."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(n: Array) -> Array:
        place = 2 * n / _intervals(M, sym) - 1
        return _i0(beta * np.sqrt(np.maximum(1 - place * place, 0))) / _i0(np.asarray(float(beta)))

    return _window("kaiser", M, values, dtype, layout, device, requires_grad)


def __dir__() -> list[str]:
    return __all__
