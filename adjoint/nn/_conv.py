"""Convolution as functions: arguments in all the forms that PyTorch takes, and batches of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .._site import warn
from .._tensor import Tensor
from ..ops._windows import Sizes, expanded
from ..ops.conv import by, check_numbers, convolution, convolution_transposed
from ._padding import pad

Numbers = int | Sequence[int]


def _plain(numbers: Any) -> bool:
    """Whether an argument is an int or a tuple of ints, as it nearly always is."""
    return numbers.__class__ is int or (numbers.__class__ is tuple and {*map(type, numbers)} == {int})


def _are_tensors(input: Any, weight: Any, bias: Any) -> bool:
    return isinstance(input, Tensor) and isinstance(weight, Tensor) and (bias is None or isinstance(bias, Tensor))


def _check_arguments(name: str, input: Any, weight: Any, bias: Any, numbers: dict[str, Any]) -> None:
    if _are_tensors(input, weight, bias) and all(map(_plain, numbers.values())):
        return
    for key, value in numbers.items():
        if "transpose" in name and (isinstance(value, str) or not isinstance(value, int | Sequence)):
            raise TypeError(f"{name}(): argument '{key}' must be tuple of ints, not {type(value).__name__}")
    tensors = _are_tensors(input, weight, bias)
    whole = {key: all(isinstance(v, int) for v in (value if isinstance(value, Sequence) else (value,))) for key, value in numbers.items()}
    if tensors and all(whole.values()):
        return
    given = [type(value).__name__ for value in (input, weight, bias) if value is not None]
    given += [f"{key}={type(numbers[key]).__name__}" for key, fits in whole.items() if not fits]
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected (Tensor input, Tensor weight, "
        f"Tensor bias, {', '.join(f'int or tuple of ints {key}' for key in numbers)}, int groups)"
    )


def _check_input(name: str, input: Tensor, weight: Tensor, count: int, same: bool = False) -> None:
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    if weight.ndim < 3:
        raise RuntimeError(f"weight should have at least three dimensions, but has size {list(weight.shape)}")
    if weight.ndim != count + 2 and same:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight{list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if weight.ndim != count + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {weight.ndim - 2} values to match the convolution dimensions, "
            f"but {name} takes a weight with {count + 2} dimensions and got one of size {list(weight.shape)}"
        )


# ---- convolution --------------------------------------------------------------------------------------------------------------------


def _same_padding(input: Tensor, weight: Tensor, stride: Sizes, dilation: Sizes) -> tuple[Tensor, Sizes]:
    """The padding for a result as large as the input. Where it is odd, one zero more goes to the end."""
    if set(stride) != {1}:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    odd = [total % 2 for total in totals]
    if any(odd):
        warn("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created")
        input = pad(input, [side for extra in reversed(odd) for side in (0, extra)])
    return input, tuple(total // 2 for total in totals)


@lru_cache(maxsize=256)
def _numbers(count: int, stride: Numbers, padding: Numbers, dilation: Numbers) -> tuple[Sizes, Sizes, Sizes]:
    return expanded(stride, count, "stride"), expanded(padding, count, "padding"), expanded(dilation, count, "dilation")


def _convolve(
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers | str,
    dilation: Numbers,
    groups: int,
) -> Tensor:
    if _are_tensors(input, weight, bias) and _plain(stride) and _plain(padding) and _plain(dilation):
        if input.ndim == weight.ndim == count + 2:
            found: Tensor = convolution(input, weight, bias, *_numbers(count, stride, padding, dilation), groups)
            return found
    name = f"conv{count}d"
    numbers = {"stride": stride, "padding": 0 if isinstance(padding, str) else padding, "dilation": dilation}
    _check_arguments(name, input, weight, bias, numbers)
    _check_input(name, input, weight, count, padding == "same")
    steps, spread = expanded(stride, count, "stride"), expanded(dilation, count, "dilation")
    batch = input if input.ndim == count + 2 else input.unsqueeze(0)
    if not isinstance(padding, str):
        sides = expanded(padding, count, "padding")
    elif padding == "same":
        batch, sides = _same_padding(batch, weight, steps, spread)
    elif padding == "valid":
        sides = (0,) * count
    else:
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    result: Tensor = convolution(batch, weight, bias, steps, sides, spread, groups)
    return result if input.ndim == count + 2 else result.squeeze(0)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, L) or (C, L) with kernels (O, C / groups, K).

    >>> import adjoint as ad
    >>> ad.nn.functional.conv1d(ad.tensor([[1.0, 2.0, 4.0, 8.0]]), ad.tensor([[[1.0, -1.0]]]))
    tensor([[-1., -2., -4.]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with kernels (O, C / groups, KH, KW)."""
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with kernels (O, C / groups, KD, KH, KW)."""
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of (time, batch, channels) with kernels (K, C, O)."""
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


