"""The arrays of the `meta` device: shape, strides and dtype, but no elements.

Note [Ghosts and stand-ins]
A MetaArray knows its shape in the form of a *ghost*: a NumPy array with the true shape and strides over one element of memory. NumPy's view
functions (transpose, slicing, broadcast_to, ...) only do arithmetic on shapes and strides, so they run on the ghost as they are. Nothing
else may touch it: its elements lie outside the memory that it has.

A function that computes is run on *stand-ins*: real arrays of the same dtype with the same order of axes in memory, but at most two
elements along each dimension. The result tells the dtype and the memory order; the true shape comes from a small rule
(`_meta_functions.py`). So NumPy itself decides about promotion, and refuses what it would refuse of real arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from ._errors import spelled

Shape = tuple[int, ...]
_MANY_DIMS = 10  # beyond this a stand-in of two elements per dimension is no longer small, and C order is assumed


class MetaArray(NDArrayOperatorsMixin):
    """An array without elements: what computes with it computes shapes, strides and dtypes."""

    __slots__ = ("_ghost",)
    __array_priority__ = 100
    device = "meta"

    def __init__(self, ghost: np.ndarray[Any, Any]) -> None:
        self._ghost = ghost

    # ---- facts ------------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        return self._ghost.shape  # type: ignore[no-any-return]

    @property
    def strides(self) -> Shape:
        return self._ghost.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._ghost.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self._ghost.ndim

    @property
    def size(self) -> int:
        return self._ghost.size

    @property
    def itemsize(self) -> int:
        return self._ghost.itemsize

    @property
    def nbytes(self) -> int:
        return self._ghost.nbytes

    @property
    def flags(self) -> Any:
        return self._ghost.flags

    @property
    def origin(self) -> Any:
        """What this array and all its views have in common: the element under their ghosts."""
        found: Any = self._ghost
        while getattr(found, "base", None) is not None:
            found = found.base
        return found

    @property
    def offset(self) -> int:
        """How far the first element lies from that of the array of which this one is a view, in bytes."""
        return int(self._ghost.__array_interface__["data"][0] - self.origin.__array_interface__["data"][0])

    def __len__(self) -> int:
        return len(self._ghost)

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype})"

    # ---- no elements ------------------------------------------------------------------------------------------------------------

    def item(self) -> NoReturn:
        raise RuntimeError(
            spelled(
                "Tensor.item() cannot be called on meta tensors: they have a shape and a dtype, but no values\n"
                "  fix: compute on the CPU, for example with x = torch.zeros(x.shape)"
            )
        )

    __bool__ = __int__ = __float__ = __complex__ = __index__ = item

    def tolist(self) -> NoReturn:
        raise NotImplementedError(
            spelled(
                "Cannot copy out of meta tensor; no data! A meta tensor has a shape and a dtype only\n"
                "  fix: make a new tensor to fill with values, for example torch.empty_like(x, device='cpu')"
            )
        )

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.tolist()

    def __primitive__(self, primitive: Any, args: tuple[Any, ...]) -> Any:
        """The result of a primitive (`ops/_primitives.py`), if it has a rule for arrays without elements."""
        return primitive.meta(*args) if primitive.meta else None

    # ---- views ------------------------------------------------------------------------------------------------------------------

    @property
    def T(self) -> MetaArray:
        return MetaArray(self._ghost.T)

    @property
    def mT(self) -> MetaArray:
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> MetaArray:
        return MetaArray(self._ghost.real)

    @property
    def imag(self) -> MetaArray:
        return MetaArray(self._ghost.imag) if self.dtype.kind == "c" else empty(self.shape, self.dtype)

    def view(self, dtype: Any = None) -> MetaArray:
        return MetaArray(self._ghost.view() if dtype is None else self._ghost.view(dtype))

    def transpose(self, *axes: Any) -> MetaArray:
        return MetaArray(self._ghost.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> MetaArray:
        return MetaArray(self._ghost.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> MetaArray:
        return MetaArray(self._ghost.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
        return MetaArray(self._ghost.diagonal(offset, axis1, axis2))

    def strided(self, shape: Shape, strides: Shape) -> MetaArray:
        """A view with any shape and strides, in bytes."""
        return MetaArray(as_strided(self._ghost, shape, strides, writeable=False))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> MetaArray:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Iterable) else shape
        return reshaped(self, tuple(sizes), order, copy)

    def ravel(self, order: Any = "C") -> MetaArray:
        if order == "K":
            return self.transpose(sorted(range(self.ndim), key=lambda axis: -abs(self.strides[axis]))).ravel()
        return reshaped(self, (-1,), order, None)

    # ---- copies -----------------------------------------------------------------------------------------------------------------

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True) -> MetaArray:
        if not copy and self.dtype == dtype:
            return self
        return computed(lambda x: x.astype(dtype, order=order, casting=casting), (self,), {}, self.shape)

    def copy(self, order: Any = "C") -> MetaArray:
        return computed(lambda x: x.copy(order=order), (self,), {}, self.shape)

    def __copy__(self) -> MetaArray:
        return self.copy("K")

    def __deepcopy__(self, memo: object) -> MetaArray:
        return self.copy("K")

    def __reduce__(self) -> tuple[Any, ...]:
        return empty, (self.shape, self.dtype, self.strides)

    def flatten(self, order: Any = "C") -> MetaArray:
        return empty((self.size,), self.dtype)

    def fill(self, value: Any) -> None:
        same_device(self, value)

    # ---- indexing ---------------------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> MetaArray:
        index = index if isinstance(index, tuple) else (index,)
        if all(isinstance(item, int | np.integer | slice | EllipsisType | None) and not isinstance(item, bool) for item in index):
            # A full set of numbers would read an element; with an ellipsis it makes a view without dimensions.
            return MetaArray(self._ghost[index if Ellipsis in index else (*index, ...)])
        shape, small = advanced_index(self.shape, index)
        return dressed(standin(self)[small], shape)

    def __setitem__(self, index: Any, value: Any) -> None:
        if any(isinstance(item, MetaArray) and item.dtype == bool for item in (index if isinstance(index, tuple) else (index,))):
            return  # how many elements a mask selects is not known
        shape = self[index].shape
        given = np.shape(value)
        excess = max(len(given) - len(shape), 0)
        if any(size != 1 for size in given[:excess]) or not fits(given[excess:], shape):
            raise ValueError(f"could not broadcast input array from shape {given} into shape {shape}")

    # ---- NumPy ------------------------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **kwargs: Any) -> Any:
        same_device(*inputs, *out)
        if method == "at":
            return None
        shapes = ufunc_shapes(ufunc, method, [np.shape(x) for x in inputs], kwargs)
        tiny = on_standins(getattr(ufunc, method), inputs, kwargs)
        if ufunc.nout == 1:
            result = dressed(tiny, shapes[0])
            return into(out[0], result, kwargs) if out and out[0] is not None else result
        results = tuple(map(dressed, tiny, shapes))
        given = out or (None,) * len(results)
        return tuple(r if o is None else into(o, r, kwargs) for r, o in zip(results, given, strict=True))

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        from ._meta_functions import RULES, elementwise

        rule = RULES.get(func)
        if rule is None and func.__module__.startswith(("adjoint.", "torch.")):
            rule = elementwise  # special functions, which are dispatched as NumPy's are
        if rule is None:
            raise NotImplementedError(
                f"{func.__name__}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
                "Either its result depends on the values, or adjoint has no shape rule for it: use a CPU tensor here."
            )
        out = kwargs.pop("out", None)
        result = rule(func, *args, **kwargs)
        return result if out is None else into(out, result, {})

    def __getattr__(self, name: str) -> Any:
        """Methods of arrays that have a NumPy function of the same name: `x.sum(axis=0)` is `np.sum(x, axis=0)`."""
        function = getattr(np, name, None) if name in _METHODS else None
        if function is None:
            raise AttributeError(f"'MetaArray' object has no attribute {name!r}")
        return lambda *args, **kwargs: function(self, *args, **kwargs)


_METHODS = frozenset(
    "all any argmax argmin argsort clip conj conjugate cumprod cumsum dot max mean min prod repeat round std sum take trace var".split()
)


# ---- making them --------------------------------------------------------------------------------------------------------------------


def empty(shape: Sequence[int] | int, dtype: Any, strides: Sequence[int] | None = None) -> MetaArray:
    """An array of the given shape; dense and in C order unless strides (in bytes) are given."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = np.dtype(dtype)
    if 0 in shape:
        return MetaArray(np.empty(shape, dtype))  # nothing to hold, and NumPy's own strides
    strides = dense_strides(shape, range(len(shape)), dtype.itemsize) if strides is None else tuple(strides)
    return MetaArray(as_strided(np.empty((), dtype), shape, strides, writeable=False))


