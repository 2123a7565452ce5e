"""Putting tensors together."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import default_numpy
from .._errors import spelled
from .._methods import OpMethods
from .._size import Size
from .._tensor import wrap
from ..autograd.regions import ANY
from . import _several
from ._forward import check_shapes
from ._registry import COMMON, FUNCTIONS, LINEAR, Array, composite, op
from ._rules import joined, stacked, wrap_dim

Shape = tuple[int, ...]


def _is_skipped(shape: Shape) -> bool:
    """PyTorch lets an empty tensor of one dimension be concatenated with anything."""
    return len(shape) == 1 and shape[0] == 0


def _cut(g: Array, tensors_shape: tuple[Shape, ...], dim: int) -> Sequence[Array]:
    """The gradient of a concatenation, cut at the joints."""
    if g.shape == (0,) and all(map(_is_skipped, tensors_shape)):
        return [g] * len(tensors_shape)
    dim = wrap_dim(dim, g.ndim)
    skipped = [_is_skipped(shape) and g.ndim > 1 for shape in tensors_shape]
    grads = _several.slices(g, tuple([0 if no else shape[dim] for shape, no in zip(tensors_shape, skipped, strict=True)]), dim)
    return [part.reshape((0,)) if no else part for part, no in zip(grads, skipped, strict=True)] if True in skipped else grads


def _some_to_cat(*tensors: Array) -> None:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")


def _cat_examples(tensors: list[Any], dim: int) -> Any:
    counting = [tensor for tensor in tensors if not _is_skipped(tuple(tensor.shape[1:]))] or tensors[:1]
    return cat(counting, wrap_dim(dim, counting[0].ndim - 1) + 1)


@op(promote=COMMON, jvp=LINEAR, warns=False, overlap=ANY, method=False, aliases=("concat", "concatenate"), check=_some_to_cat, joint=_cut,
    batch=_cat_examples, narrow=True)  # fmt: skip
def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors along a dimension that they have."""
    try:
        return joined(tensors, dim)
    except ValueError:
        return _cat_skipping(tensors, dim)


def _cat_skipping(tensors: Sequence[Array], dim: int) -> Array:
    """The same without the tensors that do not count, and with the words for what cannot be joined."""
    for position, tensor in enumerate(tensors):
        if not tensor.shape:
            raise RuntimeError(
                spelled(
                    f"zero-dimensional tensor (at position {position}) cannot be concatenated\n"
                    "  fix: torch.stack(...) joins along a new dimension"
                )
            )
    counting = [tensor for tensor in tensors if not _is_skipped(tensor.shape)]
    if not counting:
        return np.empty_like(tensors[0])  # whatever the dimension
    ndim = len(counting[0].shape)
    dim = wrap_dim(dim, ndim)
    try:
        return np.concatenate(counting, axis=dim)
    except ValueError:
        _refuse_cat([tensor.shape for tensor in tensors], dim)
        raise


def _refuse_cat(shapes: list[Shape], dim: int) -> None:
    expected = next(shape for shape in shapes if not _is_skipped(shape))
    for number, shape in enumerate(shapes):
        if _is_skipped(shape):
            continue
        if len(shape) != len(expected):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)}")
        for d, (wanted, got) in enumerate(zip(expected, shape, strict=True)):
            if d != dim and wanted != got:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size {got} for tensor number "
                    f"{number} in the list.{other_dim(expected, shape)}"
                )


def _unstacked(g: Array, tensors_shape: tuple[Shape, ...], dim: int) -> Sequence[Array]:
    return _several.rows(g, wrap_dim(dim, g.ndim))


def _some_to_stack(*tensors: Array) -> None:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")


@op(promote=COMMON, jvp=LINEAR, warns=False, overlap=ANY, method=False, check=_some_to_stack, joint=_unstacked,
    batch=lambda tensors, dim: stack(tensors, wrap_dim(dim, tensors[0].ndim) + 1), narrow=True)  # fmt: skip
