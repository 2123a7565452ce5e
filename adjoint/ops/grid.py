"""`grid_sample`: an image read at given points, and `affine_grid`, which makes such points.

Note [Taps of a point]
Along each dimension a point lies between elements of the image. A mode of interpolation names the elements around it (the taps: one, two or
four) with a weight each, a function of the point's coordinate. The value at the point is the sum over all combinations of taps of the
product of their weights times the element there; its derivatives by the coordinates are the same sum with the derivative of one weight.
Kernels (`_kernels/grid_loops.py`) compute all of it for the points of a block; the NumPy code, which also runs on Tensors, goes corner by
corner over all points.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from .._dtype import from_numpy_dtype
from ._precision import compute_dtype
from ._primitives import loops, primitive
from ._registry import FOLDED, LINEAR, Array, op
from ._rules import call, cast, zeros_on
from .scatter import gather, scatter_add

INT64 = np.dtype("int64")


class Tap(NamedTuple):
    position: Array  # of an element along one dimension, inside the image
    weight: Array | None  # None is 1
    slope: Array | None  # the derivative of the weight by the coordinate as it was given; None is 0
    inside: Array  # where the element exists


# ---- along one dimension ------------------------------------------------------------------------------------------------------------


def unnormalized(x: Array, size: int, align_corners: bool) -> tuple[Array, float]:
    """A coordinate in [-1, 1] as one in elements, and the factor between them."""
    factor = (size - 1) / 2 if align_corners else size / 2
    return (x + 1) * factor - (0.0 if align_corners else 0.5), factor


def clipped(x: Array, size: int) -> tuple[Array, Array]:
    """A coordinate brought into the image, and where it moves with the given one. NaN counts as the first element."""
    moves = cast((x > 0) & (x < size - 1), dtype_of(x))
    return np.where(x > 0, np.where(x < size - 1, x, size - 1.0), 0.0), moves


def reflected(x: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """A coordinate mirrored at the borders until it is in the image, and 1 or -1 as it moves with or against the given one. The borders are
    the outer elements, or, without `align_corners`, half an element further out."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return x * 0, x * 0
    away = x - low
    sign = 1 - 2 * cast(away < 0, dtype_of(x))
    away = away * sign
    flips = np.floor(away / span)
    rest = away - flips * span
    back = flips - 2 * np.floor(flips / 2)  # 1 for an odd number of reflections
    return np.where(back > 0, span - rest, rest) + low, np.where(back > 0, -sign, sign)


def dtype_of(x: Array) -> Any:
    return x.dtype if isinstance(x.dtype, np.dtype) else x.dtype.numpy


def placed(x: Array, size: int, padding_mode: str, align_corners: bool) -> tuple[Array, Array | None]:
    """A coordinate after padding: brought into the image unless zeros lie around it, and how fast it moves with the given one."""
    if padding_mode == "zeros":
        return x, None
    if padding_mode == "border":
        return clipped(x, size)
    mirrored, sign = reflected(x, size, align_corners)
    inside, moves = clipped(mirrored, size)
    return inside, sign * moves


def tap(position: Array, size: int, weight: Any, slope: Any) -> Tap:
    """The tap at a whole coordinate."""
    inside = (position >= 0) & (position <= size - 1)
    return Tap(cast(np.where(inside, position, 0.0), INT64), weight, slope, inside)


def cubic_taps(t: Array) -> list[tuple[Array, Array]]:
    """Weights and slopes of the four elements around a point, `t` behind the second of them: Keys' convolution with a = -0.75."""
    a = -0.75

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def near_slope(x: Array) -> Array:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def far_slope(x: Array) -> Array:
        return (3 * a * x - 10 * a) * x + 8 * a

    return [
        (far(t + 1), far_slope(t + 1)),
        (near(t), near_slope(t)),
        (near(1 - t), -near_slope(1 - t)),
        (far(2 - t), -far_slope(2 - t)),
    ]


