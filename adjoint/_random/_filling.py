"""What the distributions share: dtypes and their names, filling an array in PyTorch's order, C's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._dtype import from_numpy_dtype
from .._quiet import mute, unmute
from ._generator import Generator, Held, default_generator, draws

if TYPE_CHECKING:
    import numpy.typing as npt

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[Generator, int], Array]

CHUNK = 8192  # numbers made at a time: their temporaries stay in the cache


class Kind(NamedTuple):
    """A dtype: its name, what PyTorch's messages call it, its range, and the bits of precision if it is floating."""

    name: str
    scalar_type: str
    c_type: str
    smallest: float
    largest: float
    digits: int = 0


def _floating(name: str, scalar_type: str, c_type: str, largest: float, digits: int) -> Kind:
    return Kind(name, scalar_type, c_type, -largest, largest, digits)


# By kind and size: asking a NumPy dtype for its name takes longer than drawing a hundred numbers.
_KINDS = {
    ("b", 1): Kind("bool", "Bool", "bool", 0, 1),
    ("u", 1): Kind("uint8", "Byte", "unsigned char", 0, 2**8 - 1),
    ("u", 2): Kind("uint16", "UInt16", "short unsigned int", 0, 2**16 - 1),
    ("u", 4): Kind("uint32", "UInt32", "unsigned int", 0, 2**32 - 1),
    ("u", 8): Kind("uint64", "UInt64", "long unsigned int", 0, 2**64 - 1),
    ("i", 1): Kind("int8", "Char", "signed char", -(2**7), 2**7 - 1),
    ("i", 2): Kind("int16", "Short", "short int", -(2**15), 2**15 - 1),
    ("i", 4): Kind("int32", "Int", "int", -(2**31), 2**31 - 1),
    ("i", 8): Kind("int64", "Long", "long int", -(2**63), 2**63 - 1),
    ("f", 2): _floating("float16", "Half", "c10::Half", 65504.0, 11),
    ("V", 2): _floating("bfloat16", "BFloat16", "c10::BFloat16", float.fromhex("0x1.fep127"), 8),
    ("f", 4): _floating("float32", "Float", "float", float.fromhex("0x1.fffffep127"), 24),
    ("f", 8): _floating("float64", "Double", "double", float.fromhex("0x1.fffffffffffffp1023"), 53),
    ("c", 8): Kind("complex64", "ComplexFloat", "c10::complex<float>", 0, 0),
    ("c", 16): Kind("complex128", "ComplexDouble", "c10::complex<double>", 0, 0),
}
HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
# Most kernels of PyTorch leave out uint16, uint32 and uint64.
NUMBERS = ("uint8", "int8", "int16", "int32", "int64", *FLOATS)
NUMBERS_AND_BOOL = ("bool", *NUMBERS)


def kind_of(dtype: np.dtype[Any]) -> Kind:
    found = _KINDS.get((dtype.kind, dtype.itemsize))
    if found is None:
        name = from_numpy_dtype(dtype).scalar_name
        raise NotImplementedError(f"\"random_cpu\" not implemented for '{name}'; draw in float32 and convert")
    return found


def require(names: Sequence[str], dtype: np.dtype[Any], kernel: str) -> Kind:
    """The kind of a dtype that `kernel` handles."""
    kind = kind_of(dtype)
    if kind.name not in names:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type}'; convert first, for example with x.float()"
        )
    return kind


def empty(shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
    negative = [length for length in shape if length < 0]
    if negative:
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative[0]}: {list(shape)}")
    return np.empty(shape, dtype)


def refuse_overlap(array: Array) -> None:
    if array.size and any(stride == 0 and length > 1 for stride, length in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def store(part: Array, values: Array) -> None:
    """Assign with C's conversions: silently, and to the half types through float32, which rounds twice."""
    if part.dtype == values.dtype:
        part[...] = values
        return
    token = mute()
    try:
        part[...] = values.astype(np.float32) if kind_of(part.dtype).name in HALVES else values
    finally:
        unmute(token)


def fill(array: Array, draw: Draw, generator: Generator | None) -> None:
    """Fill `array` with what `draw(generator, count)` makes, in the order of its memory, whatever that of its axes."""
    if array.flags.c_contiguous:
        ordered, flat = array, array.reshape(-1)
    else:
        refuse_overlap(array)
        ordered = array.transpose(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
        flat = ordered.reshape(-1) if ordered.flags.c_contiguous else np.empty(array.size, array.dtype)
    with Held(generator) as source:
        for start in range(0, flat.size, CHUNK):
            part = flat[start : start + CHUNK]
            store(part, draw(source, part.size))
    if not ordered.flags.c_contiguous:
        ordered[...] = flat.reshape(ordered.shape)


def fill_by_kernel(array: Array, name: str, generator: Generator | None, *facts: Any, waiting: bool = False) -> bool:
    """Fill `array` by the kernel of a name, in one go or, if it is large, otherwise; False where there is none for it."""
    source, drawing = generator or default_generator, getattr(draws, name)
    if waiting:
        facts = (source._waiting, *facts)
    if drawing.fill(array, source._words, *facts):
        return True
    with Held(source):
        return drawing.loop.run(array, source._words, *facts, array.size, 1, array.size) is True


def as_real(array: Array) -> Array:
    """Complex numbers viewed as pairs of real ones."""
    pairs: Array = array[..., None].view(array.real.dtype)
    return pairs


def to_float32(values: Array) -> npt.NDArray[np.float32]:
    """Round what float64 holds (almost) exactly, a product and a sum of float32s: the result of a fused operation."""
    return values.astype(np.float32)


def fused(values: Array, factor: float, offset: float) -> Array:
    """`values * factor + offset` in float64 with one rounding: PyTorch's compiler fuses the two, NumPy does not."""
    if offset == 0 or factor == 1 or not math.isfinite(factor + offset):
        return values * factor + offset  # rounds once anyway
    # Scaled by a power of two, so that nothing below overflows.
    exponent = math.frexp(max(abs(factor), abs(offset)))[1]
    factor, offset = math.ldexp(factor, -exponent), math.ldexp(offset, -exponent)
    return np.ldexp(fused_unscaled(values, factor, offset), exponent)


def fused_unscaled(values: Array, factor: float, offset: float | Array) -> Array:
    """The same for numbers of moderate size, whose products do not overflow."""
    # Dekker's product, exact as `product + error`, and Knuth's sum, exact as `total + rest`.
    splitter = 134217729.0
    high = values * splitter - (values * splitter - values)
    low = values - high
    factor_high = factor * splitter - (factor * splitter - factor)
    factor_low = factor - factor_high
    product = values * factor
    error = ((high * factor_high - product) + high * factor_low + low * factor_high) + low * factor_low
    total = product + offset
    back = total - product
    rest = (product - (total - back)) + (offset - back)
    return total + (rest + error)
