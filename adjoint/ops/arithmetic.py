"""Arithmetic: sums, products, quotients and powers.

Where PyTorch shows one function but records different nodes (`div` with a rounding mode, `add` with `alpha`) there are several ops and a
composite that chooses, so that the ordinary case is a bare NumPy function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import complex128, float64
from .._errors import spelled
from .._methods import OpMethods
from .._tensor import Tensor
from ._general import as_factor, warn_of_order
from ._operands import NUMBERS, OPERANDS, inplace_of, is_complex, kinds_of, log_of, no_derivative, raised, refuse, unraised, zero
from ._out import into
from ._registry import FLOAT, FOUND, Array, composite, elementwise
from ._rules import call, holds

# ---- sums ---------------------------------------------------------------------------------------------------------------------------

add_plain = elementwise(
    "add", np.add, holomorphic=True, scalars="all", operators=("__add__", "__radd__"), inplace_operator="__iadd__",
    input=lambda g: g,
    other=lambda g: g,
)  # fmt: skip


def refuse_bool_subtraction(input: Array, other: Array) -> None:
    kinds = kinds_of(input, other)
    if kinds == "bb":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if "b" in kinds or isinstance(input, bool) or isinstance(other, bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


sub_plain = elementwise(
    "sub", np.subtract, holomorphic=True, scalars="all", operators=("__sub__",), inplace_operator="__isub__", check=refuse_bool_subtraction,
    input=lambda g: g,
    other=lambda g: -g,
)  # fmt: skip


def check_alpha(alpha: Any, result: np.dtype[Any]) -> None:
    """`type(alpha)` is asked, not `isinstance`: a number that stands for an argument while a formula is read calls itself a float."""
    if isinstance(alpha, bool) and result.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if issubclass(type(alpha), float) and result.kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and result.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def scaled(x: Array, factor: float) -> Array:
    return x if factor == 1 else x * factor


def factor_for(alpha: Any, dtype: np.dtype[Any]) -> Any:
    """A factor that integers can be multiplied by: without a fraction; one that does not fit wraps around."""
    return np.asarray(alpha).astype(dtype) if dtype.kind in "iub" and issubclass(type(alpha), int | float) else alpha


def _add_scaled(input: Array, other: Array, alpha: float = 1) -> Array:
    dtype = np.result_type(input, other)
    check_alpha(alpha, dtype)
    return input + other * factor_for(alpha, dtype)


add_scaled = elementwise(
    "add_scaled", _add_scaled, holomorphic=True, scalars="all", nodes="AddBackward0", method=False, function=False,
    input=lambda g: g,
    other=lambda g, alpha: g * alpha,
)  # fmt: skip


def _sub_scaled(input: Array, other: Array, alpha: float = 1) -> Array:
    dtype = np.result_type(input, other)
    check_alpha(alpha, dtype)
    return input - other * factor_for(alpha, dtype)


sub_scaled = elementwise(
    "sub_scaled", _sub_scaled, holomorphic=True, scalars="all", nodes="SubBackward0", method=False, function=False,
    check=refuse_bool_subtraction,
    input=lambda g: g,
    other=lambda g, alpha: g * -alpha,
)  # fmt: skip


def _rsub(input: Array, other: Array, alpha: float = 1) -> Array:
    """`other - alpha * input`."""
    return np.subtract(other, input if alpha == 1 else input * factor_for(alpha, input.dtype))


rsub = elementwise(
    "rsub", _rsub, holomorphic=True, operators=("__rsub__",), nodes={"TS": "RsubBackward1", "default": "RsubBackward0"},
    scalars="other", inplace=False, method=False, check=refuse_bool_subtraction,
    input=lambda g, alpha: g * -alpha,
    other=lambda g: g,
)  # fmt: skip


ONE = 1  # which no `alpha` that means something else can be: neither 1.0 nor True


def factor_last(name: str, other: Any, alpha: Any) -> tuple[Any, Any]:
    """PyTorch once took the factor before the tensor, `x.add_(-0.1, x.grad)`, and still does."""
    if isinstance(alpha, NUMBERS):
        return other, alpha
    if not isinstance(alpha, OpMethods):
        raise TypeError(f"{name}(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    if isinstance(other, OpMethods):
        return other, as_factor(name, "alpha", alpha)
    warn_of_order(name, ("alpha",))
    return alpha, other


@composite(direct=True)
def add(input: Array, other: Array, alpha: Any = 1, *, out: Array = None) -> Array:
    """`input + alpha * other`."""
    return add_plain(input, other, out=out) if alpha is ONE else add_scaled(input, *factor_last("add", other, alpha), out=out)


add_plain_, add_scaled_ = inplace_of(add_plain), inplace_of(add_scaled)


@composite("add_", function=False, direct=True)
def add_(input: Array, other: Array, alpha: Any = 1) -> Array:
    """In-place form of `add`."""
    return add_plain_(input, other) if alpha is ONE else add_scaled_(input, *factor_last("add_", other, alpha))


@composite("sub", "subtract", direct=True)
def sub(input: Array, other: Array, alpha: Any = 1, *, out: Array = None) -> Array:
    """`input - alpha * other`."""
    return sub_plain(input, other, out=out) if alpha is ONE else sub_scaled(input, *factor_last("sub", other, alpha), out=out)


sub_plain_, sub_scaled_ = inplace_of(sub_plain), inplace_of(sub_scaled)


@composite("sub_", "subtract_", function=False, direct=True)
def sub_(input: Array, other: Array, alpha: Any = 1) -> Array:
    """In-place form of `sub`."""
    return sub_plain_(input, other) if alpha is ONE else sub_scaled_(input, *factor_last("sub_", other, alpha))


def refuse_bool_negation(input: Array) -> None:
    if kinds_of(input) == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


neg = elementwise(
    "neg", np.negative, holomorphic=True, operators=("__neg__",), aliases=("negative",), same=FOUND, check=refuse_bool_negation,
    input=lambda g: -g, doc="The negative.",
)  # fmt: skip


@composite("positive", operators=("__pos__",))
def positive(input: Array) -> Array:
    """The tensor itself."""
    if kinds_of(input._data) == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# ---- products -----------------------------------------------------------------------------------------------------------------------

mul = elementwise(
    "mul", np.multiply, holomorphic=True, scalars="all", exact=True, operators=("__mul__", "__rmul__"), inplace_operator="__imul__",
    aliases=("multiply",),
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
    doc="The product.",
)  # fmt: skip


def _addcmul(input: Array, tensor1: Array, tensor2: Array, value: float = 1) -> Array:
    """`input + value * tensor1 * tensor2`; of integers, `value` is the integer part of what is given."""
    return input + scaled(tensor1 * tensor2, factor_for(value, input.dtype))


addcmul = elementwise(
    "addcmul", _addcmul, holomorphic=True, scalars=False, check=refuse("b", "addcmul_cpu_out"),
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: scaled(g * tensor2, value),
    tensor2=lambda g, tensor1, value: scaled(g * tensor1, value),
)  # fmt: skip


def refuse_integer_quotient(input: Array, tensor1: Array, tensor2: Array) -> None:
    if set(kinds_of(tensor1, tensor2)) <= set("iub"):
        raise RuntimeError(
            spelled(
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
                "tensor1 and tensor2.\n  fix: input + value * torch.div(tensor1, tensor2, rounding_mode='trunc')"
            )
        )


def _addcdiv(input: Array, tensor1: Array, tensor2: Array, value: float = 1) -> Array:
    """`input + value * tensor1 / tensor2`."""
    return input + scaled(tensor1, value) / tensor2


addcdiv = elementwise(
    "addcdiv", _addcdiv, holomorphic=True, scalars=False, check=refuse_integer_quotient,
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: scaled(g, value) / tensor2,
    tensor2=lambda g, tensor1, tensor2, value: g * scaled(tensor1, -value) / (tensor2 * tensor2),
)  # fmt: skip


# ---- quotients ----------------------------------------------------------------------------------------------------------------------

div_true = elementwise(
    "div", np.true_divide, holomorphic=True, scalars="all", exact=True, promote=FLOAT, operators=("__truediv__",),
    inplace_operator="__itruediv__",
    input=lambda g, other: g / other,
    other=lambda g, input, other: -g * (input / other / other),
)  # fmt: skip


def refuse_zero_divisor(input: Array, other: Array) -> None:
    """Refuse to divide integers by zero. A whole number that divides floating-point numbers is one of them."""
    if np.result_type(other).kind in "iub" and np.result_type(input).kind in "iub" and holds(np.any(other == 0)):
        raise RuntimeError("ZeroDivisionError: an integer is divided by zero; mask the zeros first, or divide floating-point numbers")


def truncated_quotient(input: Array, other: Array) -> Array:
    if np.result_type(input, other).kind in "iub":
        return (input - np.fmod(input, other)) // other
    return np.trunc(input / other)


def _div_rounded(input: Array, other: Array, *, rounding_mode: str = "trunc") -> Array:
    refuse_zero_divisor(input, other)
    return np.floor_divide(input, other) if rounding_mode == "floor" else truncated_quotient(input, other)


div_rounded = elementwise(
    "div_rounded", _div_rounded, scalars="all", exact=True, nodes="DivBackward2", method=False, function=False,
    check=refuse("bc", "div_floor"), input=zero, other=zero,
)  # fmt: skip


def check_rounding_mode(mode: str | None) -> None:
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


@composite("div", "divide", "true_divide", direct=True)
def div(input: Array, other: Array, *, rounding_mode: str | None = None, out: Array = None) -> Array:
    """The quotient; with `rounding_mode` "floor" or "trunc" rounded, and integers stay integers."""
    if rounding_mode is None:
        return div_true(input, other, out=out)
    check_rounding_mode(rounding_mode)
    return div_rounded(input, other, rounding_mode=rounding_mode, out=out)


@composite("div_", "divide_", "true_divide_", function=False, direct=True)
def div_(input: Array, other: Array, *, rounding_mode: str | None = None) -> Array:
    """In-place form of `div`."""
    if rounding_mode is None:
        return inplace_of(div_true)(input, other)
    check_rounding_mode(rounding_mode)
    return inplace_of(div_rounded)(input, other, rounding_mode=rounding_mode)


reciprocal = elementwise(
    "reciprocal", np.reciprocal, holomorphic=True, promote=FLOAT, input=lambda g, out: -g * (out * out), doc="One over each element."
)


@composite("__rtruediv__", "__rdiv__", function=False)
def rtruediv(input: Array, other: Array) -> Array:
    """`other / input`."""
    return reciprocal(input) * other if isinstance(other, OPERANDS) else NotImplemented


def _floor_divide(input: Array, other: Array) -> Array:
    """The quotient, rounded down."""
    refuse_zero_divisor(input, other)
    return np.floor_divide(input, other)


floor_divide = elementwise(
    "floor_divide", _floor_divide, operators=("__floordiv__",), inplace_operator="__ifloordiv__", nodes={"default": "NotImplemented"},
    scalars="all", exact=True, check=refuse("bc", "div_floor"), input=no_derivative("floor_divide"), other=no_derivative("floor_divide"),
)  # fmt: skip


@composite("__rfloordiv__", function=False)
def rfloordiv(input: Array, other: Array) -> Array:
    """`other // input`."""
    return floor_divide(other, input) if isinstance(other, OPERANDS) else NotImplemented


def _remainder(input: Array, other: Array) -> Array:
    """The remainder with the sign of the divisor, as Python's `%`."""
    refuse_zero_divisor(input, other)
    return np.remainder(input, other)


