"""Comparison, logic, bits, and questions about values. Nothing here has a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._layer import Layer
from .._layout import strided
from ._operands import OPERANDS, refuse
from ._primitives import loops
from ._registry import FOUND, Array, composite, elementwise

# ---- comparison ---------------------------------------------------------------------------------------------------------------------


def comparison(name: str, function: np.ufunc, operator: str, *aliases: str, ordered: bool = True, doc: str) -> Any:
    check = refuse("c", name) if ordered else None
    return elementwise(
        name, function, scalars="other", operators=(operator,), aliases=aliases, check=check, differentiable=False, doc=doc,
        narrow=not ordered,
    )


eq = comparison("eq", np.equal, "__eq__", ordered=False, doc="Where the elements are equal.")
ne = comparison("ne", np.not_equal, "__ne__", "not_equal", ordered=False, doc="Where the elements differ.")
lt = comparison("lt", np.less, "__lt__", "less", doc="Where `input < other`.")
le = comparison("le", np.less_equal, "__le__", "less_equal", doc="Where `input <= other`.")
gt = comparison("gt", np.greater, "__gt__", "greater", doc="Where `input > other`.")
ge = comparison("ge", np.greater_equal, "__ge__", "greater_equal", doc="Where `input >= other`.")


# ---- logic --------------------------------------------------------------------------------------------------------------------------

logical_and = elementwise("logical_and", np.logical_and, scalars=False, differentiable=False, doc="Where both elements are true.")
logical_or = elementwise("logical_or", np.logical_or, scalars=False, differentiable=False, doc="Where an element is true.")
logical_xor = elementwise("logical_xor", np.logical_xor, scalars=False, differentiable=False, doc="Where just one element is true.")
logical_not = elementwise("logical_not", np.logical_not, differentiable=False, doc="Where the element is false.")

# ---- bits ---------------------------------------------------------------------------------------------------------------------------


def bitwise(
    name: str, function: np.ufunc, *operators: str, inplace: str | None = None, refused: str = "fcV", same: str = "", doc: str
) -> Any:
    return elementwise(
        name, function, operators=operators, inplace_operator=inplace, check=refuse(refused, name), differentiable=False, floats=False,
        same=same, doc=doc,
    )


bitwise_and = bitwise(
    "bitwise_and", np.bitwise_and, "__and__", "__rand__", inplace="__iand__",
    doc="Bitwise and; of truth values logical and.",
)  # fmt: skip
bitwise_or = bitwise("bitwise_or", np.bitwise_or, "__or__", "__ror__", inplace="__ior__", doc="Bitwise or; of truth values logical or.")
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor, "__xor__", "__rxor__", inplace="__ixor__", doc="Bitwise exclusive or.")
bitwise_not = bitwise("bitwise_not", np.invert, same=FOUND, doc="Bitwise not; of truth values logical not.")
bitwise_left_shift = bitwise(
    "bitwise_left_shift", np.left_shift, "__lshift__", inplace="__ilshift__", refused="bfcV",
    doc="`input * 2**other`, for integers.",
)  # fmt: skip
bitwise_right_shift = bitwise(
    "bitwise_right_shift", np.right_shift, "__rshift__", inplace="__irshift__", refused="bfcV",
    doc="`input // 2**other`, for integers.",
)  # fmt: skip

# ---- divisors -----------------------------------------------------------------------------------------------------------------------

MANY, EFFORT = 1 << 14, 16  # pairs that are worth it, and how many additions one of them takes


def of_pairs(kernel: str, function: np.ufunc) -> Any:
    """A function of two integers, by several threads where there are many."""

    def forward(input: Array, other: Array) -> Array:
        if input.__class__ is np.ndarray and input.size >= MANY and input.shape == other.shape and input.dtype == other.dtype:
            out = np.empty(input.shape, input.dtype)
            if getattr(loops("divisor"), kernel).run(out, input, other, input.size, EFFORT):
                return out
        return function(input, other)

    return forward


gcd = elementwise(
    "gcd", of_pairs("divisors", np.gcd), scalars=False, warns=False, check=refuse("bfcV", "gcd"), differentiable=False, floats=False,
    doc="The greatest common divisor.",
)  # fmt: skip
lcm = elementwise(
    "lcm", of_pairs("multiples", np.lcm), scalars=False, warns=False, check=refuse("bfcV", "lcm"), differentiable=False, floats=False,
    doc="The least common multiple.",
)  # fmt: skip


@composite("__invert__", function=False)
def invert(input: Array) -> Array:
    """`~input`."""
    if input.is_floating_point() or input.is_complex():
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(input)


@composite("__rlshift__", function=False)
def rlshift(input: Array, other: Array) -> Array:
    """`other << input`."""
    return bitwise_left_shift(other, input) if isinstance(other, OPERANDS) else NotImplemented


@composite("__rrshift__", function=False)
def rrshift(input: Array, other: Array) -> Array:
    """`other >> input`."""
    return bitwise_right_shift(other, input) if isinstance(other, OPERANDS) else NotImplemented


# ---- questions ----------------------------------------------------------------------------------------------------------------------


def question(name: str, function: Any, check: Any = None, **facts: Any) -> Any:
    return elementwise(name, function, scalars=False, inplace=False, warns=False, check=check, differentiable=False, **facts)


def _signbit(input: Array) -> Array:
    """Where the sign is negative, -0.0 included."""
    return input < 0 if input.dtype.kind in "iub" else np.signbit(input)


def _isposinf(input: Array) -> Array:
    """Where an element is positive infinity."""
    return input == np.inf


def _isneginf(input: Array) -> Array:
    """Where an element is negative infinity."""
    return input == -np.inf


def _isreal(input: Array) -> Array:
    """Where the imaginary part is 0."""
    return input.imag == 0 if input.dtype.kind == "c" else (input == 0) | (input != 0)  # that is, everywhere


isnan = question("isnan", np.isnan, narrow=True, doc="Where an element is NaN.")
isinf = question("isinf", np.isinf, doc="Where an element is infinite.")
isfinite = question("isfinite", np.isfinite, doc="Where an element is neither infinite nor NaN.")
signbit = question(
    "signbit", _signbit, refuse("c", "signbit", "signbit is not implemented for complex tensors."),
    same="signbit does not support non-boolean outputs.",
)  # fmt: skip
isposinf = question(
    "isposinf", _isposinf, refuse("c", "isposinf", "isposinf does not support complex inputs.", RuntimeError),
    same="isposinf does not support non-boolean outputs.",
)  # fmt: skip
isneginf = question(
    "isneginf", _isneginf, refuse("c", "isneginf", "isneginf does not support complex inputs.", RuntimeError),
    same="isneginf does not support non-boolean outputs.",
)  # fmt: skip
isreal = question("isreal", _isreal)


# ---- whole tensors ------------------------------------------------------------------------------------------------------------------


def _isclose(input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Where the elements differ by at most `atol + rtol * |other|`."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    close = input == other
    if equal_nan:
        close = close | (np.isnan(input) & np.isnan(other))
    if input.dtype.kind == "b":
        return close
    if input.dtype.kind in "iu":  # whose differences wrap around
        input, other = input.astype(np.float64), other.astype(np.float64)
    difference = np.abs(input - other)
    return close | (np.isfinite(difference) & (difference <= atol + np.abs(rtol * other)))


def check_same_dtype(input: Array, other: Array) -> None:
    if input.dtype != other.dtype:
        first, second = from_numpy_dtype(input.dtype), from_numpy_dtype(other.dtype)
        raise RuntimeError(
            f"{first.scalar_name} did not match {second.scalar_name}\n  fix: convert one of them, for example with y.to(x.dtype)"
        )


isclose = elementwise("isclose", _isclose, scalars=False, inplace=False, check=check_same_dtype, differentiable=False)


@composite()
def allclose(input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements agree within `atol + rtol * |other|`."""
    return whole_truth(isclose(input, other, rtol, atol, equal_nan), "vmap over torch.allclose isn't supported yet")


@composite()
def equal(input: Array, other: Array) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    a, b = input._data, other._data
    if a.__class__ is b.__class__ is np.ndarray and a.dtype is b.dtype and a.shape == b.shape:
        if (found := loops("search").equal(a, b)) is not None:
            return found  # type: ignore[no-any-return]
    if input.layout is not strided or other.layout is not strided:
        return input.layout is other.layout and input.shape == other.shape and equal(input.to_dense(), other.to_dense())
    return input.shape == other.shape and whole_truth(
        eq(input, other), "Batching rule not implemented for aten::equal. We could not generate a fallback"
    )


def whole_truth(x: Any, refusal: str) -> bool:
    """Whether all elements are true, which inside `vmap` would be another thing for each example."""
    data = x._data
    while isinstance(data, Layer):
        if data.level.hides_dimension:
            raise RuntimeError(f"{refusal}: the answer is a Python number, and each example has its own\n  fix: (x == y).all() is a tensor")
        data = data.value._data
    return bool(x.all() if hasattr(data, "twin") else np.all(data))  # of a wrapper its class says it
