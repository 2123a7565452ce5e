"""Kernels for types other than float32 and float64 give what NumPy gives, bit for bit where arithmetic is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import builtin, builtin_conversions, entry
from adjoint._kernels.emit_types import KINDS
from adjoint._kernels.expr import Expr
from adjoint.ops._registry import OPS
from tests.kernels.ways import WAYS, Switch

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32 = np.dtype("float16"), np.dtype("float32")
HALVES = [F16, BF16]
INTEGERS = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8")]
PASSED = object()


def kernel(function: Callable[..., Any], count: int, dtype: Any) -> Callable[..., Any]:
    x = Expr.inputs(count)

    def more(kind: str) -> list[builtin.Case]:
        return [builtin.Case(function(*Expr.inputs(count, np.dtype(dtype))))]

    plain = {kind: [builtin.Case(function(*x))] for kind in ("f32", "f64")}
    return builtin.Kernel(builtin.Formula("types", plain, "T" * count, more=more), lambda *args: PASSED).call


def every_half(dtype: np.dtype[Any]) -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


def converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    convert = builtin_conversions.conversion(dtype, lambda array: array.astype(dtype))
    assert convert is not None
    return convert(array)  # type: ignore[no-any-return]


# ---- half precision -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_all_halves_are_widened_and_rounded(dtype: np.dtype[Any]) -> None:
    every = every_half(dtype)
    single = converted(every, F32)
    assert single.dtype == F32
    np.testing.assert_array_equal(single, every.astype(F32))
    back = converted(single, dtype)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.astype(F32), single)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_rounding_is_to_the_nearest_even(dtype: np.dtype[Any]) -> None:
    finite = every_half(dtype).astype(F32)
    finite = np.sort(finite[np.isfinite(finite)])
    between = finite[:-1] / 2 + finite[1:] / 2  # ties
    with np.errstate(all="ignore"):
        given = np.concatenate([between, np.nextafter(between, np.float32(np.inf)), np.nextafter(between, -np.float32(np.inf))])
    given = np.append(given, np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 65519, 65520, 1e-45, -1e-45], F32))
    with np.errstate(all="ignore"):
        expected = given.astype(dtype)
    rounded = converted(given, dtype)
    np.testing.assert_array_equal(rounded.astype(F32), expected.astype(F32))
    np.testing.assert_array_equal(np.signbit(rounded.astype(F32))[:-9], np.signbit(expected.astype(F32))[:-9])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.greater, np.equal])
@pytest.mark.parametrize("size", [0, 1, 31, 1000, entry.LARGEST + 17])
def test_arithmetic_is_rounded_once(function: Any, dtype: np.dtype[Any], size: int) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.choice(every_half(dtype), size) for _ in range(2))
    with np.errstate(all="ignore"):
        expected = function(a.astype(F32), b.astype(F32))
        got = kernel(function, 2, dtype)(a, b)
        expected = expected if expected.dtype == bool else expected.astype(dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.astype(F32), expected.astype(F32))


# ---- integers and truth values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize(
    "function",
    [
        np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.greater,
        np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_xor,
        lambda x, y: np.where(x > y, x, y + 1), lambda x, y: np.sign(x) * np.abs(y), lambda x, y: -x + ~y,
        lambda x, y: np.clip(x, 1, 5) + y,
    ],
)  # fmt: skip
def test_integers_wrap_around(function: Any, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(2)
    ends = np.iinfo(dtype)
    a, b = (rng.integers(ends.min, ends.max, 999, dtype, endpoint=True) for _ in range(2))
    a[:4] = b[2:6] = [ends.min, ends.max, 0, 1]
    with np.errstate(all="ignore"):
        expected = function(a, b)
    got = kernel(function, 2, dtype)(a, b)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("function", [np.add, np.multiply, np.logical_or, np.bitwise_xor, np.equal, np.less, np.maximum])
def test_truth_values(function: Any) -> None:
    a, b = np.array([False, False, True, True] * 50), np.array([False, True] * 100)
    got = kernel(function, 2, bool)(a, b)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, function(a, b))


def integer_kernel(function: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The same for a function that has no formula for floating numbers."""
    kind = next(name for name, facts in KINDS.items() if facts.dtype == dtype.name)
    cases = {kind: [builtin.Case(function(*Expr.inputs(2, dtype)))]}
    return builtin.Kernel(builtin.Formula("integers", cases, "TT"), lambda *args: PASSED).call


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("function", [np.floor_divide, np.remainder, np.fmod])
def test_quotients_of_integers(function: Any, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(7)
    ends = np.iinfo(dtype)
    a, b = (rng.integers(ends.min, ends.max, 3000, dtype, endpoint=True) for _ in range(2))
    b[:1000] = rng.integers(1, 10, 1000)
    a[:5], b[:5] = ends.min, np.array([-1, 1, ends.max, 2, 3]).astype(dtype)  # the least number has no negative
    b[b == 0] = 1
    with np.errstate(all="ignore"):
        expected = function(a, b)
    compiled = integer_kernel(function, dtype)
    np.testing.assert_array_equal(compiled(a, b), expected)
    b[-1] = 0
    assert compiled(a, b) is PASSED


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("function", [np.left_shift, np.right_shift])
def test_shifts_by_any_number_of_places(function: Any, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(8)
    ends = np.iinfo(dtype)
    a = rng.integers(ends.min, ends.max, 999, dtype, endpoint=True)
    places = rng.integers(0 if ends.min == 0 else -3, ends.bits + 4, 999).astype(dtype)
    np.testing.assert_array_equal(integer_kernel(function, dtype)(a, places), function(a, places))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_next_number(dtype: str) -> None:
    tiny = float(np.finfo(dtype).smallest_subnormal)
    some = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, tiny, -tiny, float(np.finfo(dtype).max), float(np.finfo(dtype).tiny)]
    a, b = (x.ravel() for x in np.meshgrid(np.array(some, dtype), np.array(some, dtype)))
    with np.errstate(all="ignore"):
        got, expected = kernel(np.nextafter, 2, dtype)(a, b), np.nextafter(a, b)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(got)])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_the_next_number_in_half_precision_is_passed_on(dtype: np.dtype[Any]) -> None:
    assert kernel(np.nextafter, 2, dtype)(np.ones(3, dtype), np.zeros(3, dtype)) is PASSED


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool)], ids=str)
def test_what_makes_floating_numbers_of_integers_is_passed_on(dtype: np.dtype[Any]) -> None:
    a = np.ones(5, dtype)
    for function in (np.exp, lambda x: x * 0.5, lambda x: 1 / x, lambda x: np.where(x > 0, x, 0.0)):
        assert kernel(function, 1, dtype)(a) is PASSED


