"""Numbers rounded to the few steps that a quantised network will have, while gradients pass as if they were not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dtype import bfloat16, float16, float32, int32
from ._tensor import Tensor, wrap
from .autograd.grad_mode import no_grad
from .ops._rules import wrap_dim


def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    """`(q - zero_point) * scale` for the whole number `q = round(input / scale) + zero_point` within the bounds.

    >>> import adjoint as ad
    >>> ad.fake_quantize_per_tensor_affine(ad.tensor([-9.0, 0.3, 0.6]), 0.5, 0, -2, 3)
    tensor([-1.0000,  0.5000,  0.5000])
    """
    if isinstance(scale, Tensor) != isinstance(zero_point, Tensor) or isinstance(zero_point, float):
        raise TypeError(
            "fake_quantize_per_tensor_affine() received an invalid combination of arguments: scale and zero_point are a float and an int, "
            "or two tensors"
        )
    if isinstance(scale, Tensor):
        scale, zero_point = scale.item(), zero_point.item()
    return rounded(input, np.float32(scale), np.float32(zero_point), quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """The same with a scale and a zero point for each place along a dimension."""
    axis = wrap_dim(axis, input.ndim)
    for name, given, wanted in (("Scale", scale, (float32, bfloat16)), ("Zero-point", zero_point, (int32, float32, float16))):
        if given.dtype not in wanted:
            names = ["Int32" if dtype is int32 else dtype.scalar_name for dtype in wanted]
            raise RuntimeError(f"{name} must be {', '.join(names[:-1])} or {names[-1]}, found {given.dtype.scalar_name}")
    if scale.ndim != 1 or scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions, which is one")
    if scale.shape[0] != input.shape[axis]:
        raise RuntimeError(
            f"dimensions of scale and zero-point are not consistent with input tensor, of {input.shape[axis]} places along axis {axis}"
        )
    shape = [-1 if dim == axis else 1 for dim in range(input.ndim)]
    steps, zeros = (x._data.astype(np.float32).reshape(shape) for x in (scale, zero_point))
    return rounded(input, steps, zeros, quant_min, quant_max)


def rounded(input: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
    if low > high:
        raise RuntimeError(f"`quant_min` should be less than or equal to `quant_max`, but they are {low} and {high}")
    if np.any((zero_point < low) | (zero_point > high)):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if not input.is_floating_point():
        raise NotImplementedError(f"fake_quantize is not implemented for '{input.dtype.scalar_name}'\n  fix: x.float()")
    dtype, whole = input.dtype, bool(np.all(zero_point == np.rint(zero_point)))
    factor, scale, zero_point = (wrap(np.asarray(x)) for x in (np.float32(1) / scale, scale, zero_point))
    with no_grad():
        steps = input.detach().to(dtype if dtype.itemsize > 2 else float32) * factor
        steps = steps.round() + zero_point if whole else (steps + zero_point).round()
        inside = (steps >= low) & (steps <= high)
        result = ((steps.nan_to_num(low).clamp(low, high) - zero_point) * scale).to(dtype)
    return result + (input - input.detach()).where(inside, 0.0)  # type: ignore[no-any-return]  # only a gradient is added
