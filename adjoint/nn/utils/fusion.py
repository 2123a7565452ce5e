"""A layer and the batch normalization after it as one layer, for evaluation."""

from __future__ import annotations

from copy import deepcopy
from typing import TypeVar

from ..._tensor import Parameter, Tensor
from ..conv import _ConvNd
from ..linear import Linear
from ..normalization import _BatchNorm

ConvT = TypeVar("ConvT", bound=_ConvNd)
LinearT = TypeVar("LinearT", bound=Linear)


def fuse_conv_bn_eval(conv: ConvT, bn: _BatchNorm, transpose: bool = False) -> ConvT:
    """A convolution that does what `conv` and then `bn` do in evaluation mode."""
    _check_evaluation(conv, bn)
    assert bn.running_mean is not None and bn.running_var is not None
    fused = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Its weight and bias."""
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: LinearT, bn: _BatchNorm) -> LinearT:
    """A linear layer that does what `linear` and then `bn` do in evaluation mode."""
    _check_evaluation(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    assert bn.running_mean is not None and bn.running_var is not None
    fused = deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None
) -> tuple[Parameter, Parameter]:
    """Its weight and bias."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    scale = (var + eps).rsqrt()
    scale = scale if bn_w is None else bn_w * scale
    shift = -mean * scale if bias is None else (bias - mean) * scale
    shift = shift if bn_b is None else shift + bn_b
    fused = (weight * scale.reshape(shape)).to(weight.dtype), shift.to(weight.dtype if bias is None else bias.dtype)
    trained = weight.requires_grad, weight.requires_grad if bias is None else bias.requires_grad
    return Parameter(fused[0].detach(), trained[0]), Parameter(fused[1].detach(), trained[1])


def _check_evaluation(layer: _ConvNd | Linear, bn: _BatchNorm) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call .eval() on both layers first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None: without them there is nothing to fuse")
