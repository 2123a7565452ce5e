"""Complex tensors from their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from ._registry import Array, op

WRONG = "Expected object of scalar type {wanted} but got scalar type {given} for argument 'out'"


def _check(first: Array, second: Array) -> None:
    kinds = [from_numpy_dtype(x.dtype) for x in (first, second)]
    names = [kind.scalar_name for kind in kinds]
    if not all(kind.is_floating_point for kind in kinds):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}; "
            "convert them first, for example with x.float()"
        )
    if names[0] != names[1]:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument; "
            f"convert one of them, for example with x.to(adjoint.{kinds[0].name})"
        )


def _joined(real: Array, imag: Array) -> Array:
    """Not `real + 1j * imag`, which makes NaN out of infinities."""
    result = np.empty_like(real + imag, dtype=from_numpy_dtype(real.dtype).to_complex().numpy)
    result.real[...] = real
    result.imag[...] = imag
    return result


def _complex_tangent(real: Any, imag: Any, real_t: Any, imag_t: Any) -> Any:
    return complex(real * 0 if real_t is None else real_t, imag * 0 if imag_t is None else imag_t)


@op(method=False, broadcasts=True, holomorphic=False, same=WRONG, jvp=_complex_tangent,
    real=lambda g: np.real(g),
    imag=lambda g: np.imag(g))  # fmt: skip
def complex(real: Array, imag: Array) -> Array:
    """Complex numbers from their real and imaginary parts."""
    _check(real, imag)
    return _joined(real, imag)


def _polar_tangent(abs: Any, angle: Any, abs_t: Any, angle_t: Any) -> Any:
    along = 0 if abs_t is None else abs_t
    around = 0 if angle_t is None else abs * angle_t
    return complex(along * np.cos(angle) - around * np.sin(angle), along * np.sin(angle) + around * np.cos(angle))


@op(method=False, broadcasts=True, holomorphic=False, same=WRONG, jvp=_polar_tangent,
    abs=lambda g, angle: np.real(g) * np.cos(angle) + np.imag(g) * np.sin(angle),
    angle=lambda g, abs, angle: abs * (np.imag(g) * np.cos(angle) - np.real(g) * np.sin(angle)))  # fmt: skip
def polar(abs: Array, angle: Array) -> Array:
    """Complex numbers from their absolute values and angles."""
    _check(abs, angle)
    return _joined(abs * np.cos(angle), abs * np.sin(angle))