def taps(x: Array, size: int, mode: str, padding_mode: str, align_corners: bool) -> list[Tap]:
    """See Note [Taps of a point]."""
    x, factor = unnormalized(x, size, align_corners)
    if mode == "bicubic":
        below = np.floor(x)
        found = []
        for shift, (weight, slope) in enumerate(cubic_taps(x - below), -1):
            at, _ = placed(below + shift, size, padding_mode, align_corners)
            found.append(tap(at, size, weight, slope * factor))
        return found
    x, speed = placed(x, size, padding_mode, align_corners)
    if mode == "nearest":
        return [tap(np.round(x), size, None, None)]
    below = np.floor(x)
    share = x - below
    slope = factor if speed is None else speed * factor
    slope = np.zeros_like(x) + slope
    return [tap(below, size, 1 - share, -slope), tap(below + 1, size, share, slope)]


# ---- all dimensions together --------------------------------------------------------------------------------------------------------


class Corner(NamedTuple):
    """One combination of taps: which element, in the image laid out in one line, and what it counts."""

    index: Array  # (N, points)
    inside: Array  # where there is such an element
    weight: Array
    slopes: list[Array | None]  # derivatives of the weight by each coordinate of the grid, in the grid's order


def corners(grid: Array, size: tuple[int, ...], mode: str, padding_mode: str, align_corners: bool) -> list[Corner]:
    count = len(size)
    points = np.reshape(grid, (grid.shape[0], math.prod(grid.shape[1:-1]), count))
    # The last coordinate of a point belongs to the first dimension.
    lines = [taps(points[..., count - 1 - d], size[d], mode, padding_mode, align_corners) for d in range(count)]
    found = []
    for chosen in itertools.product(*lines):
        index: Array = 0
        for tap, n in zip(chosen, size, strict=True):
            index = index * n + tap.position
        inside = reduce(np.logical_and, [tap.inside for tap in chosen])
        weight = multiplied([tap.weight for tap in chosen], points)
        slopes = [
            None if tap.slope is None else multiplied([t.slope if t is tap else t.weight for t in chosen], points)
            for tap in reversed(chosen)
        ]
        found.append(Corner(index, inside, weight, slopes))
    return found


def multiplied(factors: list[Array | None], points: Array) -> Array:
    total: Array = None
    for factor in factors:
        if factor is not None:
            total = factor if total is None else total * factor
    return np.ones_like(points[..., 0]) if total is None else total


def read(image: Array, corner: Corner) -> Array:
    """The elements of an image (N, C, places) at a corner of each point, in all channels; zero where there is none."""
    index = np.broadcast_to(np.expand_dims(corner.index, 1), (*image.shape[:2], corner.index.shape[1]))
    return np.where(np.expand_dims(corner.inside, 1), call(gather, image, 2, index), 0)


def in_line(x: Array) -> Array:
    """The spatial dimensions as one."""
    return np.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