def test_numbers_that_an_integer_type_cannot_hold_are_passed_on() -> None:
    x, n = Expr.inputs("TS")
    (scaled,) = builtin.load([builtin.Formula("scaled", x * n, "TS")], [lambda *args: PASSED])
    a = np.arange(6)
    np.testing.assert_array_equal(scaled(a, 3), a * 3)
    np.testing.assert_array_equal(scaled(a, 1 - 2**53), a * (1 - 2**53))
    for number in (2.0, 2**53 + 1, 2**70, True, None):
        assert scaled(a, number) is PASSED
    small = a.astype("uint8")
    np.testing.assert_array_equal(scaled(small, 255), small * np.uint8(255))
    assert scaled(small, 256) is PASSED
    assert scaled(small, -1) is PASSED
    assert scaled(a > 2, 1) is PASSED


# ---- complex numbers ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "function",
    [
        np.add, np.subtract, np.multiply, np.divide, np.equal, np.not_equal, lambda x, y: np.conjugate(x) * y, lambda x, y: np.abs(x * y),
        lambda x, y: np.exp(x) + y, lambda x, y: 2 * x - y / 3, lambda x, y: np.where(np.abs(x) > np.abs(y), x, -y),
        lambda x, y: x.real * y,
    ],
)  # fmt: skip
def test_complex_numbers(function: Any, dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = ((rng.standard_normal((7, 50)) + 1j * rng.standard_normal((7, 50))).astype(dtype) for _ in range(2))
    a[0, :5], b[0, :5] = 1 + 2j, 1 + 2j
    expected = function(a, b)
    got = kernel(function, 2, dtype)(a, b)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, 8 * np.finfo(dtype).eps, 8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_exponentials_of_large_numbers_are_left_to_numpy(dtype: str) -> None:
    exp = kernel(np.exp, 1, dtype)
    for value in (complex(100, 1), complex(np.inf, 0), complex(0, np.inf), complex(np.nan, 0), complex(0, 1e30)):
        assert exp(np.array([1j, value], dtype)) is PASSED


def complex_kernel(function: Any) -> Callable[..., Any]:
    cases = {"c64": [builtin.Case(function(*Expr.inputs(1, np.dtype("complex64"))))]}
    return builtin.Kernel(builtin.Formula("complex", cases, "T"), lambda *args: PASSED).call


FUNCTIONS = [np.sqrt, np.log, np.cos, np.sin, np.cosh, np.sinh, np.tanh, np.sign, lambda z: np.arctan2(z.imag, z.real)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_complex_numbers(function: Any) -> None:
    rng = np.random.default_rng(4)
    z = np.concatenate([size * (rng.standard_normal((2, 500)).T @ [1, 1j]) for size in (1e-6, 1, 5)]).astype("complex64")
    z = np.append(z, np.array([1, -1, 1j, -1j, 1 + 1e-6j, complex(-1, -0.0), 0, 3], "complex64"))
    with np.errstate(all="ignore"):
        expected = function(z.astype("complex128"))
    got = complex_kernel(function)(z)
    assert got.dtype == function(z[:1]).dtype
    for ours, exact in ((got.real, expected.real), (got.imag, expected.imag)):
        np.testing.assert_allclose(ours, exact, 2e-6, 1e-12)


@pytest.mark.parametrize("function", FUNCTIONS[:-1])
def test_functions_of_infinite_complex_numbers_are_left_to_numpy(function: Any) -> None:
    compiled = complex_kernel(function)
    for value in (complex(np.inf, 1), complex(1, np.inf), complex(np.nan, 1)):
        assert compiled(np.array([1j, value], "complex64")) is PASSED


# ---- conversions ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [*HALVES, *INTEGERS, *map(np.dtype, ("bool", "float32", "float64"))], ids=str)
@pytest.mark.parametrize("target", [*HALVES, *INTEGERS, *map(np.dtype, ("bool", "float32", "float64"))], ids=str)
def test_conversions(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    given = np.arange(0, 120).astype(source)
    got = converted(given, target)
    assert got.dtype == target
    np.testing.assert_array_equal(got, given.astype(target))


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int32", "int64"])
def test_integers_from_floating_numbers(source: str, target: str) -> None:
    given = np.array([2.5, -2.5, -0.0, 0.99, -0.99, 1000.0, np.nan, np.inf, -np.inf], source)
    with np.errstate(all="ignore"):
        expected = given.astype(target)
    np.testing.assert_array_equal(converted(given, np.dtype(target)), expected)


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16"])
def test_small_integers_from_floating_numbers_wrap_around(source: str, target: str) -> None:
    given = np.array([2.5, -2.5, -0.0, 0.99, 127.9, 128.0, 255.9, 256.0, -129.0, 40000.0], source)
    np.testing.assert_array_equal(converted(given, np.dtype(target)), given.astype(np.int32).astype(target))


def test_negative_integers_are_converted_as_numpy_does() -> None:
    given = np.arange(-300, 300)
    for target in INTEGERS:
        np.testing.assert_array_equal(converted(given, target), given.astype(target))


# ---- tensors --------------------------------------------------------------------------------------------------------------------------


CALLS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "tanh": lambda x, y: x.tanh(),
    "gelu": lambda x, y: ad.nn.functional.gelu(x), "exp": lambda x, y: y.exp(), "pow": lambda x, y: y**x,
    "sigmoid": lambda x, y: x.sigmoid(),
    "where": lambda x, y: ad.where(x > 0, x, y), "sqrt": lambda x, y: y.sqrt(),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [ad.float16, ad.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(4, 50), (50,), (1,)])
@pytest.mark.parametrize("name", CALLS)
def test_half_precision_is_the_same_compiled_or_not(computed_by: Switch, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(4)
    given = [ad.tensor(rng.uniform(*ends, size)).to(dtype) for ends, size in (((-3, 3), (4, 50)), ((0.1, 3), shape))]
    op = next(op for op in OPS.values() if op.name == {"add": "add", "pow": "pow"}.get(name, name))
    results = []
    for way in WAYS:
        computed_by(way, [op.name])
        for _ in range(3):
            inputs = [x.clone().requires_grad_() for x in given]
            out = CALLS[name](*inputs)
            out.backward(given[0].expand(out.shape) if out.shape == given[0].shape else ad.ones_like(out))
        grads = [x.grad for x in inputs if x.grad is not None]
        assert {x.dtype for x in (out, *grads)} == {dtype}
        results.append([x.detach().float().numpy() for x in (out, *grads)])
    assert op.kernels
    unit = 2.0**-7 if dtype is ad.bfloat16 else 2.0**-10
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=unit, atol=1e-7)


def test_gradients_of_complex_tensors_are_the_same_compiled_or_not(computed_by: Switch) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 3, 4, 2)) @ [1, 1j]
    names = ("mul", "div", "exp", "abs", "add", "neg", "sqrt", "sgn")
    results = []
    for way in WAYS:
        computed_by(way, names)
        for _ in range(2):
            x, y = ad.tensor(a, requires_grad=True), ad.tensor(b, requires_grad=True)
            (-(x * y) + (x / y).exp() + x.sqrt()).abs().sum().backward()
        results.append((x.grad.numpy(), y.grad.numpy()))
    assert OPS["exp"].kernels
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, eager, 1e-12)


