"""Ops as kernels give what their NumPy code gives, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import builtin
from adjoint._kernels.expr import Untraceable
from adjoint.ops._compiled import forward_formula, rule_formula
from adjoint.ops._registry import OPS, Op, parameters
from tests.kernels.ways import Switch
from tests.ops._check import Call, data, spread_out
from tests.ops.samples import Sample, load

ROWS = load()
NAMES = sorted(name for name, op in OPS.items() if op.broadcasts and op.floats)
DTYPES = ["float32", "float64"]
PASSED = object()
SUMS = {"igamma", "igammac", "polygamma", "zeta"}  # of many terms, which are added in another order
CANCELLING = {"sinc"}  # rules that subtract nearly equal numbers, of which the last bits differ


def kinds_of(op: Op) -> list[str]:
    """The combinations of tensors and numbers that have a fast path."""
    count = len(op.inputs)
    if op.scalars and count == 2:
        return ["TT", "TS"]
    return ["T" * count, "T" * (count - 1) + "S"] if count > 1 and op.inputs[-1] in op.optional else ["T" * count]


def formulas(op: Op) -> Iterator[tuple[Any, Any, tuple[str, ...]]]:
    """The formulas of an op, each with its NumPy code and the names of its arguments."""
    for kinds in kinds_of(op):
        for name in ("", *op.rules):
            try:
                formula = rule_formula(op, kinds, name) if name else forward_formula(op, kinds)
            except Untraceable:
                continue
            if name:
                yield formula, op.rules[name], parameters(op.rules[name])
            else:
                yield formula, lambda *values: op.call(dict(zip(op.args, values, strict=True))), op.args


SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 1e-30, -1e30]


def arguments(op: Op, formula: Any, names: tuple[str, ...], dtype: str, special: bool, number: float) -> list[Any]:
    random = np.random.default_rng(1)
    defaults = op.default_values()
    result: list[Any] = []
    for name, kind in zip(names, formula.kinds, strict=True):
        if kind == "T":
            values = random.choice(SPECIAL, 333) if special else random.uniform(-3, 3, 333)
            result.append(values.astype(dtype).reshape(3, 111))
        elif kind == "B":
            result.append(random.random((3, 111)) < 0.5)
        else:
            default = defaults.get(name, number)
            changes = isinstance(default, float) or (default is None and name not in op.optional)
            result.append(number if changes and number != 0.5 else default)
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_formulas(name: str, dtype: str) -> None:
    op = OPS[name]
    eps = float(np.finfo(dtype).eps)
    for formula, function, names in formulas(op):
        kernel = builtin.Kernel(formula, lambda *args: PASSED)
        for special in (False, True):
            for number in (0.5, 2, -1.5):
                args = arguments(op, formula, names, dtype, special, number)
                with np.errstate(all="ignore"):
                    try:
                        expected = function(*args)
                    except (RuntimeError, TypeError, ValueError):  # a combination that the op refuses
                        continue
                    got = kernel.call(*args)
                    if got is PASSED:  # a case without a formula, or infinite angles and quotients
                        other_degree = number == 2 if name == "polygamma" else number != 2 and "_polynomial_" in name
                        assert special or any(arg is None for arg in args) or other_degree
                        continue
                assert got.dtype == expected.dtype
                absolute = 0 if special else 1000 * eps if name in CANCELLING else 16 * eps
                relative = (64 if name in SUMS else 16) * eps
                np.testing.assert_allclose(got, expected, relative, absolute, err_msg=f"{formula.symbol}: {args}")


# ---- through tensors ----------------------------------------------------------------------------------------------------------------


def as_given(array: np.ndarray) -> np.ndarray:
    return array


def empty(array: np.ndarray) -> np.ndarray:
    return array[:0] if array.ndim else array


def first(array: np.ndarray) -> np.ndarray:
    return np.asarray(array.ravel()[0]) if array.size else array


def run(call: Call, dtype: str, layout: Any) -> list[np.ndarray]:
    """The outputs and the gradients of a call with floating-point tensors of a dtype."""
    tensors = []
    for array in call.arrays:
        tensor = ad.from_numpy(layout(array.astype(dtype) if array.dtype.kind == "f" else array))
        tensors.append(tensor.requires_grad_() if array.dtype.kind == "f" else tensor)
    outputs = call(tensors)
    results = [data(output) for output in outputs]
    for output in outputs:
        if output.requires_grad and output.is_floating_point():
            output.backward(ad.ones_like(output) * 1.5, retain_graph=True)
    return results + [np.asarray(0) if tensor.grad is None else data(tensor.grad) for tensor in tensors]


def usable(sample: Sample) -> bool:
    arrays = Call(ROWS["mul"], sample).arrays
    return bool(arrays) and all(array.dtype.kind in "fb" for array in arrays) and any(array.dtype.kind == "f" for array in arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_samples(computed_by: Switch, name: str, dtype: str) -> None:
    computed_by("numpy", [name])
    eager = []
    for sample in filter(usable, ROWS[name].samples()):
        call = Call(ROWS[name], sample)
        for layout in (as_given, spread_out, empty, first):
            with suppress(RuntimeError, TypeError):  # refused, or without a derivative
                eager.append((call, layout, run(call, dtype, layout)))
    tolerance = 32 * float(np.finfo(dtype).eps)
    computed_by("kernels", [name])
    for call, layout, expected in eager:
        for got, wanted in zip(run(call, dtype, layout), expected, strict=True):
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=f"{name} {layout.__name__} {call.args} {call.kwargs}")


def test_an_op_is_compiled_at_its_first_call(computed_by: Switch) -> None:
    op = OPS["mul"]
    x = ad.ones(5, requires_grad=True)
    x * 2
    computed_by("numpy", ["mul"])
    (x * x).sum().backward()
    assert not op.kernels
    computed_by("kernels", ["mul"])
    assert op.kernels["TT"].expected
    x * x
    assert op.kernels["TS"].expected
    kernels = op.kernels["TT"]
    assert type(kernels.forward) is type(len)
    assert sorted(kernels.rules) == ["input", "other"]
    x.grad = None
    (x * x).sum().backward()
    np.testing.assert_array_equal(data(x.grad), np.full(5, 2.0))


def test_most_ops_have_kernels() -> None:
    """Those without are special functions, and rules that hand the gradient on as it is."""
    with_forward = [name for name in NAMES if any(names == OPS[name].args for _, _, names in formulas(OPS[name]))]
    assert len(with_forward) > 0.7 * len(NAMES)
