"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

from .._creation import eye
from .._tensor import Tensor
from ..linalg import cholesky, solve_triangular
from . import constraints
from ._functions import broadcast_shapes
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, half_log_determinant
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W, the small matrix in the Woodbury identity."""
    inner = W.mT / D.unsqueeze(-2) @ W
    root: Tensor = cholesky(inner + eye(W.size(-1), dtype=inner.dtype, device=inner.device))
    return root


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The logarithm of the determinant of W W^T + D."""
    return 2 * half_log_determinant(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x^T (W W^T + D)^-1 x, by the Woodbury identity."""
    scaled = W.mT / D.unsqueeze(-2)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(scaled, x))


class LowRankMultivariateNormal(Distribution):
    """Vectors with mean `loc` and covariance `cov_factor @ cov_factor.mT + diag(cov_diag)`."""

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            shapes = f"{loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            raise ValueError(f"Incompatible batch shapes: loc {shapes}") from error
        self.loc, self.cov_diag = loc.expand(batch_shape + event_shape), cov_diag.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(LowRankMultivariateNormal, batch_shape, _instance)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return new

    @property
    def mean(self) -> Tensor:
        result: Tensor = self.loc
        return result

    @property
    def mode(self) -> Tensor:
        result: Tensor = self.loc
        return result

    @lazy_property
    def variance(self) -> Tensor:
        total = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        result: Tensor = total.expand(self._batch_shape + self._event_shape)
        return result

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        # The factor of D^-1/2 W W^T D^-1/2 + I is better conditioned than that of the covariance.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._full(root * cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._full(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        solved: Tensor = solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._full(diagonal.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        low_rank = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        each = _standard_normal(shape, self.loc.dtype, self.loc.device)
        result: Tensor = self.loc + _batch_mv(self._unbroadcasted_cov_factor, low_rank) + self._unbroadcasted_cov_diag.sqrt() * each
        return result

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diagonal, capacitance = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _batch_lowrank_mahalanobis(factor, diagonal, value - self.loc, capacitance)
        height = _batch_lowrank_logdet(factor, diagonal, capacitance)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + height + distance)

    def entropy(self) -> Tensor:
        height = _batch_lowrank_logdet(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + height)).expand(self._batch_shape)
