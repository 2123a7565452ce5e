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
            value, start, method=method, bounds=bounds, constraints=constraints, tol=tol, callback=callback, options=options, **derivatives
        )
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
            self.given: tuple[Any, ...] = (own, *args)
        else:
            self.tensors = list(x0)
            self.given = args
        self.fun: Callable[..., Any] = fun
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

    def loss_at(self, vector: Array) -> Tensor:
        self.put(vector)
        bits = swap_bits(GRAD, GRAD)
        try:
            loss = self.fun(*self.given)
        finally:
            swap_bits(GRAD, bits)
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
        gradients = grad(self.loss_at(vector), self.tensors, create_graph=True, allow_unused=True)
        pairs = [(g, v) for g, v in zip(gradients, self.parts(direction), strict=True) if g is not None and g.requires_grad]
        if not pairs:
            return np.zeros(len(vector))
        along = [g for g, _ in pairs]
        return self.flat(grad(along, self.tensors, [v for _, v in pairs], allow_unused=True))

    def hessian(self, vector: Array) -> Array:
        """All of it, column by column."""
        return np.stack([self.hessian_product(vector, unit) for unit in np.eye(len(vector))], axis=1)
