"""PyTorch's `torch.testing`: whether values are as close as their dtypes let them be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._dtype import dtype, finfo, float16, float32, float64
from ._from_data import as_tensor
from ._tensor import Tensor

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "complex64": (1.3e-6, 1e-5),
               "float64": (1e-7, 1e-7), "complex128": (1e-7, 1e-7)}  # fmt: skip
Message = str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `actual` is close to `expected`: tensors, arrays, numbers, and sequences and mappings of them.

    >>> import adjoint as ad
    >>> ad.testing.assert_close(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol must both be specified or both be unspecified, but got {rtol=} and {atol=}")
    difference = _difference(actual, expected, rtol, atol, equal_nan, check_dtype, check_stride)
    if difference is not None:
        raise AssertionError(msg(difference) if callable(msg) else msg or difference)


def _difference(actual: Any, expected: Any, *how: Any) -> str | None:
    """What is wrong, or None."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        missing, additional = [key for key in expected if key not in actual], [key for key in actual if key not in expected]
        if missing or additional:
            found = [f"Missing keys in the actual mapping: {missing}"] if missing else []
            found += [f"Additional keys in the actual mapping: {additional}"] if additional else []
            return "\n".join(["The keys of the mappings do not match:", *found])
        return _first(((key, actual[key], expected[key]) for key in expected), how)
    if _is_sequence(expected) and _is_sequence(actual):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        return _first(((i, *pair) for i, pair in enumerate(zip(actual, expected, strict=True))), how)
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(actual, str) and isinstance(expected, str):
        return None if actual == expected else f"Object comparison failed: {actual!r} != {expected!r}"
    number = (int, float, complex, bool, np.number, np.bool_)
    if isinstance(actual, number) and isinstance(expected, number):
        return _values(np.asarray(actual), np.asarray(expected), *how[:3])
    if type(actual) is type(expected) or (isinstance(actual, Tensor) and isinstance(expected, Tensor)):
        return _tensors(as_tensor(actual), as_tensor(expected), *how)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _first(items: Any, how: tuple[Any, ...]) -> str | None:
    for key, actual, expected in items:
        difference = _difference(actual, expected, *how)
        if difference is not None:
            return f"{difference}\n\nThe failure occurred for item [{key!r}]"
    return None


def _tensors(
    actual: Tensor, expected: Tensor, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool, check_stride: bool
) -> str | None:
    facts = ["shape", *(["dtype"] if check_dtype else [])]
    for name in facts:
        if getattr(actual, name) != getattr(expected, name):
            return f"The values for attribute '{name}' do not match: {getattr(actual, name)} != {getattr(expected, name)}."
    if check_stride and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    return _values(actual.detach()._data, expected.detach()._data, rtol, atol, equal_nan)


def _values(actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool) -> str | None:
    allowed = [_TOLERANCES.get(array.dtype.name, (0.0, 0.0)) for array in (actual, expected)]
    relative = max(each[0] for each in allowed) if rtol is None else rtol
    absolute = max(each[1] for each in allowed) if atol is None else atol
    wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    whole = all(array.dtype.kind in "biu" for array in (actual, expected))
    a, b = (actual, expected) if whole else (actual.astype(wide), expected.astype(wide))
    if not np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan).all():
        return _described(a, b, np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan), relative, absolute)
    return None


def _described(actual: Any, expected: Any, close: Any, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        absolute = np.abs(actual.astype(wide) - expected.astype(wide))
        relative = absolute / np.abs(expected.astype(wide))
    limits = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    judgement = "equal" if exact else "close"
    if actual.ndim == 0:
        lines = [f"Scalars are not {judgement}!", "", f"Expected {expected.item()} but got {actual.item()}.",
                 f"Absolute difference: {absolute.item()}{limits[0]}", f"Relative difference: {relative.item()}{limits[1]}"]  # fmt: skip
        return "\n".join(lines)
    wrong = close.size - int(close.sum())
    lines = [f"Tensor-likes are not {judgement}!", "", f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"]
    for name, difference, limit in (("absolute", absolute, limits[0]), ("relative", relative, limits[1])):
        ranked = np.where(close, -1.0, np.where(np.isnan(difference), math.inf, difference))
        worst = np.unravel_index(int(ranked.argmax()), ranked.shape)
        lines.append(f"Greatest {name} difference: {difference[worst]} at index {tuple(map(int, worst))}{limit}")
    return "\n".join(lines)


def make_tensor(
    *shape: Any, dtype: dtype, device: Any, low: float | None = None, high: float | None = None, requires_grad: bool = False,
    noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of uniformly distributed values, by default between -9 and 9 (whole numbers: -9 to 9; bool: either)."""
    from ._sampling import rand, randint

    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if dtype.is_floating_point or dtype.is_complex:
        lowest, highest = (-9.0 if low is None else low), (9.0 if high is None else high)
        narrow = dtype if dtype in (float16, float32, float64) or dtype.is_complex else float32
        made = rand(sizes, dtype=narrow, device=device) * (highest - lowest) + lowest
        made = made.to(dtype)
        nonzero: Any = finfo(dtype).tiny
    else:
        unsigned = not dtype.is_signed
        bounds = (0, 2) if str(dtype) == "torch.bool" else (0 if unsigned else -9, 10)
        made = randint(int(bounds[0] if low is None else low), int(bounds[1] if high is None else high), sizes, device=device).to(dtype)
        nonzero = 1
    if exclude_zero:
        made = made.masked_fill(made == 0, nonzero)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    return made.requires_grad_(requires_grad)
