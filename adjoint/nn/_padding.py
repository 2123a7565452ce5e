"""`pad`: more elements at the ends of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._tensor import Tensor
from ..ops._registry import Array, op
from ..ops._rules import LARGE, call, loops, zeros_on
from ..ops.resample import REPEATING, Taps

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]  # before and after, for each dimension; negative to take away

MODES = ("reflect", "replicate", "circular")


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


@op(method=False, function=False, nodes="ConstantPadNdBackward0", warns=False, input=pad_rule,
    batch=lambda input, pads, value: constant_pad(input, ((0, 0), *pads), value),
    jvp=lambda input_t, pads: constant_pad(input_t, pads, 0))  # fmt: skip
def constant_pad(input: Array, pads: Pads, value: Any) -> Array:
    """A number before and after the elements."""
    shape, place, part = layout(input.shape, pads)
    if part is None and input.__class__ is np.ndarray and input.size >= LARGE:
        return large_pad(input, pads, value)
    result = zeros_on(input, shape, input.dtype)
    if value != 0:
        result[...] = value
    result[place] = input if part is None else input[part]
    return result


@lru_cache(256)
def layout(shape: Shape, pads: Pads) -> tuple[Shape, tuple[slice, ...], tuple[slice, ...] | None]:
    """The shape of a padded array, where in it the old elements are, and which of them, if not all."""
    padded = tuple([size + a + b for size, (a, b) in zip(shape, pads, strict=True)])
    return padded, inner(pads, padded), trimmed(pads, shape) if min(map(min, pads), default=0) < 0 else None


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


def large_pad(input: Array, pads: Pads, value: Any) -> Array:
    """The same without writing twice where the elements are."""
    result = np.empty([size + a + b for size, (a, b) in zip(input.shape, pads, strict=True)], input.dtype)
    place: tuple[slice, ...] = ()
    for (a, b), size in zip(pads, input.shape, strict=True):
        result[(*place, slice(0, a))] = value
        result[(*place, slice(a + size, a + size + b))] = value
        place = (*place, slice(a, a + size))
    loops("copy").assign(result[place], input)
    return result


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """More elements at the ends of the last dimensions: `pad` is (before, after) of the last one, then of the one before it, and so on."""
    if mode == "constant":
        pads = constant_pads(input._data.shape, tuple(pad))
        return constant_pad(input, pads, 0 if value is None else value)  # type: ignore[no-any-return]
    pads = all_pads(input.ndim, pad)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    count = len(pad) // 2
    if input.ndim - count not in (1, 2) or not 1 <= count <= 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if 0 in input.shape[input.ndim - count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    return REPEATING[mode, count](input, _maps(input._data.shape, tuple(pads[-count:]), mode))  # type: ignore[no-any-return]


@lru_cache(256)
def _maps(shape: tuple[int, ...], pads: Pads, mode: str) -> tuple[Taps, ...]:
    """Where the elements of the last dimensions come from."""
    lines = enumerate(pads, len(shape) - len(pads))
    return tuple([Taps(shape[dim], _places(shape, dim, before, after, mode)[:, None]) for dim, (before, after) in lines])


def _places(shape: tuple[int, ...], dim: int, before: int, after: int, mode: str) -> Array:
    """Which elements of a dimension the padded one consists of."""
    size = shape[dim]
    if size + before + after < 1:
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
