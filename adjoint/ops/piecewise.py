"""Functions with kinks and jumps: absolute value and sign, rounding, bounds, the larger and the smaller of two.

Their gradients at a kink are PyTorch's: 0 for `abs` at 0, 1 for `clamp` at a bound, one half each for equal arguments of `maximum`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _return_types as return_types
from ._operands import NUMBERS, inplace_of, is_complex, no_derivative, raised, refuse, unraised, zero
from ._out import several_into
from ._precision import FLOAT32
from ._registry import FLOAT, FOUND, LEADING, Array, composite, elementwise, op
from ._rules import call, cast, conjugate
from .assign import number_for

# ---- sign and absolute value --------------------------------------------------------------------------------------------------------


def signs(x: Array) -> Array:
    """-1, 0 or 1; of NaN 0; of a complex number the one of modulus 1 in its direction."""
    if x.dtype.kind in "biu":
        return np.copy(x) if x.dtype.kind == "b" else np.sign(x)
    if x.dtype.kind == "c":
        unit = np.sign(x)
        if x.__class__ is np.ndarray and (endless := np.isinf(x)).any():  # no direction; NumPy has one
            unit.real = np.where(endless, x.real / np.abs(x), unit.real)
            unit.imag = np.where(endless, x.imag / np.abs(x), unit.imag)
        return unit
    return np.where(np.isnan(x), 0, np.sign(x))


def _sign(input: Array) -> Array:
    """-1, 0 or 1."""
    return signs(input)


def _sgn(input: Array) -> Array:
    """The sign; of a complex number the one of modulus 1 in its direction."""
    return signs(input)


sign = elementwise(
    "sign", _sign, warns=False, same=FOUND, input=zero,
    check=refuse("c", "sign", "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."),
)  # fmt: skip


def sgn_rule(g: Array, input: Array, out: Array) -> Array:
    """Zero for a real number; for a complex one the part of the change that turns it."""
    if not is_complex(g):
        return zero(g)
    turn = (g - np.real(conjugate(out) * g) * out) / np.abs(input)
    return np.where(input == 0, 0, turn)


sgn = elementwise("sgn", _sgn, warns=False, same=FOUND, holomorphic=False, input=sgn_rule)


def abs_jvp(input: Array, input_t: Array) -> Array:
    change = conjugate(call(sgn, input)) * input_t
    return np.real(change) if is_complex(change) else change


abs = elementwise(
    "abs", np.absolute, operators=("__abs__",), aliases=("absolute",), same=FOUND, holomorphic=False, check=refuse("b", "abs"),
    narrow=True, input=lambda g, input: g * call(sgn, input), jvp=abs_jvp,
    doc="The absolute value; of a complex number its modulus. The gradient at 0 is 0.",
)  # fmt: skip


@composite("abs_", "absolute_")
def abs_(input: Array) -> Array:
    """In-place form of `abs`."""
    if is_complex(input):
        raise RuntimeError("In-place abs is not supported for complex tensors; write x = x.abs(), which is real")
    return inplace_of(abs)(input)


def copysign_rule(g: Array, input: Array, out: Array) -> Array:
    return g * np.where(input == 0, 0, out / input)


def _copysign(input: Array, other: Array) -> Array:
    """The size of `input` with the sign of `other`."""
    return np.copysign(input, other)


copysign = elementwise(
    "copysign", _copysign, scalars="other", promote=FLOAT, warns=False, nodes={"TS": "CopysignBackward1", "default": "CopysignBackward0"},
    check=refuse("c", "copysign"), input=copysign_rule, other=zero,
)  # fmt: skip

nextafter = elementwise(
    "nextafter", np.nextafter, scalars=False, wide=False, check=refuse("biuc", "nextafter"),
    input=lambda g, input, other: np.where(input == other, 0, g), other=zero,
    doc="The next number after `input` on the way to `other`.",
)  # fmt: skip


def _heaviside(input: Array, values: Array) -> Array:
    """0 for negative elements, 1 for positive ones, `values` at 0."""
    return np.where(input == 0, values, (input > 0).astype(input.dtype))


def check_heaviside(input: Array, values: Array) -> None:
    refuse("c", "heaviside", "heaviside is not yet implemented for complex tensors.", RuntimeError)(input, values)
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


heaviside = elementwise(
    "heaviside", _heaviside, scalars=False, warns=False, nodes="NotImplemented", check=check_heaviside,
    same="heaviside is not yet implemented for tensors with different dtypes.",
    input=no_derivative("heaviside"), values=no_derivative("heaviside"),
)  # fmt: skip


def _frexp(input: Array) -> tuple[Array, Array]:
    if input.dtype.kind in "iubc":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes; convert the tensor first, for example with x.float()")
    mantissa, exponent = np.frexp(input)
    return mantissa, exponent


def mantissa_slope(input: Array, dtype: np.dtype[Any]) -> Array:
    """The power of two by which the mantissa differs from the input."""
    return np.exp2(cast(-call(frexp_parts, input)[1], dtype))


frexp_parts = op(
    "frexp", batch=LEADING, several=True, method=False, function=False,
    input=lambda g, input, input_dtype: np.zeros_like(input) if g[0] is None else g[0] * mantissa_slope(input, input_dtype),
    jvp=lambda input, input_t: (input_t * mantissa_slope(input, input._data.dtype), None),
)(_frexp)  # fmt: skip


FREXP = (
    "torch.frexp() expects mantissa to have dtype {wanted_type} but got {given_type}",
    "torch.frexp() expects exponent to have int dtype but got {given_type}",
)


@composite()
def frexp(input: Array, *, out: Any = None) -> Any:
    """Mantissa in [0.5, 1) and exponent, with `input = mantissa * 2**exponent`."""
    return return_types.frexp(several_into(out, frexp_parts(input), FREXP))


# ---- rounding -----------------------------------------------------------------------------------------------------------------------


def rounding(name: str, function: np.ufunc, aliases: tuple[str, ...] = (), doc: str | None = None) -> Any:
    def impl(input: Array) -> Array:
        return np.copy(input) if input.dtype.kind in "iu" else function(input)

    def check(input: Array) -> None:
        refuse("c", name, f"{name} is not supported for complex inputs")(input)
        refuse("b", name)(input)

    return elementwise(name, impl, aliases=aliases, warns=False, check=check, same=FOUND, input=zero, doc=doc)


floor = rounding("floor", np.floor, doc="The largest integer not above.")
ceil = rounding("ceil", np.ceil, doc="The smallest integer not below.")
trunc = rounding("trunc", np.trunc, aliases=("fix",), doc="The integer part.")
round_integer = rounding("round", np.rint)


def _round_decimals(input: Array, *, decimals: int = 0) -> Array:
    if decimals > 0:
        scale = np.power(10.0, decimals).item()
        return np.rint(input * scale) / scale
    scale = np.power(10.0, -decimals).item()
    return np.rint(input / scale) * scale


round_decimals = elementwise(
    "round_decimals", _round_decimals, nodes="RoundBackward1", method=False, function=False, check=refuse("biuc", "round"), same=FOUND,
    input=zero,
)


@composite(direct=True)
def round(input: Array, *, decimals: int = 0, out: Array = None) -> Array:
    """The nearest integer, or the nearest number with that many decimals; halves go to the even neighbour."""
    return round_integer(input, out=out) if decimals == 0 else round_decimals(input, decimals=decimals, out=out)


@composite("round_")
def round_(input: Array, *, decimals: int = 0) -> Array:
    """In-place form of `round`."""
    return inplace_of(round_integer)(input) if decimals == 0 else inplace_of(round_decimals)(input, decimals=decimals)


def _frac(input: Array) -> Array:
    """What `trunc` leaves."""
    return input - np.trunc(input)


frac = elementwise("frac", _frac, same=FOUND, check=refuse("biuc", "frac"), input=lambda g: g)


# ---- bounds -------------------------------------------------------------------------------------------------------------------------


def bounded(x: Array, low: Any, high: Any) -> Array:
    """Between the bounds; where they cross, the upper one."""
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def inside(x: Array, low: Any, high: Any) -> Array:
    """Where a value is within its bounds. NaN is not."""
    if low is None:
        return x <= high
    return x >= low if high is None else (x >= low) & (x <= high)


def bound_for(bound: Any, dtype: np.dtype[Any]) -> Any:
    """A bound as integers take it."""
    return number_for(bound, dtype) if dtype.kind in "iu" and isinstance(bound, int) else bound


def _clamp_number(input: Array, min: Any = None, max: Any = None) -> Array:
    return bounded(input, bound_for(min, input.dtype), bound_for(max, input.dtype))


def check_clamped(input: Array) -> None:
    refuse("c", "clamp", "clamp is not supported for complex types")(input)
    refuse("b", "clamp_scalar_cpu")(input)


clamp_number = elementwise(
    "clamp_number", _clamp_number, nodes="ClampBackward1", same=FOUND, scalars=False, warns=False, method=False, function=False,
    check=check_clamped,
    input=lambda g, input, min, max: np.where(inside(input, min, max), g, 0),
)  # fmt: skip


def check_clamp(*operands: Array) -> None:
    refuse("c", "clamp", "clamp is not supported for complex types")(*operands)
    if all(x is not None for x in operands):  # (with one bound it is a maximum or minimum)
        refuse("b", "clamp_cpu")(*operands)


def _clamp_tensor(input: Array, min: Array | None = None, max: Array | None = None) -> Array:
    return bounded(input, min, max)


def min_rule(g: Array, input: Array, min: Array, max: Array) -> Array:
    decides = input < min if max is None else (input < min) & (min < max)
    return np.where(decides, g, 0)


def max_rule(g: Array, input: Array, min: Array, max: Array) -> Array:
    decides = input > max if min is None else (input > max) | (max < min)
    return np.where(decides, g, 0)


clamp_tensor = elementwise(
    "clamp_tensor", _clamp_tensor, nodes="ClampBackward0", warns=False, method=False, function=False, check=check_clamp,
    input=lambda g, input, min, max: np.where(inside(input, min, max), g, 0), min=min_rule, max=max_rule,
)  # fmt: skip


def are_numbers(low: Any, high: Any) -> bool:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return (low is None or isinstance(low, NUMBERS)) and (high is None or isinstance(high, NUMBERS))


@composite("clamp", "clip")
def clamp(input: Array, min: Any = None, max: Any = None, *, out: Array = None) -> Array:
    """Values below `min` become `min`, values above `max` become `max`; numbers or tensors."""
    if are_numbers(min, max):
        return clamp_number(raised(input, min, max), min, max, out=out)
    return clamp_tensor(input, min, max, out=out)


clamp_number_, clamp_tensor_ = inplace_of(clamp_number), inplace_of(clamp_tensor)


@composite("clamp_", "clip_")
def clamp_(input: Array, min: Any = None, max: Any = None) -> Array:
    """In-place form of `clamp`."""
    if are_numbers(min, max):
        return clamp_number_(unraised(input, min, max), min, max)
    return clamp_tensor_(input, min, max)


def check_bound(input: Array, bound: Array) -> None:
    refuse("c", "clamp", "clamp is not supported for complex types")(input, bound)
    if isinstance(bound, NUMBERS):
        refuse("b", "clamp_scalar_cpu")(input, bound)
    bound_for(bound, input.dtype)


def _clamp_min(input: Array, min: Array) -> Array:
    """Values below `min` become `min`."""
    return np.maximum(input, min)


clamp_min = elementwise(
    "clamp_min", _clamp_min, scalars="min", nodes={"TS": "ClampMinBackward0", "default": "ClampMinBackward1"}, warns=False,
    check=check_bound,
    input=lambda g, input, min: np.where(input >= min, g, 0),
    min=lambda g, input, min: np.where(input < min, g, 0),
)  # fmt: skip


def _clamp_max(input: Array, max: Array) -> Array:
    """Values above `max` become `max`."""
    return np.minimum(input, max)


clamp_max = elementwise(
    "clamp_max", _clamp_max, scalars="max", nodes={"TS": "ClampMaxBackward0", "default": "ClampMaxBackward1"}, warns=False,
    check=check_bound,
    input=lambda g, input, max: np.where(input <= max, g, 0),
    max=lambda g, input, max: np.where(input > max, g, 0),
)  # fmt: skip


def _nan_to_num(input: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Array:
    """NaN becomes 0 and infinities the largest finite numbers, or what is given."""
    if input.dtype.kind in "iub":
        return np.copy(input)
    if input.dtype.kind == "V":  # bfloat16, whose limits NumPy does not know
        largest = 2.0**128 - 2.0**120
        posinf, neginf = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return cast(np.nan_to_num(cast(input, FLOAT32), nan=nan or 0.0, posinf=posinf, neginf=neginf), input.dtype)
    return np.nan_to_num(input, nan=nan or 0.0, posinf=posinf, neginf=neginf)


nan_to_num = elementwise(
    "nan_to_num", _nan_to_num, holomorphic=True, same="nan_to_num: dtype of out: {given} should be same as input: {wanted}",
    scalars=False, wide=False, input=lambda g, input: np.where(np.isfinite(input), g, 0),
)


# ---- the larger and the smaller of two ----------------------------------------------------------------------------------------------




maximum = elementwise(
    "maximum", np.maximum, scalars=False, inplace=False,
    check=refuse("c", "maximum", "maximum not implemented for complex tensors.", RuntimeError),
    input=lambda g, input, other: np.where(input == other, g / 2, np.where(input < other, 0, g)),
    other=lambda g, input, other: np.where(input == other, g / 2, np.where(input > other, 0, g)),
    doc="The larger of two elements; NaN if one is NaN. Equal ones share the gradient.",
)  # fmt: skip

minimum = elementwise(
    "minimum", np.minimum, scalars=False, inplace=False,
    check=refuse("c", "minimum", "minimum not implemented for complex tensors.", RuntimeError),
    input=lambda g, input, other: np.where(input == other, g / 2, np.where(input > other, 0, g)),
    other=lambda g, input, other: np.where(input == other, g / 2, np.where(input < other, 0, g)),
    doc="The smaller of two elements; NaN if one is NaN. Equal ones share the gradient.",
)  # fmt: skip

fmax = elementwise(
    "fmax", np.fmax, scalars=False, inplace=False,
    check=refuse("c", "fmax", "fmax not implemented for complex tensors.", RuntimeError),
    input=lambda g, input, other: np.where((input >= other) | np.isnan(other), g, 0),
    other=lambda g, input, other: np.where((input >= other) | np.isnan(other), 0, g),
    doc="The larger of two elements; a number rather than NaN.",
)  # fmt: skip

fmin = elementwise(
    "fmin", np.fmin, scalars=False, inplace=False,
    check=refuse("c", "fmin", "fmin not implemented for complex tensors.", RuntimeError),
    input=lambda g, input, other: np.where((input <= other) | np.isnan(other), g, 0),
    other=lambda g, input, other: np.where((input <= other) | np.isnan(other), 0, g),
    doc="The smaller of two elements; a number rather than NaN.",
)  # fmt: skip
