"""The Wishart distribution of positive definite matrices."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from .._dtype import finfo
from .._from_data import tensor
from .._ranges import arange
from .._sampling import randn
from .._site import warn
from .._size import Size
from .._tensor import Tensor
from ..linalg import slogdet
from . import constraints
from ._functions import broadcast_shapes, where
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import half_log_determinant, scale_tril_of
from .utils import lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    steps = arange(p, dtype=x.dtype, device=x.device) / 2
    return (x.unsqueeze(-1) - steps).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """The sum of `df` squares x x^T of normal vectors with the given covariance."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1),
        }  # fmt: skip

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Number):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape, event_shape = broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        self._dist_chi2 = self._chi2_of_rows()

    def _chi2_of_rows(self) -> Chi2:
        rows = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(df=self.df.unsqueeze(-1) - rows.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        shape = Size(batch_shape)
        new.df = self.df.expand(shape)
        for name in ("covariance_matrix", "precision_matrix", "scale_tril"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(shape + self.event_shape))
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._finish_expanding(self, shape)
        new._dist_chi2 = new._chi2_of_rows()
        return new

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

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
    def _df_of_matrices(self) -> Tensor:
        result: Tensor = self.df.reshape((*self._batch_shape, 1, 1))
        return result

    @property
    def mean(self) -> Tensor:
        return self._df_of_matrices * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._df_of_matrices - self.covariance_matrix.shape[-1] - 1
        return where(factor <= 0, math.nan, factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._df_of_matrices * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """Bartlett's decomposition: roots of chi-squared numbers on the diagonal, normal numbers below it."""
        p = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).eps).sqrt()
        normals = randn((*diagonal.shape[:-1], p * (p - 1) // 2), dtype=self.df.dtype, device=self.df.device)
        below = normals.new_zeros((*diagonal.shape, p))
        below[..., normals.new_ones((p, p)).tril(-1).bool()] = normals
        factor = self._unbroadcasted_scale_tril @ (below + diagonal.diag_embed())
        result: Tensor = factor @ factor.mT
        return result

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Samples that can be differentiated. Those that rounding made singular are drawn again, `max_try_correction` times at most."""
        if max_try_correction is None:
            max_try_correction = 3 if self._batch_shape else 10
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        if singular.any():
            warn("Singular sample detected.")
            for _ in range(max_try_correction):
                sample = where(singular[..., None, None], self._bartlett_sampling(sample_shape), sample)
                singular = ~self.support.check(sample)
                if not singular.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, p = self.df, self._event_shape[-1]
        height = half_log_determinant(self._unbroadcasted_scale_tril) + p * math.log(2) / 2
        trace = value.cholesky_solve(self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        total: Tensor = -df * height - (df / 2).mvlgamma(p) + (df - p - 1) / 2 * slogdet(value).logabsdet - trace / 2
        return total

    def entropy(self) -> Tensor:
        df, p = self.df, self._event_shape[-1]
        height = half_log_determinant(self._unbroadcasted_scale_tril) + p * math.log(2) / 2
        slope = (df - p - 1) / 2 * _mvdigamma(df / 2, p)
        result: Tensor = (p + 1) * height + (df / 2).mvlgamma(p) - slope + df * p / 2
        return result

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -0.5 * self.precision_matrix, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:
        p = x.shape[-1]
        half = y + (p + 1) / 2
        total: Tensor = half * (p * math.log(2) - slogdet(-2 * x).logabsdet) + half.mvlgamma(p)
        return total
