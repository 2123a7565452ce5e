"""SciPy, itself: its optimizers and integrators take functions of tensors, and `optim.minimize_scipy` gives it exact derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize

import adjoint as ad
from adjoint import nn, optim

START = np.array([1.1, 1.1])  # where the Hessian is positive definite, as dogleg wants it


def rosenbrock(x):
    x = ad.as_tensor(x)
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def gradient(x):
    return ad.func.grad(rosenbrock)(ad.as_tensor(x))


def hessian(x):
    return ad.func.hessian(rosenbrock)(ad.as_tensor(x))


# ---- SciPy's own functions, on functions that take and return tensors ---------------------------------------------------------------

WITHOUT = ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr"]
WITH_GRADIENT = ["CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"]
WITH_HESSIAN = ["Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr"]


@pytest.mark.parametrize("method", WITHOUT)
def test_minimize(method):
    found = optimize.minimize(rosenbrock, START, method=method, tol=1e-8, options={"maxfun" if method == "TNC" else "maxiter": 2000})
    assert found.fun < 1e-2


@pytest.mark.parametrize("method", WITH_GRADIENT)
@pytest.mark.parametrize("together", [True, False])
def test_minimize_with_gradients(method, together):
    options = {"maxfun" if method == "TNC" else "maxiter": 500}
    if together:
        found = optimize.minimize(lambda x: (rosenbrock(x), gradient(x)), START, jac=True, method=method, options=options)
    else:
        found = optimize.minimize(rosenbrock, START, jac=gradient, method=method, options=options)
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


@pytest.mark.parametrize("method", WITH_HESSIAN)
def test_minimize_with_hessians(method):
    found = optimize.minimize(rosenbrock, START, jac=gradient, hess=hessian, method=method)
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


def test_minimize_within_limits():
    limits = [
        {"type": "ineq", "fun": lambda x: 0.5 - (ad.as_tensor(x) ** 2).sum(), "jac": lambda x: -2 * ad.as_tensor(x)},
        {"type": "eq", "fun": lambda x: ad.as_tensor(x)[0] - 0.25},
    ]
    found = optimize.minimize(rosenbrock, ad.zeros(2), jac=gradient, method="SLSQP", constraints=limits, bounds=[(0, 1), (0, 1)])
    np.testing.assert_allclose(found.x, [0.25, 0.0625], atol=1e-4)
    ball = optimize.NonlinearConstraint(lambda x: (ad.as_tensor(x) ** 2).sum(), 0, 0.5, jac=lambda x: 2 * ad.as_tensor(x))
    line = optimize.LinearConstraint(ad.ones(1, 2), 0, 1)
    found = optimize.minimize(rosenbrock, [0.1, 0.1], jac=gradient, hess=hessian, method="trust-constr", constraints=[ball, line])
    assert (found.x**2).sum() <= 0.5 + 1e-6


def residuals(x):
    x = ad.as_tensor(x)
    return ad.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@pytest.mark.parametrize("jac", ["2-point", lambda x: ad.func.jacrev(residuals)(ad.as_tensor(x))])
def test_least_squares(method, jac):
    np.testing.assert_allclose(optimize.least_squares(residuals, [0.5, 0.5], method=method, jac=jac).x, 1, atol=1e-5)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "broyden2", "anderson", "krylov", "df-sane"])
def test_root(method):
    found = optimize.root(lambda x: ad.as_tensor(x) ** 2 - ad.tensor([2.0, 3.0]), [1.3, 1.7], method=method).x
    np.testing.assert_allclose(found, np.sqrt([2, 3]), atol=1e-4)


def decay(x, a, b):
    return a * ad.exp(-b * ad.as_tensor(x))


def slopes(x, a, b):
    return ad.stack([decay(x, 1, b), -ad.as_tensor(x) * decay(x, a, b)], 1)


def test_curve_fit():
    x = ad.linspace(0, 1, 20, dtype=ad.float64)
    np.testing.assert_allclose(optimize.curve_fit(decay, x, decay(x, 2, 3))[0], [2, 3], rtol=1e-5)
    x = x.float()
    np.testing.assert_allclose(optimize.curve_fit(decay, x, decay(x, 2, 3), jac=slopes, sigma=ad.ones(20))[0], [2, 3], rtol=1e-5)


@pytest.mark.parametrize("search", [optimize.brentq, optimize.bisect, optimize.ridder, optimize.toms748])
def test_roots_of_one_variable(search):
    assert search(lambda x: ad.as_tensor(x) ** 2 - 2, 0, 2) == pytest.approx(2**0.5, abs=1e-6)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp(method):
    found = integrate.solve_ivp(lambda t, y: -ad.as_tensor(y), (0, 1), ad.tensor([1.0, 2.0]), method=method, rtol=1e-6).y[:, -1]
    np.testing.assert_allclose(found, np.exp(-1) * np.array([1, 2]), rtol=1e-4)


def test_quad():
    assert integrate.quad(lambda x: ad.exp(ad.tensor(x, dtype=ad.float64)), 0, 1)[0] == pytest.approx(np.e - 1)


# ---- minimize_scipy -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, *sorted({*WITHOUT, *WITH_GRADIENT, *WITH_HESSIAN})])
def test_minimize_scipy_with_every_method(method):
    options = None if method is None else {"maxfun" if method == "TNC" else "maxiter": 2000}
    found = optim.minimize_scipy(rosenbrock, ad.tensor(START), method=method, tol=1e-8, options=options)
    assert isinstance(found.x, ad.Tensor)
    assert found.fun < 1e-2


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA", "COBYQA"])
@pytest.mark.parametrize("given", ["dict", "NonlinearConstraint"])
def test_constraints_are_functions_of_tensors_with_exact_derivatives(method, given):
    """The point of the unit circle that is nearest to (2, 1)."""

    def distance(x):
        return ((x - ad.tensor([2.0, 1.0], dtype=ad.float64)) ** 2).sum()

    def circle(x, radius=1.0):
        assert isinstance(x, ad.Tensor) and x.shape == (2,)
        return radius - (x**2).sum()

    limit = {"type": "ineq", "fun": circle, "args": (1.0,)} if given == "dict" else optimize.NonlinearConstraint(circle, 0, np.inf)
    found = optim.minimize_scipy(distance, ad.zeros(2, dtype=ad.float64), method=method, constraints=limit)
    np.testing.assert_allclose(found.x, np.array([2, 1]) / 5**0.5, atol=1e-3)


def test_the_derivatives_of_constraints():
    from adjoint.optim._minimize import Constraint, Objective

    def fun(x, scale):
        return ad.stack([(x**3).sum() * scale, x[0, 0] * x[0, 1], ad.ones(())])

    x = ad.tensor([[2.0, 3.0]], dtype=ad.float64)
    constraint = Constraint(Objective(lambda x: x.sum(), x, ()), fun, (2.0,), None)
    point = np.array([2.0, 3.0])
    np.testing.assert_allclose(constraint.values(point), [70, 6, 1])
    np.testing.assert_allclose(constraint.jacobian(point), [[24, 54], [3, 2], [0, 0]])
    np.testing.assert_allclose(constraint.hessian(point, np.array([1.0, 10.0, 5.0])), [[24, 10], [10, 36]])
    given = Constraint(Objective(lambda x: x.sum(), x, ()), fun, (2.0,), lambda x, scale: ad.ones(3, 2))
    np.testing.assert_allclose(given.jacobian(point), np.ones((3, 2)))
    with pytest.raises(ValueError, match="needs constraints that return tensors, but one returned float"):
        Constraint(Objective(lambda x: x.sum(), x, ()), lambda x: 1.0, (), None).values(point)


def test_bounds_are_tensors_like_what_is_minimized_over():
    x = ad.zeros(1, 2, dtype=ad.float64)
    found = optim.minimize_scipy(lambda x: ((x - 2) ** 2).sum(), x, bounds=optimize.Bounds(x - 1, ad.tensor([[1.0, 5.0]])))
    np.testing.assert_allclose(found.x, [[1, 2]], atol=1e-6)
    layer = nn.Linear(2, 1, dtype=ad.float64)
    low = [ad.full_like(p, -0.25) for p in layer.parameters()]
    optim.minimize_scipy(lambda: layer(ad.ones(1, 2, dtype=ad.float64)).sum(), list(layer.parameters()), bounds=(low, 1.0))
    assert [p.tolist() for p in layer.parameters()] == [[[-0.25, -0.25]], [-0.25]]


def test_constraints_on_the_parameters_of_a_model():
    layer = nn.Linear(2, 1, bias=False, dtype=ad.float64)
    limit = {"type": "eq", "fun": lambda: layer.weight.sum() - 1}
    optim.minimize_scipy(lambda: (layer.weight**2).sum(), [layer.weight], method="SLSQP", constraints=[limit])
    np.testing.assert_allclose(layer.weight.detach(), [[0.5, 0.5]], atol=1e-6)
