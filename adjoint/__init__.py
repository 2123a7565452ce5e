"""adjoint: automatic differentiation with PyTorch's API, in pure Python on NumPy."""

from . import ops as ops
from ._tensor import Tensor as Tensor
from .ops._registry import FUNCTIONS

globals().update(FUNCTIONS)
