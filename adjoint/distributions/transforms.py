"""Invertible maps between the values of distributions, with the logarithms of their Jacobian determinants."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from .._creation import eye, full_like
from .._dtype import finfo
from .._ranges import arange
from .._size import Size
from .._tensor import Tensor
from . import constraints
from ._functions import broadcast_shapes, cat, cholesky, softplus
from ._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    SameByType,
    StackTransform,
    Transform,
    _InverseTransform,  # noqa: F401 (imported by others from here)
    enlarged,
    identity_transform,
)
from .utils import broadcast_all, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip

# ---- of numbers ---------------------------------------------------------------------------------------------------------------------


class ExpTransform(SameByType):
    """y = exp(x)."""

    domain, codomain, bijective, sign = constraints.real, constraints.positive, True, 1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent."""

    domain, codomain, bijective = constraints.positive, constraints.positive, True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all().item())

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Any) -> Any:
    info = finfo(x.dtype)
    return x.sigmoid().clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(SameByType):
    """y = 1 / (1 + exp(-x))."""

    domain, codomain, bijective, sign = constraints.real, constraints.unit_interval, True, 1

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(SameByType):
    """y = log(1 + exp(x))."""

    domain, codomain, bijective, sign = constraints.real, constraints.positive, True, 1

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(SameByType):
    """y = tanh(x). Its inverse is rounded badly near -1 and 1: use `cache_size=1` there."""

    domain, codomain, bijective, sign = constraints.real, constraints.interval(-1.0, 1.0), True, 1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(SameByType):
    """y = |x|."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x. `event_dim` is the number of dimensions of an event, for parameters that differ within it."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        return enlarged(constraints.real, self.event_dim)

    codomain = domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = self.scale
        logarithm = scale.abs().log() if isinstance(scale, Tensor) else full_like(x, math.log(abs(scale)))
        if not self.event_dim:
            return logarithm.expand(x.shape)
        shape = logarithm.shape[: max(logarithm.dim() - self.event_dim, 0)]
        return logarithm.reshape((*shape, -1)).sum(-1).expand(x.shape[: x.dim() - self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Number) and isinstance(b, Number):
        return a == b
    return bool((a == b).all().item())


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x)."""

    bijective, codomain, sign = True, constraints.unit_interval, 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# ---- of vectors and matrices --------------------------------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Rearranges the rightmost dimensions into another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: max(x.dim() - len(self.in_shape), 0)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: max(y.dim() - len(self.out_shape), 0)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Any, old: Size, new: Size) -> Any:
    """A shape whose end is another one."""
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class SoftmaxTransform(SameByType):
    """y = softmax(x). Not bijective, for adding a constant to x leaves y as it is; `StickBreakingTransform` is."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(SameByType):
    """Breaks off parts of a stick: K numbers become the lengths of K + 1 pieces, whose sum is 1."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    @staticmethod
    def _log_pieces_left(x: Any) -> Any:
        """The logarithm of how many pieces are still to be cut, K first: with it, zeros make equal pieces."""
        count = x.shape[-1]
        return arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        parts = _clipped_sigmoid(x - self._log_pieces_left(x))
        rest = (1 - parts).cumprod(-1)
        one = parts.new_ones((*parts.shape[:-1], 1))
        return cat([parts, one], -1) * cat([one, rest], -1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return parts.log() - rest.log() + self._log_pieces_left(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._log_pieces_left(x)
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)  # noqa: RUF005 (a Size stays one)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)  # noqa: RUF005 (a Size stays one)


class LowerCholeskyTransform(SameByType):
    """Any square matrix becomes lower triangular with a positive diagonal, by the exponential."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(SameByType):
    """Any square matrix becomes positive definite, by way of `LowerCholeskyTransform`."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """Numbers become, row by row, the Cholesky factor of a correlation matrix: each cuts off a part of its row's length 1."""

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - shares * shares).sqrt().cumprod(-1)
        shares = shares + eye(shares.shape[-1], dtype=shares.dtype, device=shares.device)
        return shares * _shifted(rest)

    def _inverse(self, y: Any) -> Any:
        rest = _shifted(1 - (y * y).cumsum(-1))
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # Each column after the first shrinks by the square root of what the columns before it have left over.
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        slopes = math.log(2.0) - x - softplus(-2.0 * x)
        return 0.5 * rest.log().sum(-1) + 2.0 * slopes.sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size,)  # noqa: RUF005 (a Size stays one)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)  # noqa: RUF005 (a Size stays one)


def _shifted(rows: Any) -> Any:
    """Rows moved to the right by one, with a one in front."""
    return cat([rows.new_ones((*rows.shape[:-1], 1)), rows[..., :-1]], -1)