MODES = {"nearest": 1, "bilinear": 2, "bicubic": 4}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@lru_cache(256)
def facts(
    shape: tuple[int, ...], grid: tuple[int, ...], dtype: str, mode: str, padding_mode: str, align_corners: bool
) -> tuple[tuple[Any, ...], tuple[int, int]] | None:
    """What kernels are told of an image and a grid of these shapes: the dimensions, the size of the image, how it is read, and how many
    channels and points there are; and the blocks of points in which they work, with how much there is to do for one. None where they do
    not serve."""
    samples, channels, *size = shape
    magic = loops("grid").MAGIC.get(dtype)
    if magic is None or max(size) >= magic:
        return None
    points, taps, most = math.prod(grid[1:-1]), MODES[mode], loops("grid").POINTS
    told = magic, len(size), *([1] * (3 - len(size))), *size, taps, PADDINGS[padding_mode], int(align_corners), channels, points
    return told, (samples * -(-points // most), min(points, most) * (channels + 1) * taps)


def sampled_by_kernel(input: Array, grid: Array, *how: Any) -> Array | None:
    if (known := facts(input.shape, grid.shape, grid.dtype.char, *how)) is None:
        return None
    out = np.empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    return out if loops("grid").read.run(out, np.ascontiguousarray(input), np.ascontiguousarray(grid), *known[0], *known[1]) else None


@primitive("grid.sampled", sampled_by_kernel,
           meta=lambda x, grid, *how: np.empty_like(x, order="C", shape=(*x.shape[:2], *grid.shape[1:-1])))  # fmt: skip
def sampled(input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool) -> Array:
    image = in_line(input)
    total: Array = None
    for corner in corners(grid, tuple(input.shape[2:]), mode, padding_mode, align_corners):
        term = read(image, corner) * np.expand_dims(corner.weight, 1)
        total = term if total is None else total + term
    return np.reshape(total, (*input.shape[:2], *grid.shape[1:-1]))


def moved(input: Array, grid: Array, grid_t: Array, mode: str, padding_mode: str, align_corners: bool) -> Array:
    """How the samples change as the points move."""
    image = in_line(input)
    points_t = np.reshape(grid_t, (grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1]))
    total: Array = image[..., :1] * 0
    for corner in corners(grid, tuple(input.shape[2:]), mode, padding_mode, align_corners):
        for place, slope in enumerate(corner.slopes):
            if slope is not None:
                total = total + read(image, corner) * np.expand_dims(slope * points_t[..., place], 1)
    shape = (*input.shape[:2], math.prod(grid.shape[1:-1]))
    return np.reshape(np.broadcast_to(total, shape), (*input.shape[:2], *grid.shape[1:-1]))


def image_by_kernel(g: Array, grid: Array, shape: tuple[int, ...], dtype: Any, how: tuple[str, str, bool]) -> Array | None:
    if (known := facts(shape, grid.shape, grid.dtype.char, *how)) is None:
        return None
    (told, _), kernels, grad, channels = known, loops("grid"), np.empty(shape, dtype), shape[1]
    units, work = shape[0] * -(-channels // kernels.CHANNELS), min(channels, kernels.CHANNELS) * told[-1] * told[5]
    return grad if kernels.read_back.run(grad, np.ascontiguousarray(g), np.ascontiguousarray(grid), *told, units, work) else None


@primitive("grid.image_gradient", image_by_kernel)
def image_gradient(g: Array, grid: Array, input_shape: tuple[int, ...], input_dtype: Any, how: tuple[str, str, bool]) -> Array:
    batch, channels, *size = input_shape
    given, dtype = in_line(g), compute_dtype(input_dtype)
    total = zeros_on(g, (batch, channels, math.prod(size)), dtype)
    for corner in corners(grid, tuple(size), *how):
        index = np.broadcast_to(np.expand_dims(corner.index, 1), tuple(given.shape))
        arriving = np.where(np.expand_dims(corner.inside, 1), given * np.expand_dims(corner.weight, 1), 0)
        total = call(scatter_add, total, 2, index, cast(arriving, dtype))
    return cast(np.reshape(total, input_shape), input_dtype)


def grid_by_kernel(g: Array, input: Array, grid: Array, how: tuple[str, str, bool]) -> Array | None:
    if (known := facts(input.shape, grid.shape, grid.dtype.char, *how)) is None:
        return None
    if how[0] == "nearest":
        return np.zeros(grid.shape, grid.dtype)
    grad, arrays = np.empty(grid.shape, grid.dtype), map(np.ascontiguousarray, (g, input, grid))
    return grad if loops("grid").moved.run(grad, *arrays, *known[0], *known[1]) else None


@primitive("grid.grid_gradient", grid_by_kernel)
def grid_gradient(g: Array, input: Array, grid: Array, how: tuple[str, str, bool]) -> Array:
    image, given = in_line(input), in_line(g)
    totals: list[Any] = [None] * grid.shape[-1]
    for corner in corners(grid, tuple(input.shape[2:]), *how):
        along = None
        for place, slope in enumerate(corner.slopes):
            if slope is not None:
                along = np.sum(read(image, corner) * given, axis=1) if along is None else along
                term = along * slope
                totals[place] = term if totals[place] is None else totals[place] + term
    nothing = np.reshape(grid, (grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1]))[..., 0] * 0
    found = np.stack([nothing if total is None else total for total in totals], axis=-1)
    return cast(np.reshape(found, grid.shape), dtype_of(grid))


def grid_sampler_jvp(
    input: Array, grid: Array, input_t: Array, grid_t: Array, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    terms = []
    if input_t is not None:
        terms.append(sampled(input_t, grid, mode, padding_mode, align_corners))
    if grid_t is not None:
        terms.append(moved(input, grid, grid_t, mode, padding_mode, align_corners))
    return sum(terms[1:], terms[0])


def sampler(dims: int) -> Any:
    @op(
        f"grid_sampler_{dims}d", nodes=f"GridSampler{dims}DBackward0", method=False, function=False, out=False,
        jvp=grid_sampler_jvp, batch=FOLDED,
        input=lambda g, grid, input_shape, input_dtype, mode, padding_mode, align_corners: image_gradient(
            g, grid, input_shape, input_dtype, (mode, padding_mode, align_corners)
        ),
        grid=lambda g, input, grid, mode, padding_mode, align_corners: grid_gradient(g, input, grid, (mode, padding_mode, align_corners)),
    )  # fmt: skip
    def sample(input: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool) -> Array:
        if input.dtype.kind in "biuc":
            name = from_numpy_dtype(input.dtype).scalar_name
            called = f"grid_sampler_{dims}d_cpu{'_kernel_impl' * (dims == 2)}"
            raise NotImplementedError(f"\"{called}\" not implemented for '{name}'\n  fix: x.float()")
        if input.dtype is not grid.dtype and input.dtype != grid.dtype:
            names = [from_numpy_dtype(x.dtype).scalar_name for x in (input, grid)]
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}\n  fix: grid.to(input.dtype)")
        return cast(sampled(input, grid, mode, padding_mode, align_corners), input.dtype)

    return sample


grid_sampler_2d = sampler(2)
grid_sampler_3d = sampler(3)


# ---- affine grids -------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def base_grid(size: tuple[int, ...], align_corners: bool, dtype: Any) -> Array:
    """The points of an untouched image with a 1 behind each: (places, dimensions + 1)."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n, dtype=dtype) if n > 1 else np.zeros(n, dtype)
        lines.append(line if align_corners else line * ((n - 1) / n))
    mesh = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*(m.reshape(-1) for m in reversed(mesh)), np.ones(math.prod(size), dtype)], axis=-1)
    points.flags.writeable = False
    return points


def mapped_examples(fn: Any, input: Any, size: tuple[int, ...], align_corners: bool, examples: int) -> Any:
    """The samples of all examples as samples of one."""
    samples = size[0]
    result = fn(input.reshape(examples * samples, *input.shape[2:]), (examples * samples, *size[1:]), align_corners)
    return result.reshape(examples, samples, *result.shape[1:])


@op(method=False, function=False, out=False, jvp=LINEAR,
    batch=lambda grad, size, align_corners, examples: mapped_examples(affine_grid_back, grad, size, align_corners, examples),
    grad=lambda g, size, align_corners: call(affine_grid_generator, g, size, align_corners))  # fmt: skip
def affine_grid_back(grad: Array, size: tuple[int, ...], align_corners: bool) -> Array:
    """The gradient of the affine maps that a grid was made by."""
    points = grad.reshape(size[0], math.prod(size[2:]), len(size) - 2)
    return np.matmul(points.mT, np.asarray(base_grid(tuple(size[2:]), align_corners, grad.dtype), like=grad))


@op(method=False, function=False, out=False, jvp=LINEAR,
    batch=lambda theta, size, align_corners, examples: mapped_examples(affine_grid_generator, theta, size, align_corners, examples),
    theta=lambda g, size, align_corners: call(affine_grid_back, g, size, align_corners))  # fmt: skip
def affine_grid_generator(theta: Array, size: tuple[int, ...], align_corners: bool) -> Array:
    """The points of an image after an affine map (N, dimensions, dimensions + 1), one for each sample."""
    points = np.matmul(np.asarray(base_grid(tuple(size[2:]), align_corners, theta.dtype), like=theta), np.swapaxes(theta, 1, 2))
    return points.reshape(size[0], *size[2:], len(size) - 2)
