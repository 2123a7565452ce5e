"""The numbers of `modes.html`: the columns of a Jacobian, one forward pass each, and its rows, one reverse pass each.

Output i is a sum over the inputs of sin(i·x) terms, so that the function of the first n inputs and m outputs has the upper left corner of
the whole Jacobian, and one recording serves all sizes.
"""

from __future__ import annotations

from typing import Any

import adjoint as ad

SIZE = 8


def f(x: ad.Tensor) -> ad.Tensor:
    i = ad.arange(1.0, SIZE + 1, dtype=x.dtype)
    return (ad.sin(i[:, None] * x) / i[:, None]).sum(1)


def point() -> ad.Tensor:
    return ad.linspace(0.2, 1.6, SIZE, dtype=ad.float64)


def columns() -> list[list[float]]:
    """By forward mode: a pass per input."""
    x = point()
    return [ad.func.jvp(f, (x,), (unit,))[1].tolist() for unit in ad.eye(SIZE, dtype=ad.float64)]


def rows() -> list[list[float]]:
    """By reverse mode: a pass per output."""
    _, pull = ad.func.vjp(f, point())
    return [pull(unit)[0].tolist() for unit in ad.eye(SIZE, dtype=ad.float64)]


def record() -> dict[str, Any]:
    return {"size": SIZE, "columns": columns(), "rows": rows()}