def empty_like(array: Any) -> MetaArray:
    """A meta array with the shape, dtype and strides of any array."""
    return empty(array.shape, array.dtype, array.strides)


def dense_strides(shape: Shape, order: Iterable[int], itemsize: int) -> Shape:
    """The strides of a dense array whose axes, from the outermost inwards, are those in `order`."""
    strides = [0] * len(shape)
    for axis in reversed(list(order)):
        strides[axis] = itemsize
        itemsize *= shape[axis]
    return tuple(strides)


def reshaped(array: MetaArray, shape: Any, order: Any = "C", copy: bool | None = None) -> MetaArray:
    """A view where one is possible without moving elements, otherwise a new array."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        known = 1
        for size in shape:
            known *= size if size != -1 else 1
        shape = tuple(size if size != -1 else array.size // known if known else 0 for size in shape)
    if np.prod(shape, dtype=object) != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
    if copy is not True:
        view = array._ghost.view() if order == "C" else array._ghost.T
        try:
            if _RESHAPE_TAKES_COPY:
                view = np.reshape(view, shape if order == "C" else shape[::-1], copy=False)
            else:
                view.shape = shape if order == "C" else shape[::-1]
            return MetaArray(view if order == "C" else view.T)
        except (AttributeError, ValueError):
            if copy is False:
                raise ValueError("Unable to avoid creating a copy while reshaping.") from None
    axes = range(len(shape)) if order == "C" else range(len(shape) - 1, -1, -1)
    return empty(shape, array.dtype, dense_strides(shape, axes, array.itemsize))


_RESHAPE_TAKES_COPY = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


# ---- stand-ins ----------------------------------------------------------------------------------------------------------------------


def standin(x: Any) -> Any:
    """A small real array for a meta array (see Note [Ghosts and stand-ins]); lists and tuples of them; anything else as it is."""
    if isinstance(x, list | tuple):
        return type(x)(map(standin, x)) if any(isinstance(item, np.ndarray | MetaArray | list | tuple) for item in x) else x
    if isinstance(x, np.ndarray) and x.ndim:
        x = empty_like(x)
    if not isinstance(x, MetaArray):
        return x
    shape = tuple(min(size, 2) for size in x.shape)
    if 0 in shape:
        return np.ones(shape, x.dtype)
    if x.ndim > _MANY_DIMS:
        return np.ones((1,) * (x.ndim - 2) + shape[-2:], x.dtype)
    # What decides the order of axes is how the strides compare, so each is replaced by a power of two of the same rank.
    ranks = {stride: 2**rank for rank, stride in enumerate(sorted({abs(s) for s in x.strides} - {0}))}
    strides = tuple(ranks.get(abs(stride), 0) * x.itemsize for stride in x.strides)
    memory = np.ones(2 ** len(ranks) * (1 + x.ndim), x.dtype)
    tiny = as_strided(memory, shape, strides, writeable=False)
    return tiny[tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in x.strides)]


def dressed(tiny: Any, shape: Shape) -> MetaArray:
    """The meta array of the true shape, with the dtype and memory order of a result computed on stand-ins."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(tiny.strides[axis])) if tiny.ndim == len(shape) else range(len(shape))
    return empty(shape, tiny.dtype, dense_strides(shape, order, tiny.dtype.itemsize))


