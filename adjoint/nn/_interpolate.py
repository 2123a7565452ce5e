"""`interpolate`: which elements of the input each element of the result is made of, and with which weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from .._site import warn
from .._tensor import Tensor
from ..ops.resample import ANTIALIASED, UPSAMPLING, Maps, Taps
from ._adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
NEEDED_DIMS = {"linear": 3, "bilinear": 4, "trilinear": 5}

# ---- positions and weights ----------------------------------------------------------------------------------------------------------


def _step(size: int, count: int, scale: float | None, align_corners: bool, dtype: Any) -> Any:
    """How far apart the elements of the result are, measured in elements of the input."""
    if align_corners:
        return dtype((size - 1) / (count - 1)) if count > 1 else dtype(0)
    return dtype(1 / scale) if scale is not None and scale > 0 else dtype(size) / dtype(count)


def _nearest(size: int, count: int, scale: float | None, exact: bool, images: bool) -> Taps:
    places = np.arange(count)
    if not exact and count == size:
        index = places
    elif images and not exact and count == 2 * size:  # PyTorch does so in two dimensions, whatever the scale is
        index = places // 2
    else:
        step = _step(size, count, scale, False, np.float32)
        index = np.floor((places + (0.5 if exact else 0)).astype(np.float32) * step).astype(np.int64)
    return Taps(size, np.minimum(index, size - 1)[:, None])


def _sources(size: int, count: int, scale: float | None, align_corners: bool, dtype: Any) -> Any:
    step = _step(size, count, scale, align_corners, dtype)
    places = np.arange(count, dtype=dtype)
    return step * places if align_corners else step * (places + dtype(0.5)) - dtype(0.5)


def _linear(size: int, count: int, scale: float | None, align_corners: bool, dtype: Any) -> Taps:
    if count == size:
        return Taps(size, np.arange(size)[:, None])
    source = np.maximum(_sources(size, count, scale, align_corners, dtype), dtype(0))
    below = np.minimum(np.floor(source).astype(np.int64), size - 1)
    above = np.minimum(below + 1, size - 1)
    share = np.clip(source - below.astype(dtype), 0, 1).astype(dtype)
    return Taps(size, np.stack([below, above], 1), np.stack([1 - share, share], 1))


def _cubic_weights(t: Any, a: float) -> list[Any]:
    """Keys' cubic convolution for elements at distances 1 + t, t, 1 - t and 2 - t."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(size: int, count: int, scale: float | None, align_corners: bool, dtype: Any) -> Taps:
    source = _sources(size, count, scale, align_corners, dtype)
    below = np.floor(source)
    weights = np.stack(_cubic_weights(source - below, -0.75), 1).astype(dtype)
    index = below.astype(np.int64)[:, None] + np.arange(-1, 3)
    return Taps(size, np.clip(index, 0, size - 1), weights)


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: Any) -> Any:
    x = np.abs(x)
    return np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, ((-0.5 * x + 2.5) * x - 4) * x + 2, 0))


def _lanczos(x: Any) -> Any:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS: dict[str, tuple[Callable[[Any], Any], int]] = {"bilinear": (_triangle, 1), "bicubic": (_keys, 2), "lanczos": (_lanczos, 3)}


def _antialiased(size: int, count: int, scale: float | None, align_corners: bool, mode: str, dtype: Any) -> Taps:
    """A filter that grows with the step, so that no element of the input is left out when the image shrinks."""
    function, radius = FILTERS[mode]
    step = _step(size, count, scale, align_corners, dtype)
    stretch = max(step, dtype(1))
    support = dtype(radius) * stretch
    centers = step * (np.arange(count, dtype=dtype) + dtype(0.5))
    first = np.maximum((centers - support + dtype(0.5)).astype(np.int64), 0)
    stop = np.minimum((centers + support + dtype(0.5)).astype(np.int64), size)
    width = int((stop - first).max())
    index = first[:, None] + np.arange(width)
    inside = index < stop[:, None]
    weights = np.where(inside, function((index - centers[:, None] + dtype(0.5)) / stretch), 0).astype(dtype)
    weights /= weights.sum(1, keepdims=True)
    # Outside the filter the last element inside it stands, with no weight.
    return Taps(size, np.minimum(index, stop[:, None] - 1), weights)


