"""The numbers of `vector.html`: a function with three outputs, its Jacobian, and what `backward` says without a vector.

The page multiplies the vector by the Jacobian itself, for every position of its sliders; a test compares that with `gradient`.
"""

from __future__ import annotations

from typing import Any

import adjoint as ad

from ..programs import execute

POINT = (1.0, 2.0, 3.0)


def f(x: ad.Tensor) -> ad.Tensor:
    return ad.stack([x[0] * x[1], x[1] + x[2], x[2] ** 2])


def gradient(v: list[float]) -> list[float]:
    """`x.grad` after `y.backward(v)`."""
    x = ad.tensor(POINT, requires_grad=True)
    f(x).backward(ad.tensor(v))
    numbers: list[float] = x.grad.tolist()
    return numbers


def refusal() -> dict[str, Any]:
    error = execute(f"x = ad.tensor({list(POINT)}, requires_grad=True)\ny = f(x)\ny.backward()", {"ad": ad, "f": f})
    assert error is not None
    return error | {"message": error["message"].splitlines()[0], "line": None}


def record() -> dict[str, Any]:
    x = ad.tensor(POINT)
    return {"x": POINT, "y": f(x).tolist(), "jacobian": ad.func.jacrev(f)(x).tolist(), "refusal": refusal()}
