"""Parametrizations that are often wanted: orthogonal weights, weight normalization, spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ..._creation import eye, zeros_like
from ..._dtype import finfo
from ..._sampling import randn
from ..._tensor import Tensor
from ...linalg import householder_product, solve
from ...ops._registry import FUNCTIONS
from ...ops.join import cat
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, check_iterations, first_dim, iterate
from .weight_norm import norm_except_dim, weight_of

# ---- orthogonal matrices ------------------------------------------------------------------------------------------------------------


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal rows or columns, whichever are fewer.

    The exponential and the Cayley map take the skew-symmetric matrix that the lower triangle of the input makes; the third map takes its
    columns as Householder reflections. With a `base`, the result is a rotation of that.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        q = self._reflections(x) if self.orthogonal_map == _OrthMaps.householder else self._rotation(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _rotation(self, x: Tensor) -> Tensor:
        rows, columns = x.shape[-2:]
        lower = x.tril()
        if rows != columns:
            lower = cat([lower, x.new_zeros((*x.shape[:-2], rows, rows - columns))], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            q = FUNCTIONS["matrix_exp"](skew)
        else:
            identity = eye(rows, dtype=x.dtype)
            q = solve(identity - skew / 2, identity + skew / 2)
        return q if rows == columns else q[..., :columns]  # type: ignore[no-any-return]

    def _reflections(self, x: Tensor) -> Tensor:
        vectors = x.tril(-1)
        lengths = 2.0 / (1.0 + (vectors * vectors).sum(-2))
        signs = x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        return householder_product(vectors, lengths) * signs  # type: ignore[no-any-return]

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        wide = Q.shape[-2] < Q.shape[-1]
        q = Q.mT if wide else Q
        rows, columns = q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            reflectors, lengths = FUNCTIONS["geqrf"](q)
            reflectors = reflectors.clone()
            diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
            # Where there is no reflection the sign is the other way round.
            diagonal.copy_(diagonal.sign() * (1 - 2 * (lengths == 0).to(q.dtype)))
            return reflectors.mT if wide else reflectors  # type: ignore[no-any-return]
        if rows != columns:
            q = cat([q, randn((*q.shape[:-2], rows, rows - columns), dtype=q.dtype)], -1)
        self.base = q.clone() if rows == columns and _is_orthogonal(q) else _make_orthogonal(q)
        origin = zeros_like(Q)  # from here every map leads to the base: minus ones are the signs that reflections need
        origin.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return origin


def _is_orthogonal(q: Tensor) -> bool:
    size = q.shape[-1]
    return bool(((q.mH @ q - eye(size, dtype=q.dtype)).abs() <= 10.0 * size * finfo(q.dtype).eps).all())


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor of a matrix, with signs that keep one which is orthogonal as it is."""
    reflectors, lengths = FUNCTIONS["geqrf"](a)
    return householder_product(reflectors, lengths) * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)  # type: ignore[no-any-return]


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal.

    >>> import adjoint as ad
    >>> layer = ad.nn.utils.parametrizations.orthogonal(ad.nn.Linear(2, 2))
    >>> bool(ad.allclose(layer.weight @ layer.weight.mT, ad.eye(2), atol=1e-6))
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    chosen = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return register_parametrization(module, name, chosen, unsafe=True)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


# ---- normalizations -----------------------------------------------------------------------------------------------------------------


class _WeightNorm(Module):
    """A weight from its length and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the length and the direction of a weight as two parameters, `original0` and `original1`."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *_: Any) -> None:
        """Checkpoints of the weight normalization by a hook have other names."""
        names = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in names):
            for number, key in enumerate(names):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, or a vector by its length."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            height, width = matrix.shape
            self.register_buffer("_u", normalize(matrix.new_empty(height).normal_(0, 1), dim=0, eps=eps))
            self.register_buffer("_v", normalize(matrix.new_empty(width).normal_(0, 1), dim=0, eps=eps))
            iterate(matrix.mH, self._v, self._u, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(matrix.detach().mH, self._v, self._u, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()  # the next call writes into the buffers before this one is differentiated
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which each use in training estimates a little better."""
    weight = _tensor_of(module, name)
    chosen = _SpectralNorm(weight, n_power_iterations, first_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, chosen)
