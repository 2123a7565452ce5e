"""The three convolutions on arrays; see Note [Three convolutions] in conv.py.

There are three ways. Some convolutions are a product of the matrices that are there. Of others, on NumPy and if there is one image with
few places, the input is unfolded into columns, one for each element of the kernel, and matrices are multiplied. Compiled code
(`_direct.py`) does the same without making the columns. It is compiled once convolutions are a good part of the work, and what it is told
about convolutions of the same sizes is made once.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .._serving import KINDS, serves
from ._primitives import primitive
from ._registry import Array
from ._rules import contiguous
from ._windows import Sizes, folded, output_size, padded, windows
from .fold import Blocks, added_up, blocks_of, unfolded
from .matmul import product

if TYPE_CHECKING:
    from ._depthwise import Depthwise
    from ._direct import Correlation, Part
    from ._direct_weight import Gradient

def direct(x: Array, other: Array, multiplications: int) -> bool:
    """Whether to use compiled code. Where there is nothing to multiply, it has no plan."""
    return multiplications > 0 and serves(x, other)


# ---- as one product of matrices -----------------------------------------------------------------------------------------------------


JOINED = 64  # places up to which it pays to put samples side by side for the gradient of kernels of one element


def is_linear(size: Sizes, kernel: Sizes, places: Sizes, padding: Sizes) -> bool:
    """Whether the kernels cover the image, so that there is one place."""
    return size == kernel and not any(padding) and math.prod(places) == 1


def is_pointwise(size: Sizes, kernel: Sizes, places: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Whether every place reads one number of each channel, its own."""
    return set(kernel) == {1} == set(stride) and not any(padding) and size == places


