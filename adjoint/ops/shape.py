"""Views: the same memory seen in another shape.

A forward here returns a NumPy view of its input, so that writes to the result are writes to the input. Its parameters are all positional:
with them the view is made again of another base (`View.replay`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._layer import Pending
from .._methods import OpMethods
from .._tensor import Tensor
from . import _several
from ._codegen import sizes
from ._generated import SpreadForm
from ._registry import LEADING, LINEAR, Array, composite, op
from ._rules import call, in_order, normalize_dims, sum_to, whole_number, wrap_dim
from .memory import alias, element_strides, offset_of

Shape = tuple[int, ...]


def spread_arguments(name: str, keyword: str, fn: Callable[..., Any], *, function: bool = True) -> Callable[..., Any]:
    """Export `fn(input, values)` as `name(input, 2, 3)`, `name(input, (2, 3))` and `name(input, keyword=(2, 3))`."""

    def front(input: Any, *values: Any, **named: Any) -> Any:
        if not named and values and values[0].__class__ is int:
            return fn(input, values)
        given = sizes_given(name, keyword, values, named)
        try:
            return fn(input, given)
        except TypeError:
            numbers: Sequence[Any] = given
            if not any([isinstance(value, np.ndarray) and not value.shape for value in numbers]):
                raise
        return fn(input, tuple([whole_number(value, keyword) for value in given]))  # an array without dimensions stands for its number

    front.__name__ = front.__qualname__ = name
    front.__doc__ = fn.__doc__
    front.op = getattr(fn, "op", None)  # type: ignore[attr-defined]
    front.__wrapped__ = SpreadForm(fn, keyword)  # type: ignore[attr-defined]
    return composite(function=function, direct=True)(front)


def sizes_given(name: str, keyword: str, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[int, ...]:
    """Sizes that were given one by one, as a sequence, or by name."""
    if named:
        if values or list(named) != [keyword]:
            unexpected = next((key for key in named if key != keyword), keyword)
            raise TypeError(f"{name}() got an unexpected keyword argument '{unexpected}'")
        values = (named[keyword],)
    elif not values:
        raise TypeError(f"{name}() missing 1 required positional arguments: \"{keyword}\"")
    return sizes(values)


# ---- another shape ------------------------------------------------------------------------------------------------------------------


def refuse_shape(shape: Sequence[int], numel: int) -> None:
    """Raise PyTorch's error for a shape that an input of `numel` elements cannot take."""
    shown = list(shape)
    for place, size in enumerate(shape):
        if size < -1:
            raise RuntimeError(f"invalid shape dimension {size} at index {place} of shape {shown}")
    if shown.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred: write -1 once and give the other sizes")
    known = math.prod(size for size in shape if size != -1)
    if -1 in shown and known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {shown} because the unspecified dimension size -1 can be any value and "
            "is ambiguous; write the size instead of -1"
        )
    if known != numel and (-1 not in shown or known == 0 or numel % known):
        raise RuntimeError(f"shape '{shown}' is invalid for input of size {numel}")


