"""The LKJ distribution of correlation matrices (Lewandowski, Kurowicka and Joe, 2009), by their Cholesky factors."""

from __future__ import annotations

import math
import operator
from typing import Any

from .._dtype import finfo, get_default_dtype
from .._ranges import arange
from .._sampling import randn
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from ._functions import cat
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` by `dim` correlation matrices C, of density in proportion to det(C)**(concentration - 1)."""

    arg_constraints = {"concentration": constraints.positive}  # noqa: RUF012
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if not hasattr(dim, "__index__") or operator.index(dim) < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The onion method (section 3.2): row after row, the part of its length outside the diagonal.
        offset = arange(dim - 1, dtype=get_default_dtype())
        offset = cat([offset.new_zeros(1), offset])
        marginal = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(LKJCholesky, batch_shape, _instance)
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            directions = randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)  # the first row has nothing outside the diagonal
            below = squared.sqrt() * directions
            tiny = finfo(below.dtype).tiny
            diagonal = (1 - (below**2).sum(-1)).clamp(min=tiny).sqrt()
            result: Tensor = below + diagonal.diag_embed()
            return result

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        exponents = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (exponents * diagonal.log()).sum(-1)
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        normalizer = 0.5 * rows * math.log(math.pi) + (alpha - 0.5).mvlgamma(rows) - alpha.lgamma() * rows
        return unnormalized - normalizer
