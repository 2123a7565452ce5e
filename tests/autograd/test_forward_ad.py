"""Forward mode: tangents through every kind of op, views and writes, and together with reverse mode."""

from __future__ import annotations

import math

import pytest

import adjoint as ad
from adjoint.autograd import forward_ad as fwAD


def tangent_of(function, *pairs):
    """The tangent of a function's result, from (value, tangent) pairs; a bare tensor is a constant."""
    with fwAD.dual_level():
        arguments = [fwAD.make_dual(*pair) if isinstance(pair, tuple) else pair for pair in pairs]
        result = function(*arguments)
        tangent = fwAD.unpack_dual(result).tangent
        return None if tangent is None else tangent.detach()


def numeric_tangent(function, *pairs):
    eps = 1e-6
    shifted = [function(*(pair[0] + sign * eps * pair[1] if isinstance(pair, tuple) else pair for pair in pairs)) for sign in (1, -1)]
    return (shifted[0] - shifted[1]) / (2 * eps)


def pair(*shape, positive=True):
    value = ad.linspace(0.3, 1.7, math.prod(shape), dtype=ad.float64).reshape(shape)
    return value if positive else value - 1, ad.linspace(-1, 2, math.prod(shape), dtype=ad.float64).reshape(shape)


# ----- Levels -----


def test_tangents_live_as_long_as_their_level():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.ones(2), ad.ones(2))
        y = x * 3
        assert fwAD.unpack_dual(y).tangent.tolist() == [3.0, 3.0]
    assert fwAD.unpack_dual(y).tangent is None
    with fwAD.dual_level():
        assert fwAD.unpack_dual(y).tangent is None
        assert fwAD.unpack_dual(x).tangent is None


def test_enter_and_exit():
    level = fwAD.enter_dual_level()
    try:
        x = fwAD.make_dual(ad.ones(1), ad.ones(1), level=level)
        assert fwAD.unpack_dual(x, level=level).tangent.item() == 1.0
    finally:
        fwAD.exit_dual_level(level=level)
    assert fwAD.unpack_dual(x).tangent is None


def test_level_left_by_an_exception():
    with pytest.raises(KeyError), fwAD.dual_level():
        raise KeyError
    with fwAD.dual_level():
        pass


def test_nested_levels_are_refused():
    with fwAD.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        fwAD.enter_dual_level()


def test_make_dual_outside_a_level():
    with pytest.raises(Exception, match="Trying to create a dual Tensor for forward AD but no level exists"):
        fwAD.make_dual(ad.ones(1), ad.ones(1))


def test_make_dual_checks_its_arguments():
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            fwAD.make_dual(ad.ones(2), ad.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fwAD.make_dual(ad.ones(2, dtype=ad.int64), ad.ones(2))


def test_unpack_dual():
    value, tangent = ad.ones(2), ad.tensor([1.0, 2.0])
    with fwAD.dual_level():
        x = fwAD.make_dual(value, tangent)
        primal, t = fwAD.unpack_dual(x)
        assert primal.tolist() == [1.0, 1.0]
        assert t is tangent
        assert fwAD.unpack_dual(primal).tangent is None
        assert fwAD.unpack_dual(value).tangent is None


def test_no_tangent_in_none_out():
    with fwAD.dual_level():
        assert fwAD.unpack_dual(ad.ones(2) * 3).tangent is None


# ----- Every kind of op -----

UNARY = ["exp", "log", "sin", "cos", "tanh", "sqrt", "sigmoid", "relu", "abs", "neg", "reciprocal", "square"]


@pytest.mark.parametrize("name", UNARY)
def test_elementwise(name):
    x = pair(2, 3)
    function = getattr(ad, name)
    assert ad.allclose(tangent_of(function, x), numeric_tangent(function, x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: x * y + y * y,
        ad.maximum,
        lambda x, y: ad.where(x > 0.6, x, y),
    ],
)
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_elementwise_binary(function, constant):
    arguments = [pair(2, 3), pair(3)]
    if constant is not None:
        arguments[constant] = arguments[constant][0]
    tangent = tangent_of(function, *arguments)
    assert tangent.shape == (2, 3)
    assert ad.allclose(tangent, numeric_tangent(function, *arguments))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.sum(0),
        lambda x: x.mean(1, keepdim=True),
        lambda x: x.prod(),
        lambda x: x.max(),
        lambda x: x.amax(1),
        lambda x: x.max(1).values,
        lambda x: x.var(),
        lambda x: x.std(0),
        lambda x: x.logsumexp(1),
        lambda x: x.norm(),
        lambda x: x.cumsum(0),
        lambda x: ad.softmax(x, 1),
        lambda x: ad.log_softmax(x, 0),
    ],
)
def test_reductions(function):
    x = pair(2, 3)
    assert ad.allclose(tangent_of(function, x), numeric_tangent(function, x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.t(),
        lambda x: x.reshape(3, 2),
        lambda x: x[:, 1],
        lambda x: x[ad.tensor([1, 0, 1])],
        lambda x: x.unsqueeze(1).expand(2, 4, 3),
        lambda x: x.flip(0),
        lambda x: ad.cat([x, x * 2]),
        lambda x: ad.stack([x, x.exp()], 1),
        lambda x: x.double() * 3 - 1,
        lambda x: x.clone(),
        lambda x: x.clamp(0.5, 1.2),
        lambda x: x.split(1)[1],
        lambda x: x.unbind(1)[2],
    ],
)
def test_linear_and_shape(function):
    x = pair(2, 3)
    assert ad.allclose(tangent_of(function, x), numeric_tangent(function, x))