# ---- transposed convolution ---------------------------------------------------------------------------------------------------------


def _transposed_size(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, output_padding: Sizes, dilation: Sizes) -> Sizes:
    """The size of the input of which a convolution would make this size."""
    together = zip(size, kernel, stride, padding, output_padding, dilation, strict=True)
    result = tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, o, d in together)
    if any(o < 0 for o in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        names = ("depth", "height", "width")[-max(2, len(size)) :]
        given = ((n, (fill,) * (2 - len(v)) + v) for n, v, fill in (
            ("output_padding", output_padding, 0), ("stride", stride, 1), ("dilation", dilation, 1)))  # fmt: skip
        text = " ".join(f"{what}_{name}: {v}" for what, values in given for name, v in zip(names, values, strict=True))
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {text}")
    if any(n < 1 for n in result):
        row = (1,) * (len(size) == 1)
        raise RuntimeError(
            f"Given input size per channel: ({by(row + size)}). Calculated output size per channel: ({by(row + result)}). "
            "Output size is too small"
        )
    return result


def _check_elements(shape: Sizes, weight: Sizes) -> None:
    """Refuse images without pixels, and kernels for no channels. (PyTorch counts a line as an image with one row.)"""
    row = (1,) * (len(shape) == 3)
    if shape[0] and shape[1] == weight[0] and shape[1] and 0 in shape[2:]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {[*shape[:2], *row, *shape[2:]]}")
    if weight[1] == 0:
        kind = "5D" if len(weight) == 5 else "2D or 4D"
        raise RuntimeError(f"non-empty {kind} weight tensor expected, but got: {[*weight[:2], *row, *weight[2:]]}")


def _convolve_transposed(
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    output_padding: Numbers,
    groups: int,
    dilation: Numbers,
) -> Tensor:
    name = f"conv_transpose{count}d"
    numbers = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    _check_arguments(name, input, weight, bias, numbers)
    _check_input(name, input, weight, count)
    steps, sides, more, spread = (expanded(value, count, key) for key, value in numbers.items())
    batch = input if input.ndim == count + 2 else input.unsqueeze(0)
    check_numbers(tuple(weight.shape), steps, sides, spread, groups)
    size = _transposed_size(tuple(batch.shape[2:]), tuple(weight.shape[2:]), steps, sides, more, spread)
    _check_elements(batch.shape, weight.shape)
    result: Tensor = convolution_transposed(batch, weight, bias, size, steps, sides, spread, groups)
    return result if batch is input else result.squeeze(0)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """Every element of (N, C, L) or (C, L) spreads a kernel of (C, O / groups, K); the gradient of `conv1d`."""
    return _convolve_transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """Every element of (N, C, H, W) or (C, H, W) spreads a kernel of (C, O / groups, KH, KW); the gradient of `conv2d`."""
    return _convolve_transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """Every element of (N, C, D, H, W) or (C, D, H, W) spreads a kernel of (C, O / groups, KD, KH, KW); the gradient of `conv3d`."""
    return _convolve_transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
