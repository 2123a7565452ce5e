"""`minimize_scipy`: what SciPy is given. A stand-in for SciPy takes Newton steps with it, so that SciPy need not be installed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


def newton(fun, x0, *, method=None, jac=None, hess=None, hessp=None, callback=None, options=None, **others):
    """A minimizer with SciPy's signature: Newton's method with what it is given, gradient descent without second derivatives."""
    x = np.array(x0)
    settings = SimpleNamespace(method=method, jac=jac, hess=hess, hessp=hessp, start=x.copy(), options=options, **others)
    newton.calls.append(settings)
    if not jac:
        return SimpleNamespace(x=x - 1, fun=fun(x - 1))
    for _ in range((options or {}).get("maxiter", 30)):
        value, gradient = fun(x)
        assert isinstance(value, float) and gradient.dtype == np.float64
        if hess is not None:
            second = hess(x)
        elif hessp is not None:
            second = np.stack([hessp(x, unit) for unit in np.eye(len(x))])
        else:
            second = np.eye(len(x)) * 10
        x = x - np.linalg.solve(second, gradient)
        if callback is not None:
            callback(x)
    return SimpleNamespace(x=x, fun=fun(x)[0])


newton.calls = []


@pytest.fixture(autouse=True)
def scipy(monkeypatch):
    package, module = ModuleType("scipy"), ModuleType("scipy.optimize")
    module.minimize = newton
    package.optimize = module
    monkeypatch.setitem(sys.modules, "scipy", package)
    monkeypatch.setitem(sys.modules, "scipy.optimize", module)
    newton.calls.clear()


def bowl(x, centre=1.0):
    return ((x - centre) ** 4).sum() + ((x - centre) ** 2).sum() + x[0, 0] * 0


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr", "dogleg", "trust-exact"])
def test_second_derivatives(method):
    x0 = ad.tensor([[3.0, -1.0]], dtype=ad.float64)
    result = optim.minimize_scipy(bowl, x0, (2.0,), method)
    assert np.allclose(result.x.numpy(), 2.0) and result.x.shape == (1, 2) and abs(result.fun) < 1e-12
    assert x0.tolist() == [[3.0, -1.0]]
    (call,) = newton.calls
    assert (call.hess is not None) == (method in ("dogleg", "trust-exact")) and (call.hessp is None) == (call.hess is not None)


@pytest.mark.parametrize("method", [None, "BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_first_derivatives(method):
    result = optim.minimize_scipy(bowl, ad.zeros(1, 3, dtype=ad.float64), method=method, options={"maxiter": 200})
    assert np.allclose(result.x.numpy(), 1.0, atol=1e-6)
    (call,) = newton.calls
    assert call.jac is True and call.hess is None and call.hessp is None


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA"])
def test_no_derivatives(method):
    result = optim.minimize_scipy(bowl, ad.full((1, 2), 2.0), method=method)
    assert not newton.calls[0].jac and result.x.tolist() == [[1, 1]] and result.fun == 0


def test_parameters_of_a_model():
    model = nn.Linear(2, 1, dtype=ad.float64)
    x = ad.tensor([[1.0, 0], [0, 1], [1, 1], [2, -1]], dtype=ad.float64)
    y = x @ ad.tensor([[1.0], [2.0]], dtype=ad.float64) + 3
    unused = nn.Parameter(ad.ones(2))
    seen: list[Any] = []
    parameters = [*model.parameters(), unused]

    def loss():
        return ((model(x) - y) ** 2).mean()

    with ad.no_grad():  # the function is differentiated all the same
        both = list(model.parameters())
        result = optim.minimize_scipy(loss, both, method="trust-exact", callback=seen.append)
    assert np.allclose(model.weight.tolist(), [[1, 2]]) and np.allclose(model.bias.tolist(), [3])
    assert result.x[0] is model.weight and len(seen) == 30 and model.weight.grad is None
    optim.minimize_scipy(loss, parameters, options={"maxiter": 3})
    assert unused.tolist() == [1, 1]


def test_settings_go_on_to_scipy():
    optim.minimize_scipy(bowl, ad.zeros(1, 1), bounds=[(0, 1)], constraints={"type": "eq"}, tol=1e-3, options={"maxiter": 1})
    (call,) = newton.calls
    assert call.bounds == [(0, 1)] and call.constraints == {"type": "eq"} and call.tol == 1e-3 and call.start.dtype == np.float64


def test_an_error_leaves_the_parameters_as_they_were():
    p = nn.Parameter(ad.ones(1))
    calls = []

    def fun():
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("stop")
        return (p**2).sum()

    with pytest.raises(KeyError, match="stop"):
        optim.minimize_scipy(fun, [p])
    assert p.tolist() == [1]


@pytest.mark.parametrize(
    ("fun", "x0", "message"),
    [
        (lambda x: x, ad.ones(2), "returned a tensor of shape"),
        (lambda x: 3.0, ad.ones(2), "returned float"),
        (lambda: 3.0, [ad.ones(2)], "require grad and are leaves"),
        (lambda x: x, ad.ones(2, dtype=ad.complex64), "does not support complex"),
    ],
)
def test_refusals(fun, x0, message):
    with pytest.raises(ValueError, match=message):
        optim.minimize_scipy(fun, x0)


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="minimize_scipy needs SciPy, which is not installed"):
        optim.minimize_scipy(bowl, ad.zeros(1, 1))
