"""Resampling: every element of the result is a weighted sum of a few elements of the input, one dimension after the other.

Interpolation and the padding modes that repeat elements are such maps. They are linear, and their transpose is the gradient, so two array
functions and two ops suffice for all; what else is here are PyTorch's names.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._pool_windows import along
from ._precision import wide
from ._registry import LEADING, LINEAR, Array, op
from ._rules import call, cast
from ._warm import KINDS


class Taps:
    """A linear map along one dimension: result `i` is the sum over `t` of `weight[i, t]` times element `index[i, t]` of `size` elements.
    Without weights it picks one element each."""

    def __init__(self, size: int, index: Array, weight: Array | None = None) -> None:
        self.size = size
        self.index = index
        self.weight = weight

    @property
    def count(self) -> int:
        return len(self.index)

    @cached_property
    def tables(self) -> dict[str, Array]:
        """Indices, and weights by dtype, as compiled code takes them."""
        weights = {c: None if self.weight is None else np.ascontiguousarray(self.weight, c) for c in KINDS}
        return {"index": np.ascontiguousarray(self.index, np.int64), **weights}

    @cached_property
    def by_source(self) -> tuple[Array, Array, Array]:
        """The same sorted by element: the order of all (place, tap) pairs, where the run of each element begins, and the elements."""
        flat = self.index.reshape(-1)
        order = np.argsort(flat, kind="stable")
        begins = np.flatnonzero(np.diff(flat[order], prepend=-1))
        return order, begins, flat[order][begins]


Maps = tuple[Taps, ...]  # for each of the last dimensions


def shaped(weight: Array, axis: int, ndim: int, dtype: Any) -> Array:
    """Numbers along one axis, ready to broadcast."""
    return weight.astype(dtype, copy=False).reshape(-1, *(1,) * (ndim - axis - 1))


def applied(x: Array, axis: int, taps: Taps) -> Array:
    if (found := directly("resample", x, axis, taps, taps.count)) is not None:
        return found
    if taps.weight is None:
        return np.take(x, taps.index[:, 0], axis)
    total: Array = None
    for t in range(taps.index.shape[1]):
        term = np.take(x, taps.index[:, t], axis) * shaped(taps.weight[:, t], axis, x.ndim, x.dtype)
        total = term if total is None else np.add(total, term, out=total)
    return total


def applied_back(g: Array, axis: int, taps: Taps) -> Array:
    """The transpose of `applied`."""
    if (found := directly("resample_back", g, axis, taps, taps.size)) is not None:
        return found
    out = np.zeros((*g.shape[:axis], taps.size, *g.shape[axis + 1 :]), g.dtype)
    if not taps.count:
        return out
    order, begins, elements = taps.by_source
    terms = np.take(g, order // taps.index.shape[1], axis)
    if taps.weight is not None:
        terms *= shaped(taps.weight.reshape(-1)[order], axis, g.ndim, g.dtype)
    out[along(axis, elements)] = np.add.reduceat(terms, begins, axis)
    return out


def directly(name: str, x: Array, axis: int, taps: Taps, length: int) -> Array | None:
    """The same by compiled code: `length` is that of the result along the axis."""
    from .._kernels import resample_loops

    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    if x.dtype.char not in KINDS or not x.size or not length:
        return None
    out = np.empty((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
    kernel = getattr(resample_loops, name)
    done = kernel.run(
        out, np.ascontiguousarray(x), taps.tables["index"], taps.tables[x.dtype.char], taps.size, taps.count, inner,
        taps.index.shape[1], outer, max(taps.size, taps.count) * inner,
    )  # fmt: skip
    return out if done else None


def resampled(input: Array, maps: Maps) -> Array:
    lead = len(input.shape) - len(maps)
    if input.__class__ is not np.ndarray:
        return np.empty_like(input, order="C", shape=(*input.shape[:lead], *(taps.count for taps in maps)))
    if input.dtype.kind == "u":
        return resampled_bytes(input, maps)
    x = wide(input) if any(taps.weight is not None for taps in maps) else input
    # Dimensions that shrink go before the last one, and those that grow after it: along the last one there are no rows to work on at once.
    growth = [taps.count / max(1, taps.size) for taps in maps[:-1]]
    for axis in sorted(range(len(maps)), key=[*growth, 1.0].__getitem__):
        x = applied(x, lead + axis, maps[axis])
    return cast(np.ascontiguousarray(x), input.dtype)


def resampled_bytes(x: Array, maps: Maps) -> Array:
    """Images of whole numbers: rounded after each dimension, the last one first, as PyTorch does."""
    for axis, taps in reversed(list(enumerate(maps, x.ndim - len(maps)))):
        if taps.weight is None:
            x = applied(x, axis, taps)
        else:
            x = np.clip(np.floor(applied(x.astype(np.float32), axis, taps) + 0.5), 0, 255).astype(x.dtype)
    return x


@op("resample", batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, input=lambda g, maps: call(resample_back, g, maps))
def resample(input: Array, maps: Maps) -> Array:
    return resampled(input, maps)


@op("resample_back", batch=LEADING, method=False, function=False, out=False, jvp=LINEAR, grad=lambda g, maps: call(resample, g, maps))
def resample_back(grad: Array, maps: Maps) -> Array:
    """The gradient of a resampling."""
    lead = len(grad.shape) - len(maps)
    if grad.__class__ is not np.ndarray:
        return np.empty_like(grad, order="C", shape=(*grad.shape[:lead], *(taps.size for taps in maps)))
    g = wide(grad)
    for axis, taps in reversed(list(enumerate(maps, lead))):
        g = applied_back(g, axis, taps)
    return cast(g, grad.dtype)


def resampling(name: str, node: str, refused: str = "biuc", known: tuple[str, ...] = ()) -> Any:
    """The op for one of PyTorch's functions. It refuses dtypes of some NumPy kinds, apart from those it knows by name."""

    @op(name, nodes=f"{node}Backward0", method=False, function=False, out=False, jvp=LINEAR, batch=LEADING,
        input=lambda g, maps: call(resample_back, g, maps))  # fmt: skip
    def sampled(input: Array, maps: Maps) -> Array:
        if input.dtype.kind in refused and input.dtype.name not in known:
            raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'\n  fix: x.float()")
        return resampled(input, maps)

    return sampled


