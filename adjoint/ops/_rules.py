"""What derivative rules are written with. Plain NumPy code: it works on arrays and on Tensors alike."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._layer import Layer
from .._methods import OpMethods
from ._conversions import converted
from ._primitives import loops

if TYPE_CHECKING:
    from ..autograd.node import Node
    from ._registry import Op


ARRAYS = (np.ndarray, np.generic)
LARGE = 1 << 14  # elements of which a copy is worth a kernel,
MIDDLE = 1 << 12  # and if those of a row are apart


def call(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """An op inside a rule, where NumPy has no function for it: on Tensors the op itself, on arrays its forward."""
    for value in args:
        if isinstance(value, OpMethods):
            return fn(*args, **kwargs)
    op = fn.op
    if len(op.args) == 1 and op.broadcasts and args[0].__class__ is np.ndarray:
        from ._compiled import forward_of

        return forward_of(op, "T")(*args)
    result = op.impl(*args, **kwargs)
    return op.in_layout(result, args[: len(op.inputs)]) if op.images or (op.like and not op.broadcasts) else result


def holds(condition: Any) -> bool:
    """Whether a condition on values is true. Where there are none, on the meta device, it is taken to be false."""
    values = getattr(condition, "_data", condition)
    while isinstance(values, Layer):  # inside a transform: for any of its values
        values = np.any(values.value._data) if values.value._data.__class__ is np.ndarray else values.value._data
    return getattr(values, "device", "cpu") == "cpu" and bool(values)


def zeros_on(g: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Zeros to put gradients into, on the device of `g`: an array for an array, a Tensor for a Tensor."""
    if g.__class__ is np.ndarray:
        return np.zeros(shape, dtype)
    if isinstance(g, OpMethods):
        from .._dtype import from_numpy_dtype

        return g.new_zeros(shape, dtype=from_numpy_dtype(dtype))
    return np.zeros(shape, dtype) if isinstance(g, ARRAYS) else np.zeros(shape, dtype, like=g)


def joined(parts: Any, dim: int) -> Any:
    """Arrays, or Tensors, one after the other along a dimension."""
    return loops("copy").join(parts, dim) if parts[0].__class__ is np.ndarray else np.concatenate(parts, axis=dim)


def stacked(parts: Any, dim: int) -> Any:
    """Arrays, or Tensors, of one shape along a new dimension."""
    return loops("copy").join(parts, dim, True) if parts[0].__class__ is np.ndarray else np.stack(parts, dim)


def in_order(x: Any) -> Any:
    """A copy of an array whose memory is in the order of its indices."""
    return loops("copy").copy(x) if x.__class__ is np.ndarray and x.size >= MIDDLE else x.copy()


def contiguous(x: Any) -> Any:
    """What a forward gives where PyTorch promises memory in the order of the indices, whatever that of the input is."""
    return np.ascontiguousarray(x) if x.__class__ is np.ndarray and not x.flags.c_contiguous else x


