"""Gradients of convolutions by hand, from the gradient of their output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._creation import empty
from .._tensor import Tensor
from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from . import functional as F

Numbers = int | Sequence[int]


def _by_input(convolve: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Numbers = 1, padding: Numbers = 0,
        dilation: Numbers = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        input = empty(tuple(input_size), dtype=weight.dtype, requires_grad=True)  # its values do not matter: the function is linear
        return _gradient(convolve, input, weight, input, grad_output, stride, padding, dilation, groups)

    return _named(gradient, convolve, "input")


def _by_weight(convolve: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Numbers = 1, padding: Numbers = 0,
        dilation: Numbers = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        weight = empty(tuple(weight_size), dtype=input.dtype, requires_grad=True)
        return _gradient(convolve, input, weight, weight, grad_output, stride, padding, dilation, groups)

    return _named(gradient, convolve, "weight")


def _gradient(convolve: Callable[..., Tensor], input: Tensor, weight: Tensor, by: Tensor, grad_output: Tensor, *settings: Any) -> Tensor:
    with enable_grad():
        output = convolve(input, weight, None, *settings)
        return grad(output, by, grad_output, create_graph=grad_output.requires_grad)[0]  # type: ignore[no-any-return]


def _named(gradient: Callable[..., Tensor], convolve: Callable[..., Tensor], by: str) -> Callable[..., Tensor]:
    gradient.__name__ = gradient.__qualname__ = f"{convolve.__name__}_{by}"
    gradient.__doc__ = f"The gradient of `{convolve.__name__}` with respect to its {by}."
    return gradient


conv1d_input, conv1d_weight = _by_input(F.conv1d), _by_weight(F.conv1d)
conv2d_input, conv2d_weight = _by_input(F.conv2d), _by_weight(F.conv2d)
conv3d_input, conv3d_weight = _by_input(F.conv3d), _by_weight(F.conv3d)
