"""Samples of the elementwise ops: arithmetic, bounds, functions of one and two arguments, special functions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

NAN, INF = np.nan, np.inf
EDGES = np.array([0.0, -0.0, NAN, INF, -INF, 1.0, -1.0, 2.0, 0.5, -0.5])
PAIRS = np.array([(a, b) for a in EDGES for b in EDGES]).T


# ---- functions of one argument --------------------------------------------------------------------------------------


def one_argument(make: Make, low: float, high: float, avoid: tuple[float, ...], *, complex_too: bool) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=low, high=high, avoid=avoid))
    yield Sample(make(low=low, high=high, avoid=avoid))
    yield Sample(make(0, 3, low=low, high=high))
    if complex_too:
        yield Sample(make(3, 2, dtype="complex128", low=0.2, high=0.9))


def integers(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([0, 1, 2, 3], dtype="int32")).no_gradient()
    yield Sample(np.array([0, 1, 100], dtype="uint8")).no_gradient()


def booleans(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([False, True])).no_gradient()


# name: lowest and highest argument, kinks to avoid
SMOOTH: dict[str, tuple[float, float, tuple[float, ...]]] = {
    "exp": (-3, 3, ()), "exp2": (-3, 3, ()), "expm1": (-3, 3, ()), "log": (0.2, 5, ()), "log2": (0.2, 5, ()), "log10": (0.2, 5, ()),
    "log1p": (-0.7, 5, ()), "sqrt": (0.2, 5, ()), "rsqrt": (0.2, 5, ()), "reciprocal": (0.3, 4, ()), "sin": (-6, 6, ()),
    "cos": (-6, 6, ()),
    "tan": (-1.2, 1.2, ()), "asin": (-0.8, 0.8, ()), "acos": (-0.8, 0.8, ()), "atan": (-5, 5, ()), "sinh": (-3, 3, ()), "cosh": (-3, 3, ()),
    "tanh": (-3, 3, ()), "asinh": (-5, 5, ()), "acosh": (1.3, 5, ()), "atanh": (-0.8, 0.8, ()), "sigmoid": (-5, 5, ()),
    "sinc": (0.1, 3, ()),
    "square": (-3, 3, ()),
}  # fmt: skip
REAL: dict[str, tuple[float, float, tuple[float, ...]]] = {
    "deg2rad": (-90, 90, ()), "rad2deg": (-3, 3, ()), "logit": (0.1, 0.9, ()), "erf": (-3, 3, ()), "erfc": (-3, 3, ()),
    "erfinv": (-0.9, 0.9, ()), "lgamma": (0.2, 12, (1.0, 2.0)), "digamma": (0.5, 12, ()), "i0": (-10, 10, ()),
}  # fmt: skip
SPECIAL: dict[str, tuple[float, float, tuple[float, ...]]] = {
    "erfcx": (-2, 5, ()), "ndtr": (-3, 3, ()), "ndtri": (0.05, 0.95, ()), "log_ndtr": (-5, 3, ()), "i0e": (0.2, 12, ()),
    "i1": (0.2, 10, ()), "i1e": (0.2, 12, ()), "entr": (0.2, 3, ()),
}  # fmt: skip
# The sign, the absolute value and rounding: no gradient, or one with a kink.
STEPS: dict[str, tuple[float, float, tuple[float, ...]]] = {
    "abs": (-2, 2, (0.0,)), "sign": (-2, 2, (0.0,)), "floor": (-1.9, 1.9, (-1.0, 0.0, 1.0)), "ceil": (-1.9, 1.9, (-1.0, 0.0, 1.0)),
    "trunc": (-1.9, 1.9, (-1.0, 0.0, 1.0)), "round": (-1.4, 1.4, (-0.5, 0.5)), "nan_to_num": (-2, 2, ()), "neg": (-2, 2, ()),
}  # fmt: skip

for table in (SMOOTH, REAL, SPECIAL, STEPS):
    for name, (low, high, avoid) in table.items():
        register = samples(name, torch=f"special.{name}" if table is SPECIAL else None)
        register(partial(one_argument, low=low, high=high, avoid=avoid, complex_too=table is SMOOTH))
        register(integers)
samples(*SMOOTH, *REAL, *SPECIAL)(booleans)
POLES = {"digamma", "logit", "i1", "i1e", "log_ndtr"}  # where PyTorch's gradient depends on rounding, or is finite at NaN


@samples(*SMOOTH, *REAL, *SPECIAL, *STEPS)
def at_edges(make: Make) -> Iterator[Sample]:
    yield Sample(EDGES).no_gradient() if make.name in POLES else Sample(EDGES).only_values()


@samples(*SMOOTH, *REAL, *STEPS)
def in_half_precision(make: Make) -> Iterator[Sample]:
    low, high = (1.5, 3.0) if make.name == "acosh" else (0.3, 0.7)
    yield Sample(make(5, low=low, high=high, dtype="float16")).only_values()


@samples("frac")
def fractions(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=-1.9, high=1.9, avoid=(-1.0, 0.0, 1.0)))
    yield Sample(EDGES).only_values()


@samples("abs", "neg")
def complex_numbers(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2, dtype="complex128", low=0.3, high=2))


@samples("sgn")
def directions(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, avoid=(0.0,)))
    yield Sample(make(3, 2, dtype="complex128", low=0.3, high=2))
    yield Sample(np.array([0j, 1 + 1j, -2j])).only_values()
    yield Sample(np.array([-3, 0, 2])).no_gradient()


@samples("logit")
def clamped_odds(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.2, high=0.8), 0.1)
    yield Sample(np.array([0.0, 0.05, 0.1, 0.5, 0.9, 1.0, 2.0]), eps=0.1).only_values()


@samples("round_decimals", torch="round")
@samples("round")
def decimals(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([1.2345, -2.718, 31.4159]), decimals=2)
    yield Sample(np.array([1234.5, -27.18]), decimals=-2)


@samples("nan_to_num")
def replaced(make: Make) -> Iterator[Sample]:
    yield Sample(EDGES, nan=1.0, posinf=2.0, neginf=3.0).only_values()


@samples("frexp")
def mantissas(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=1.1, high=1.9))
    yield Sample(np.array([0.0, -0.0, 1.0, 0.75, -3.0, 1e30])).only_values()


@samples("polygamma")
def polygammas(make: Make) -> Iterator[Sample]:
    for n in range(4):
        yield Sample(n, make(3, 2, low=0.5, high=4))
    yield Sample(2, np.array([-0.5, -2.5, NAN, 2.0])).only_values()
    yield Sample(1, np.array([1, 2, 3])).no_gradient()


@samples("mvlgamma")
def multivariate(make: Make) -> Iterator[Sample]:
    for p in (1, 2, 4):
        yield Sample(make(3, 2, low=3, high=8), p)


@samples("zeta", torch="special.zeta")
def zetas(make: Make) -> Iterator[Sample]:
    yield Sample(2.0, make(3, 2, low=0.5, high=4))
    yield Sample(np.array([0.0, 1.0, 2.0, 0.5, NAN, -1.0]), np.array([1.0, 1.0, 0.0, 1.0, 1.0, 2.0])).no_gradient()
    yield Sample(np.array([2.0, 2.5, 3.0, 2.0]), np.array([-0.5, -0.5, -0.5, -1.0])).no_gradient()
    yield Sample(np.array([2.0, 3.0]), 1.5).no_gradient()


@samples("igamma", "igammac")
def incomplete_gammas(make: Make) -> Iterator[Sample]:
    a, x = make(20, low=0.1, high=18), make(20, low=0.1, high=30)
    yield Sample(a, x).no_gradient()
    yield Sample(a.astype("float32"), x).gradient_differs()  # only the second argument has a derivative
    edges = np.array([0.0, 0.0, 1.0, 2.0, -1.0, INF, 1.0, INF, NAN, 1.0, 3.0, 0.0])
    yield Sample(edges, np.array([0.0, 1.0, 0.0, INF, 1.0, 1.0, -1.0, INF, 1.0, NAN, 3.0, INF])).no_gradient()


# ---- arithmetic -----------------------------------------------------------------------------------------------------


@samples("add", "sub", "mul", "rsub")
def ring(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(make(), make(2))
    yield Sample(make(2, 3), 2.5)
    yield Sample(make(2, 3), 3)
    yield Sample(make(0, 3), make(3))
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128"))
    yield Sample(make(3), make(3, dtype="complex128"))
    yield Sample(make(3), 1 + 2j)
    yield Sample(make(3, dtype="float32"), make(3)).only_values()
    yield Sample(make(3, dtype="float16"), make(3, dtype="float32")).only_values()
    yield Sample(make(3, dtype="float32"), np.array(1.5)).only_values()
    yield Sample(make(3, dtype="int64"), make(3, dtype="float32")).only_values()
    yield Sample(make(3, dtype="int64"), 2).no_gradient()
    yield Sample(make(3, dtype="int64"), 2.5).no_gradient()
    yield Sample(make(3, dtype="int8"), make(3, dtype="int32")).no_gradient()
    yield Sample(np.array([1, 200, 3], dtype="uint8"), 300).no_gradient()
    yield Sample(*PAIRS).only_values()


@samples("add_scaled", torch="add")
@samples("sub_scaled", torch="sub")
@samples("add", "sub", "rsub")
def with_alpha(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4), alpha=2)
    yield Sample(make(3), make(3), alpha=-0.5)
    yield Sample(make(3, dtype="int32"), make(3, dtype="int32"), alpha=3).no_gradient()
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128"), alpha=1 - 2j)


@samples("add", "mul")
def of_booleans(make: Make) -> Iterator[Sample]:
    yield Sample(make(4, dtype="bool"), make(4, dtype="bool")).no_gradient()
    yield Sample(make(4, dtype="bool"), 2).no_gradient()
    yield Sample(make(4, dtype="bool"), 1.5).no_gradient()


@error_samples("add", "sub", "mul", "div", "pow", "maximum", "eq", "atan2")
def shapes_that_do_not_fit(make: Make) -> Iterator[ErrorSample]:
    message = r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 1"
    yield ErrorSample(RuntimeError, message, make(2, 3), make(2, 4))
    yield ErrorSample(RuntimeError, message, make(2, 3, dtype="float32"), make(4))


@error_samples("add", "sub")
def bad_alpha(make: Make) -> Iterator[ErrorSample]:
    number = make(2, dtype="int64")
    yield ErrorSample(RuntimeError, "For integral input tensors, argument alpha must not be a floating", number, number, alpha=0.5)
    yield ErrorSample(RuntimeError, "For non-complex input tensors, argument alpha must not be a complex", make(2), make(2), alpha=2j)


@error_samples("sub", "rsub")
def bool_subtraction(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Subtraction, the `-` operator, with two bool tensors", make(2, dtype="bool"), make(2, dtype="bool"))
    yield ErrorSample(RuntimeError, "Subtraction, the `-` operator, with a bool tensor", make(2, dtype="bool"), make(2))
    yield ErrorSample(RuntimeError, "Subtraction, the `-` operator, with a bool tensor", make(2, dtype="bool"), 1)


@error_samples("neg")
def bool_negation(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Negation, the `-` operator, on a bool tensor is not supported", make(2, dtype="bool"))


@error_samples("positive")
def bool_plus(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, r"The `\+` operator, on a bool tensor is not supported", make(2, dtype="bool"))


@samples("positive")
def itself(make: Make) -> Iterator[Sample]:
    yield Sample(make(3))


@samples("div")
def quotients(make: Make) -> Iterator[Sample]:
    divisor = partial(make, low=0.5, high=3)
    yield Sample(make(3, 4), divisor(3, 4))
    yield Sample(make(3, 1), divisor(4))
    yield Sample(make(3), 2.5)
    yield Sample(make(3), 4)
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128", low=0.5))
    yield Sample(np.array([7, -7, 3]), np.array([2, 2, 0])).no_gradient()
    yield Sample(np.array([7, -7, 3]), 2).no_gradient()
    yield Sample(make(3, dtype="bool"), np.array([True, True, False])).no_gradient()
    yield Sample(*PAIRS).only_values()


@samples("div_rounded", torch="div")
@samples("div")
def rounded_quotients(make: Make) -> Iterator[Sample]:
    for mode in ("floor", "trunc"):
        yield Sample(np.array([7.0, -7.0, 5.5]), np.array([2.0, 2.0, -1.3]), rounding_mode=mode)
        yield Sample(np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2]), rounding_mode=mode).no_gradient()
        yield Sample(np.array([7, -7], dtype="int8"), 2, rounding_mode=mode).no_gradient()
        yield Sample(*PAIRS, rounding_mode=mode).only_values()


@samples("floor_divide")
def floors(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([7.0, -7.0, 5.5]), np.array([2.0, 2.0, -1.3])).no_gradient()
    yield Sample(np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])).no_gradient()
    yield Sample(np.array([7, -7, 7, -7]), 2).no_gradient()


@samples("remainder", "fmod")
def remainders(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([7.3, -7.1, 5.5, -1.7]), np.array([2.0, 2.0, -1.3, -0.4]))
    yield Sample(make(3, low=0.2, high=0.8), 1.0)
    yield Sample(np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])).no_gradient()
    yield Sample(np.array([7, -7, 7, -7]), 3).no_gradient()
    yield Sample(*PAIRS).only_values()


@samples("remainder")
def remainders_of_a_number(make: Make) -> Iterator[Sample]:
    yield Sample(7.3, np.array([2.0, -1.5])).gradient_differs()  # PyTorch has no derivative for it
    yield Sample(7, np.array([2, -3])).no_gradient()


@error_samples("floor_divide", "remainder", "fmod")
def division_by_zero(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "ZeroDivisionError", np.array([1, 2]), np.array([1, 0]))
    yield ErrorSample(RuntimeError, "ZeroDivisionError", np.array([1, 2]), 0)


@error_samples("div")
def bad_rounding(make: Make) -> Iterator[ErrorSample]:
    message = "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"
    yield ErrorSample(RuntimeError, message, make(2), make(2), rounding_mode="up")


@samples("pow_number", torch="pow")
@samples("pow")
def powers_by_numbers(make: Make) -> Iterator[Sample]:
    for exponent in (0, 1, 2, 3, 2.5, 0.5, -1, -2, -0.5, 0.0):
        yield Sample(make(3, low=0.3, high=2), exponent)
        yield Sample(EDGES, exponent).only_values()


@samples("pow")
def powers(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2, low=0.3, high=2), make(2))
    yield Sample(2, make(3))
    yield Sample(2.5, make(2, 2))
    yield Sample(make(2, dtype="complex128", low=0.3), 2)
    yield Sample(make(2, dtype="complex128", low=0.3), make(2, dtype="complex128"))
    yield Sample(np.array([2, -3, 0, 1, -1]), np.array([3, 2, 0, -2, -3])).no_gradient()
    yield Sample(np.array([2, -3, 0]), 3).no_gradient()
    yield Sample(np.array([2, 3, 16], dtype="uint8"), 2).no_gradient()
    yield Sample(np.array([2, 3]), 0.5).no_gradient()
    yield Sample(2, np.array([-1, 0, 3])).no_gradient()
    for exponent in (2, True, False):
        yield Sample(np.array([True, False]), exponent).no_gradient()
    yield Sample(*PAIRS).only_values()
    for base in (0, 1, 2, -1):
        yield Sample(base, EDGES).only_values()


@error_samples("pow")
def bad_powers(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "Integers to negative integer powers are not allowed", np.array([1, 2]), -1)
    yield ErrorSample(NotImplementedError, '"pow" not implemented for \'Bool\'', np.array([True]), np.array([True]))


@samples("float_power")
def double_powers(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, low=0.3), make(3))
    yield Sample(make(3, low=0.3, dtype="float32"), 2).only_values()
    yield Sample(np.array([1, 2, 3]), 2).no_gradient()
    yield Sample(2, np.array([1, 2, 3])).no_gradient()
    yield Sample(make(2, dtype="complex64"), 2).only_values()


@samples("addcmul", "addcdiv")
def fused(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4, low=0.5, high=2))
    yield Sample(make(3, 4), make(4), make(3, 1, low=0.5, high=2), value=-2.5)
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128"), make(3, dtype="complex128", low=0.5))


@samples("addcmul")
def fused_integers(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, dtype="int64"), make(3, dtype="int64"), make(3, dtype="int64"), value=2).no_gradient()
    yield Sample(make(3, dtype="int64"), make(3, dtype="int64"), make(3, dtype="int64"), value=1.5).no_gradient()


@error_samples("addcdiv")
def fused_integer_division(make: Make) -> Iterator[ErrorSample]:
    number = np.array([1, 2])
    yield ErrorSample(RuntimeError, "Integer division with addcdiv is no longer supported", number, number, number)
    yield ErrorSample(RuntimeError, "Integer division with addcdiv is no longer supported", make(2), number, number)


@samples("lerp_number", torch="lerp")
@samples("lerp")
def mixtures(make: Make) -> Iterator[Sample]:
    for weight in (0.2, 0.5, 0.8, 1.0, -0.3, 1.7):
        yield Sample(make(3, 2), make(2), weight)
    yield Sample(make(3, dtype="complex128"), make(3, dtype="complex128"), 0.3)


@samples("lerp_tensor", torch="lerp")
@samples("lerp")
def weighted_mixtures(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 2), make(2, low=0, high=1))
    yield Sample(make(3), make(3), make(3))


@error_samples("lerp")
def bad_mixtures(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "expected dtype float for `end` but got dtype double", make(2, dtype="float32"), make(2), 0.5)
    yield ErrorSample(NotImplementedError, "\"lerp_kernel_scalar\" not implemented for 'Long'", np.array([1]), np.array([1]), 0.5)


@samples("ldexp")
def scaled(make: Make) -> Iterator[Sample]:
    yield Sample(make(3), make(3))
    yield Sample(make(3), np.array([1, -2, 10])).gradient_differs()  # PyTorch computes 2 ** -2 in integers
    yield Sample(np.array([1, 2, -3]), np.array([1, 2, 3])).no_gradient()


# ---- bounds and choices ---------------------------------------------------------------------------------------------


@samples("clamp_number", torch="clamp")
@samples("clamp")
def between_numbers(make: Make) -> Iterator[Sample]:
    kinks = (-1.0, 1.0)
    yield Sample(make(3, 4, avoid=kinks), -1, 1)
    yield Sample(make(3, 4, avoid=kinks), min=-1.0)
    yield Sample(make(3, 4, avoid=kinks), max=1.0)
    yield Sample(make(3, avoid=kinks), 1.0, -1.0)
    yield Sample(EDGES, -1, 1).only_values()
    yield Sample(np.array([-3, 0, 3]), -1, 1).no_gradient()
    yield Sample(np.array([0, 1, 2], "uint8"), -1, 1).no_gradient()
    yield Sample(np.array([0, 1, 2], "uint8"), max=-254).no_gradient()


@error_samples("clamp")
def bounds_beyond_the_dtype(make: Make) -> Iterator[ErrorSample]:
    for dtype, bound in (("uint8", 300), ("uint8", -256), ("int8", -129), ("int32", 2**31)):
        yield ErrorSample(RuntimeError, "value cannot be converted to type", np.array([0, 1], dtype), max=bound)


@samples("clamp")
def between_floats(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([-3, 0, 3]), -0.5, 2).no_gradient()
    yield Sample(make(3, dtype="bool"), 0, 1).no_gradient()


A, B, C = (np.array(v) for v in ([0.0, 0, 1, 1, NAN, 1, 2, 3], [0.0, 1, 0, 1, 1, NAN, 1, 1], [1.0, 1, 1, 0, 1, 1, NAN, 2]))


@samples("clamp_tensor", torch="clamp")
@samples("clamp")
def between_tensors(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4) - 2, make(3, 1) + 2)
    yield Sample(make(3, 4), min=make(3, 4, low=-1, high=1))
    yield Sample(make(3, 4), max=make(3, 4, low=-1, high=1))
    yield Sample(make(3), make(3) + 4, make(3) - 4)
    yield Sample(A, B, C).only_values()
    yield Sample(A, min=B).only_values()
    yield Sample(A, max=B).only_values()
    yield Sample(np.array([1, 5]), np.array([2, 2]), np.array([3, 3])).no_gradient()


@error_samples("clamp")
def no_bounds(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None", make(2))
    yield ErrorSample(NotImplementedError, "clamp is not supported for complex types", make(2, dtype="complex64"), 0, 1)


@samples("clamp_min", "clamp_max")
def one_bound(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, avoid=(0.5,)), 0.5)
    yield Sample(make(3, 4), make(4))
    yield Sample(A, B).only_values()
    yield Sample(EDGES, 0.5).only_values()
    yield Sample(np.array([1, 5]), 2).no_gradient()


@samples("maximum", "minimum", "fmax", "fmin")
def choices(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1), make(4))
    yield Sample(*PAIRS).only_values()
    yield Sample(np.array([1, 5]), np.array([2, 2])).no_gradient()
    yield Sample(np.array([1, 5]), np.array([2.0, 2.5])).only_values()
    yield Sample(make(4, dtype="bool"), make(4, dtype="bool")).no_gradient()


@error_samples("maximum", "minimum", "fmax", "fmin")
def unordered(make: Make) -> Iterator[ErrorSample]:
    number = make(2, dtype="complex64")
    yield ErrorSample(RuntimeError, "not implemented for complex tensors", number, number)
    yield ErrorSample(TypeError, r"argument 'other' \(position 2\) must be Tensor, not float", make(2), 2.0)


@samples("copysign")
def signs(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, avoid=(0.0,)), make(3, 4, avoid=(0.0,)))
    yield Sample(make(3, avoid=(0.0,)), -1)
    yield Sample(*PAIRS[:, PAIRS[1] == PAIRS[1]]).only_values()
    yield Sample(np.array([1, -2]), -1).no_gradient()


@samples("nextafter")
def neighbours(make: Make) -> Iterator[Sample]:
    yield Sample(make(3), make(3)).only_values()
    yield Sample(*PAIRS).only_values()


@samples("heaviside")
def steps(make: Make) -> Iterator[Sample]:
    yield Sample(EDGES, np.array(0.5)).no_gradient()
    yield Sample(np.array([-1, 0, 1]), np.array([5, 6, 7])).no_gradient()


@error_samples("heaviside")
def mixed_steps(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "heaviside is not yet implemented for tensors with different dtypes", make(2), make(2, dtype="float32"))


@error_samples("floor", "ceil", "trunc")
def complex_rounding(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "is not supported for complex inputs", make(2, dtype="complex64"))


@error_samples("floor", "ceil", "trunc", "round", "frac", "abs")
def bool_rounding(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'Bool'", make(2, dtype="bool"))


@error_samples("erf", "lgamma", "logit", "i0", "erfinv", "digamma")
def complex_special(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(NotImplementedError, "not implemented for 'ComplexFloat'", make(2, dtype="complex64"))


# ---- functions of two arguments -------------------------------------------------------------------------------------


@samples("atan2", "hypot", "logaddexp", "logaddexp2")
def two_arguments(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, avoid=(0.0,)), make(3, 4, avoid=(0.0,)))
    yield Sample(make(3, 1, avoid=(0.0,)), make(4, avoid=(0.0,)))


@samples("atan2", "hypot")
def two_arguments_at_edges(make: Make) -> Iterator[Sample]:
    yield Sample(*PAIRS).only_values()


@samples("logaddexp", "logaddexp2")
def sums_of_exponentials(make: Make) -> Iterator[Sample]:
    finite = PAIRS[:, np.isfinite(PAIRS).all(0)]
    yield Sample(*finite).only_values()
    yield Sample(np.array([1000.0, -1000.0]), np.array([999.0, -1001.0]))


@samples("atan2")
def integer_angles(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([1, -1]), np.array([1, 0])).no_gradient()


@samples("xlogy")
@samples("xlog1py", torch="special.xlog1py")
def entropies(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, low=0.3))
    yield Sample(make(3), 2.5)
    yield Sample(2.5, make(3, low=0.3))
    yield Sample(*PAIRS).only_values()
    yield Sample(np.array([0, 1, 2]), np.array([1, 2, 3])).no_gradient()
    yield Sample(np.array([1, 2, 3], dtype="int32"), True).no_gradient()
    yield Sample(2, np.array([1, 2, 3], dtype="int32")).no_gradient()