def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors of one shape along a new dimension."""
    try:
        return stacked(tensors, wrap_dim(dim, tensors[0].ndim + 1))
    except ValueError:
        _refuse_stack([tensor.shape for tensor in tensors])
        raise


def other_dim(a: Shape, b: Shape) -> str:
    """The dimension along which two shapes can be joined, if it is just one."""
    differing = [dim for dim, (one, other) in enumerate(zip(a, b, strict=True)) if one != other]
    return spelled(f"\n  fix: torch.cat(tensors, dim={differing[0]})") if len(differing) == 1 else ""


def _refuse_stack(shapes: list[Shape]) -> None:
    for entry, shape in enumerate(shapes):
        if shape != shapes[0]:
            pad = "torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True) makes them of one length"
            several = len(shape) == len(shapes[0]) > 0 and shape[1:] == shapes[0][1:]
            raise RuntimeError(
                spelled(
                    f"stack expects each tensor to be equal size, but got {list(shapes[0])} at entry 0 and {list(shape)} at entry {entry}"
                    + (f"\n  fix: {pad}" if several else "")
                )
            )


def _at_least(ndim: int, *tensors: Any) -> Any:
    """Tensors with at least so many dimensions; a single one, or a tuple, as they were given."""
    given = tensors[0] if len(tensors) == 1 else tensors
    if isinstance(given, tuple | list):
        return tuple([tensor if tensor._data.ndim >= ndim else _with_dims(tensor, ndim) for tensor in given])
    return _with_dims(given, ndim)


def _with_dims(tensor: Any, ndim: int) -> Any:
    missing = ndim - tensor.ndim
    if missing <= 0:
        return tensor
    if ndim == 3 and tensor.ndim:  # a vector stands in the middle, a matrix in front
        return tensor[None, :, None] if missing == 2 else tensor[:, :, None]
    return tensor[(None,) * missing + (...,)]


@composite(method=False)
def atleast_1d(*tensors: Array) -> Any:
    """Tensors with at least one dimension."""
    return _at_least(1, *tensors)


@composite(method=False)
def atleast_2d(*tensors: Array) -> Any:
    """Tensors with at least two dimensions; a vector becomes a row."""
    return _at_least(2, *tensors)


@composite(method=False)
def atleast_3d(*tensors: Array) -> Any:
    """Tensors with at least three dimensions."""
    return _at_least(3, *tensors)


def _some(name: str, tensors: Any) -> tuple[Any, ...]:
    """The tensors, of which there has to be one."""
    if not isinstance(tensors, tuple | list):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}\n  fix: {name}([a, b])"
        )
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, OpMethods):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(tensor).__name__}")
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tuple(tensors)


@composite(method=False)
def hstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join side by side: along the second dimension, vectors along their only one."""
    rows = atleast_1d(_some("hstack", tensors))
    return cat(rows, 0 if rows[0]._data.ndim == 1 else 1, out=out)


@composite("vstack", "row_stack", method=False)
def vstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join one below the other: along the first dimension, vectors as rows."""
    return cat(atleast_2d(_some("vstack", tensors)), 0, out=out)


@composite(method=False)
def dstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join one behind the other: along the third dimension."""
    return cat(atleast_3d(_some("dstack", tensors)), 2, out=out)


@composite(method=False)
def column_stack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Join side by side, vectors as columns."""
    columns = [tensor.reshape((tensor.numel(), 1)) if tensor.ndim <= 1 else tensor for tensor in _some("column_stack", tensors)]
    return cat(columns, 1, out=out)


# ---- broadcasting -------------------------------------------------------------------------------------------------------------------


@composite(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape of arithmetic between tensors of these shapes."""
    for shape in shapes:
        if not isinstance(shape, int | tuple | list):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for number, shape in enumerate(sizes):
        for place, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise ValueError(f"Attempting to broadcast a dimension with negative length! ({size})")
            other = max((given[-place] for given in sizes[:number] if len(given) >= place), default=1)
            if size != other and 1 not in (size, other):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {-place}! Mismatching argument at index {number} had "
                    f"{shape}; but an earlier one has {other} there"
                )
    return Size._of(np.broadcast_shapes(*sizes))


