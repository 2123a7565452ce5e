"""`pad`: more elements at the ends of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._tensor import Tensor
from ..ops._registry import Array, op
from ..ops._rules import call, zeros_on
from ..ops.assign import number_for, raise_overflow
from ..ops.resample import NOTHING, REPEATING, Maps, Taps, directly

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]  # before and after, for each dimension; negative to take away

MODES = ("reflect", "replicate", "circular")
MOST = 3  # dimensions that a kernel pads


def inner(pads: Pads, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Where the old elements are in the padded array; negative padding adds nothing."""
    return tuple([slice(max(0, a), size - max(0, b)) for (a, b), size in zip(pads, shape, strict=True)])


def trimmed(pads: Pads, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """What negative padding leaves of the old elements."""
    return tuple([slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(pads, shape, strict=True)])


def negated(pads: Pads) -> Pads:
    return tuple([(-a, -b) for a, b in pads])


def pad_rule(g: Array, pads: Pads) -> Array:
    if min(map(min, pads), default=0) < 0:
        return call(constant_pad, g, negated(pads), 0)
    return g[inner(pads, g.shape)]


@op(method=False, function=False, images=("input",), nodes="ConstantPadNdBackward0", warns=False, input=pad_rule,
    batch=lambda input, pads, value: constant_pad(input, ((0, 0), *pads), value),
    holomorphic=True, jvp=lambda input_t, pads: constant_pad(input_t, pads, 0))  # fmt: skip
def constant_pad(input: Array, pads: Pads, value: Any) -> Array:
    """A number before and after the elements."""
    shape, place, part, maps = layout(input.shape, pads)
    if input.dtype.kind in "iu" and value:
        if input.dtype.kind == "u" and value < 0:
            raise_overflow(input.dtype)
        value = number_for(value, input.dtype)
    if maps is not None and input.__class__ is np.ndarray:
        fill = np.empty(1, input.dtype)
        fill[0] = value
        if (padded := directly(input, maps.there, shape, fill)) is not None:
            return padded
    result = zeros_on(input, shape, input.dtype)
    if value != 0:
        result[...] = value
    result[place] = input if part is None else input[part]
    return result


Slices = tuple[slice, ...]


@lru_cache(256)
def layout(shape: Shape, pads: Pads) -> tuple[Shape, Slices, Slices | None, Maps | None]:
    """The shape of a padded array, where in it the old elements are, which of them, if not all, and the map that a kernel can do."""
    padded = tuple([size + a + b for size, (a, b) in zip(shape, pads, strict=True)])
    first = next((dim for dim, pad in enumerate(pads) if pad != (0, 0)), len(pads) - 1)
    lines = [*zip(shape, pads, strict=True)][first:]
    maps = None
    if 1 <= len(lines) <= MOST and 0 not in padded:
        maps = Maps(*[Taps(size, constant_places(size, *pad)[:, None]) for size, pad in lines])
    return padded, inner(pads, padded), trimmed(pads, shape) if min(map(min, pads), default=0) < 0 else None, maps


def constant_places(size: int, before: int, after: int) -> Array:
    """Which elements of a dimension the padded one consists of, where it consists of elements."""
    places = np.arange(-before, size + after)
    return np.where((places < 0) | (places >= size), NOTHING, places)


def all_pads(ndim: int, pad: Sequence[int]) -> Pads:
    """The padding of each dimension."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and input "
            f"of dimension {ndim}"
        )
    given = list(zip(pad[::2], pad[1::2], strict=True))
    return ((0, 0),) * (ndim - len(given)) + tuple(reversed(given))


@lru_cache(256)
def constant_pads(shape: Shape, pad: Shape) -> Pads:
    """The same, refused where it leaves less than nothing."""
    pads = all_pads(len(shape), pad)
    for size, (before, after) in zip(shape, pads, strict=True):
        if size + before + after < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after}, resulted in a negative output size, which is "
                "invalid. Check dimension of your input."
            )
    return pads


def _pad_sizes(pad: Sequence[int]) -> Shape:
    sizes = tuple(pad)
    if {*map(type, sizes)} - {int}:
        for place, size in enumerate(sizes):
            if isinstance(size, float | str):
                found = f"element of type {type(size).__name__} at pos {place}"
                raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, but found {found}")
    return sizes


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements at the ends of the last dimensions: `pad` is (before, after) of the last one, then of the one before it, and so on."""
    if mode == "constant":
        pads = constant_pads(input._data.shape, _pad_sizes(pad))
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        return constant_pad(input, pads, 0 if value is None else value)  # type: ignore[no-any-return]
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    maps = _maps(input._data.shape, _pad_sizes(pad), mode)
    return REPEATING[mode, maps.dims](input, maps)  # type: ignore[no-any-return]


@lru_cache(256)
def _maps(shape: Shape, pad: Shape, mode: str) -> Maps:
    """Where the elements of the last dimensions come from, after all checks."""
    ndim, count, pads = len(shape), len(pad) // 2, all_pads(len(shape), pad)
    if ndim - count not in (1, 2) or not 1 <= count <= 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular" and 0 in shape[ndim - count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    lines = enumerate(pads[-count:], ndim - count)
    return Maps(*[Taps(shape[dim], _places(shape, dim, before, after, mode)[:, None]) for dim, (before, after) in lines])


def _places(shape: tuple[int, ...], dim: int, before: int, after: int, mode: str) -> Array:
    """Which elements of a dimension the padded one consists of."""
    size = shape[dim]
    if mode == "circular" and size + before + after < 0:
        raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if size + before + after < 1 and mode != "circular":
        name = "TDHW"[dim - len(shape)]
        raise RuntimeError(f"input ({name}: {size}) is too small. Calculated output {name}: {size + before + after}")
    limit = size - 1 if mode == "reflect" else size
    if mode != "replicate" and max(before, after) > limit:
        if mode == "circular":
            raise RuntimeError("Padding value causes wrapping around more than once.")
        raise RuntimeError(
            f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({before}, {after}) at "
            f"dimension {dim} of input {list(shape)}"
        )
    more, less = (max(0, before), max(0, after)), slice(max(0, -before), -max(0, -after) or None)
    places = np.arange(size)
    if mode == "circular":  # what is taken away does not come back at the other end
        return np.pad(places[less], more, mode="wrap")
    return np.pad(places, more, mode="edge" if mode == "replicate" else "reflect")[less]
