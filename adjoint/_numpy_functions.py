"""NumPy's functions on tensors: `np.exp(t)`, `np.sum(t, axis=0)`, `array * t` are recorded and differentiable.

NumPy hands its ufuncs to `__array_ufunc__` and its other functions to `__array_function__`. Here both find the op that
does the same. Derivative rules are NumPy code and run on tensors under `create_graph`, so this is also what makes second
derivatives work: a NumPy function that a rule uses has to be in this table.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ._dtype import as_dtype, infer_numpy_dtype, result_numpy_dtype
from ._interop import plain_array
from ._state import recording
from ._tensor import Tensor, wrap
from .ops._registry import FUNCTIONS, OPS, composite
from .ops.matmul import promoted

Fn = Callable[..., Any]


class _Ops:
    """The functions of adjoint by name, looked up when used: the op modules may be loaded after this one."""

    def __getattr__(self, name: str) -> Fn:
        if name not in FUNCTIONS:
            raise AttributeError(f"adjoint has no function '{name}'")
        return FUNCTIONS[name]


f: Any = _Ops()

# ---- ufuncs -------------------------------------------------------------------------------------------------------

# Where NumPy's name is not PyTorch's.
_UFUNC_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj_physical", "degrees": "rad2deg", "divide": "div", "equal": "eq",
    "fabs": "abs", "greater": "gt", "greater_equal": "ge", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne", "power": "pow",
    "radians": "deg2rad", "right_shift": "bitwise_right_shift", "rint": "round", "subtract": "sub",
}  # fmt: skip
_REDUCTIONS = {"add": "sum", "logical_and": "all", "logical_or": "any", "maximum": "max", "minimum": "min", "multiply": "prod"}
_ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}


class _Ufuncs(dict[np.ufunc, Fn | None]):
    """The function that does what a ufunc does; None where there is none."""

    def __missing__(self, ufunc: np.ufunc) -> Fn | None:
        name = _UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__)
        found = FUNCTIONS.get(name)
        if found is None:
            found = next((op.function for op in OPS.values() if op.impl is ufunc), None)
        self[ufunc] = found
        return found


_ufuncs = _Ufuncs()


@composite(function=False)
def __array_ufunc__(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    (out,) = options.pop("out", None) or (None,)
    if out is not None and not isinstance(out, Tensor):
        return _into_array(ufunc, method, inputs, options, out)
    dtype = options.pop("dtype", None)
    result = _ufunc_result(ufunc, method, inputs, options)
    if result is NotImplemented:
        name = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        return unsupported(name, getattr(ufunc, method), inputs, options)
    if dtype is not None:
        result = result.to(as_dtype(np.dtype(dtype)))
    return result if out is None else out.copy_(result)


def _ufunc_result(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    if method == "__call__" and not options:
        fn = _ufuncs[ufunc]
        if ufunc is np.matmul:
            return fn(*_factors(*inputs))  # type: ignore[misc]
        return NotImplemented if fn is None else fn(*_operands(fn, inputs))
    if method == "reduce" and name in _REDUCTIONS and options.keys() <= {"axis", "keepdims"}:
        options.setdefault("axis", 0)
        return TABLE[getattr(np, _REDUCTIONS[name])](inputs[0], **options)
    if method == "accumulate" and name in _ACCUMULATIONS and options.keys() <= {"axis"}:
        return FUNCTIONS[_ACCUMULATIONS[name]](inputs[0], options.get("axis", 0))
    if method == "outer" and not options and _ufuncs[ufunc] is not None:
        first, second = map(as_tensor, inputs)
        return _ufuncs[ufunc](first.reshape((*first.shape, *(1,) * second.ndim)), second)  # type: ignore[misc]
    return NotImplemented


def _operands(fn: Fn, inputs: tuple[Any, ...]) -> list[Any]:
    """Lists become arrays, as in NumPy, and numbers become tensors where the op does not take them."""
    values = [np.asarray(value) if isinstance(value, list | tuple) else value for value in inputs]
    op = getattr(fn, "op", None)
    if op is None or op.scalars or len(values) == 1:
        return values
    dtype = result_numpy_dtype([_bare(value) for value in values])
    return [wrap(np.asarray(value, dtype)) if isinstance(value, _NUMBERS) else value for value in values]


_NUMBERS = (bool, int, float, complex, np.generic)


def _into_array(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any], out: Any) -> Any:
    """`array += tensor`: the array has no history, so the tensor must not have one."""
    if recording() and any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        raise RuntimeError(
            f"Can't call numpy() on Tensor that requires grad: numpy.{ufunc.__name__} writes into an array, where the history ends.\n"
            "  fix: t.detach() in place of t, or make the result a new tensor: x = array + t"
        )
    return getattr(ufunc, method)(*map(_bare, inputs), out=out, **options)


# ---- functions ----------------------------------------------------------------------------------------------------


def as_tensor(value: Any) -> Any:
    """An operand that has to be a tensor."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float | complex):
        return wrap(np.asarray(value, infer_numpy_dtype(value)))
    return wrap(np.asarray(value))