remainder = elementwise(
    "remainder", _remainder, operators=("__mod__",), inplace_operator="__imod__", check=refuse("bc", "remainder"),
    nodes={"TS": "RemainderBackward0", "default": "RemainderBackward1"},
    input=lambda g: g,
    other=lambda g, input, other: -g * call(div_rounded, input, other, rounding_mode="floor"),
)  # fmt: skip


@composite("__rmod__", function=False)
def rmod(input: Array, other: Array) -> Array:
    """`other % input`."""
    return remainder(other, input) if isinstance(other, OPERANDS) else NotImplemented


def _fmod(input: Array, other: Array) -> Array:
    """The remainder with the sign of the dividend."""
    refuse_zero_divisor(input, other)
    return np.fmod(input, other)


fmod = elementwise(
    "fmod", _fmod, scalars="other", check=refuse("bc", "fmod"), nodes={"TS": "FmodBackward0", "default": "FmodBackward1"},
    input=lambda g: g,
    other=lambda g, input, other: -g * np.trunc(input / other),
)  # fmt: skip


# ---- powers -------------------------------------------------------------------------------------------------------------------------


def power(base: Array, exponent: Any) -> Array:
    """`base ** exponent` for a number. The exponents that occur most are products, quotients and roots, as in PyTorch."""
    if exponent == 2:
        return base * base
    if exponent == 1:  # in the derivative of a square
        return np.positive(base)
    if exponent == 0.5:
        return np.sqrt(base)
    if exponent == 3:
        return base * base * base
    if exponent == -1:
        return 1 / base
    if exponent == -2:
        return 1 / (base * base)
    if exponent == -0.5:
        return 1 / np.sqrt(base)
    return np.power(base, exponent)


