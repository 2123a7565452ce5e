"""Views of parts of a tensor: what basic indexing, `narrow`, `split`, `diagonal` and the like return."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .._methods import OpMethods
from . import _several
from ._out import into
from ._registry import LINEAR, Array, composite, op
from ._rules import call, joined, stacked, whole_number, wrap_dim, zeros_on
from .memory import checked_dim

Shape = tuple[int, ...]
EVERYTHING = slice(None)


# ---- basic indexing -----------------------------------------------------------------------------------------------------------------


@op(method=False, function=False, jvp=LINEAR, warns=False, input=lambda g, index: g[index],
    batch=lambda input, examples, shape, index: place(input, (examples, *shape), (EVERYTHING, *index)))  # fmt: skip
def place(input: Array, shape: Shape, index: Any) -> Array:
    """Zeros, with `input` at a basic index."""
    whole = zeros_on(input, shape, input.dtype)
    whole[index] = input
    return whole


def _placed(g: Array, input_shape: Shape, index: Any) -> Array:
    """The gradient of a part. All elements are in their order already."""
    if math.prod(g.shape) == math.prod(input_shape):
        return g.reshape(input_shape)
    return call(place, g, input_shape, index)


def _part_op(name: str, nodes: str) -> Any:
    @op(
        name, method=False, function=False, view=True, jvp=LINEAR, nodes=nodes,
        input=_placed,
        batch=lambda input, index: part(input, (EVERYTHING, *index)),
    )  # fmt: skip
    def part(input: Array, index: Any) -> Array:
        """The elements at a basic index: a tuple of numbers, slices and None with an Ellipsis, which keeps the result an array."""
        return input[index]

    return part


# PyTorch makes one view for each item of an index and names the result after the last; here one view serves for all.
select_part = _part_op("select_part", "SelectBackward0")
slice_part = _part_op("slice_part", "SliceBackward0")
unsqueeze_part = _part_op("unsqueeze_part", "UnsqueezeBackward0")


@composite()
def select(input: Any, dim: int, index: int) -> Any:
    """The part at one index of a dimension, without that dimension."""
    return select_part(input, selection(input._data.shape, dim, index))


def selection(shape: Shape, dim: int, index: int) -> tuple[Any, ...]:
    """One index of a dimension as a basic index."""
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, len(shape)), operator.index(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return (EVERYTHING,) * dim + (index, ...)


@composite()
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """The part of `length` elements of a dimension that begins at `start`."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, OpMethods) and (start.ndim or start.dtype.is_floating_point or start.dtype.name == "bool"):  # type: ignore[attr-defined]
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim, start = wrap_dim(dim, len(shape)), operator.index(start)
    size = shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_part(input, (EVERYTHING,) * dim + (slice(start, start + length), ...))


@composite()
def narrow_copy(input: Any, dim: int, start: int, length: int, *, out: Any = None) -> Any:
    """A copy of what `narrow` returns."""
    return into(out, narrow(input, dim, start, length).clone(), "Expected self.dtype() == output.dtype() to be true, but got false")


# ---- several parts ------------------------------------------------------------------------------------------------------------------


def _stacked(g: Sequence[Any], input_shape: Shape, input_dtype: Any, dim: int) -> Array:
    dim = wrap_dim(dim, len(input_shape))
    shape = input_shape[:dim] + input_shape[dim + 1 :]
    return stacked([zeros_on(present(g), shape, input_dtype) if part is None else part for part in g], dim)


def present(g: Sequence[Any]) -> Any:
    """One of the gradients that are there."""
    return next(part for part in g if part is not None)


@op(view=True, several=True, jvp=LINEAR, input=_stacked)
def unbind(input: Array, dim: int = 0) -> tuple[Array, ...]:
    """The parts at every index of a dimension, as a tuple."""
    return _several.rows(input, checked_dim(dim, input.ndim))


def _joined(g: Sequence[Any], input_shape: Shape, input_dtype: Any, lengths: Sequence[int], dim: int) -> Array:
    dim = wrap_dim(dim, len(input_shape))
    parts = []
    for part, length in zip(g, lengths, strict=True):
        if part is None:
            part = zeros_on(present(g), (*input_shape[:dim], length, *input_shape[dim + 1 :]), input_dtype)
        parts.append(part)
    return joined(parts, dim)


def _parts(input: Array, lengths: Shape, dim: int) -> tuple[Array, ...]:
    return _several.slices(input, lengths, wrap_dim(dim, input.ndim))


@op("split", method=False, function=False, view=True, several=True, jvp=LINEAR, input=_joined)
def _split_evenly(input: Array, lengths: Shape, dim: int) -> tuple[Array, ...]:
    return _parts(input, lengths, dim)


