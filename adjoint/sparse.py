"""PyTorch's sparse matrices in coordinate form, as graph networks use them: made, summed, turned dense, and multiplied with dense tensors.

A sparse tensor is a pair of ordinary tensors, the places and the values there. All that is done with it is done with ordinary operations on
those two, so gradients reach the values, and whatever it is multiplied with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._creation import zeros
from ._from_data import as_tensor
from ._layout import sparse_coo
from ._size import Size
from ._tensor import Tensor
from ._utils import _rebuild_sparse_tensor
from .ops.join import cat, stack


class SparseTensor:
    """What `sparse_coo_tensor` makes.

    >>> import adjoint as ad
    >>> adjacency = ad.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    >>> adjacency @ ad.ones(2, 1)
    tensor([[1.],
            [2.]])
    """

    is_sparse = True
    is_cuda = is_quantized = is_mps = False
    layout = sparse_coo

    def __init__(self, indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool = False) -> None:
        self._places = indices
        self._numbers = values
        self.shape = Size(size)
        self._coalesced = coalesced

    # ---- facts ------------------------------------------------------------------------------------------------------------------

    dtype = property(lambda self: self._numbers.dtype)
    device = property(lambda self: self._numbers.device)
    requires_grad = property(lambda self: self._numbers.requires_grad)
    is_leaf = property(lambda self: self._numbers.is_leaf)
    grad_fn = property(lambda self: self._numbers.grad_fn)
    ndim = property(lambda self: len(self.shape))

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.shape.numel()

    def sparse_dim(self) -> int:
        return int(self._places.shape[0])

    def dense_dim(self) -> int:
        return self._numbers.dim() - 1

    def _nnz(self) -> int:
        return int(self._numbers.shape[0])

    def _indices(self) -> Tensor:
        return self._places

    def _values(self) -> Tensor:
        return self._numbers

    def is_coalesced(self) -> bool:
        return self._coalesced

    def indices(self) -> Tensor:
        self._require_coalesced("indices")
        return self._places

    def values(self) -> Tensor:
        self._require_coalesced("values")
        return self._numbers

    def _require_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def __reduce__(self) -> Any:
        return _rebuild_sparse_tensor, (self.layout, (self._places, self._numbers, self.shape, self._coalesced))

    def __repr__(self) -> str:
        def indented(name: str, tensor: Tensor) -> str:
            text = repr(tensor.detach()).replace(f", dtype={tensor.dtype})", ")")  # which is said once, at the end
            return f"{name}={text}".replace("\n", "\n" + " " * (8 + len(name)))

        kind = "" if repr(self.dtype) == "torch.float32" else f", dtype={self.dtype}"
        grad = ", requires_grad=True" if self.requires_grad and self.is_leaf else ""
        facts = f"size={tuple(self.shape)}, nnz={self._nnz()}{kind}, layout=torch.sparse_coo{grad}"
        return f"tensor({indented('indices', self._places)},\n       {indented('values', self._numbers)},\n       {facts})"

    # ---- other forms ------------------------------------------------------------------------------------------------------------

    def _with(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._places, values, self.shape, self._coalesced)

    def _flat(self) -> Tensor:
        """The place of each value in the dense tensor, counted along all sparse dimensions."""
        flat = self._places[0]
        for length, place in zip(self.shape[1:], self._places[1:], strict=False):
            flat = flat * length + place
        return flat

    def coalesce(self) -> SparseTensor:
        """Sorted, with the values at the same place added up."""
        if self._coalesced:
            return self
        lengths = self.shape[: self.sparse_dim()]
        flat, which = self._flat().unique(return_inverse=True)
        values = zeros(len(flat), *self._numbers.shape[1:], dtype=self.dtype).index_add(0, which, self._numbers)
        places: list[Tensor] = []
        for length in reversed(lengths):
            places.insert(0, flat % length)
            flat = flat // length
        return SparseTensor(stack(places), values, self.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        count = self.sparse_dim()
        flat = zeros(Size(self.shape[:count]).numel(), *self.shape[count:], dtype=self.dtype).index_add(0, self._flat(), self._numbers)
        dense = flat.reshape(self.shape)
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, *args: Any, **kwargs: Any) -> SparseTensor:
        return self

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        order = list(range(self.sparse_dim()))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return SparseTensor(self._places[order], self._numbers, [self.shape[dim] for dim in order])

    def t(self) -> SparseTensor:
        return self.transpose(0, 1)

    T = property(t)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        return self._with(self._numbers.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> SparseTensor:
        return self._with(self._numbers.cuda(*args, **kwargs))

    def cpu(self) -> SparseTensor:
        return self

    def float(self) -> SparseTensor:
        return self._with(self._numbers.float())

    def double(self) -> SparseTensor:
        return self._with(self._numbers.double())

    def clone(self) -> SparseTensor:
        return SparseTensor(self._places.clone(), self._numbers.clone(), self.shape, self._coalesced)

    def detach(self) -> SparseTensor:
        return self._with(self._numbers.detach())

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        self._numbers.requires_grad_(requires_grad)
        return self

    # ---- computing --------------------------------------------------------------------------------------------------------------

    def mm(self, mat2: Any) -> Tensor:
        """The product with a dense matrix or vector."""
        if isinstance(mat2, SparseTensor):
            raise NotImplementedError("the product of two sparse tensors; make one of them dense: a @ b.to_dense()")
        if self.dim() != 2 or self.shape[1] != mat2.shape[0]:
            raise RuntimeError(f"mm: the sizes {tuple(self.shape)} and {tuple(mat2.shape)} do not match in a product of matrices")
        rows, columns = self._places
        weights = self._numbers if mat2.dim() == 1 else self._numbers.unsqueeze(1)
        return zeros(self.shape[0], *mat2.shape[1:], dtype=self.dtype).index_add(0, rows, weights * mat2[columns])

    matmul = spmm = mv = __matmul__ = mm

    def __rmatmul__(self, other: Tensor) -> Tensor:
        return self.t().mm(other.T).T if other.dim() > 1 else self.t().mm(other)

    def mul(self, other: Any) -> SparseTensor:
        """Each value times a number, or times what a dense tensor has at its place."""
        if isinstance(other, Tensor) and other.dim():
            other = other.expand(self.shape)[tuple(self._places)]
        return self._with(self._numbers * other)

    __mul__ = __rmul__ = mul

    def div(self, other: Any) -> SparseTensor:
        return self._with(self._numbers / other)

    __truediv__ = div

    def neg(self) -> SparseTensor:
        return self._with(-self._numbers)

    __neg__ = neg

    def add(self, other: Any) -> Any:
        """Sparse with sparse is sparse, with dense dense."""
        if not isinstance(other, SparseTensor):
            return self.to_dense() + other
        places = cat([self._places, other._places], 1)
        return SparseTensor(places, cat([self._numbers, other._numbers]), self.shape)

    __add__ = __radd__ = add

    def sub(self, other: Any) -> Any:
        return self.add(-other)

    __sub__ = sub

    def sum(self, dim: Any = None, dtype: Any = None) -> Tensor:
        if dim is None:
            return self._numbers.sum(dtype=dtype)
        return self.to_dense().sum(dim, dtype=dtype)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """`torch.mm(sparse, x)` and the like: the method of the same name."""
        name = func.__name__
        if name == "addmm":
            start, sparse, dense = args
            return kwargs.get("beta", 1) * start + kwargs.get("alpha", 1) * sparse.mm(dense)
        if isinstance(args[0], cls) and (name.strip("_") == name or name in cls.__dict__) and hasattr(cls, name):
            return getattr(args[0], name)(*args[1:], **(kwargs or {}))
        if name in ("matmul", "__matmul__"):
            return args[1].__rmatmul__(args[0])
        if name in ("add", "mul") and isinstance(args[1], cls):
            return getattr(args[1], name)(args[0])
        raise NotImplementedError(f"{name} is not there for sparse tensors; make it dense first: x.to_dense()")


def sparse_coo_tensor(
    indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False, check_invariants: bool | None = None, is_coalesced: bool = False,
) -> SparseTensor:  # fmt: skip
    """A sparse tensor of the values, each at the place that a column of `indices` says; values at the same place add up."""
    places = as_tensor(indices).long()
    numbers = as_tensor(values, dtype=dtype, device=device)
    if places.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {tuple(places.shape)}")
    if numbers.dim() == 0 or places.shape[1] != numbers.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, from values: {len(numbers)}"
        )
    largest = places.amax(1).tolist() if places.shape[1] else [-1] * places.shape[0]
    if size is None:
        size = [*(length + 1 for length in largest), *numbers.shape[1:]]
    for dim, (found, length) in enumerate(zip(largest, size, strict=False)):
        if found >= length:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {found}")
    if places.shape[1] and places.amin().item() < 0:
        raise RuntimeError(f"found negative index {places.amin().item()}: places are counted from 0")
    if requires_grad:
        numbers = numbers.detach().requires_grad_()
    return SparseTensor(places, numbers, size, is_coalesced)


def to_sparse(dense: Tensor) -> SparseTensor:
    """The elements of a tensor that are not 0."""
    places = dense.detach().nonzero().T
    return SparseTensor(places, dense[tuple(places)], dense.shape, True)


def mm(mat1: Any, mat2: Any, reduce: Any = None) -> Any:
    """The product of a sparse and a dense matrix."""
    return mat1 @ mat2


def addmm(input: Tensor, mat1: SparseTensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    return beta * input + alpha * mat1.mm(mat2)


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all values, or over dimensions (a dense tensor)."""
    return input.sum(dim, dtype)


def _legacy(kind: str) -> Callable[..., SparseTensor]:
    def make(indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> SparseTensor:
        return sparse_coo_tensor(indices, values.type(f"torch.{kind}Tensor"), size)

    return make


FloatTensor, DoubleTensor, LongTensor = map(_legacy, ("Float", "Double", "Long"))