def as_matrix(x: Array, rows: int) -> Array:
    return x.reshape(rows, x.size // rows)


FEW = 256  # places of one image up to which it takes longer to arrange the kernels for a convolution than to multiply


@lru_cache(maxsize=512)
def matrices(
    image: Sizes, weight: Sizes, out: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, letter: str
) -> Blocks | str | None:
    """How to multiply matrices for a convolution of images, kernels and results of these shapes, if that is the fastest way: they are
    there, or columns of a single image are taken, if there are few of them, or no more numbers in them than in the image."""
    size, kernel, places = image[2:], weight[2:], out[2:]
    if groups != 1 or 0 in (*image, *weight, *out):
        return None
    if is_linear(size, kernel, places, padding):
        return "linear"
    if is_pointwise(size, kernel, places, stride, padding):
        return "pointwise" if image[0] == 1 else "joined" if math.prod(places) <= JOINED else None
    few = math.prod(places) <= FEW or math.prod((*kernel, *places)) <= math.prod(size)
    if not few or image[0] != 1 or len(size) > 2 or letter not in KINDS:
        return None
    if output_size(size, kernel, stride, padding, dilation) != places:  # of a transposed convolution with output padding
        return None
    facts = (size, 1), (kernel, 1), (dilation, 1), (padding, 0), (stride, 1)
    return blocks_of(*(some if len(size) == 2 else (one, *some) for some, one in facts))


def taken(blocks: Blocks, x: Array) -> Array:
    """The columns of one image: (channels x kernel, places)."""
    return unfolded(x[0] if x.ndim == 4 else x.reshape(x.shape[1], 1, x.shape[2]), blocks)


def upright(bias: Array | None) -> Array | None:
    """One number for each row."""
    return None if bias is None else bias[:, None]


# ---- with NumPy ---------------------------------------------------------------------------------------------------------------------


def columns(x: Array, kernel: Sizes, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    """The input unfolded at the first `size` places: (N, groups, channels in a group x kernel, places)."""
    batch, channels = x.shape[:2]
    view = windows(padded(x, padding, padding), kernel, stride, dilation)[(..., *(slice(0, n) for n in size))]
    return view.reshape(batch, groups, channels // groups * math.prod(kernel), math.prod(size))


def rows(weight: Array, groups: int) -> Array:
    """The kernels as matrices: (groups, outputs in a group, channels in a group x kernel)."""
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def add_bias(out: Array, bias: Array | None) -> Array:
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


# ---- the output ---------------------------------------------------------------------------------------------------------------------


def correlated_directly(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:
    way = matrices(x.shape, weight.shape, shape, stride, padding, dilation, groups, x.dtype.char)
    if way == "linear":
        return product(as_matrix(x, len(x)), as_matrix(weight, len(weight)).T, bias).reshape(shape)
    if way == "pointwise" or isinstance(way, Blocks):
        cols = taken(way, x) if isinstance(way, Blocks) else as_matrix(x, x.shape[1])
        return product(as_matrix(weight, len(weight)), cols, upright(bias)).reshape(shape)
    if direct(x, weight, math.prod(shape) * math.prod(weight.shape[1:])):
        plan = correlation_for(x.shape, weight.shape, shape, stride, padding, dilation, groups, KINDS[x.dtype.char])
        if (found := in_order(plan, x, weight, bias)) is not None:
            return found.reshape(shape)
    return None


@primitive("conv.correlated", correlated_directly, meta=lambda x, weight, bias, shape, *how: np.empty_like(x, order="C", shape=shape))
def correlated(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    cols = columns(x, weight.shape[2:], shape[2:], stride, padding, dilation, groups)
    return add_bias(np.matmul(rows(weight, groups), cols).reshape(shape), bias)


def joined(shapes: tuple[Sizes, ...], stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[tuple[Sizes, ...], Sizes, Sizes, Sizes]:
    """The same convolution in fewer dimensions: the last ones are one if kernels have only one element there. Of the shapes, the second is
    the kernels'; the others differ where a transposed convolution is given output padding."""
    first, kernel, last = (shape[2:] for shape in shapes)
    alone = [facts[:3] == (1, 1, 0) and facts[3] == facts[4] for facts in zip(kernel, stride, padding, first, last, strict=True)]
    count = next((i for i, single in enumerate(reversed(alone)) if not single), len(alone))
    if count < 2:
        return shapes, stride, padding, dilation
    left = len(alone) - count + 1
    return tuple((*shape[:-count], math.prod(shape[-count:])) for shape in shapes), stride[:left], padding[:left], dilation[:left]


def ordinary(kernel: Sizes, counts: Sizes, padding: Sizes, dilation: Sizes) -> Part:
    """A convolution as one part: a place reads what its kernel covers."""
    from ._direct import Part

    taps = tuple(tuple(k * d - p for k in range(n)) for n, p, d in zip(kernel, padding, dilation, strict=True))
    return Part(counts, taps, tuple(tuple(range(n)) for n in kernel), (0,) * len(kernel))


@lru_cache(maxsize=256)
def correlation_for(
    given: Sizes, weight: Sizes, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, kind: str
) -> Correlation | Depthwise:
    from ._depthwise import planned
    from ._direct import Task

    (given, weight, shape), stride, padding, dilation = joined((given, weight, shape), stride, padding, dilation)
    part = ordinary(weight[2:], shape[2:], padding, dilation)
    return planned(Task(
        given[0], given[2:], shape[2:], (part,), stride, (1,) * len(stride), weight[2:], False, weight[1], weight[0] // groups, groups, kind
    ))  # fmt: skip


def in_order(plan: Correlation | Depthwise, x: Array, weight: Array, bias: Array | None) -> Array | None:
    return plan(np.ascontiguousarray(x), np.ascontiguousarray(weight), None if bias is None else np.ascontiguousarray(bias))


# ---- the gradient of the input ------------------------------------------------------------------------------------------------------


def scattered_directly(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:
    way = matrices(shape, weight.shape, x.shape, stride, padding, dilation, groups, x.dtype.char)
    if way == "linear":
        return add_bias(product(as_matrix(x, len(x)), as_matrix(weight, len(weight))).reshape(shape), bias)
    if way == "pointwise":
        return product(as_matrix(weight, len(weight)).T, as_matrix(x, x.shape[1]), upright(bias)).reshape(shape)
    if isinstance(way, Blocks):
        cols = product(as_matrix(weight, len(weight)).T, as_matrix(x, x.shape[1]))
        return add_bias(added_up(cols, way).reshape(shape), bias)
    if direct(x, weight, math.prod(x.shape) * math.prod(weight.shape[1:])):
        plan = scattering_for(x.shape, weight.shape, shape, stride, padding, dilation, groups, KINDS[x.dtype.char])
        if (found := in_order(plan, x, weight, bias)) is not None:
            return found.reshape(shape)
    return None


@primitive("conv.scattered", scattered_directly, meta=lambda x, weight, bias, shape, *how: np.empty_like(x, order="C", shape=shape))
def scattered(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    batch, outputs = shape[:2]
    given = x.reshape(batch, groups, x.shape[1] // groups, math.prod(x.shape[2:]))
    cols = np.matmul(rows(weight, groups).mT, given)
    taps = cols.reshape(batch, outputs, *weight.shape[2:], *x.shape[2:])
    return add_bias(contiguous(folded(taps, shape[2:], stride, padding, dilation)), bias)


# Note [Phases of a transposed convolution]
# Element i of the result gets a contribution of element o of the input through kernel element k where o * stride + k * dilation - padding
# = i. So those i that leave one remainder by the stride (a phase) use the same elements of the kernel, and neighbours among them use
# neighbours of the input: each phase is an ordinary convolution with a part of the kernel.


def phase_taps(phase: int, kernel: int, stride: int, padding: int, dilation: int) -> list[tuple[int, int]]:
    """Along one dimension, which elements of the kernel a phase uses, and what they read, counted from the element's own place."""
    found = ((k, divmod(phase + padding - k * dilation, stride)) for k in range(kernel))
    return [(k, quotient) for k, (quotient, remainder) in found if remainder == 0]


def phases(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[Part, ...]:
    from ._direct import Part

    parts = []
    for remainders in itertools.product(*map(range, stride)):
        lines = [phase_taps(*facts) for facts in zip(remainders, kernel, stride, padding, dilation, strict=True)]
        counts = tuple(-(-(n - r) // s) if n > r else 0 for n, r, s in zip(size, remainders, stride, strict=True))
        taps, used = (tuple(tuple(pair[i] for pair in line) for line in lines) for i in (1, 0))
        parts.append(Part(counts, taps, used, remainders))
    return tuple(parts)


@lru_cache(maxsize=256)
def scattering_for(
    given: Sizes, weight: Sizes, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, kind: str
) -> Correlation | Depthwise:
    from ._depthwise import planned
    from ._direct import Task

    (given, weight, shape), stride, padding, dilation = joined((given, weight, shape), stride, padding, dilation)
    parts = phases(shape[2:], weight[2:], stride, padding, dilation)
    return planned(Task(
        given[0], given[2:], shape[2:], parts, (1,) * len(stride), stride, weight[2:], True, weight[0] // groups, weight[1], groups, kind
    ))  # fmt: skip


# ---- the gradient of the weight -----------------------------------------------------------------------------------------------------


def products_directly(
    x: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:
    way = matrices(x.shape, shape, grad.shape, stride, padding, dilation, groups, x.dtype.char)
    if way == "linear":
        return product(as_matrix(grad, len(grad)).T, as_matrix(x, len(x))).reshape(shape)
    if way in ("pointwise", "joined"):
        left, right = (as_matrix(np.swapaxes(some, 0, 1), some.shape[1]) for some in (grad, x))
        return product(left, right.T).reshape(shape)
    if isinstance(way, Blocks):
        return product(as_matrix(grad, shape[0]), taken(way, x).T).reshape(shape)
    work = math.prod(grad.shape) * math.prod(shape[1:])
    if direct(x, grad, work):
        plan = gradient_for(x.shape, grad.shape, shape, stride, padding, dilation, groups, KINDS[x.dtype.char])
        if (found := plan(np.ascontiguousarray(x), np.ascontiguousarray(grad))) is not None:
            return found.reshape(shape)
    return None


@primitive("conv.products", products_directly, meta=lambda x, grad, shape, *how: np.empty_like(x, order="C", shape=shape))
def products(x: Array, grad: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Array:
    batch, outputs = grad.shape[:2]
    cols = columns(x, shape[2:], grad.shape[2:], stride, padding, dilation, groups)
    given = grad.reshape(batch, groups, outputs // groups, math.prod(grad.shape[2:]))
    # One product per group over batch and places together: the long sum is the matrix product's.
    left = np.moveaxis(given, 0, 2).reshape(groups, outputs // groups, batch * given.shape[3])
    right = np.moveaxis(cols, 0, 1).swapaxes(-1, -2).reshape(groups, batch * given.shape[3], cols.shape[2])
    return np.matmul(left, right).reshape(shape)


@lru_cache(maxsize=256)
def gradient_for(
    given: Sizes, grad: Sizes, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, kind: str
) -> Gradient:
    from ._direct_weight import gradient

    (given, shape, grad), stride, padding, dilation = joined((given, shape, grad), stride, padding, dilation)
    part = ordinary(shape[2:], grad[2:], padding, dilation)
    return gradient(given[0], given[2:], part, stride, shape[1], shape[0] // groups, groups, kind)