def _pow_number(input: Array, exponent: Any) -> Array:
    if input.dtype.kind == "b":  # and so is the exponent
        return input | (not exponent)
    if input.dtype.kind in "iu":
        if exponent < 0:
            raise RuntimeError(
                spelled(
                    "Integers to negative integer powers are not allowed.\n  fix: x.float() ** exponent, or torch.float_power(x, exponent)"
                )
            )
        if exponent == 2:
            return input * input
        if exponent == 3:
            return input * input * input
        return np.power(input, np.asarray(exponent).astype(input.dtype))
    return power(input, exponent)


def pow_number_rule(g: Array, input: Array, exponent: Any) -> Array:
    # A power again, not a product: then every further derivative depends on the input, also when it has become constant or zero.
    return np.zeros_like(g) if exponent == 0 else g * (call(pow_number, input, exponent - 1) * exponent)


pow_number = elementwise(
    "pow_number", _pow_number, holomorphic=True, nodes="PowBackward0", scalars=False, method=False, function=False, input=pow_number_rule
)


def _pow(input: Array, exponent: Array) -> Array:
    """Powers of integers with negative exponents are truncated to integers."""
    if exponent.dtype.kind not in "iu" or not holds(np.any(negative := exponent < 0)):
        return np.power(input, exponent)
    inverse = np.where(input == -1, 1 - 2 * (exponent & 1), input == 1)
    return np.where(negative, inverse, np.power(input, np.where(negative, 0, exponent))).astype(exponent.dtype)


