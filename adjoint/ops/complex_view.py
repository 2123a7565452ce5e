"""Complex numbers seen as pairs of real ones, and what is made of that: real and imaginary part, conjugate, angle.

`conj` is a view that conjugates when it is read, and the imaginary part of a conjugate one that negates: see `Pending` in _layer.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._dtype import from_numpy_dtype
from .._layer import Pending, bottom
from .._methods import OpMethods
from ._operands import is_complex
from ._registry import FLOAT, FOUND, LEADING, LINEAR, Array, composite, elementwise, op
from ._rules import call
from .memory import offset_of
from .polar import complex as from_parts

# ---- views --------------------------------------------------------------------------------------------------------------------------


@op(batch=LEADING, view=True, pending=True, method=False, holomorphic=False, jvp=LINEAR,
    input=lambda g: call(from_parts, g[..., 0], g[..., 1]))  # fmt: skip
def view_as_real(input: Array) -> Array:
    """The real and imaginary parts as a last dimension of size 2, on the same memory."""
    if input.__class__ is Pending:
        if input.conj:
            raise RuntimeError(
                "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, "
                "use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
            )
        return input.like(view_as_real.op.impl(input.array))  # type: ignore[attr-defined]
    if input.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return input[..., None].view(np.dtype(f"f{input.dtype.itemsize // 2}"))


@op(batch=LEADING, view=True, method=False, holomorphic=False, jvp=LINEAR, input=lambda g: np.stack([np.real(g), np.imag(g)], axis=-1))
def view_as_complex(input: Array) -> Array:
    """The opposite of `view_as_real`."""
    if input.dtype.kind != "f" or input.dtype.itemsize < 4:
        kind = from_numpy_dtype(input.dtype).scalar_name
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {kind}")
    if len(input.shape) == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, but this one has shape {list(input.shape)}")
    if input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1; call contiguous() on it first")
    if any(stride % (2 * input.itemsize) for stride in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension; call contiguous() on it first")
    if offset_of(input) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2; call clone() on it first")
    return input.view(np.dtype(f"c{2 * input.dtype.itemsize}"))[..., 0]


# ---- parts --------------------------------------------------------------------------------------------------------------------------


@composite(method=False)
def real(input: Array) -> Array:
    """The real part, on the same memory; of a real tensor the tensor itself."""
    return view_as_real(conj(input) if is_conj(input) else input).select(-1, 0) if input.is_complex() else input


@composite(method=False)
def imag(input: Array) -> Array:
    """The imaginary part, on the same memory; of a conjugate it is to be negated when it is read."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return neg_view(imag(conj(input))) if is_conj(input) else view_as_real(input).select(-1, 1)


def set_real(input: Array, value: Array) -> None:
    real(input).copy_(value)


def set_imag(input: Array, value: Array) -> None:
    imag(input).copy_(value)


setattr(OpMethods, "real", property(real, set_real))  # noqa: B010  (not a method, as the type checker would have it)
setattr(OpMethods, "imag", property(imag, set_imag))  # noqa: B010


# ---- conjugate ----------------------------------------------------------------------------------------------------------------------


def conjugated(g: Array) -> Array:
    return np.conjugate(g)


def negated(g: Array) -> Array:
    return np.negative(g)


_conj_physical = elementwise("conj_physical", np.conjugate, same=FOUND, holomorphic=False, input=conjugated)


@op("conj", view=True, pending=True, method=False, function=False, batch=LEADING, holomorphic=False, jvp=LINEAR, input=conjugated)
def conj_view(input: Array) -> Array:
    return Pending.of(input, conj=True) if isinstance(input, np.ndarray | Pending) else np.conjugate(input)


@op("_neg_view", view=True, pending=True, method=False, batch=LEADING, jvp=LINEAR, nodes="NegViewBackward0", input=negated)
def neg_view(input: Array) -> Array:
    return Pending.of(input, neg=True) if isinstance(input, np.ndarray | Pending) else np.negative(input)


@composite()
def conj(input: Array) -> Array:
    """The complex conjugate: a view that conjugates what is read of it and written to it; of a real tensor the tensor itself."""
    return conj_view(input) if input.is_complex() else input


@composite()
def conj_physical(input: Array, *, out: Array = None) -> Array:
    """The same as `conj`, written to new memory."""
    return _conj_physical(input, out=out) if input.is_complex() or out is not None else input


def pending_of(input: Array) -> Any:
    data = bottom(input)
    return data if data.__class__ is Pending else None


@composite()
def is_conj(input: Array) -> bool:
    """Whether what is read of it is conjugated: it is a view of the complex conjugate."""
    return (found := pending_of(input)) is not None and found.conj


@composite()
def is_neg(input: Array) -> bool:
    """Whether what is read of it is negated: it is a view of the imaginary part of a conjugate."""
    return (found := pending_of(input)) is not None and found.neg


@composite()
def resolve_conj(input: Array) -> Array:
    """The tensor itself, or a copy with its elements in memory if a conjugation is pending."""
    return input.clone() if is_conj(input) else input


@composite()
def resolve_neg(input: Array) -> Array:
    """The tensor itself, or a copy with its elements in memory if a negation is pending."""
    return input.clone() if is_neg(input) else input


# ---- angle --------------------------------------------------------------------------------------------------------------------------


def _angle(input: Array) -> Array:
    """The angle of a complex number; of a real one 0, or pi where it is negative."""
    if input.dtype.kind == "c":
        return np.arctan2(input.imag, input.real)
    return np.where(input < 0, math.pi, np.where(np.isnan(input), input, 0)).astype(input.dtype)


def turning(input: Array) -> Array:
    """The direction in which the angle grows fastest, over the distance from the origin; 0 there."""
    square = np.real(input) * np.real(input) + np.imag(input) * np.imag(input)
    return np.where(square == 0, 0, 1j * input / square)


def angle_rule(g: Array, input: Array) -> Array:
    return g * turning(input) if is_complex(input) else np.zeros_like(g)


def angle_jvp(input: Array, input_t: Array) -> Array:
    if not is_complex(input):
        return np.zeros_like(input_t)
    return np.real(np.conjugate(turning(input)) * input_t)


angle = elementwise("angle", _angle, promote=FLOAT, inplace=False, holomorphic=False, input=angle_rule, jvp=angle_jvp)