@lru_cache(1024)
def whole_shape(shape: Shape, numel: int) -> Shape:
    """A shape for `numel` elements with a size in place of -1."""
    known = math.prod(shape)
    if known == numel and min(shape, default=0) >= 0:
        return shape
    refuse_shape(shape, numel)
    return tuple([numel // -known if size == -1 else size for size in shape])


def not_sizes(shape: Sequence[Any]) -> TypeError:
    found = next(((place, size) for place, size in enumerate(shape) if not hasattr(size, "__index__")), (0, shape))
    return TypeError(
        f"view(): argument 'size' (position 1) must be tuple of ints, but found element of type {type(found[1]).__name__} at pos {found[0]}"
        "\n  fix: round it first, for example with //, which keeps integers"
    )


@lru_cache(1024)
def viewable(present: Shape, strides: Shape, shape: Shape) -> bool:
    """Whether another shape, known to fit, can be had without moving elements.

    The dimensions of the input form chunks of evenly spaced memory; the new dimensions must divide each chunk among themselves.
    """
    chunks: list[int] = []
    expected = None
    for size, stride in zip(reversed(present), reversed(strides), strict=True):
        if size == 1:
            continue
        if stride == expected:
            chunks[-1] *= size
        else:
            chunks.append(size)
        expected = size * stride
    if 0 in chunks:
        return True
    new = (size for size in reversed(shape) if size != 1)
    for chunk in chunks:
        filled = 1
        while filled < chunk:
            filled *= next(new)
        if filled != chunk:
            return False
    return True


def _view(input: Array, shape: Shape) -> Array:
    """The same elements in another shape, without copying."""
    try:
        result = input.reshape(shape)
    except TypeError:
        raise not_sizes(shape) from None
    except ValueError:
        refuse_shape(shape, input.size)
        raise
    if result.shape != shape and shape.count(-1) != 1:
        refuse_shape(shape, input.size)  # NumPy takes any negative number for -1
    if not input.flags.c_contiguous and not viewable(input.shape, input.strides, result.shape):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            f"subspaces). Use .reshape(...) instead.\n  fix: x.reshape({', '.join(map(str, shape))}) copies where it has to"
        )
    return result


def _in_shape(g: Array, input_shape: Shape) -> Array:
    if g.__class__ is np.ndarray and not g.flags.c_contiguous and not viewable(g.shape, g.strides, input_shape):
        return in_order(g).reshape(input_shape)
    return g.reshape(input_shape)


_view_shape: Any = op(
    "view", method=False, function=False, view=True, jvp=LINEAR, input=_in_shape,
    batch=lambda input, examples, shape: _view_shape(input, (examples, *shape)),
)(_view)  # fmt: skip


@op("view_dtype", batch=LEADING, method=False, function=False, differentiable=False, out=False, view=True, pending=True)
def _view_dtype(input: Array, dtype: Any) -> Array:
    """The same memory, its bits read as another type."""
    if input.__class__ is Pending:
        if input.conj:
            raise RuntimeError(
                "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.\n"
                "  fix: x.resolve_conj().view(dtype)"
            )
        raise RuntimeError(
            "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.\n"
            "  fix: x.resolve_neg().view(dtype)"
        )
    old, new = input.dtype.itemsize, dtype.numpy.itemsize
    if old != new:
        check_sizes(input, from_numpy_dtype(input.dtype).scalar_name, dtype.scalar_name, new // old)
    return input.view(dtype.numpy)


def check_sizes(input: Array, old: str, new: str, ratio: int) -> None:
    """Refuse to read elements as such of another size where those would not begin and end where these do. `ratio`: 0 for smaller ones."""
    what = f"to view {old} as {new} (different element sizes)"
    if not input.shape:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    *others, last = element_strides(input)
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {last}")
    facts = [("size(-1)", input.shape[-1]), ("storage_offset()", offset_of(input))]
    facts += [(f"stride({dim})", step) for dim, step in enumerate(others)]
    for name, number in facts if ratio else ():
        if number % ratio:
            raise RuntimeError(f"self.{name} must be divisible by {ratio} {what}, but got {number}")


@composite(function=False)
def view(input: Any, *shape: Any, size: Any = None, dtype: Any = None) -> Any:
    """The same memory in another shape, or read as another dtype. Never copies."""
    if shape and shape[0].__class__ is int:
        return _view_shape(input, shape)
    if not shape:
        if dtype is None and size is None:
            raise TypeError("view() received an invalid combination of arguments - got (), but expected a shape or a dtype")
        shape = (dtype,) if size is None else tuple(size)
    first = shape[0] if shape else 0
    if hasattr(first, "is_floating_point") and hasattr(first, "numpy") and not isinstance(first, Tensor):
        return _view_dtype(input.detach() if input.requires_grad else input, first)
    return _view_shape(input, sizes(shape))


@op("_unsafe_view", method=False, function=False, jvp=LINEAR, warns=False, input=lambda g, input_shape: g.reshape(input_shape),
    batch=lambda input, examples, shape: _copied_view(input, (examples, *shape)))  # fmt: skip
def _copied_view(input: Array, shape: Shape) -> Array:
    """The same elements in another shape, copied."""
    return _view(in_order(input), shape)


def _reshape(input: Any, shape: Shape) -> Any:
    """The same elements in another shape: a view where one is possible, a copy otherwise."""
    if isinstance(input, Tensor):
        data = input._data
        if not data.flags.c_contiguous:
            if not all(hasattr(size, "__index__") for size in shape):
                raise not_sizes(shape)  # (to a dictionary 2.0 is the same as 2)
            shape = whole_shape(shape, data.size)
            if not viewable(data.shape, data.strides, shape):
                return _copied_view(input, shape)
    return _view_shape(input, shape)


_reshape.op = _view_shape.op  # type: ignore[attr-defined]
reshape = spread_arguments("reshape", "shape", _reshape)


@composite(function=False)
def view_as(input: Any, other: Any) -> Any:
    """A view with the shape of another tensor."""
    return _view_shape(input, other._data.shape)


@composite(function=False)
def reshape_as(input: Any, other: Any) -> Any:
    """The elements in the shape of another tensor; copies where it has to."""
    return _reshape(input, other._data.shape)


@composite()
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Join the dimensions from `start_dim` to `end_dim` into one."""
    shape = input._data.shape
    if start_dim == 0 and end_dim == -1 and len(shape) != 1:
        return _reshape(input, (input._data.size,))
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _reshape(input, (1,))
    if start == end:
        return input
    return _reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite()
def ravel(input: Any) -> Any:
    """All elements in one dimension."""
    return _view_shape(input.contiguous(), (-1,) if input.numel() else (0,))


@composite()
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """Divide a dimension into several."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError(f"unflatten got an unexpected error: Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(shape))
    given = tuple(sizes)
    if not given:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if given.count(-1) > 1:
        raise RuntimeError("unflatten got an unexpected error: only one dimension can be inferred; write the sizes of the others")
    size = shape[dim]
    known = math.prod(given if -1 not in given else [n for n in given if n != -1])
    if known != size and (-1 not in given or known == 0 or size % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(given)} don't multiply up to the size of dim {dim} ({size}) in the input tensor"
        )
    if -1 in given and known:  # by this dimension alone, also where the tensor is empty
        given = tuple(size // known if n == -1 else n for n in given)
    return _reshape(input, (*shape[:dim], *given, *shape[dim + 1 :]))


# ---- another order of dimensions ----------------------------------------------------------------------------------------------------


@op(view=True, aliases=("swapdims",), jvp=LINEAR, input=lambda g, dim0, dim1: g.swapaxes(dim0, dim1) if len(g.shape) else g)
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Exchange two dimensions."""
    ndim = input.ndim
    if not (0 <= dim0 < ndim and 0 <= dim1 < ndim):
        dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return input.swapaxes(dim0, dim1) if ndim else input[...]


@composite(direct=True)
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Exchange two dimensions; NumPy's name for `transpose`."""
    return transpose(input, axis0, axis1)


@op(view=True, jvp=LINEAR, input=lambda g: g.swapaxes(0, 1) if len(g.shape) == 2 else g,
    batch=lambda input: transpose(input, 1, 2) if input.ndim == 3 else alias(input))  # fmt: skip
def t(input: Array) -> Array:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
    ndim = input.ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D\n  fix: x.transpose(-2, -1), or x.mT")
    return input.swapaxes(0, 1) if ndim == 2 else input[...]


def inverse_order(dims: Sequence[int]) -> Shape:
    """The permutation that undoes another."""
    ndim = len(dims)
    order = [0] * ndim
    for place, dim in enumerate(dims):
        order[dim % ndim] = place
    return tuple(order)


def _permute(input: Array, dims: Shape) -> Array:
    """Reorder the dimensions."""
    ndim = input.ndim
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    try:
        return input.transpose(dims)
    except ValueError:
        if len({wrap_dim(int(dim), ndim) for dim in dims}) != ndim:
            raise RuntimeError("permute(): duplicate dims are not allowed.") from None
        raise


_permuted: Any = op(
    "permute", method=False, function=False, view=True, jvp=LINEAR, input=lambda g, dims: call(_permuted, g, inverse_order(dims)),
    batch=lambda input, dims: _permuted(input, (0, *(wrap_dim(dim, input.ndim - 1) + 1 for dim in dims))),
)(_permute)  # fmt: skip
permute = spread_arguments("permute", "dims", _permuted)


@composite("movedim", "moveaxis")
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Move dimensions to other places; the rest keep their order."""
    moved = (source,) if isinstance(source, int) else tuple(map(index, source))
    places = (destination,) if isinstance(destination, int) else tuple(map(index, destination))
    return _permuted(input, moved_order(moved, places, input._data.ndim))


@lru_cache(256)
def moved_order(moved: Shape, places: Shape, ndim: int) -> Shape:
    """The order of `ndim` dimensions in which some have been moved."""
    if len(moved) != len(places):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(moved)} dims) should contain the same number of dims as "
            f"destination ({list(places)} dims)"
        )
    sources, targets = [wrap_dim(d, ndim) for d in moved], [wrap_dim(d, ndim) for d in places]
    for name, given in (("source", sources), ("destination", targets)):
        if len(set(given)) != len(given):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    rest = iter([d for d in range(ndim) if d not in sources])
    return tuple([sources[targets.index(d)] if d in targets else next(rest) for d in range(ndim)])


def _reversed_dims(self: Any) -> Any:
    """The transpose of a matrix."""
    ndim = self._data.ndim
    if ndim == 2:
        return _permuted(self, (1, 0))
    if ndim:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Write x.mT to transpose batches of matrices, or x.permute(*range(x.ndim - 1, -1, -1)).",
            stacklevel=2,
        )
    return _permuted(self, tuple(range(ndim - 1, -1, -1)))


def _matrix_transpose(self: Any) -> Any:
    """The transpose of a matrix, or of each matrix of a batch."""
    if self._data.ndim < 2:
        return _identity_of_number(self, "mT")
    return transpose(self, -2, -1)


def _identity_of_number(self: Any, name: str) -> Any:
    """What is left of a transpose of matrices for a number."""
    if self.ndim:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    instead = "Consider using x.conj()." if name == "adjoint()" else "This function is the identity in these cases."
    warnings.warn(f"Tensor.{name} is deprecated on 0-D tensors. {instead}", stacklevel=3)
    return self


@composite()
def adjoint(input: Any) -> Any:
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
    turned = transpose(input, -2, -1) if input.ndim > 1 else _identity_of_number(input, "adjoint()")
    return turned.conj() if input.is_complex() else turned


def _hermitian(self: Any) -> Any:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else "")
        )
    return adjoint(self) if self.ndim else t(self)


for _name, _getter in (("T", _reversed_dims), ("mT", _matrix_transpose), ("H", _hermitian), ("mH", adjoint)):
    setattr(OpMethods, _name, property(_getter))


# ---- dimensions of size one ---------------------------------------------------------------------------------------------------------


@op(view=True, jvp=LINEAR, input=lambda g, dim: np.squeeze(g, dim),
    batch=lambda input, dim: unsqueeze(input, wrap_dim(dim, input.ndim) + 1))  # fmt: skip
def unsqueeze(input: Array, dim: int) -> Array:
    """Insert a dimension of size one."""
    if dim.__class__ is not int and not hasattr(dim, "__index__"):
        raise TypeError(f"unsqueeze(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    return input[INSERTED[wrap_dim(dim, input.ndim + 1)]]


INSERTED = [(slice(None),) * place + (None, ...) for place in range(65)]  # the indices that insert a dimension of size one at each place


def _without(input: Array, dims: Sequence[int]) -> Array:
    return input[tuple([0 if dim in dims and size == 1 else slice(None) for dim, size in enumerate(input.shape)] + [...])]


@op("squeeze", method=False, function=False, view=True, jvp=LINEAR, input=lambda g, input_shape: g.reshape(input_shape),
    batch=lambda input: _squeeze_dims(input, tuple(range(1, input.ndim))))  # fmt: skip
def _squeeze_all(input: Array) -> Array:
    return input[_without_ones(tuple(input.shape))]


@lru_cache(1024)
def _without_ones(shape: Shape) -> tuple[Any, ...]:
    """The indices that drop all dimensions of size one."""
    return (*[0 if size == 1 else slice(None) for size in shape], ...)


def _squeeze_batch(input: Array, dim: int) -> Array:
    rank = input.ndim - 1
    if dim and not rank:  # of an example without dimensions PyTorch lets nothing but the first be named
        raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got [{dim}]")
    return _squeeze_dim(input, wrap_dim(dim, rank) + 1) if rank else input[...]


@op(
    "squeeze_dim", method=False, function=False, view=True, jvp=LINEAR, nodes="SqueezeBackward1", batch=_squeeze_batch,
    input=lambda g, input_shape, dim: g.reshape(input_shape),  # `dim` is saved for those who look: `grad_fn._saved_dim`
)  # fmt: skip
def _squeeze_dim(input: Array, dim: int) -> Array:
    shape = input.shape
    dim = wrap_dim(dim, len(shape))
    return input[(slice(None),) * dim + (0, ...)] if shape and shape[dim] == 1 else input[...]


@op(
    "squeeze_dims", method=False, function=False, view=True, jvp=LINEAR, nodes="SqueezeBackward2",
    batch=lambda input, dim: _squeeze_dims(input, tuple(d % (input.ndim - 1) + 1 for d in dim) if input.ndim > 1 else ()),
    input=lambda g, input_shape: g.reshape(input_shape),
)  # fmt: skip
def _squeeze_dims(input: Array, dim: Shape) -> Array:
    return _without(input, normalize_dims(dim, len(input.shape)) if dim else ())


@composite(direct=True)
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Drop dimensions of size one: all of them, or those named."""
    dim = axis if dim is None else dim
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, tuple | list):
        return _squeeze_dims(input, tuple(dim))
    return _squeeze_dim(input, dim)