def pow_rule_exponent(g: Array, input: Array, exponent: Array, out: Array) -> Array:
    slope = g * (out * log_of(input, is_complex(out)))
    if isinstance(input, NUMBERS) and input != 0:
        return slope
    size = np.real(exponent)
    return np.where((input == 0) & (exponent == size) & (size >= 0), 0, slope)


pow_tensor = elementwise(
    "pow", _pow, holomorphic=True, check=refuse("b", "pow"), nodes={"ST": "PowBackward2", "default": "PowBackward1"},
    input=lambda g, input, exponent: np.where(exponent == 0, 0, g * (exponent * np.power(input, exponent - 1))),
    exponent=pow_rule_exponent,
)  # fmt: skip


@composite("pow", direct=True)
def pow(input: Array, exponent: Array, *, out: Array = None) -> Array:
    """The power; the base, the exponent or both may be tensors."""
    if isinstance(exponent, NUMBERS) and isinstance(input, OpMethods):
        return pow_number(raised(input, exponent), exponent, out=out)
    return pow_tensor(input, exponent, out=out)


@composite("pow_", function=False, direct=True)
def pow_(input: Array, exponent: Array) -> Array:
    """In-place form of `pow`."""
    if isinstance(exponent, NUMBERS):
        return inplace_of(pow_number)(unraised(input, exponent), exponent)
    return inplace_of(pow_tensor)(input, exponent)


@composite("__pow__", function=False)
def pow_operator(input: Array, exponent: Array) -> Array:
    """`input ** exponent`."""
    if isinstance(exponent, NUMBERS):
        return pow_number(raised(input, exponent), exponent)
    return pow_tensor(input, exponent) if isinstance(exponent, OPERANDS) else NotImplemented


@composite("__rpow__", function=False)
def rpow(input: Array, other: Array) -> Array:
    """`other ** input`."""
    return pow_tensor(other, input) if isinstance(other, OPERANDS) else NotImplemented


