"""`minimize_scipy`: SciPy's minimizers, with exact gradients and Hessians from automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._state import GRAD, swap_bits
from .._tensor import Tensor, wrap
from ..autograd import grad

Array = Any

# What a method asks for, by its name in lower case.
WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
WITH_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})


def minimize_scipy(
    fun: Callable[..., Tensor],
    x0: Tensor | Sequence[Tensor],
    args: tuple[Any, ...] = (),
    method: str | Callable[..., Any] | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function with `scipy.optimize.minimize`. SciPy has to be installed.

    With a tensor as `x0`, `fun(x, *args)` is minimized and `x0` stays as it is. With a list of tensors, such as
    `list(model.parameters())`, `fun(*args)` computes the loss from them as they are, and they end with the minimum in them. Either way the
    result is SciPy's; its `x` is a tensor like `x0`, or a list of them. The gradient is exact, and so are the Hessian (dogleg,
    trust-exact) and its products with vectors (Newton-CG, trust-ncg, trust-krylov, trust-constr), where a method asks for them.

    `constraints` are SciPy's, with functions that take and return tensors like `fun`; their Jacobians, and Hessians for trust-constr, are
    exact too unless they are given. `bounds` are SciPy's, or a pair of limits like `x0`: tensors, or lists of them. A `callback` gets what
    SciPy gives it: all numbers in one vector.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ImportError("minimize_scipy needs SciPy, which is not installed: run `pip install scipy`") from error
    objective = Objective(fun, x0, args)
    name = method.lower() if isinstance(method, str) else ""
    derivatives: dict[str, Any] = {} if name in WITHOUT_GRADIENT else {"jac": True}
    if name in WITH_PRODUCTS:
        derivatives["hessp"] = objective.hessian_product
    elif name in WITH_HESSIAN:
        derivatives["hess"] = objective.hessian
    elif callable(method):
        derivatives.update(hess=objective.hessian, hessp=objective.hessian_product)
    value = objective.value_and_gradient if "jac" in derivatives else objective.value
    start = objective.flat(objective.tensors)
    try:
        result = minimize(
            value, start, method=method, bounds=objective.bounds(bounds), tol=tol, callback=callback, options=options,
            constraints=objective.constraints(constraints, hessians=name == "trust-constr"), **derivatives,
        )  # fmt: skip
    except BaseException:
        objective.put(start)
        raise
    objective.put(result.x)
    result.x = objective.result()
    return result


class Objective:
    """A function of tensors as the function of one vector of float64 that SciPy knows."""

    def __init__(self, fun: Callable[..., Tensor], x0: Tensor | Sequence[Tensor], args: tuple[Any, ...]) -> None:
        self.single = isinstance(x0, Tensor)
        if isinstance(x0, Tensor):
            # A copy, which is written to; `x0` itself stays as it is.
            own = x0.detach().clone().requires_grad_()
            self.tensors = [own]
        else:
            self.tensors = list(x0)
        self.fun: Callable[..., Any] = fun
        self.args = args
        for tensor in self.tensors:
            if not (tensor.requires_grad and tensor.is_leaf):
                raise ValueError("minimize_scipy needs tensors that require grad and are leaves, such as list(model.parameters())")
            if tensor.is_complex():
                raise ValueError("minimize_scipy does not support complex tensors: minimize over their real and imaginary parts")

    def flat(self, tensors: Sequence[Tensor | None]) -> Array:
        """Tensors as one vector. One that is missing counts as zeros."""
        parts = [
            np.zeros(like.numel()) if tensor is None else tensor._data.reshape(-1).astype(np.float64)
            for tensor, like in zip(tensors, self.tensors, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def parts(self, vector: Array) -> list[Tensor]:
        """A vector as tensors like those that are minimized over."""
        sizes = [tensor.numel() for tensor in self.tensors]
        pieces = np.split(np.asarray(vector, np.float64), np.cumsum(sizes)[:-1])
        shaped = [piece.reshape(tensor.shape) for piece, tensor in zip(pieces, self.tensors, strict=True)]
        return [wrap(piece.astype(tensor._data.dtype)) for piece, tensor in zip(shaped, self.tensors, strict=True)]

    def put(self, vector: Array) -> None:
        """Write a vector into the tensors."""
        bits = swap_bits(GRAD, 0)
        try:
            for tensor, part in zip(self.tensors, self.parts(vector), strict=True):
                tensor.copy_(part)
        finally:
            swap_bits(GRAD, bits)

    def result(self) -> Tensor | list[Tensor]:
        return self.tensors[0].detach() if self.single else self.tensors

    def called_at(self, vector: Array, fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What a function of the tensors gives where they hold these numbers."""
        self.put(vector)
        bits = swap_bits(GRAD, GRAD)
        try:
            return fun(*self.tensors, *args) if self.single else fun(*args)
        finally:
            swap_bits(GRAD, bits)

    def loss_at(self, vector: Array) -> Tensor:
        loss = self.called_at(vector, self.fun, self.args)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            found = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise ValueError(f"minimize_scipy needs a function that returns one number as a tensor, but it returned {found}")
        return loss

    def value(self, vector: Array) -> float:
        return float(self.loss_at(vector).item())

    def value_and_gradient(self, vector: Array) -> tuple[float, Array]:
        loss = self.loss_at(vector)
        return float(loss.item()), self.flat(grad(loss, self.tensors, allow_unused=True))

    def hessian_product(self, vector: Array, direction: Array) -> Array:
        """The Hessian times a vector: the derivative of the gradient along it."""
        return self.along(self.loss_at(vector), direction)

    def hessian(self, vector: Array) -> Array:
        """All of it, column by column."""
        return np.stack([self.hessian_product(vector, unit) for unit in np.eye(len(vector))], axis=1)

    def along(self, number: Tensor, direction: Array) -> Array:
        """The derivative along a direction of the gradient of a number that was computed from the tensors."""
        gradients = grad(number, self.tensors, create_graph=True, allow_unused=True)
        pairs = [(g, v) for g, v in zip(gradients, self.parts(direction), strict=True) if g is not None and g.requires_grad]
        if not pairs:
            return np.zeros(len(direction))
        return self.flat(grad([g for g, _ in pairs], self.tensors, [v for _, v in pairs], allow_unused=True))

    # ---- limits -----------------------------------------------------------------------------------------------------------------

    def bounds(self, given: Any) -> Any:
        """Limits as SciPy has them: a pair of tensors, or of lists of them, becomes a pair of vectors."""
        if isinstance(given, tuple) and len(given) == 2 and any(map(_has_tensors, given)):
            from scipy.optimize import Bounds

            return Bounds(*map(_vector, given))
        if hasattr(given, "lb"):
            return type(given)(_vector(given.lb), _vector(given.ub), np.ravel(given.keep_feasible))
        return given

    def constraints(self, given: Any, hessians: bool) -> Any:
        """Constraints as SciPy has them, on functions of tensors; `hessians` for a method that uses them."""
        if isinstance(given, list | tuple):
            return [self.constraints(one, hessians) for one in given]
        if isinstance(given, dict) and "fun" in given:
            fun = Constraint(self, given["fun"], given.get("args", ()), given.get("jac"))
            return {"type": given["type"], "fun": fun.values, "jac": fun.jacobian}
        if hasattr(given, "fun"):  # a NonlinearConstraint
            fun = Constraint(self, given.fun, (), given.jac)
            hess = fun.hessian if hessians and not callable(given.hess) else given.hess
            return type(given)(fun.values, _vector(given.lb), _vector(given.ub), fun.jacobian, hess, given.keep_feasible)
        return given