@op("split_with_sizes", method=False, function=False, view=True, several=True, jvp=LINEAR, input=_joined)
def _split_lengths(input: Array, lengths: Shape, dim: int) -> tuple[Array, ...]:
    return _parts(input, lengths, dim)


@composite()
def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """Consecutive parts of the given sizes."""
    shape = input._data.shape
    dim = checked_dim(dim, len(shape))
    lengths = tuple([whole_number(length, "split_sizes") for length in split_sizes])
    if sum(lengths) != shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[dim]} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(lengths)}"
        )
    if lengths and min(lengths) < 0:
        raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(lengths)}")
    return _split_lengths(input, lengths, dim)


@composite()
def split(input: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> Any:
    """Consecutive parts: of one size (the last may be smaller), or of the sizes in a list."""
    given = split_size_or_sections if split_size is None else split_size
    if given is None:
        raise TypeError("split() missing 1 required positional argument: 'split_size'")
    if isinstance(given, tuple | list):
        return split_with_sizes(input, given, dim)
    given = whole_number(given, "split_size")
    shape = input._data.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if given < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={given}")
    if given == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return _split_evenly(input, even_lengths(size, given), dim)


@lru_cache(256)
def even_lengths(size: int, length: int) -> Shape:
    """How long the parts of a dimension are; the last gets the rest."""
    whole, rest = divmod(size, length) if length else (0, 0)
    return (length,) * whole + ((rest,) if rest or not whole else ())


@composite()
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` consecutive parts of equal size; the last may be smaller."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = whole_number(chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if size == 0:
        return split_with_sizes(input, (0,) * chunks, dim)
    return _split_evenly(input, even_lengths(size, -(-size // chunks)), dim)


@composite()
def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Any, ...]:
    """Parts cut at the given indices, or a given number of nearly equal ones."""
    given = indices_or_sections if indices_or_sections is not None else sections if indices is None else indices
    if given is None:
        raise TypeError("tensor_split() missing 1 required positional argument: 'indices_or_sections'")
    if isinstance(given, OpMethods):
        name, ndim = given.dtype.scalar_name, given.ndim  # type: ignore[attr-defined]
        if name != "Long":
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {name}")
        if ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor "
                f"with {ndim} dims"
            )
        given = given.tolist()  # type: ignore[attr-defined]
    if not isinstance(given, int | list | tuple) or (not isinstance(given, int) and any(isinstance(cut, float) for cut in given)):
        raise TypeError(
            "tensor_split() received an invalid combination of arguments - the sections are an int, and the indices a list of ints, not "
            f"{given}"
        )
    shape = input._data.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        small, larger = divmod(size, given)
        cuts = [i * small + min(i, larger) for i in range(1, given)]
    else:
        cuts = [int(cut) for cut in given]
    starts, ends = [0, *cuts], [*cuts, size]
    lead = (EVERYTHING,) * dim
    return tuple([slice_part(input, (*lead, slice(start, end), ...)) for start, end in zip(starts, ends, strict=True)])


def _apart(name: str, split_up: Any) -> None:
    """The form of a split whose parts are not known to be views, so that they may be written to. Here they are copies."""

    def parts(input: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return tuple(part.clone() for part in split_up(input, *args, **kwargs))

    parts.__name__ = parts.__qualname__ = f"unsafe_{name}"
    parts.__doc__ = f"`{name}`, as copies instead of views."
    parts.__wrapped__ = split_up  # type: ignore[attr-defined]  # whose signature it has
    composite()(parts)


for _name, _split_up in (("chunk", chunk), ("split", split), ("split_with_sizes", split_with_sizes)):
    _apart(_name, _split_up)


def _split_along(name: str, dim_of: Any, least: int) -> None:
    def splitting(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
        shape = input._data.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} dimensions!"
            )
        if isinstance(indices_or_sections, str | float):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({type(indices_or_sections).__name__}); give a number "
                "or a list of the indices at which they begin"
            )
        dim = dim_of(len(shape))
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or shape[dim] % indices_or_sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is not divisible "
                f"by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, dim)  # type: ignore[no-any-return]

    splitting.__name__ = splitting.__qualname__ = name
    splitting.__doc__ = "Parts along one dimension: the " + {"hsplit": "second", "vsplit": "first", "dsplit": "third"}[name] + "."
    composite()(splitting)


_split_along("hsplit", lambda ndim: 0 if ndim == 1 else 1, 1)
_split_along("vsplit", lambda ndim: 0, 2)
_split_along("dsplit", lambda ndim: 2, 3)
