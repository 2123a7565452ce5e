"""Elementwise ops."""

from __future__ import annotations

import numpy as np

from ._registry import FLOAT, LINEAR, Array, elementwise

# ---- arithmetic ---------------------------------------------------------------------------------------------------------------------

mul = elementwise(
    "mul", np.multiply, operators=("__mul__", "__rmul__"), inplace_operator="__imul__", aliases=("multiply",),
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
)  # fmt: skip


def _add(input: Array, other: Array, *, alpha: float = 1) -> Array:
    return np.add(input, other if alpha == 1 else other * alpha)


add = elementwise(
    "add", _add, operators=("__add__", "__radd__"), inplace_operator="__iadd__",
    input=lambda g: g,
    other=lambda g, alpha: g if alpha == 1 else g * alpha,
    jvp=LINEAR,
)  # fmt: skip

exp = elementwise("exp", np.exp, promote=FLOAT, input=lambda g, out: g * out)
tanh = elementwise("tanh", np.tanh, promote=FLOAT, input=lambda g, out: g * (1 - out * out))