def on_standins(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return function(*map(standin, args), **{name: standin(value) for name, value in kwargs.items()})


def computed(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], shape: Shape) -> MetaArray:
    """The result of a function of known result shape."""
    same_device(*args)
    return dressed(on_standins(function, args, kwargs), shape)


def same_device(*values: Any) -> None:
    """Refuse a real array of floating-point numbers among meta arrays.

    Arrays without dimensions may stand anywhere, as in PyTorch. So may integers and truth values: they are indices and masks that a
    function has made for itself, as tensors of all dtypes are checked in the general path of an op call.
    """
    for value in values:
        if isinstance(value, list | tuple):
            same_device(*value)
        elif isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind not in "iub":
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, meta and cpu! "
                f"The one on the CPU has shape {list(value.shape)}; move it with x.to('meta')"
            )


def into(out: Any, result: MetaArray, kwargs: dict[str, Any]) -> MetaArray:
    """`out=`: there is nothing to write, but what would be refused is refused."""
    out = out[0] if isinstance(out, tuple) else out
    same_device(out)
    if not fits(result.shape, out.shape):
        raise ValueError(f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {result.shape}")
    if not np.can_cast(result.dtype, out.dtype, kwargs.get("casting", "same_kind")):
        raise TypeError(f"Cannot cast output from {result.dtype!r} to {out.dtype!r} with casting rule 'same_kind'")
    return out  # type: ignore[no-any-return]


def fits(shape: Shape, target: Shape) -> bool:
    """Whether an array can be broadcast to a shape."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(size in (1, wanted) for size, wanted in zip(shape, target[lead:], strict=True))


# ---- shapes -------------------------------------------------------------------------------------------------------------------------


def ufunc_shapes(ufunc: np.ufunc, method: str, shapes: list[Shape], kwargs: dict[str, Any]) -> list[Shape]:
    """The shapes of the results of a ufunc call or of one of its methods."""
    if method == "reduce":
        return [reduced(shapes[0], kwargs.get("axis", 0), kwargs.get("keepdims", False))]
    if method == "accumulate":
        return shapes[:1]
    if method == "reduceat":
        axis = kwargs.get("axis", 0) % len(shapes[0])
        return [(*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1 :])]
    if method == "outer":
        return [shapes[0] + shapes[1]]
    if method != "__call__":
        raise NotImplementedError(f"{ufunc.__name__}.{method}: attempted to run this operator with Meta tensors")
    if ufunc.signature is None:
        return [np.broadcast_shapes(*shapes, np.shape(kwargs.get("where", True)))] * ufunc.nout
    return gufunc_shapes(ufunc, shapes, kwargs)


def gufunc_shapes(ufunc: np.ufunc, shapes: list[Shape], kwargs: dict[str, Any]) -> list[Shape]:
    """By the signature: `(n?,k),(k,m?)->(n?,m?)` for matmul."""
    assert ufunc.signature is not None
    cores = [part.split(",") if part else [] for part in re.findall(r"\(([^)]*)\)", ufunc.signature.replace(" ", ""))]
    axes = [operator_axes(kwargs, slot, len(core)) for slot, core in enumerate(cores)]
    sizes: dict[str, int] = {}
    absent: set[str] = set()
    loops = []
    for slot, shape in enumerate(shapes):
        core = cores[slot]
        if len(shape) < len(core):
            absent |= {name for name in core if name.endswith("?")}
            core = [name for name in core if name not in absent]
        picked = [axis % len(shape) for axis in axes[slot][len(cores[slot]) - len(core) :]]
        for name, axis in zip(core, picked, strict=True):
            expected = int(name) if name.isdigit() else sizes.setdefault(name, shape[axis])
            if shape[axis] != expected:
                raise ValueError(
                    f"{ufunc.__name__}: Input operand {slot} has a mismatch in its core dimension {axis}, with gufunc signature "
                    f"{ufunc.signature} (size {shape[axis]} is different from {expected})"
                )
        loops.append(tuple(size for axis, size in enumerate(shape) if axis not in picked))
    loop = np.broadcast_shapes(*loops)
    results = []
    for core, places in zip(cores[ufunc.nin :], axes[ufunc.nin :], strict=True):
        present = [name for name in core if name not in absent]
        result = list(loop)
        ndim = len(loop) + len(present)
        inserted = sorted((axis % ndim, name) for axis, name in zip(places[len(core) - len(present) :], present, strict=True))
        for axis, name in inserted:
            result.insert(axis, int(name) if name.isdigit() else sizes[name])
        results.append(tuple(result))
    return results


def operator_axes(kwargs: dict[str, Any], slot: int, count: int) -> Shape:
    """Where an operand of a gufunc has its core dimensions: the last ones, unless `axis` or `axes` says otherwise."""
    if "axis" in kwargs:
        return (kwargs["axis"],) * count
    if "axes" in kwargs and slot < len(kwargs["axes"]):
        given = kwargs["axes"][slot]
        return (given,) if isinstance(given, int) else tuple(given)
    return tuple(range(-count, 0))


def reduced(shape: Shape, axis: Any, keepdims: Any = False) -> Shape:
    """The shape after a reduction over `axis` (None: over all)."""
    axes = range(len(shape)) if axis is None else axis
    gone = normalize_axis_tuple(axes, len(shape))
    if keepdims:
        return tuple(1 if i in gone else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in gone)


class Selected(NamedTuple):
    """One dimension of a mask: the positions of what it selects, and how many elements it expects there to be."""

    positions: np.ndarray[Any, Any]
    size: int


def advanced_index(shape: Shape, index: tuple[Any, ...]) -> tuple[Shape, tuple[Any, ...]]:
    """The shape of `x[index]` where arrays are among the indices, and an index of the same structure for the stand-in of x."""
    items: list[Any] = []
    for item in index:
        if isinstance(item, MetaArray) and item.dtype == bool:
            raise NotImplementedError(
                "nonzero: attempted to run this operator with Meta tensors: how many elements a mask selects depends on its values"
            )
        item = np.asarray(item) if isinstance(item, list) else item
        if isinstance(item, np.ndarray) and item.dtype == bool:
            items.extend(map(Selected, item.nonzero(), item.shape))
        else:
            items.append(item)
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    dots = next((place for place, item in enumerate(items) if item is Ellipsis), len(items))
    items[dots : dots + 1] = [slice(None)] * (len(shape) - used)

    broadcast: list[Shape] = []
    places: list[int] = []  # of the array indices among the items
    result: list[int] = []
    small: list[Any] = []
    at: int | None = None  # where the broadcast shape of the arrays goes
    axis = 0
    for place, item in enumerate(items):
        if item is None:
            result.append(1)
            small.append(None)
            continue
        size = shape[axis]
        axis += 1
        if isinstance(item, slice):
            result.append(len(range(*item.indices(size))))
            small.append(slice(0, min(result[-1], 2)))
            continue
        if isinstance(item, Selected):
            if item.size != size:
                raise IndexError(f"boolean index did not match indexed array along axis {axis - 1}: {item.size} elements, not {size}")
            item = item.positions
        found = np.shape(item)
        if not found and not isinstance(item, MetaArray) and not -size <= int(item) < size:
            raise IndexError(f"index {int(item)} is out of bounds for axis {axis - 1} with size {size}")
        if at is None:
            at = len(result)
        broadcast.append(found)
        places.append(place)
        small.append(np.zeros(tuple(min(n, 2) for n in found), np.intp))
    assert at is not None
    if places[-1] - places[0] != len(places) - 1:
        at = 0  # the arrays are apart: NumPy puts their dimensions in front
    result[at:at] = np.broadcast_shapes(*broadcast)
    return tuple(result), tuple(small)
