"""Bessel functions and Airy's function, which PyTorch has in `torch.special` only and without derivatives.

The numerics are in `_bessel_math.py`.
"""

from __future__ import annotations

from typing import Any

from . import _bessel_math as numerics
from ._operands import refuse
from ._registry import FLOAT, Array, elementwise


def declared(name: str, compute: Any, doc: str) -> Any:
    def forward(input: Array) -> Array:
        return compute(input)

    forward.__doc__ = doc
    return elementwise(
        name, forward, promote=FLOAT, check=refuse("c", name), differentiable=False, inplace=False,
        method=False, function=False,
    )  # fmt: skip


airy_ai = declared("airy_ai", numerics.airy_ai, "Airy's function, the one that falls off on the right.")
bessel_j0 = declared("bessel_j0", numerics.j0, "The Bessel function of the first kind of order 0.")
bessel_j1 = declared("bessel_j1", numerics.j1, "The Bessel function of the first kind of order 1.")
bessel_y0 = declared("bessel_y0", numerics.y0, "The Bessel function of the second kind of order 0.")
bessel_y1 = declared("bessel_y1", numerics.y1, "The Bessel function of the second kind of order 1.")
modified_bessel_k0 = declared("modified_bessel_k0", numerics.k0, "The modified Bessel function of the second kind of order 0.")
modified_bessel_k1 = declared("modified_bessel_k1", numerics.k1, "The modified Bessel function of the second kind of order 1.")
scaled_modified_bessel_k0 = declared("scaled_modified_bessel_k0", numerics.k0e, "`exp(x) * modified_bessel_k0(x)`.")
scaled_modified_bessel_k1 = declared("scaled_modified_bessel_k1", numerics.k1e, "`exp(x) * modified_bessel_k1(x)`.")
spherical_bessel_j0 = declared("spherical_bessel_j0", numerics.spherical_j0, "The spherical Bessel function of order 0, `sin(x) / x`.")