@composite("__ipow__", function=False)
def ipow(input: Array, exponent: Array) -> Array:
    """`input **= exponent`."""
    return pow_(input, exponent) if isinstance(exponent, OPERANDS) else NotImplemented


@composite(direct=True)
def square(input: Array, *, out: Array = None) -> Array:
    """`input ** 2`."""
    if input.__class__ is Tensor and input._data.dtype.kind == "f":  # as most are: without asking what a number makes of it
        return pow_number(input, 2, out=out)
    return pow(input, 2, out=out)


@composite("square_")
def square_(input: Array) -> Array:
    """In-place form of `square`."""
    return pow_(input, 2)


@composite()
def float_power(input: Array, exponent: Array, *, out: Array = None) -> Array:
    """The power, computed in double precision."""
    if isinstance(input, NUMBERS) and isinstance(exponent, NUMBERS):
        raise TypeError(
            "float_power() received an invalid combination of arguments - got "
            f"({type(input).__name__}, {type(exponent).__name__}), but expected a Tensor among them"
        )
    result = (pow if isinstance(exponent, NUMBERS) else pow_tensor)(in_double(input), in_double(exponent))
    return into(out, result, "the output given to float_power has dtype {given} but the operation's result requires dtype {wanted}")


@composite("float_power_", function=False)
def float_power_(input: Array, exponent: Array) -> Array:
    """In-place form of `float_power`: only a tensor in double precision can hold its result."""
    if input.dtype not in (float64, complex128):
        required = complex128 if input.is_complex() else float64
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype.scalar_name} but the operation's result requires dtype "
            f"{required.scalar_name}\n  fix: x = x.float_power(exponent)"
        )
    return pow_(input, in_double(exponent))


def in_double(x: Array) -> Array:
    if isinstance(x, NUMBERS):
        return x
    return x.to(complex128 if x._data.dtype.kind == "c" else float64)


# ---- mixtures -----------------------------------------------------------------------------------------------------------------------


def interpolate(start: Array, end: Array, weight: Array) -> Array:
    """From `start` to `end`, computed from the nearer side so that weights 0 and 1 give them exactly."""
    way = end - start
    if isinstance(weight, NUMBERS):
        return start + weight * way if abs(weight) < 0.5 else end - way * (1 - weight)
    return np.where(np.abs(weight) < 0.5, start + weight * way, end - way * (1 - weight))


def check_lerp(input: Array, end: Array, weight: Array = None) -> None:
    for name, x in (("end", end), ("weight", weight)):
        if x is not None and x.dtype != input.dtype and not (name == "weight" and len(x.shape) == 0):
            names = [{"float32": "float", "float64": "double"}.get(d.name, d.name) for d in (input.dtype, x.dtype)]
            raise RuntimeError(
                f"expected dtype {names[0]} for `{name}` but got dtype {names[1]}\n  fix: {name}.to(input.dtype)"
            )
    refuse("biu", "lerp_kernel_scalar" if weight is None else "lerp_kernel_tensor")(input)


def _lerp_number(input: Array, end: Array, weight: Any) -> Array:
    return interpolate(input, end, weight)


def _lerp_tensor(input: Array, end: Array, weight: Array) -> Array:
    return interpolate(input, end, weight)


lerp_number = elementwise(
    "lerp_number", _lerp_number, holomorphic=True, nodes="LerpBackward0", method=False, function=False, scalars=False, check=check_lerp,
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
)  # fmt: skip

lerp_tensor = elementwise(
    "lerp_tensor", _lerp_tensor, holomorphic=True, nodes="LerpBackward1", same=FOUND, method=False, function=False, scalars=False,
    check=check_lerp,
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
)  # fmt: skip


@composite(direct=True)
def lerp(input: Array, end: Array, weight: Array, *, out: Array = None) -> Array:
    """`input + weight * (end - input)`."""
    return (lerp_number if isinstance(weight, NUMBERS) else lerp_tensor)(input, end, weight, out=out)


@composite("lerp_", function=False, direct=True)
def lerp_(input: Array, end: Array, weight: Array) -> Array:
    """In-place form of `lerp`."""
    return inplace_of(lerp_number if isinstance(weight, NUMBERS) else lerp_tensor)(input, end, weight)

