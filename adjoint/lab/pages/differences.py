"""The numbers of `differences.html`: difference quotients over step sizes from 1 to 10⁻¹⁶, in two precisions, beside autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjoint as ad

STEPS = [10.0 ** (-k / 2) for k in range(33)]
FUNCTIONS: dict[str, tuple[str, float, float, Callable[[ad.Tensor], ad.Tensor]]] = {  # text, where, how far to look around
    "sin": ("sin(x)", 1.0, 1.2, ad.sin),
    "cube": ("x ** 3", 2.0, 1.2, lambda x: x**3),
    "exp": ("exp(4 * x)", 0.5, 0.4, lambda x: ad.exp(4 * x)),
    "abs": ("abs(x)", 0.0, 1.2, ad.abs),
}


def derivative(f: Callable[[ad.Tensor], ad.Tensor], at: float) -> float:
    x = ad.tensor(at, dtype=ad.float64, requires_grad=True)
    f(x).backward()
    return x.grad.item()


def quotients(f: Callable[[ad.Tensor], ad.Tensor], at: float, dtype: ad.dtype) -> dict[str, list[float]]:
    """The forward and the central quotient for each step, as the precision has it; with no step left of a number, 0."""
    x = ad.tensor(at, dtype=dtype)
    forward, central = [], []
    for step in STEPS:
        h = ad.tensor(step, dtype=dtype)
        forward.append(((f(x + h) - f(x)) / h).item())
        central.append(((f(x + h) - f(x - h)) / (2 * h)).item())
    return {"forward": forward, "central": central}


def record() -> dict[str, Any]:
    result = {}
    for name, (text, at, around, f) in FUNCTIONS.items():
        x = ad.linspace(at - around, at + around, 97, dtype=ad.float64)
        result[name] = {
            "text": text, "at": at, "value": f(ad.tensor(at, dtype=ad.float64)).item(), "derivative": derivative(f, at),
            "curve": [x.tolist(), f(x).tolist()], "float32": quotients(f, at, ad.float32), "float64": quotients(f, at, ad.float64),
        }  # fmt: skip
    return {"steps": STEPS, "functions": result}
