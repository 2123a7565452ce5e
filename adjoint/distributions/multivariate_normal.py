"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from .._creation import eye
from .._tensor import Tensor
from ..linalg import cholesky, solve_triangular
from . import constraints
from ._functions import broadcast_shapes
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of a batch of matrices and a batch of vectors, either of which may be larger."""
    result: Tensor = (bmat @ bvec.unsqueeze(-1)).squeeze(-1)
    return result


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """x^T M^-1 x for M given by its Cholesky factor L. Many vectors and one matrix are solved as one."""
    if bL.dim() == 2 and bx.dim() > 1:
        solved: Tensor = solve_triangular(bL, bx.reshape(-1, bx.shape[-1]).mT, upper=False)
        return solved.pow(2).sum(0).reshape(bx.shape[:-1])
    solved = solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return solved.pow(2).sum((-2, -1))


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse. From the factor of the matrix in reverse order: its inverse is lower triangular again."""
    reversed_factor: Tensor = cholesky(P.flip((-2, -1)))
    inverse = reversed_factor.flip((-2, -1)).mT
    identity = eye(P.shape[-1], dtype=P.dtype, device=P.device)
    factor: Tensor = solve_triangular(inverse, identity, upper=False)
    return factor


def half_log_determinant(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def only_one(**matrices: Any) -> tuple[str, Tensor]:
    """The one matrix that is given, and its name."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, from it or from another matrix."""
    if name == "scale_tril":
        return matrix
    if name == "precision_matrix":
        return _precision_to_scale_tril(matrix)
    factor: Tensor = cholesky(matrix)
    return factor


class MultivariateNormal(Distribution):
    """Vectors with mean `loc` and a covariance given by itself, by its inverse or by its lower triangular Cholesky factor."""

    arg_constraints = {  # noqa: RUF012
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_one(covariance_matrix=covariance_matrix, scale_tril=scale_tril, precision_matrix=precision_matrix)
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(MultivariateNormal, batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._full(self._unbroadcasted_scale_tril.cholesky_inverse())

    @property
    def mean(self) -> Tensor:
        result: Tensor = self.loc
        return result

    @property
    def mode(self) -> Tensor:
        result: Tensor = self.loc
        return result

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        result: Tensor = self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)
        return result

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_determinant(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        height = half_log_determinant(self._unbroadcasted_scale_tril)
        return (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + height).expand(self._batch_shape)
