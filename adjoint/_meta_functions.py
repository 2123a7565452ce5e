"""Shape rules of NumPy's functions for meta arrays; see Note [Ghosts and stand-ins] in _meta.py.

A function is in one of these families, or has a rule of its own:

    VIEWS         run on the ghost
    ELEMENTWISE   the result has the broadcast shape of the array arguments
    SAME          the result has the shape of the first argument
    REDUCTIONS    `axis` and `keepdims` say what is left

What is not here depends on values (`nonzero`, `unique`) or was never needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from ._meta import MetaArray, Shape, computed, dressed, empty, empty_like, on_standins, reduced, reshaped, same_device

Rule = Callable[..., Any]
RULES: dict[Callable[..., Any], Rule] = {}


def rule(*functions: Callable[..., Any]) -> Callable[[Rule], Rule]:
    def add(made: Rule) -> Rule:
        RULES.update(dict.fromkeys(functions, made))
        return made

    return add


# ---- views --------------------------------------------------------------------------------------------------------------------------

VIEWS = (
    np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.broadcast_arrays, np.diagonal,
    np.flip, np.fliplr, np.flipud, np.rot90, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.matrix_transpose, np.linalg.diagonal, np.linalg.matrix_transpose, sliding_window_view,
)  # fmt: skip


@rule(*VIEWS)
def view(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return wrapped(func(*map(ghost, args), **kwargs))


def ghost(x: Any) -> Any:
    return x._ghost if isinstance(x, MetaArray) else x


def wrapped(x: Any) -> Any:
    return type(x)(map(wrapped, x)) if isinstance(x, list | tuple) else MetaArray(x)


@rule(np.reshape)
def reshape(func: Any, a: MetaArray, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> MetaArray:
    return reshaped(a, shape, order, copy)


@rule(np.ravel)
def ravel(func: Any, a: MetaArray, order: Any = "C") -> MetaArray:
    return reshaped(a, (-1,), order)


@rule(np.real)
def real(func: Any, val: MetaArray) -> MetaArray:
    return val.real


@rule(np.imag)
def imag(func: Any, val: MetaArray) -> MetaArray:
    return val.imag


# ---- facts --------------------------------------------------------------------------------------------------------------------------


@rule(np.shape)
def shape_of(func: Any, a: MetaArray) -> Shape:
    return a.shape


@rule(np.ndim)
def ndim(func: Any, a: MetaArray) -> int:
    return a.ndim


@rule(np.size)
def size(func: Any, a: MetaArray, axis: int | None = None) -> int:
    return a.size if axis is None else a.shape[axis]


@rule(np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type, np.min_scalar_type)
def about_dtype(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return on_standins(func, args, kwargs)


@rule(np.may_share_memory, np.shares_memory)
def share_memory(func: Any, a: Any, b: Any, max_work: Any = None) -> bool:
    """There is no memory: whether one array is a view of the other is known by the buffer under their ghosts."""
    return isinstance(a, MetaArray) and isinstance(b, MetaArray) and a.origin is b.origin


# ---- element by element -------------------------------------------------------------------------------------------------------------

ELEMENTWISE = (
    np.where, np.clip, np.nan_to_num, np.isclose, np.round, np.around, np.sinc, np.angle, np.i0, np.fix, np.isneginf, np.isposinf,
    np.iscomplex, np.isreal, np.real_if_close,
)  # fmt: skip


@rule(*ELEMENTWISE)
def elementwise(func: Callable[..., Any], *args: Any, **kwargs: Any) -> MetaArray:
    if func is np.where and len(args) == 1:
        raise NotImplementedError("nonzero: attempted to run this operator with Meta tensors: its result depends on the values")
    values = [*args, *kwargs.values()]
    same_device(*values)
    return computed(func, args, kwargs, np.broadcast_shapes(*(np.shape(x) for x in values)))


SAME = (
    np.copy, np.sort, np.argsort, np.partition, np.argpartition, np.roll, np.triu, np.tril, np.gradient, np.fft.fftshift,
    np.fft.ifftshift,
)  # fmt: skip


@rule(*SAME)
def same(func: Callable[..., Any], a: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
    if func in (np.partition, np.argpartition):
        args, kwargs = (0,), {"axis": kwargs.get("axis", -1)}
    if func is np.roll:
        return computed(np.empty_like, (a,), {}, a.shape)
    return computed(func, (a, *args), kwargs, a.shape)


@rule(np.diff)
def diff(func: Any, a: MetaArray, n: int = 1, axis: int = -1) -> MetaArray:
    lead = (slice(None),) * normalize_axis_index(axis, a.ndim)
    for _ in range(n):
        a = a[*lead, 1:] != a[*lead, :-1] if a.dtype == bool else a[*lead, 1:] - a[*lead, :-1]
    return a


@rule(np.zeros_like, np.ones_like, np.empty_like, np.full_like)
def like(
    func: Callable[..., Any], a: Any, fill_value: Any = 0, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> MetaArray:  # fmt: skip
    if func is not np.full_like:
        dtype = fill_value if dtype is None and not isinstance(fill_value, int) else dtype
    sizes = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if len(sizes) != len(a.shape):
        return empty(sizes, a.dtype if dtype is None else dtype)
    return computed(np.empty_like, (a,), {"dtype": dtype, "order": order}, sizes)


# With `like=x` NumPy asks x to make the array: that is how a forward or a rule makes a new array on the device of its operands.


@rule(np.zeros, np.ones, np.empty)
def new(func: Any, shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None) -> MetaArray:
    return empty(shape, dtype)


@rule(np.full)
def full(func: Any, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None) -> MetaArray:
    return empty(shape, np.asarray(fill_value).dtype if dtype is None else dtype)


@rule(np.arange)
def arange(func: Any, *args: Any, **kwargs: Any) -> MetaArray:
    return empty_like(np.arange(*args, **kwargs))


@rule(np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
def array(func: Any, a: Any, dtype: Any = None, *, copy: bool | None = None, order: Any = None, **kwargs: Any) -> MetaArray:
    if not isinstance(a, MetaArray):
        return empty_like(np.asarray(a, dtype))
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    contiguous = order == "C" or func is np.ascontiguousarray
    if a.dtype == dtype and copy is not True and func is not np.array and (a.flags.c_contiguous or not contiguous):
        return a
    return a.astype(dtype, order="C" if contiguous else "K")


@rule(np.copyto)
def copyto(func: Any, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, MetaArray):
        ghost_to_cpu(src)
    dst[...] = src


def ghost_to_cpu(src: Any) -> None:
    """Writing a meta array into a real one: there is nothing to write."""
    src.tolist()


# ---- reductions ---------------------------------------------------------------------------------------------------------------------

REDUCTIONS = (
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.any, np.all, np.median, np.argmax, np.argmin, np.ptp,
    np.count_nonzero, np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanmedian, np.nanstd, np.nanvar, np.average, np.nanargmax,
    np.nanargmin,
)  # fmt: skip


@rule(*REDUCTIONS)
def reduction(func: Callable[..., Any], a: MetaArray, axis: Any = None, *args: Any, **kwargs: Any) -> MetaArray:
    kwargs = {name: value for name, value in kwargs.items() if name != "weights"}
    return computed(func, (a, axis, *args), kwargs, reduced(a.shape, axis, kwargs.get("keepdims", False)))


@rule(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
def cumulative(func: Callable[..., Any], a: MetaArray, axis: int | None = None, dtype: Any = None) -> MetaArray:
    return computed(func, (a, axis, dtype), {}, (a.size,) if axis is None else a.shape)


@rule(np.cumulative_sum, np.cumulative_prod) if hasattr(np, "cumulative_sum") else rule()
def cumulative_array_api(func: Callable[..., Any], x: MetaArray, /, *, axis: int | None = None, **kwargs: Any) -> MetaArray:
    axis = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    more = int(kwargs.get("include_initial", False))
    return computed(func, (x,), {"axis": axis, **kwargs}, (*x.shape[:axis], x.shape[axis] + more, *x.shape[axis + 1 :]))


@rule(np.quantile, np.percentile, np.nanquantile, np.nanpercentile)
def quantile(func: Callable[..., Any], a: MetaArray, q: Any, axis: Any = None, **kwargs: Any) -> MetaArray:
    sizes = reduced(a.shape, axis, kwargs.get("keepdims", False))
    middle = np.full(tuple(min(n, 2) for n in np.shape(q)), 0.5)
    return dressed(on_standins(func, (a, middle, axis), kwargs), np.shape(q) + sizes)


@rule(np.trace)
def trace(func: Any, a: MetaArray, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> MetaArray:
    return np.sum(a.diagonal(offset, axis1, axis2), axis=-1, dtype=dtype)  # type: ignore[no-any-return]


# ---- joining and repeating ----------------------------------------------------------------------------------------------------------


@rule(np.concatenate)
def concatenate(func: Any, arrays: Sequence[Any], /, axis: int | None = 0, **kwargs: Any) -> MetaArray:
    same_device(*arrays)
    if axis is None:
        return computed(func, (arrays, None), kwargs, (sum(a.size for a in arrays),))
    shapes = [np.shape(a) for a in arrays]
    axis = normalize_axis_index(axis, len(shapes[0]))
    rests = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rests) > 1:
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, but these arrays have the shapes "
            + ", ".join(map(str, shapes))
        )
    total = sum(shape[axis] for shape in shapes)
    return computed(func, (list(arrays), axis), kwargs, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


@rule(np.stack)
def stack(func: Any, arrays: Sequence[Any], axis: int = 0, **kwargs: Any) -> MetaArray:
    same_device(*arrays)
    shapes = {a.shape for a in arrays}
    if len(shapes) != 1:
        raise ValueError("all input arrays must have the same shape")
    shape = next(iter(shapes))
    axis = normalize_axis_index(axis, len(shape) + 1)
    return computed(func, (list(arrays), axis), kwargs, (*shape[:axis], len(arrays), *shape[axis:]))


@rule(np.tile)
def tile(func: Any, A: MetaArray, reps: Any) -> MetaArray:
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    ndim = max(len(reps), A.ndim)
    pairs = zip((1,) * (ndim - A.ndim) + A.shape, (1,) * (ndim - len(reps)) + reps, strict=True)
    return empty(tuple(size * times for size, times in pairs), A.dtype)


@rule(np.repeat)
def repeat(func: Any, a: MetaArray, repeats: Any, axis: int | None = None) -> MetaArray:
    sizes = (a.size,) if axis is None else a.shape
    axis = normalize_axis_index(axis or 0, len(sizes))
    counts = np.asarray(repeats)
    if counts.size not in (1, sizes[axis]):
        raise ValueError(f"operands could not be broadcast together with shape ({sizes[axis]},) ({counts.size},)")
    total = int(counts.sum()) if counts.ndim and counts.size != 1 else int(counts.reshape(())) * sizes[axis]
    return empty((*sizes[:axis], total, *sizes[axis + 1 :]), a.dtype)


@rule(np.pad)
def pad(func: Any, array: MetaArray, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> MetaArray:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    sizes = tuple(size + before + after for size, (before, after) in zip(array.shape, widths, strict=True))
    return computed(np.pad, (array, 1), {}, sizes)


# ---- picking ------------------------------------------------------------------------------------------------------------------------


def zeros_for(indices: Any) -> Any:
    """Valid indices with the structure of the given ones, for use on a stand-in."""
    return np.zeros(tuple(min(n, 2) for n in np.shape(indices)), np.intp)


@rule(np.take)
def take(func: Any, a: MetaArray, indices: Any, axis: int | None = None, mode: Any = "raise") -> MetaArray:
    sizes = (a.size,) if axis is None else a.shape
    place = normalize_axis_index(axis or 0, len(sizes))
    sizes = (*sizes[:place], *np.shape(indices), *sizes[place + 1 :])
    return computed(lambda x: np.take(x, zeros_for(indices), axis), (a,), {}, sizes)


@rule(np.take_along_axis)
def take_along_axis(func: Any, arr: MetaArray, indices: Any, axis: int | None = -1) -> MetaArray:
    if axis is None:
        return computed(lambda x: np.take(x, zeros_for(indices)), (arr,), {}, np.shape(indices))
    axis = normalize_axis_index(axis, arr.ndim)
    sizes = tuple(
        n if i == axis else np.broadcast_shapes((n,), (m,))[0]
        for i, (n, m) in enumerate(zip(indices.shape, arr.shape, strict=True))
    )
    return computed(lambda x: np.take_along_axis(x, zeros_for(indices), axis), (arr,), {}, sizes)


@rule(np.put_along_axis, np.put, np.place, np.putmask, np.fill_diagonal)
def write(func: Any, arr: MetaArray, *args: Any, **kwargs: Any) -> None:
    """A write to no memory."""
    same_device(arr)


@rule(np.diag)
def diag(func: Any, v: MetaArray, k: int = 0) -> MetaArray:
    if v.ndim == 2:
        return v.diagonal(k)
    side = v.size + abs(k)
    return empty((side, side), v.dtype)


@rule(np.delete)
def delete(func: Any, arr: MetaArray, obj: int, axis: int) -> MetaArray:
    axis = normalize_axis_index(axis, arr.ndim)
    return empty((*arr.shape[:axis], arr.shape[axis] - 1, *arr.shape[axis + 1 :]), arr.dtype)


@rule(np.unravel_index)
def unravel_index(func: Any, indices: MetaArray, shape: Any, order: Any = "C") -> tuple[MetaArray, ...]:
    together = empty((*indices.shape, 1 if isinstance(shape, int) else len(shape)), np.intp)
    return tuple(together[..., place] for place in range(together.shape[-1]))


@rule(np.isin)
def isin(func: Any, element: Any, test_elements: Any, **kwargs: Any) -> MetaArray:
    return empty(np.shape(element), bool)


@rule(np.searchsorted)
def searchsorted(func: Any, a: Any, v: Any, side: Any = "left", sorter: Any = None) -> MetaArray:
    return empty(np.shape(v), np.intp)


@rule(np.digitize)
def digitize(func: Any, x: Any, bins: Any, right: bool = False) -> MetaArray:
    return empty(np.shape(x), np.intp)


# ---- products -----------------------------------------------------------------------------------------------------------------------


def product(a: Any, b: Any, sizes: Shape) -> MetaArray:
    """A contraction: any product of the operands tells the dtype."""
    same_device(a, b)
    return empty(sizes, np.result_type(a, b))


@rule(np.dot)
def dot(func: Any, a: Any, b: Any) -> MetaArray:
    left, right = np.shape(a), np.shape(b)
    if not left or not right:
        return a * b  # type: ignore[no-any-return]
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise ValueError(f"shapes {left} and {right} not aligned: {left[-1]} (dim {len(left) - 1}) != {inner}")
    return product(a, b, left[:-1] + (right[:-2] + right[-1:] if len(right) > 1 else ()))


@rule(np.vdot)
def vdot(func: Any, a: Any, b: Any) -> MetaArray:
    return product(a, b, ())


@rule(np.inner)
def inner(func: Any, a: Any, b: Any) -> MetaArray:
    return product(a, b, np.shape(a)[:-1] + np.shape(b)[:-1])


@rule(np.outer)
def outer(func: Any, a: Any, b: Any) -> MetaArray:
    return product(a, b, (np.size(a), np.size(b)))


@rule(np.kron)
def kron(func: Any, a: Any, b: Any) -> MetaArray:
    left, right = np.shape(a), np.shape(b)
    ndim = max(len(left), len(right))
    pairs = zip((1,) * (ndim - len(left)) + left, (1,) * (ndim - len(right)) + right, strict=True)
    return product(a, b, tuple(m * n for m, n in pairs))


@rule(np.cross, np.linalg.cross)
def cross(func: Callable[..., Any], a: Any, b: Any, *args: Any, axis: int = -1, **kwargs: Any) -> MetaArray:
    if a.shape[axis] not in (2, 3) or b.shape[axis] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    return product(a, b, np.broadcast_shapes(np.shape(a), np.shape(b)))


@rule(np.tensordot)
def tensordot(func: Any, a: Any, b: Any, axes: Any = 2) -> MetaArray:
    if isinstance(axes, int):
        axes = tuple(range(-axes, 0)), tuple(range(axes))
    left = normalize_axis_tuple(axes[0], a.ndim)
    right = normalize_axis_tuple(axes[1], b.ndim)
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ValueError("shape-mismatch for sum")
    return product(a, b, reduced(a.shape, left) + reduced(b.shape, right))


@rule(np.einsum)
def einsum(func: Any, subscripts: str, *operands: Any, **kwargs: Any) -> MetaArray:
    same_device(*operands)
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    sizes: dict[str, int] = {}
    batch: Shape = ()
    for term, x in zip(terms, operands, strict=True):
        shape = np.shape(x)
        before, dots, after = term.partition("...")
        middle = shape[len(before) : len(shape) - len(after)]
        if len(before) + len(after) > len(shape) or (middle and not dots):
            raise ValueError(f"einstein sum subscripts string {term!r} does not fit an operand with shape {shape}")
        batch = np.broadcast_shapes(batch, middle)
        for label, size in zip(before + after, shape[: len(before)] + shape[len(shape) - len(after) :], strict=True):
            if sizes.setdefault(label, size) != size:
                if 1 not in (size, sizes[label]):
                    raise ValueError(f"operands could not be broadcast together: label {label!r} has sizes {sizes[label]} and {size}")
                sizes[label] = max(size, sizes[label])
    if not arrow:
        once = sorted(label for label in sizes if inputs.count(label) == 1)
        output = ("..." if "..." in inputs else "") + "".join(once)
    before, dots, after = output.partition("...")
    shape = tuple(sizes[c] for c in before) + (batch if dots else ()) + tuple(sizes[c] for c in after)
    return computed(np.einsum, (subscripts, *operands), kwargs, shape)


# ---- linear algebra -----------------------------------------------------------------------------------------------------------------


def eye_for(a: MetaArray) -> Any:
    """A small matrix that every decomposition accepts."""
    return np.eye(2, dtype=a.dtype)


@rule(np.linalg.inv, np.linalg.cholesky, np.linalg.matrix_power)
def square(func: Callable[..., Any], a: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
    return empty(a.shape, func(eye_for(a), *args, **kwargs).dtype)


@rule(np.linalg.pinv)
def pinv(func: Any, a: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
    return empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), func(eye_for(a)).dtype)


@rule(np.linalg.det, np.linalg.slogdet, np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh)
def of_square(func: Callable[..., Any], a: MetaArray, *args: Any, **kwargs: Any) -> Any:
    """Each result has the batch dimensions of `a` and, of its matrix dimensions, as many as the small result has."""
    found = func(eye_for(a), *args, **kwargs)
    if not isinstance(found, tuple):
        return empty(a.shape[: a.ndim - 2 + np.ndim(found)], found.dtype)
    results = [empty(a.shape[: a.ndim - 2 + np.ndim(x)], x.dtype) for x in found]
    return type(found)(*results)


@rule(np.linalg.solve)
def solve(func: Any, a: Any, b: Any) -> MetaArray:
    same_device(a, b)
    dtype = np.linalg.solve(eye_for(a), eye_for(b)).dtype
    if b.ndim == 1:
        return empty((*a.shape[:-2], a.shape[-1]), dtype)
    return empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), dtype)


@rule(np.linalg.svd)
def svd(func: Any, a: MetaArray, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    *batch, m, n = a.shape
    k = min(m, n)
    found: Any = np.linalg.svd(eye_for(a))
    s = empty((*batch, k), found[1].dtype)
    if not compute_uv:
        return s
    u = empty((*batch, m, m if full_matrices else k), found[0].dtype)
    return type(found)(u, s, empty((*batch, n if full_matrices else k, n), found[2].dtype))


@rule(np.linalg.svdvals)
def svdvals(func: Any, x: MetaArray, /) -> Any:
    return svd(func, x, compute_uv=False)


@rule(np.linalg.qr)
def qr(func: Any, a: MetaArray, mode: Any = "reduced") -> Any:
    *batch, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    found: Any = np.linalg.qr(eye_for(a))
    r = empty((*batch, k, n), found[1].dtype)
    return r if mode == "r" else type(found)(empty((*batch, m, k), found[0].dtype), r)


@rule(np.linalg.norm)
def norm(func: Any, x: MetaArray, ord: Any = None, axis: Any = None, keepdims: bool = False) -> MetaArray:
    return computed(func, (x, ord, axis, keepdims), {}, reduced(x.shape, axis, keepdims))


@rule(np.linalg.vector_norm)
def vector_norm(func: Any, x: MetaArray, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> MetaArray:
    return computed(func, (x,), {"axis": axis, "keepdims": keepdims, "ord": ord}, reduced(x.shape, axis, keepdims))


@rule(np.linalg.matrix_norm)
def matrix_norm(func: Any, x: MetaArray, /, *, keepdims: bool = False, ord: Any = "fro") -> MetaArray:
    return computed(func, (x,), {"keepdims": keepdims, "ord": ord}, reduced(x.shape, (-2, -1), keepdims))


@rule(np.linalg.matrix_rank)
def matrix_rank(func: Any, A: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
    return empty(A.shape[:-2], np.intp)


# ---- Fourier transforms -------------------------------------------------------------------------------------------------------------


@rule(np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
def fft(func: Callable[..., Any], a: MetaArray, n: int | None = None, axis: int = -1, norm: Any = None) -> MetaArray:
    axis = normalize_axis_index(axis, a.ndim)
    return computed(func, (a,), {"axis": axis}, transformed(func.__name__, a.shape, (n,), (axis,)))


@rule(np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
def fftn(func: Callable[..., Any], a: MetaArray, s: Any = None, axes: Any = None, norm: Any = None) -> MetaArray:
    if axes is None:
        count = 2 if func.__name__.endswith("2") else a.ndim if s is None else len(s)
        axes = range(a.ndim - count, a.ndim)
    axes = normalize_axis_tuple(axes, a.ndim)
    return computed(func, (a,), {"axes": axes}, transformed(func.__name__, a.shape, s or (None,) * len(axes), axes))


def transformed(name: str, shape: Shape, lengths: Sequence[int | None], axes: Sequence[int]) -> Shape:
    """Each transformed axis gets the length asked for; real transforms halve or double the last one."""
    sizes = list(shape)
    for axis, n in zip(axes, lengths, strict=True):
        sizes[axis] = sizes[axis] if n is None else n
    last, n = axes[-1], lengths[-1]
    if name.startswith(("rfft", "ihfft")):
        sizes[last] = sizes[last] // 2 + 1
    elif name.startswith(("irfft", "hfft")) and n is None:
        sizes[last] = 2 * (sizes[last] - 1)
    return tuple(sizes)