UPSAMPLING: dict[tuple[str, int], Any] = {}  # by mode and number of dimensions
for _dims in (1, 2, 3):
    UPSAMPLING["nearest", _dims] = resampling(f"upsample_nearest{_dims}d", f"UpsampleNearest{_dims}D", known=("uint8",))
    UPSAMPLING["nearest-exact", _dims] = resampling(
        f"_upsample_nearest_exact{_dims}d", f"UpsampleNearestExact{_dims}D", known=("uint8",)
    )
UPSAMPLING["linear", 1] = resampling("upsample_linear1d", "UpsampleLinear1D")
UPSAMPLING["bilinear", 2] = resampling("upsample_bilinear2d", "UpsampleBilinear2D", known=("uint8",))
UPSAMPLING["bicubic", 2] = resampling("upsample_bicubic2d", "UpsampleBicubic2D", known=("uint8",))
UPSAMPLING["trilinear", 3] = resampling("upsample_trilinear3d", "UpsampleTrilinear3D")
ANTIALIASED = {
    "bilinear": resampling("_upsample_bilinear2d_aa", "UpsampleBilinear2DAa", known=("uint8",)),
    "bicubic": resampling("_upsample_bicubic2d_aa", "UpsampleBicubic2DAa", known=("uint8",)),
    "lanczos": resampling("_upsample_lanczos2d_aa", "UpsampleLanczos2DAa", known=("uint8",)),
}
REPEATING: dict[tuple[str, int], Any] = {}  # padding
for _dims in (1, 2, 3):
    REPEATING["reflect", _dims] = resampling(f"reflection_pad{_dims}d", f"ReflectionPad{_dims}D", "b")
    REPEATING["replicate", _dims] = resampling(f"replication_pad{_dims}d", f"ReplicationPad{_dims}D", "b")
    REPEATING["circular", _dims] = resampling(f"circular_pad{_dims}d", f"CircularPad{_dims}D", "")