def _named(name: str) -> Fn:
    """The function of that name, whose arguments are NumPy's, given by position."""

    def call(*args: Any) -> Any:
        return FUNCTIONS[name](*args)

    return call


def _all(values: Iterable[Any]) -> list[Any]:
    return [as_tensor(value) for value in values]


def _factors(*values: Any) -> list[Any]:
    """Tensors of one dtype, for ops that take no other: NumPy's functions promote, as arithmetic does."""
    tensors = _all(values)
    return tensors if len({tensor._data.dtype for tensor in tensors}) < 2 else promoted(*tensors)


def _at_least(name: str) -> Fn:
    """Libraries call these to be given an array, whatever they get; and so they are, as in PyTorch, unless that would lose a gradient."""

    def call(*arys: Any) -> Any:
        if any(isinstance(value, Tensor) and _followed(value) for value in arys):
            return FUNCTIONS[name](*_all(arys))
        return getattr(np, name)(*(plain_array(value) if isinstance(value, Tensor) else value for value in arys))

    return call


def _followed(tensor: Tensor) -> bool:
    """Whether something is recorded of what is done with a tensor."""
    return (tensor.requires_grad and recording()) or tensor._tangent is not None or not isinstance(tensor._data, np.ndarray)


def _dims(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _into(out: Any, result: Any) -> Any:
    return result if out is None else out.copy_(result)


def _reduction(name: str) -> Fn:
    """A reduction over `axis`: None is all of them, () none."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        options = {} if dtype is None else {"dtype": as_dtype(np.dtype(dtype))}
        if axis == ():
            result = a.clone() if dtype is None else a.to(**options)
        elif axis is None and not keepdims:
            result = FUNCTIONS[name](a, **options)
        else:
            result = FUNCTIONS[name](a, _every(a) if axis is None else _dims(axis), keepdims, **options)
        return _into(out, result)

    return reduce


def _every(a: Any) -> tuple[int, ...]:
    return tuple(range(a.ndim))


def _one_by_one(name: str) -> Fn:
    """A reduction whose op takes one dimension at a time."""

    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        options = {} if dtype is None else {"dtype": as_dtype(np.dtype(dtype))}
        if axis is None and not keepdims:
            return _into(out, FUNCTIONS[name](a, **options))
        dims = _every(a) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
        for dim in sorted((dim % max(a.ndim, 1) for dim in dims), reverse=True):
            a = FUNCTIONS[name](a, dim, keepdims, **options)
        return _into(out, a)

    return reduce


def _extremum(name: str) -> Fn:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return _into(out, a if axis == () else FUNCTIONS[name](a, () if axis is None else _dims(axis), keepdims))

    return reduce


def _moment(name: str) -> Fn:
    def reduce(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False, **rest: Any) -> Any:
        ddof = rest.pop("correction", ddof)
        if rest:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(rest))}'")
        a = a if dtype is None else a.to(as_dtype(np.dtype(dtype)))
        return _into(out, FUNCTIONS[name](a, _dims(axis), correction=ddof, keepdim=keepdims))

    return reduce


def _index_of(name: str) -> Fn:
    return lambda a, axis=None, out=None, keepdims=False: _into(out, FUNCTIONS[name](a, axis, keepdims))


def _accumulation(name: str) -> Fn:
    def accumulate(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        options = {} if dtype is None else {"dtype": as_dtype(np.dtype(dtype))}
        return _into(out, FUNCTIONS[name](a.reshape(-1), 0, **options) if axis is None else FUNCTIONS[name](a, axis, **options))

    return accumulate


def _like(name: str) -> Fn:
    def like(a: Any, *value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, device: Any = None) -> Any:
        from . import _creation

        dtype = a._data.dtype if dtype is None else np.dtype(dtype)
        if shape is None:
            return getattr(_creation, f"{name}_like")(a, *value, dtype=dtype)
        return getattr(_creation, name)(shape, *value, dtype=dtype)

    return like


def _concatenate(arrays: Any, axis: int | None = 0, out: Any = None) -> Any:
    tensors = _all(arrays)
    return f.cat([a.reshape(-1) for a in tensors]) if axis is None else f.cat(tensors, axis)


def _expand_dims(a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = a.ndim + len(axes)
    places = {place % ndim for place in axes}
    lengths = iter(a.shape)
    return a.reshape(tuple(1 if i in places else next(lengths) for i in range(ndim)))


def _squeeze(a: Any, axis: Any = None) -> Any:
    if axis is None:
        return f.squeeze(a)
    dims = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    for dim in dims:
        if a.shape[dim] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return f.squeeze(a, dims)


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.permute(tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return f.nonzero(condition, as_tuple=True)
    first, second = choices
    condition = as_tensor(condition)
    return f.where(condition if condition._data.dtype == np.bool_ else condition != 0, _choice(first), _choice(second))


def _choice(value: Any) -> Any:
    return value if isinstance(value, Tensor | bool | int | float | complex) else as_tensor(value)


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return f.roll(a, shift) if axis is None else f.roll(a, shift, axis)


def _flip(m: Any, axis: Any = None) -> Any:
    return f.flip(m, _every(m) if axis is None else axis if isinstance(axis, tuple | list) else (axis,))


def _take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = a.reshape(-1), 0
    index = indices if isinstance(indices, int) else as_tensor(indices)
    return a[(slice(None),) * (axis % a.ndim) + (index,)]


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    arr, indices = as_tensor(arr), as_tensor(indices)
    if axis is None:
        return f.gather(arr.reshape(-1), 0, indices)
    shape = [max(a, b) for a, b in zip(arr.shape, indices.shape, strict=True)]
    axis %= len(shape)
    return f.gather(
        arr.expand([*shape[:axis], arr.shape[axis], *shape[axis + 1 :]]), axis,
        indices.expand([*shape[:axis], indices.shape[axis], *shape[axis + 1 :]]),
    )  # fmt: skip


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _array_split(ary, indices_or_sections, axis)


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    places = indices_or_sections if isinstance(indices_or_sections, int) else tuple(int(i) for i in indices_or_sections)
    return list(f.tensor_split(ary, places, axis))


def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    times = repeats if isinstance(repeats, int) else as_tensor(repeats)
    return f.repeat_interleave(a, times) if axis is None else f.repeat_interleave(a, times, axis)


def _sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return f.sort(a.reshape(-1), 0)[0] if axis is None else f.sort(a, axis)[0]


def _argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return f.argsort(a.reshape(-1), 0) if axis is None else f.argsort(a, axis)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if isinstance(low, np.ndarray | Tensor) or isinstance(high, np.ndarray | Tensor):
        low, high = (None if bound is None else as_tensor(bound) for bound in (low, high))
    result = f.clamp(as_tensor(a), low, high)
    return result if out is None else out.copy_(result)


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = _factors(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return f.matmul(a, b)
    return f.tensordot(a, b, ([a.ndim - 1], [builtins.max(b.ndim - 2, 0)]))


def _inner(a: Any, b: Any) -> Any:
    a, b = _factors(a, b)
    return a * b if not a.ndim or not b.ndim else f.tensordot(a, b, ([a.ndim - 1], [b.ndim - 1]))


def _einsum(subscripts: str, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
    return f.einsum(subscripts, *_factors(*operands))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    dims = axes if isinstance(axes, int) else tuple([d] if isinstance(d, int) else list(d) for d in axes)
    return f.tensordot(*_factors(a, b), dims)


def _imag(val: Any) -> Any:
    return f.imag(val) if val.is_complex() else val * 0


def _angle(z: Any, deg: bool = False) -> Any:
    return f.angle(z) * (180 / np.pi) if deg else f.angle(z)


def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return f.nan_to_num(x, nan, posinf, neginf) if copy else x.nan_to_num_(nan, posinf, neginf)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        raise TypeError("numpy.copyto on tensors takes no 'where': write dst[mask] = src[mask]")
    if isinstance(dst, Tensor):
        dst.copy_(as_tensor(src))
    else:
        np.copyto(dst, src.numpy(), casting=casting)  # type: ignore[arg-type]


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    return f.diff(a, n, axis, None if prepend is None else as_tensor(prepend), None if append is None else as_tensor(append))


def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    return tuple(f.broadcast_tensors(*_all(args)))


_BY_NAME: dict[str, Fn] = {
    # reductions
    "sum": _reduction("sum"), "mean": _reduction("mean"), "nansum": _reduction("nansum"), "nanmean": _reduction("nanmean"),
    "all": _reduction("all"), "any": _reduction("any"), "prod": _one_by_one("prod"),
    "max": _extremum("amax"), "amax": _extremum("amax"), "min": _extremum("amin"), "amin": _extremum("amin"),
    "ptp": lambda a, axis=None, out=None, keepdims=False: TABLE[np.max](a, axis, None, keepdims) - TABLE[np.min](a, axis, None, keepdims),
    "std": _moment("std"), "var": _moment("var"),
    "argmax": _index_of("argmax"), "argmin": _index_of("argmin"),
    "cumsum": _accumulation("cumsum"), "cumprod": _accumulation("cumprod"),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: TABLE[np.sum](a != 0, axis, keepdims=keepdims),
    # shape
    "reshape": lambda a, shape=None, order="C", *, newshape=None, copy=None: a.reshape(shape if newshape is None else newshape),
    "ravel": lambda a, order="C": a.reshape(-1),
    "swapaxes": _named("transpose"),
    "moveaxis": _named("movedim"),
    "transpose": _transpose, "permute_dims": _transpose,
    "matrix_transpose": lambda x: f.transpose(x, -1, -2),
    "expand_dims": _expand_dims, "squeeze": _squeeze,
    "broadcast_to": lambda array, shape, subok=False: array.expand(shape if isinstance(shape, tuple | list) else (shape,)),
    "broadcast_arrays": _broadcast_arrays,
    "atleast_1d": _at_least("atleast_1d"), "atleast_2d": _at_least("atleast_2d"), "atleast_3d": _at_least("atleast_3d"),
    "flip": _flip, "fliplr": lambda m: _flip(m, 1), "flipud": lambda m: _flip(m, 0),
    "roll": _roll, "rot90": lambda m, k=1, axes=(0, 1): f.rot90(m, k, axes),
    "repeat": _repeat, "tile": lambda A, reps: f.tile(A, (reps,) if isinstance(reps, int) else tuple(reps)),
    # joining and splitting
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0, out=None: f.stack(_all(arrays), axis),
    "hstack": lambda tup: f.hstack(_all(tup)), "vstack": lambda tup: f.vstack(_all(tup)), "dstack": lambda tup: f.dstack(_all(tup)),
    "column_stack": lambda tup: f.column_stack(_all(tup)),
    "split": _split, "array_split": _array_split, "unstack": lambda x, axis=0: x.unbind(axis),
    # parts
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: f.diagonal(a, offset, axis1, axis2),
    "diag": lambda v, k=0: f.diag(v, k),
    "trace": lambda a, offset=0, axis1=0, axis2=1: f.diagonal(a, offset, axis1, axis2).sum(-1),
    "triu": lambda m, k=0: f.triu(m, k), "tril": lambda m, k=0: f.tril(m, k),
    "take": _take, "take_along_axis": _take_along_axis,
    "where": _where, "nonzero": lambda a: f.nonzero(a, as_tuple=True), "argwhere": _named("nonzero"),
    "sort": _sort, "argsort": _argsort,
    "searchsorted": lambda a, v, side="left", sorter=None: f.searchsorted(as_tensor(a), as_tensor(v), right=side == "right", sorter=sorter),
    "unique": _named("unique"),
    "bincount": lambda x, weights=None, minlength=0: f.bincount(x, weights, minlength),
    # elementwise
    "clip": _clip, "nan_to_num": _nan_to_num,
    "round": lambda a, decimals=0, out=None: f.round(a, decimals=decimals) if decimals else f.round(a),
    "around": lambda a, decimals=0, out=None: f.round(a, decimals=decimals) if decimals else f.round(a),
    "real": lambda val: f.real(val) if val.is_complex() else val, "imag": _imag, "angle": _angle,
    "sinc": _named("sinc"), "i0": _named("i0"), "diff": _diff,
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: f.isclose(*_factors(a, b), rtol, atol, equal_nan),
    "astype": lambda x, dtype, /, *, copy=True, device=None: x.to(as_dtype(np.dtype(dtype)), copy=copy),
    # products
    "dot": _dot, "inner": _inner, "einsum": _einsum, "tensordot": _tensordot,
    "outer": lambda a, b, out=None: as_tensor(a).reshape(-1, 1) * as_tensor(b).reshape(1, -1),
    "vdot": lambda a, b: f.vdot(*(factor.reshape(-1) for factor in _factors(a, b))),
    "kron": lambda a, b: f.kron(as_tensor(a), as_tensor(b)),
    # new arrays, copies
    "zeros_like": _like("zeros"), "ones_like": _like("ones"), "empty_like": _like("empty"), "full_like": _like("full"),
    "copy": lambda a, order="K", subok=False: a.clone(), "copyto": _copyto,
    "meshgrid": lambda *xi, copy=True, sparse=False, indexing="xy": f.meshgrid(*_all(xi), indexing=indexing),
}  # fmt: skip

# Answers that have no derivative and take no elements out of the graph.
_FACTS = {
    "allclose", "array2string", "array_equal", "array_equiv", "array_repr", "array_str", "can_cast", "iscomplexobj",
    "isrealobj", "may_share_memory", "min_scalar_type", "ndim", "result_type", "shape", "shares_memory", "size",
}  # fmt: skip


def _table() -> dict[Fn, Fn]:
    table: dict[Fn, Fn] = {}
    for name, adapter in _BY_NAME.items():
        if hasattr(np, name):
            adapter.__name__ = adapter.__qualname__ = name
            table[getattr(np, name)] = adapter
    return table


TABLE: dict[Fn, Fn] = _table()
"""What each NumPy function becomes on tensors."""


@composite(function=False)
def __array_function__(
    self: Tensor, func: Fn, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if not all(issubclass(kind, Tensor | np.ndarray) for kind in types):
        return NotImplemented
    adapter = TABLE.get(func)
    if adapter is not None:
        return adapter(*args, **kwargs)
    if func.__module__ in ("numpy.linalg", "numpy.fft"):
        adapter = _from_package(func)
        if adapter is not None:
            return adapter(*args, **kwargs)
    if func.__name__ in _FACTS:
        return func(*_bare(args), **_bare(kwargs))
    return unsupported(f"{func.__module__}.{func.__name__}", func, args, kwargs)


_LINALG = frozenset({
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals",
})  # fmt: skip
_KEYWORDS = {"axis": "dim", "axes": "dim", "keepdims": "keepdim"}


def _from_package(func: Fn) -> Fn | None:
    """The function of the same name in `adjoint.linalg` or `adjoint.fft`, whose arguments come in the same order."""
    package = func.__module__.rpartition(".")[2]
    if package == "linalg" and func.__name__ not in _LINALG:
        return None
    fn = getattr(import_module(f".{package}", __package__), func.__name__, None)
    if fn is None:
        return None

    def adapter(*args: Any, **kwargs: Any) -> Any:
        if isinstance(args[0], list | tuple):
            args = (_factors(*args[0]), *args[1:])
        several = [place for place, value in enumerate(args) if isinstance(value, np.ndarray | Tensor)]
        factors = dict(zip(several, _factors(*(args[place] for place in several)), strict=True))
        operands = [factors.get(place, value) for place, value in enumerate(args)]
        return fn(*operands, **{_KEYWORDS.get(name, name): value for name, value in kwargs.items()})

    return adapter


def unsupported(name: str, func: Fn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function without an op: computed on the arrays and returned as arrays, as PyTorch does, unless that would lose a gradient."""
    if any(t.requires_grad for t in _tensors(args)) or any(t.requires_grad for t in _tensors(kwargs)):
        raise TypeError(
            f"{name} has no derivative here, and an argument requires grad: its result would be cut off from the graph.\n"
            f"  fix: {name}(t.detach().numpy(), ...) to compute with the values only, or write it with adjoint's functions"
        )
    return func(*_bare(args), **_bare(kwargs))


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _bare(value: Any) -> Any:
    """Arrays in place of the tensors."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, list | tuple):
        return type(value)(map(_bare, value)) if type(value) in (list, tuple) else value
    return {key: _bare(item) for key, item in value.items()} if isinstance(value, dict) else value