class Constraint:
    """A function of tensors that is to stay within limits. Its derivatives are exact, unless `jac` is a function that gives them."""

    def __init__(self, objective: Objective, fun: Callable[..., Any], args: tuple[Any, ...], jac: Any) -> None:
        self.objective, self.fun, self.args = objective, fun, args
        self.jac = jac if callable(jac) else None

    def tensor_at(self, vector: Array) -> Tensor:
        found = self.objective.called_at(vector, self.fun, self.args)
        if not isinstance(found, Tensor):
            raise ValueError(f"minimize_scipy needs constraints that return tensors, but one returned {type(found).__name__}")
        return found.reshape(-1)

    def values(self, vector: Array) -> Array:
        return self.tensor_at(vector)._data.astype(np.float64)

    def jacobian(self, vector: Array) -> Array:
        if self.jac is not None:
            given = self.objective.called_at(vector, self.jac, self.args)
            return np.asarray(given.detach() if isinstance(given, Tensor) else given, np.float64).reshape(-1, len(vector))
        rows = [
            self.objective.flat(grad(value, self.objective.tensors, retain_graph=True, allow_unused=True) if value.requires_grad else
                                [None] * len(self.objective.tensors))
            for value in self.tensor_at(vector)
        ]  # fmt: skip
        return np.stack(rows)

    def hessian(self, vector: Array, weights: Array) -> Array:
        """The Hessian of the values' sum with these weights."""
        columns = []
        for unit in np.eye(len(vector)):
            values = self.tensor_at(vector)
            columns.append(self.objective.along((values * wrap(weights.astype(values._data.dtype))).sum(), unit))
        return np.stack(columns, axis=1)


def _has_tensors(limit: Any) -> bool:
    return isinstance(limit, Tensor) or (isinstance(limit, list | tuple) and any(isinstance(part, Tensor) for part in limit))


def _vector(limit: Any) -> Array:
    """Limits given as a tensor, or a list of tensors, as one vector; a number is the limit of all."""
    parts = [np.asarray(part, np.float64).reshape(-1) for part in (limit if isinstance(limit, list | tuple) else [limit])]
    return np.concatenate(parts) if parts else np.zeros(0)