# ---- repeated elements --------------------------------------------------------------------------------------------------------------


def expanded_shape(input: Array, size: Shape) -> Shape:
    """The shape that `expand` to `size` gives an array, where -1 keeps a dimension."""
    return expanded_sizes(input.shape, size, input.dtype)


def expanded_sizes(shape: Shape, size: Shape, dtype: np.dtype[Any]) -> Shape:
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.{from_numpy_dtype(dtype).scalar_name}Tensor{{{list(shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    result = []
    for dim, wanted in enumerate(size):
        present = shape[dim - lead] if dim >= lead else None
        if wanted == -1:
            if present is None:
                raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}")
            wanted = present
        elif wanted < 0 or (present is not None and present not in (1, wanted)):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({present}) at non-singleton dimension {dim}.  "
                f"Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        result.append(wanted)
    return tuple(result)


def _expand(input: Array, size: Shape) -> Array:
    """Repeat dimensions of size one, and add new ones in front, without copying."""
    if input.__class__ is not np.ndarray:
        return np.broadcast_to(input, expanded_shape(input, size))
    strides = expanded_strides(input.shape, input.strides, size)
    if strides is None:  # a -1 to be replaced, or a mistake
        return _expand(input, expanded_shape(input, size))
    return _several.strided(input, size, strides)  # unlike np.broadcast_to this can be written where nothing repeats


@lru_cache(1024)
def expanded_strides(shape: Shape, strides: Shape, size: Shape) -> Shape | None:
    """The strides of an array that `expand` gives another size, which must say all of them."""
    lead = len(size) - len(shape)
    found = [0] * lead
    if lead >= 0:
        for old, new, stride in zip(shape, size[lead:], strides, strict=True):
            if old == new:
                found.append(stride)
            elif old == 1 and new >= 0:
                found.append(0)
    return None if lead < 0 or len(found) < len(size) or (lead > 0 and min(size) < 0) else tuple(found)


def _expand_examples(input: Any, examples: int, size: Shape) -> Any:
    shape = tuple(input.shape[1:])
    sizes = expanded_sizes(shape, size, input._data.dtype)
    return _expanded(_reshape(input, (examples, *(1,) * (len(size) - len(shape)), *shape)), (examples, *sizes))


_expanded: Any = op(
    "expand", method=False, function=False, view=True, jvp=LINEAR, input=lambda g, input_shape: sum_to(g, shape=input_shape),
    batch=_expand_examples,
)(_expand)  # fmt: skip
expand = spread_arguments("expand", "size", _expanded, function=False)


@composite(function=False)
def expand_as(input: Any, other: Any) -> Any:
    """Expand to the shape of another tensor."""
    return _expanded(input, other._data.shape)


def _broadcast_to(input: Any, size: Any) -> Any:
    """Expand to a shape."""
    return _expanded(input, tuple(size))


broadcast_to = spread_arguments("broadcast_to", "size", _broadcast_to)
