"""Second derivatives without a Hessian: products with it, its trace, and the trace of a Jacobian."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ._arguments import chosen, replaced
from ._grad import grad_and_value
from ._jacobian import basis
from ._jvp import jvp
from ._vmap import vmap


def hvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """The value of `func`, and the product of its Hessian with `tangents`: forward over reverse, at the cost of a few calls of `func`.

    >>> import adjoint as ad
    >>> x, v = ad.tensor([1.0, 2.0]), ad.tensor([1.0, 1.0])
    >>> ad.func.hvp(lambda x: (x**3).sum(), (x,), (v,))
    (tensor(9.), (tensor([ 6., 12.]),))
    """
    every = tuple(range(len(primals)))
    (_, value), (product, _) = jvp(lambda *inputs: grad_and_value(func, every)(*inputs), primals, tangents)
    return value, product


def along_all_directions(func: Callable[..., Any], args: tuple[Any, ...], argnum: int, term: Callable[..., Any]) -> Any:
    """The sum of `term(f, x, e)` over all directions e along one element of the argument."""
    x = chosen(args, argnum)
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")

    def of_that(y: Any) -> Any:
        return func(*replaced(args, argnum, y))

    return vmap(lambda e: term(of_that, x, e))(*basis([x])).sum(0)


def laplacian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The sum of the second derivatives of `func` with respect to each element of an argument: the trace of the Hessian, which is never
    made. `func` may have any number of outputs.

    >>> import adjoint as ad
    >>> ad.func.laplacian(lambda x: (x**3).sum())(ad.tensor([1.0, 2.0]))
    tensor(18.)
    """

    def second(f: Callable[..., Any], x: Any, e: Any) -> Any:
        return jvp(lambda y: jvp(f, (y,), (e,))[1], (x,), (e,))[1]

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        return along_all_directions(func, args, argnums, second)

    return wrapper


def divergence(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The trace of the Jacobian of `func`, whose result has the shape of its argument.

    >>> import adjoint as ad
    >>> ad.func.divergence(lambda x: x**2)(ad.tensor([1.0, 2.0]))
    tensor(6.)
    """

    def own_slope(f: Callable[..., Any], x: Any, e: Any) -> Any:
        value, slope = jvp(f, (x,), (e,))
        if value.shape != x.shape:
            raise RuntimeError(
                f"divergence(f)(x): f must return a tensor of the shape of x, {list(x.shape)}, but it returned {list(value.shape)}"
            )
        return (slope * e).sum()

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        return along_all_directions(func, args, argnums, own_slope)

    return wrapper
