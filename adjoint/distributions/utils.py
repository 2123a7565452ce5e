"""What distributions share: broadcasting of parameters, probabilities and their logits, attributes computed when asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any, Generic, TypeVar, overload

from .._creation import full
from .._dtype import finfo, get_default_dtype
from .._from_data import tensor
from .._sampling import randn
from .._tensor import Tensor
from ..autograd.grad_mode import enable_grad
from ..ops._rules import holds
from ._functions import broadcast_tensors, softmax

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

T = TypeVar("T")
euler_constant = 0.57721566490153286060


def all_true(valid: Tensor) -> bool:
    """Whether a condition holds everywhere; inside of `vmap`, for all examples."""
    return not holds(valid.logical_not().any())


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape. Numbers take the dtype of the first tensor, or the default one."""
    if not all(isinstance(v, Tensor | Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
            f" Got {', '.join(type(v).__name__ for v in values)}"
        )
    given = [v for v in values if isinstance(v, Tensor)]
    if len(given) == len(values):
        return tuple(broadcast_tensors(*values))
    dtype, device = (given[0].dtype, given[0].device) if given else (get_default_dtype(), None)
    return tuple(broadcast_tensors(*(v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=device) for v in values)))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over that many of the last dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds, or from logarithms of probabilities up to a constant."""
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds, or logarithms, of probabilities."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def either(probs: Any, logits: Any) -> bool:
    """Whether the probabilities are given, and not the logits. One of them has to be."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


class lazy_property(Generic[T]):
    """An attribute computed when first asked for, and kept."""

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...
    def __get__(self, instance: Any, owner: Any = None) -> lazy_property[T] | T:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of the lower triangle, up to a diagonal, row by row."""
    n = mat.shape[-1]
    if not -n < diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n + 1}, {n - 1}].")
    return mat[..., _below(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrix whose lower triangle, up to a diagonal, `vec` lists row by row. All else is zero."""
    size, n = vec.shape[-1], 0
    while _elements_below(n, diag) < size:
        n += 1
    if _elements_below(n, diag) != size:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _below(n, diag, vec)] = vec
    return mat


def _elements_below(n: int, diag: int) -> int:
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


def _below(n: int, diag: int, like: Tensor) -> Tensor:
    return full((n, n), 1, device=like.device).tril(diag).bool()