CHOICES: dict[str, Callable[..., Any]] = {
    "where": lambda x, y, mask: ad.where(mask, x, y),
    "where of a row": lambda x, y, mask: ad.where(mask[0], x, y[1]),
    "masked_fill": lambda x, y, mask: x.masked_fill(mask, 2) * y,
    "masked_fill by a complex number": lambda x, y, mask: x.masked_fill(mask, 2 - 1j) * y,
    "masked_fill by a tensor": lambda x, y, mask: x.masked_fill(mask, ad.tensor(2j)) * y,
    "complex numbers": lambda x, y, mask: (x * (1 + 2j) + y - 3j) / (2j),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_among_complex_numbers_and_their_gradients(computed_by: Switch, name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((2, 5, 40, 2)) @ [1, 1j]).astype(np.complex64)
    mask = rng.random((5, 40)) > 0.5
    expected = {
        "where": np.where(mask, a, b), "where of a row": np.where(mask[0], a, b[1]), "masked_fill": np.where(mask, 2, a) * b,
        "masked_fill by a complex number": np.where(mask, 2 - 1j, a) * b, "masked_fill by a tensor": np.where(mask, 2j, a) * b,
        "complex numbers": (a * (1 + 2j) + b - 3j) / 2j,
    }[name]  # fmt: skip
    gradients = []
    for way in WAYS:
        computed_by(way, ("where", "masked_fill", "masked_fill_tensor", "mul", "add", "sub", "div"))
        for _ in range(3):
            x, y = ad.tensor(a, requires_grad=True), ad.tensor(b, requires_grad=True)
            out = CHOICES[name](x, y, ad.tensor(mask))
            assert out.dtype is ad.complex64
            np.testing.assert_allclose(out.detach().numpy(), expected, 2e-6, 1e-6)
            out.abs().sum().backward()
        gradients.append([x.grad.numpy(), y.grad.numpy()])
    for eager, compiled in zip(*gradients, strict=True):
        np.testing.assert_allclose(compiled, eager, 1e-5, 1e-6)


def test_sums_of_half_precision_accumulate_in_single_precision() -> None:
    x = ad.full((10_000, 3), 0.1, dtype=ad.bfloat16)
    bias = ad.zeros(3, dtype=ad.bfloat16, requires_grad=True)
    (x + bias).backward(x)
    expected = ad.tensor(1000.0 * float(ad.tensor(0.1, dtype=ad.bfloat16)) * 10).to(ad.bfloat16)
    assert bias.grad is not None
    assert (bias.grad == expected).all()
    assert (x.sum(0) == expected).all()


# ---- integers as doubles ------------------------------------------------------------------------------------------------------------

LARGE = [2**51 - 1, 2**51, -(2**51), -(2**51) - 1, 2**53 + 1, 2**24 + 1, 2**62 + 3, -(2**63) + 1]


@pytest.mark.parametrize("function", [np.floor_divide, np.remainder, np.fmod])
@pytest.mark.parametrize("bits", [4, 30, 50, 52, 62])
def test_quotients_of_int64_are_exact(function, bits):
    rng = np.random.default_rng(bits)
    x, y = rng.integers(-(2**bits), 2**bits, (2, 3000))
    y[y == 0] = 1
    x[:1500] -= np.fmod(x[:1500], y[:1500]) + rng.integers(0, 2, 1500)  # multiples, and what comes before them
    for place in (None, 700):
        if place is not None:
            x[place : place + len(LARGE)] = LARGE
        np.testing.assert_array_equal(kernel(function, 2, "int64")(x, y), function(x, y))


@pytest.mark.parametrize("target", ["float32", "float64"])
def test_int64_becomes_the_nearest_floating_number(target):
    small = np.random.default_rng(0).integers(-(2**50), 2**50, 3000)
    for x in (small, np.concatenate([small, LARGE])):
        np.testing.assert_array_equal(converted(x, np.dtype(target)), x.astype(target))


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_and_multiples_of_many_numbers(name, dtype):
    x, y = np.random.default_rng(0).integers(-1000, 1000, (2, 20_000)).astype(dtype)
    x[:2] = y[1:3] = 0
    for _ in range(100):
        got = getattr(ad, name)(ad.tensor(x), ad.tensor(y)).numpy()
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))
