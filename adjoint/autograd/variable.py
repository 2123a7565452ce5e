"""PyTorch's `torch.autograd.variable`: a Variable is a Tensor."""

from .._tensor import Tensor as Variable

__all__ = ["Variable"]