@composite(method=False)
def broadcast_tensors(*tensors: Array) -> tuple[Any, ...]:
    """The tensors expanded to one shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    shape = check_shapes([tensor._data for tensor in given])
    return tuple(tensor if tensor._data.shape == shape else tensor.expand(shape) for tensor in given)


@composite(method=False)
def meshgrid(*tensors: Array, indexing: str | None = None) -> tuple[Any, ...]:
    """Vectors expanded over the grid that they span: each becomes the coordinates of the grid's points along its own dimension."""
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument; write indexing='ij', which is the "
            "present default, or indexing='xy'.",
            stacklevel=2,
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in given:
        if len(tensor._data.shape) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
        if tensor._data.dtype != given[0]._data.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[:2] = given[1::-1]
    shape = tuple([tensor._data.size for tensor in given])
    grids = []
    for place, tensor in enumerate(given):
        rest = len(given) - 1 - place
        grids.append((tensor.reshape((-1,) + (1,) * rest) if rest or not tensor._data.shape else tensor).expand(shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@composite(method=False)
def cartesian_prod(*tensors: Array) -> Any:
    """All ways to take one element from each vector, one row for each."""
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite()
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All ways to take `r` elements of a vector without regard to order, one row for each."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    n = input.numel()
    if r == 2:
        rows = FUNCTIONS["triu_indices"](n, n, 0 if with_replacement else 1).t()
    else:
        choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
        rows = wrap(np.array(list(choose(range(n), r)), np.int64).reshape(-1, r))
    return input[rows]


# ---- blocks -------------------------------------------------------------------------------------------------------------------------


def _as_block(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + tuple(shape)


def _blocks(g: Array, tensors_shape: tuple[Shape, ...]) -> list[Array]:
    grads = []
    top = left = 0
    for shape in tensors_shape:
        rows, columns = _as_block(shape)
        grads.append(g[top : top + rows, left : left + columns].reshape(shape))
        top, left = top + rows, left + columns
    return grads


def _block_diags(tensors: Sequence[Any], examples: int) -> Any:
    """Rows of blocks, of which all but one hold zeros."""
    shapes = [_as_block(tensor.shape[1:]) for tensor in tensors]
    rows = []
    for place, (tensor, (height, width)) in enumerate(zip(tensors, shapes, strict=True)):
        before, after = (sum(columns for _, columns in part) for part in (shapes[:place], shapes[place + 1 :]))
        block = tensor.reshape(examples, height, width)
        rows.append(cat([block.new_zeros(examples, height, before), block, block.new_zeros(examples, height, after)], 2))
    return cat(rows, 1)


@op("block_diag", method=False, function=False, promote=COMMON, jvp=LINEAR, warns=False, joint=_blocks, batch=_block_diags)
def _block_diag(tensors: Sequence[Array]) -> Array:
    for number, tensor in enumerate(tensors):
        if len(tensor.shape) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {number} has {len(tensor.shape)} dimensions"
            )
    shapes = [_as_block(tensor.shape) for tensor in tensors]
    result = np.zeros_like(tensors[0], shape=(sum(rows for rows, _ in shapes), sum(columns for _, columns in shapes)))
    top = left = 0
    for tensor, (rows, columns) in zip(tensors, shapes, strict=True):
        result[top : top + rows, left : left + columns] = tensor
        top, left = top + rows, left + columns
    return result


@composite(method=False)
def block_diag(*tensors: Any) -> Any:
    """The matrix with the given matrices (or rows, or numbers) along its diagonal, zeros elsewhere."""
    return _block_diag(tensors) if tensors else wrap(np.empty((1, 0), default_numpy()))
