"""What a Tensor of a sparse layout holds in the place of an array: a pattern, and the array of its values.

To autograd it is an array like others: it has a shape and a dtype, gradients of it are added up. Ops do not compute with it: those on
sparse Tensors are sent to their sparse forms (_forms.py) before they come to arrays. Whoever asks it for more gets an error that names the
dense form.
"""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from .. import _dtype
from .._layer import marked
from .._layout import Sparse, sparse_coo
from .._printing import sparse_text
from .._size import Size
from .._tensor import wrap
from ._pattern import Array, Coo, Pattern, Shape

ATTRIBUTES = {"strides": "as_strided", "base": "as_strided"}  # of arrays, that functions ask for


def refuse(name: str, layout: object) -> NoReturn:
    name = re.sub("_(all|dims?|part|number|scaled)$", "", ATTRIBUTES.get(name, name))  # what ops of several kinds are called after
    backend = "SparseCPU" if str(layout) == "torch.sparse_coo" else "SparseCsrCPU"
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend: it has no form for tensors of layout {layout}\n"
        f"  fix: make it dense first, x.to_dense()"
    )


class SparseArray(Sparse):
    """The values of a sparse tensor and their places."""

    __slots__ = ("dtype", "pattern", "values")
    flags = SimpleNamespace(c_contiguous=False, f_contiguous=False, forc=False)

    def __init__(self, pattern: Pattern, values: Array) -> None:
        self.pattern = pattern
        self.values = values
        self.dtype: np.dtype[Any] = marked(values.dtype)  # see Note [The dtype of a layer]

    @property
    def device(self) -> Any:
        """That of the values: where they have none, on the meta device, their places are known all the same."""
        return getattr(self.values, "device", "cpu")

    @property
    def layout(self) -> Any:
        return self.pattern.layout

    @property
    def shape(self) -> Shape:
        return self.pattern.shape

    @property
    def ndim(self) -> int:
        return len(self.pattern.shape)

    @property
    def size(self) -> int:
        return math.prod(self.pattern.shape)

    @property
    def itemsize(self) -> int:
        return int(self.values.itemsize)

    def with_values(self, values: Array) -> SparseArray:
        return SparseArray(self.pattern, values)

    def copy(self, order: str = "C") -> SparseArray:
        return self.with_values(self.values.copy())

    def astype(self, dtype: np.dtype[Any], **options: Any) -> SparseArray:
        return self.with_values(self.values.astype(dtype))

    def __deepcopy__(self, memo: object) -> SparseArray:
        return self.copy()

    def __reduce__(self) -> Any:
        return SparseArray, (self.pattern, self.values)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        refuse(name, self.pattern.layout)  # what asks takes it for an array

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first.")

    def saved(self) -> tuple[Any, ...]:
        """What files keep of it, as PyTorch's do."""
        tensors = (*self.pattern.parts().values(), self.values)
        facts = (Size(self.shape), self.pattern.coalesced) if self.layout is sparse_coo else (Size(self.shape),)
        return (*map(wrap, tensors), *facts)

    def text(self, node: str | None, requires_grad: bool, prefix: str) -> str:
        """What is printed of a Tensor that holds it."""
        pattern = self.pattern
        size = f"size={tuple(self.shape)}"
        facts = [size, f"nnz={pattern.nnz}"] if self.device == "cpu" else [f"device='{self.device}'", size]
        if self.dtype not in (_dtype.default_numpy(), _dtype.default_complex_numpy(), _dtype.int64.numpy, _dtype.bool_.numpy):
            facts.append(f"dtype={_dtype.from_numpy_dtype(self.dtype)}")
        facts.append(f"layout={pattern.layout}")
        facts += [f"grad_fn=<{node}>"] if node else ["requires_grad=True"] * requires_grad
        return sparse_text({**pattern.parts(), "values": self.values}, facts, pattern.layout is sparse_coo, prefix, self.device)

    def refuse_storage(self) -> NoReturn:
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: a sparse tensor has those of its values and indices\n"
            "  fix: x.values() and x.indices(), or x.to_dense()"
        )

    tolist = refuse_storage

    @property
    def nbytes(self) -> NoReturn:
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the indices and "
            "values.  If you want the size of the equivalent dense tensor, multiply numel() by element_size()"
        )

    # ---- what gradients do ------------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] = (), **kwargs: Any) -> Any:
        rule = _UFUNCS.get(ufunc)
        if rule is None or method != "__call__":
            refuse(ufunc.__name__, self.layout)
        result = rule(*inputs)
        if not out:
            return result
        np.copyto(out[0], result)
        return out[0]

    def __add__(self, other: Any) -> Any:
        return added(self, other)

    def __radd__(self, other: Any) -> Any:
        return added(other, self)

    def __mul__(self, other: Any) -> Any:
        return scaled(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> SparseArray:
        return self.with_values(-self.values)


def added(a: Any, b: Any) -> Any:
    """The sum of two gradients: sparse if both are."""
    if isinstance(a, SparseArray) and isinstance(b, SparseArray):
        if a.pattern.same_places(b.pattern):
            return a.with_values(a.values + b.values)
        return joined(a, b)
    sparse, dense = (a, b) if isinstance(a, SparseArray) else (b, a)
    total = np.array(dense, dtype=np.result_type(dense, sparse.values))
    if total.shape != sparse.shape:
        total = np.broadcast_to(total, sparse.shape).copy()
    add_to(total, sparse)
    return total


def joined(a: SparseArray, b: SparseArray) -> SparseArray:
    """The values of two sparse arrays in one; those at the same place are to be added up, and are where that has been done in both."""
    first, second = (x.pattern.coordinates() for x in (a, b))
    values = np.concatenate([x.values.reshape(-1, *x.pattern.dense_shape) for x in (a, b)])
    made = Coo(np.concatenate([first.indices, second.indices], 1), a.shape, False)
    if not (first.coalesced and second.coalesced):
        return SparseArray(made, values)
    pattern, parts = made.merged
    if parts is not None:
        total = np.zeros_like(values, shape=pattern.values_shape, order="C")
        np.add.at(total, parts, values)
        values = total
    return SparseArray(pattern, values)


def add_to(target: Array, sparse: SparseArray) -> None:
    """Add sparse values to a dense array, in place."""
    pattern = sparse.pattern
    values = sparse.values.reshape(-1, *pattern.dense_shape)
    lines = target.reshape(-1, *pattern.dense_shape) if target.flags.c_contiguous else None
    if lines is None:
        np.add.at(target, tuple(pattern.coordinates().indices), values)
        return
    from .._kernels.index_loops import add

    usual = target.dtype is values.dtype and values.__class__ is np.ndarray
    if not usual or not add.at_rows(lines, 0, pattern.flat, np.ascontiguousarray(values)):
        np.add.at(lines, pattern.flat, values)


def scaled(a: Any, b: Any) -> SparseArray:
    """A gradient times a number."""
    sparse, factor = (a, b) if isinstance(a, SparseArray) else (b, a)
    if np.ndim(factor):
        refuse("mul", sparse.layout)
    return sparse.with_values(sparse.values * factor)


_UFUNCS: dict[Any, Any] = {
    np.add: added,
    np.multiply: scaled,
    np.negative: lambda x: x.with_values(-x.values),
    np.conjugate: lambda x: x.with_values(np.conjugate(x.values)),
}