# ---- the function -------------------------------------------------------------------------------------------------------------------


def _sizes(
    spatial: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The size of the result, and the scale factors by which positions are computed (None: by the sizes)."""
    count = len(spatial)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        wanted = size if isinstance(size, tuple) else (size,) * count
        if len(wanted) != count:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(spatial)} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size "
                "in (o1, o2, ...,oK) format."
            )
        return wanted, (None,) * count
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = scale_factor if isinstance(scale_factor, tuple) else (scale_factor,) * count
    if len(factors) != count:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(spatial)} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    scales = tuple(float(factor) for factor in factors)
    sizes = tuple(math.floor(n * scale) for n, scale in zip(spatial, scales, strict=True))
    return sizes, (None,) * count if recompute else scales


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, spatial...) resized to `size`, or by `scale_factor`.

    >>> import adjoint as ad
    >>> ad.nn.functional.interpolate(ad.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    wanted = size
    if size is not None:
        try:
            size = tuple(map(index, size)) if isinstance(size, Sequence) else index(size)
        except TypeError:
            size = (1,) * len(size) if isinstance(size, Sequence) and not isinstance(size, str) else 1  # for the checks of all else
            wanted = TypeError
    if isinstance(scale_factor, list):
        scale_factor = tuple(scale_factor)
    data = input._data
    resize, how = _resizing(data.shape, data.dtype, size, scale_factor, mode, align_corners, bool(recompute_scale_factor), antialias)
    if wanted is TypeError:
        if size.__class__ is tuple:
            forms = "int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int]"
            raise TypeError(f"expected size to be one of {forms}, but got other numbers")
        raise TypeError(f"{resize.__name__}() received an invalid combination of arguments - size must be int or a tuple of ints")
    return resize(input, how)


@lru_cache(maxsize=256)
def _resizing(
    shape: tuple[int, ...], dtype: Any, size: Any, scale_factor: Any, mode: str, align_corners: bool | None, recompute: bool,
    antialias: bool,
) -> tuple[Callable[..., Tensor], Any]:
    """Which op does it, and what it is told, after all checks."""
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    ndim = len(shape)
    if not 3 <= ndim <= 5:
        raise _unsupported(ndim, mode)
    spatial, count = shape[2:], ndim - 2
    sizes, scales = _sizes(spatial, size, scale_factor, recompute)
    if antialias and not (mode in FILTERS and ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[count - 1], sizes
    if mode in NEEDED_DIMS and ndim != NEEDED_DIMS[mode]:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {NEEDED_DIMS[mode]}D input")
    if mode == "lanczos" and ndim != 4:
        raise _unsupported(ndim, mode)
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    op = ANTIALIASED[mode] if antialias else UPSAMPLING.get((mode, count))
    if op is None:
        raise _unsupported(ndim, mode)
    if min(*spatial, *sizes) <= 0:
        names = ("D", "H", "W")[3 - count :]
        given, wanted = (", ".join(f"{name}: {n}" for name, n in zip(names, s, strict=True)) for s in (spatial, sizes))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({given}) output ({wanted})")
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {ndim}D data tensor expected but got a tensor with sizes {list(shape)}")
    kind = np.float64 if dtype.name in ("float64", "uint8") else np.float32
    maps = []
    for n, o, scale in zip(spatial, sizes, scales, strict=True):
        if antialias:
            maps.append(_antialiased(n, o, scale, bool(align_corners), mode, kind))
        elif mode.startswith("nearest"):
            maps.append(_nearest(n, o, scale, mode == "nearest-exact", count == 2))
        else:
            maps.append((_cubic if mode == "bicubic" else _linear)(n, o, scale, bool(align_corners), kind))
    return op, Maps(*maps)


def _unsupported(ndim: int, mode: str) -> NotImplementedError:
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: {MODES} (got {mode})"
    )


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate` under its older name."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with `mode="nearest"`."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with `mode="bilinear"` and `align_corners=True`."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "bilinear", True)