def copied(x: Any) -> Any:
    """A copy to write into; a NumPy scalar, which cannot be written to, becomes an array."""
    if x.__class__ is np.ndarray and x.size < MIDDLE:
        return x.copy()
    return np.array(x) if isinstance(x, np.generic) else in_order(x)


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Undo broadcasting: sum a gradient to the shape that its input had."""
    if g.shape == shape:
        return g
    lead = len(g.shape) - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, size in enumerate(shape) if size == 1 and g.shape[lead + i] != 1)
    if axes:
        total = loops("reduce").total.run(g, axes, True)
        if total is None:
            half = isinstance(g, ARRAYS) and g.itemsize == 2 and g.dtype.kind in "fV"  # which is summed in single
            total = cast(np.sum(cast(g, np.dtype("float32")) if half else g, axis=axes, keepdims=True), g.dtype)
        g = total
    return g.reshape(shape)


def cast(x: Any, dtype: np.dtype[Any]) -> Any:
    """`x` with another dtype; of a complex number becoming real, the real part."""
    present = x.dtype
    if present is dtype:
        return x
    if isinstance(present, np.dtype):
        if present == dtype:
            return x
        if present.kind == "c" and dtype.kind != "c":
            x = x.real
        return converted(x, dtype)
    if x._data.dtype == dtype:
        return x
    from .._dtype import from_numpy_dtype

    if present.is_complex and dtype.kind != "c":
        x = x.real
    return x.to(from_numpy_dtype(dtype))


def conjugate(x: Any) -> Any:
    """The complex conjugate; `x` itself if it is real or absent. Of several gradients, that of each."""
    if x.__class__ is list or x.__class__ is tuple:
        return [conjugate(part) for part in x]
    return x if x is None or x.dtype in _REAL or getattr(x.dtype, "kind", "c") != "c" else np.conjugate(x)


PASSES_ON = (lambda g: g).__code__.co_code  # of rules that take the gradient as it is


def conjugated(rule: Any) -> Any:
    """The rule of a holomorphic op for complex values: conj(rule(conj(g)))."""
    if rule.__code__.co_code == PASSES_ON:
        return rule
    names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    place = names.index("g") if "g" in names else len(names)

    def of_conjugate(*args: Any) -> Any:
        return conjugate(rule(*args[:place], *map(conjugate, args[place : place + 1]), *args[place + 1 :]))

    return of_conjugate


def conjugates(op: Op, tensors: Iterable[Any]) -> bool:
    """Whether gradients of these operands and results need `conjugated` rules. An op that says nothing about complex values has none."""
    if not any(hasattr(x, "_data") and x._data.dtype.kind == "c" for x in tensors):
        return False
    if op.holomorphic is None:
        raise RuntimeError(
            f"{op.name} does not support automatic differentiation for outputs with complex dtype.\n"
            "  fix: compute it of x.real and x.imag; an op that is holomorphic has to say so in its declaration, by holomorphic=True"
        )
    return op.holomorphic


def broadcast_restore(node: Node, shapes: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, ...] | None:
    """For each edge of a node: the shape and dtype to which its gradient has to be brought back, None where it fits already."""
    return tuple((shapes[slot], dtype) if shapes[slot] != shape else None for slot in node.input_slots)


def restored(node: Node, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    assert node.restore is not None
    return tuple(
        grad if back is None or grad is None else cast(sum_to(grad, back[0]), back[1])
        for grad, back in zip(grads, node.restore, strict=True)
    )


def normalize_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions as a sorted-by-user tuple of non-negative numbers; None (and an empty list) means all of them."""
    if dim.__class__ is int:
        return (wrap_dim(dim, ndim),)
    if dim is None:
        return tuple(range(ndim))
    several = isinstance(dim, tuple | list) or (getattr(dim, "shape", None) == (1,) and not isinstance(dim, np.ndarray))  # a tensor of one
    dims = tuple(dim) if several else (dim,)
    if not dims:
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        repeated = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return wrapped


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front. 0-d tensors and arrays of integers stand for numbers."""
    if dim.__class__ is not int:
        dim = whole_number(dim)
    if 0 <= dim < ndim:
        return dim  # type: ignore[no-any-return]
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit  # type: ignore[no-any-return]


def whole_number(value: Any, name: str = "dim") -> int:
    """An integer that may be given as a 0-d tensor or array. A truth value is none."""
    if not isinstance(value, bool) and not getattr(value, "ndim", 0):
        try:
            return operator.index(value)
        except (TypeError, RuntimeError):  # (a tensor of another dtype)
            pass
    raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}")


def flipped(x: Any, dim: int) -> Any:
    """The elements in reverse order along a dimension."""
    return x[(slice(None),) * dim + (slice(None, None, -1),)] if x.__class__ is np.ndarray else np.flip(x, axis=dim)


def as_axis(dim: Any) -> Any:
    """A dimension or several as kernels take them: an int, a tuple, or None."""
    return dim if dim.__class__ is int or dim is None else tuple(dim) if isinstance(dim, tuple | list) else whole_number(dim)


def unreduce(g: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """A gradient of a reduction, brought back to the number of dimensions of the input, ready to broadcast against it."""
    if keepdim or not shape:
        return g
    kept = list(shape)
    for d in normalize_dims(dim, len(shape)):
        kept[d] = 1
    return g.reshape(tuple(kept))


def spread(g: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum: every summed element gets it."""
    if not isinstance(g, ARRAYS):
        return np.broadcast_to(unreduce(g, shape, dim, keepdim), shape)
    # Not a broadcast view: that takes longer to make than a small array, and kernels want contiguous memory.
    full = loops("spread").evenly(shape, as_axis(dim), g)
    if full is None:
        full = np.empty(shape, g.dtype)
        full[...] = unreduce(g, shape, dim, keepdim)
    return full


_REAL = frozenset({np.dtype("float32"), np.dtype("float64")})