@pytest.mark.parametrize("constant", [None, 0, 1])
def test_multilinear(constant):
    arguments = [pair(2, 3), pair(3, 4)]
    if constant is not None:
        arguments[constant] = arguments[constant][0]
    assert ad.allclose(tangent_of(ad.matmul, *arguments), numeric_tangent(ad.matmul, *arguments))


def test_numbers_are_constants():
    x = pair(3)
    for function in (lambda x: 2 * x, lambda x: x + 1, lambda x: 1 / x, lambda x: 2**x, lambda x: 5 - x):
        assert ad.allclose(tangent_of(function, x), numeric_tangent(function, x))


def test_ops_without_derivative_give_no_tangent():
    for function in (lambda x: x > 0, lambda x: x.argmax(), lambda x: x.to(ad.int64)):
        assert tangent_of(function, pair(3)) is None


# ----- Views and writes -----


def test_view_of_a_dual():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.tensor([1.0, 2.0, 3.0]), ad.tensor([10.0, 20.0, 30.0]))
        assert fwAD.unpack_dual(x[1:]).tangent.tolist() == [20.0, 30.0]


def test_write_to_a_dual():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([10.0, 20.0])) * 1
        x.mul_(3)
        assert fwAD.unpack_dual(x).tangent.tolist() == [30.0, 60.0]
        x.mul_(x.clone())  # x² with x = 3, 6
        assert fwAD.unpack_dual(x).tangent.tolist() == [180.0, 720.0]
        x.zero_()
        assert fwAD.unpack_dual(x).tangent.tolist() == [0.0, 0.0]


def test_write_to_a_view_reaches_the_base():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([10.0, 20.0])) * 1
        x[0].mul_(3)
        assert fwAD.unpack_dual(x).tangent.tolist() == [30.0, 20.0]
        x[1] = 5
        assert fwAD.unpack_dual(x).tangent.tolist() == [30.0, 0.0]


def test_write_of_a_dual_into_a_constant():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.tensor([1.0]), ad.tensor([10.0]))
        y = ad.zeros(3)
        y[1:2] = x * 2
        assert y.tolist() == [0.0, 2.0, 0.0]
        assert fwAD.unpack_dual(y).tangent.tolist() == [0.0, 20.0, 0.0]
        z = ad.ones(1)
        z.add_(x)
        assert fwAD.unpack_dual(z).tangent.tolist() == [10.0]


def test_no_grad_does_not_stop_tangents():
    with fwAD.dual_level(), ad.no_grad():
        x = fwAD.make_dual(ad.ones(1), ad.ones(1))
        assert fwAD.unpack_dual(x * 3).tangent.tolist() == [3.0]


# ----- With reverse mode -----


def test_forward_over_reverse_is_a_hessian_product():
    def f(x):
        return (x.sin() * x.exp()).sum() + x.prod()

    x = ad.tensor([0.5, 1.5, -0.3], dtype=ad.float64)
    v = ad.tensor([1.0, -2.0, 0.5], dtype=ad.float64)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x.clone().requires_grad_(), v)
        (gradient,) = ad.autograd.grad(f(dual), dual, create_graph=True)
        product = fwAD.unpack_dual(gradient).tangent
    assert ad.allclose(product.detach(), ad.autograd.functional.hvp(f, x, v)[1])


def test_reverse_over_forward():
    x = ad.tensor([0.5, 1.5], dtype=ad.float64, requires_grad=True)
    v = ad.tensor([1.0, 2.0], dtype=ad.float64, requires_grad=True)
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual((fwAD.make_dual(x, v) ** 3).sum()).tangent  # sum of 3x²v
        dx, dv = ad.autograd.grad(tangent, [x, v])
    assert ad.allclose(dx, (6 * x * v).detach())
    assert ad.allclose(dv, (3 * x**2).detach())


def test_gradient_flows_to_the_primal_of_a_dual():
    x = ad.tensor([2.0], requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, ad.ones(1)) ** 2
        y.backward()
    assert x.grad.tolist() == [4.0]


def test_jacobian_by_columns_agrees_with_reverse_mode():
    def f(x):
        return ad.stack([x[0] * x[1], x[1].sin(), (x * x).sum()])

    x = ad.tensor([0.7, -1.2], dtype=ad.float64)
    columns = [tangent_of(f, (x, direction)) for direction in ad.eye(2, dtype=ad.float64)]
    assert ad.allclose(ad.stack(columns, 1), ad.autograd.functional.jacobian(f, x))


def test_a_module_in_forward_mode():
    model = ad.nn.Sequential(ad.nn.Linear(3, 4), ad.nn.Tanh(), ad.nn.Linear(4, 1)).double()
    x = pair(5, 3)
    assert ad.allclose(tangent_of(model, x), numeric_tangent(model, x).detach())
