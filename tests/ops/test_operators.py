"""Operators with foreign operands, and in-place forms with their own rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad


class Length:
    """A class that knows how to compute with tensors."""

    def __radd__(self, other: Any) -> str:
        return "my sum"

    def __rsub__(self, other: Any) -> str:
        return "my difference"

    def __gt__(self, other: Any) -> str:
        return "my comparison"


def test_other_classes_get_their_turn() -> None:
    x = ad.ones(2)
    assert x + Length() == "my sum"
    assert x - Length() == "my difference"
    assert (x < Length()) == "my comparison"


@pytest.mark.parametrize("operand", [None, "a", [1.0, 2.0], object()])
def test_operands_that_are_no_numbers(operand: Any) -> None:
    x = ad.ones(2)
    for compute in (lambda: x + operand, lambda: operand - x, lambda: x ** operand, lambda: x < operand):
        with pytest.raises(TypeError, match=r"unsupported operand|not supported between|can only concatenate"):
            compute()
    assert (x == operand) is False
    assert (x != operand) is True


def test_arrays_on_either_side() -> None:
    x = ad.tensor([1.0, 2.0], dtype=ad.float64, requires_grad=True)
    array = np.array([3.0, 4.0])
    for result in (x * array, array * x, array / x, np.float64(2) - x):
        assert isinstance(result, ad.Tensor) and result.requires_grad


def test_a_write_without_derivative_stops_the_gradient() -> None:
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.eq_(ad.tensor([2.0, 5.0]))
    assert y.tolist() == [1.0, 0.0] and y.requires_grad
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.logical_not_()
    assert x.tolist() == [1.0, 2.0]


def test_float_power_in_place_needs_double_precision() -> None:
    x = ad.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="the base given to float_power_ has dtype Float"):
        x.float_power_(2)
    double = x.double()
    assert double.float_power_(3) is double and double.tolist() == [1.0, 8.0]


def test_parts_can_be_assigned() -> None:
    z: Any = ad.tensor([1 + 2j, 3 - 1j])
    z.real = ad.tensor([5.0, 6.0])
    z.imag = 0
    assert z.tolist() == [5, 6]


def test_a_scalar_on_the_fast_path_does_not_change_the_dtype() -> None:
    """Python numbers have no precision of their own, whatever they are combined with."""
    x = ad.tensor([0.5, 1.5], dtype=ad.float32, requires_grad=True)
    results = [x + 0.1, x - 0.1, 0.1 - x, x * 0.1, x / 0.1, 0.1 / x, x**0.1, 0.1**x, x % 0.1]
    results += [ad.xlogy(x, 0.1), ad.xlogy(0.1, x), ad.clamp(x, 0.1), ad.lerp(x, x, 0.1)]
    for result in results:
        assert result.dtype is ad.float32
        (gradient,) = ad.autograd.grad(result.sum(), x)
        assert gradient.dtype is ad.float32


def test_shape_errors_name_both_sizes() -> None:
    message = r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 1"
    for x, y in ((ad.ones(2, 3), ad.ones(2, 4)), (ad.ones(2, 3, dtype=ad.int64), ad.ones(4))):
        with pytest.raises(RuntimeError, match=message):
            x + y


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "floor_divide"])
def test_the_basic_operations_take_numbers_only(name: str) -> None:
    function = getattr(ad, name)
    assert function(2.5, 3).dtype is ad.float32
    assert function(2, 0.5).dtype is ad.float32
    assert function(6, 3).dtype is (ad.float32 if name == "div" else ad.int64)
    assert function(6.0, 3.0).item() == {"add": 9, "sub": 3, "mul": 18, "div": 2, "floor_divide": 2}[name]


def test_numbers_that_unsigned_integers_cannot_hold_wrap_around() -> None:
    x = ad.tensor([1, 2], dtype=ad.uint8)
    assert ad.rsub(x, x, alpha=-3).tolist() == [4, 8]
    assert ad.nn.functional.threshold(x, 1.5, -9).tolist() == [247, 2]
    assert ad.isclose(x, x.flip(0), rtol=1.0).tolist() == [True, True]


def test_matrix_transposes_of_a_number():
    x = ad.tensor(2.0)
    for name in ("mT", "mH"):
        with pytest.warns(UserWarning, match="is deprecated on 0-D tensors"):
            assert getattr(x, name).item() == 2


SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&", "lshift": "<<"}


@pytest.mark.parametrize("name", SYMBOLS)
def test_writing_operators_leave_other_classes_their_turn(name: str) -> None:
    taking_over = type("Other", (), {f"__r{name}__": lambda self, other: "mine"})()
    known = {"x": ad.ones(2, dtype=ad.int64), "other": taking_over}
    exec(f"x {SYMBOLS[name]}= other", known)
    assert known["x"] == "mine"
    for strange in ("a", None, [1, 2], object()):
        for text in (f"x {SYMBOLS[name]}= other", f"other {SYMBOLS[name]} x"):
            if isinstance(strange, str | list) and text[:7] in ("other %", "other +", "other *"):
                continue  # formatting, joining and repeating have errors of their own
            with pytest.raises(TypeError, match="unsupported operand"):
                exec(text, {"x": ad.ones(2, dtype=ad.int64), "other": strange})


def test_a_tensor_without_dimensions_may_be_a_factor() -> None:
    x, two = ad.tensor([1.0, 2.0]), ad.tensor(2.0)
    for found in (ad.add(x, x, alpha=two), x.add(x, alpha=two), x.clone().add_(x, alpha=two), ad.addcmul(x, x, ad.ones(2), value=two)):
        assert found.tolist() == [3.0, 6.0]
    for strange in (ad.tensor([2.0]), ad.tensor(2.0, requires_grad=True), "a", None):
        with pytest.raises(TypeError, match="argument 'alpha' must be Number"):
            ad.add(x, x, alpha=strange)
    assert ad.add(x > 0, x > 0, alpha=2).dtype is ad.bool
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        ad.addr(ad.ones(2, 2).long(), x.long(), x.long(), alpha=1.5)


def test_truth_values_are_bounded_by_truth_values() -> None:
    x, y = ad.tensor([True, False]), ad.tensor([True, True])
    assert ad.clamp_min(x, y).tolist() == [True, True]
    assert ad.clamp_max(x, y).tolist() == [True, False]
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        ad.clamp_min(x, True)


def test_polygamma_in_place_has_a_derivative() -> None:
    x = ad.tensor([1.0, 2.0], dtype=ad.float64, requires_grad=True)
    x.clone().polygamma_(1).sum().backward()
    assert ad.allclose(x.grad, ad.polygamma(2, x.detach()))
