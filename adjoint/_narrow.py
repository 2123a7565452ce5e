"""Dtypes that hold numbers of less than 16 bits, and others that PyTorch has names for. Loaded when the first of them is named.

Numbers of 8 bits are stored and converted, through ml_dtypes, and not computed with. What is packed into bytes (`float4_e2m1fn_x2`,
`uint4`, `bits8`) is neither: memory is seen as that, copied and saved. Quantized tensors and complex numbers of 32 bits cannot be made.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ._dtype import COMPLEX, FLOATING, INTEGER, LIMITS, NARROW, NUMPY_TYPES, UNPROMOTED, NumpyDtype, define, dtype, from_ml_dtypes

FLOAT8 = "Float8 Types"


def float8(name: str, significand_bits: int, largest: float, smallest_normal: float, signed: bool = True) -> dtype:
    def numpy_type(kind: dtype) -> NumpyDtype:
        found = from_ml_dtypes(kind)
        NARROW[found] = True
        return found

    new = define(name, name.capitalize(), FLOATING, 1, signed=signed, numpy_type=numpy_type)
    UNPROMOTED[new] = FLOAT8
    LIMITS[new] = 2.0**-significand_bits, largest, -largest if signed else smallest_normal, smallest_normal
    return new


float8_e4m3fn = float8("float8_e4m3fn", 3, 448.0, 2.0**-6)
float8_e5m2 = float8("float8_e5m2", 2, 57344.0, 2.0**-14)
float8_e4m3fnuz = float8("float8_e4m3fnuz", 3, 240.0, 2.0**-7)
float8_e5m2fnuz = float8("float8_e5m2fnuz", 3, 57344.0, 2.0**-15)  # PyTorch gives it the eps of the other one
float8_e8m0fnu = float8("float8_e8m0fnu", 0, 2.0**127, 2.0**-127, signed=False)


def packed(name: str, scalar_name: str, category: int, itemsize: int = 1, signed: bool = True) -> dtype:
    def numpy_type(kind: dtype) -> NumpyDtype:
        made = np.dtype([(name, f"u{itemsize}")])  # a type of its own, with which nothing can be computed
        NARROW[made] = False
        return made

    new = define(name, scalar_name, category, itemsize, signed=signed, numpy_type=numpy_type)
    UNPROMOTED[new] = FLOAT8 if category == FLOATING else "uint16, uint32, uint64 types"
    return new


def refused(name: str, scalar_name: str, category: int, itemsize: int, instead: str) -> dtype:
    def numpy_type(kind: dtype) -> NumpyDtype:
        raise NotImplementedError(f"\"empty\" not implemented for '{scalar_name}': adjoint has no tensors of torch.{name}; {instead}")

    return define(name, scalar_name, category, itemsize, numpy_type=numpy_type)


PACKED = {"float4_e2m1fn_x2": packed("float4_e2m1fn_x2", "Float4_e2m1fn_x2", FLOATING)}
for _bits in range(1, 8):
    PACKED[f"uint{_bits}"] = packed(f"uint{_bits}", f"UInt{_bits}", INTEGER, signed=False)
    PACKED[f"int{_bits}"] = packed(f"int{_bits}", f"Int{_bits}", INTEGER)
for _name in ("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"):
    PACKED[_name] = packed(_name, _name.capitalize(), INTEGER, 2 if _name == "bits16" else 1, signed=False)

_SCALE = "keep whole numbers with a scale beside them, or see torch.fake_quantize_per_tensor_affine"
REFUSED = {
    "complex32": refused("complex32", "ComplexHalf", COMPLEX, 4, "use torch.complex64"),
    "quint8": refused("quint8", "QUInt8", INTEGER, 1, _SCALE),
    "qint8": refused("qint8", "QInt8", INTEGER, 1, _SCALE),
    "qint32": refused("qint32", "QInt32", INTEGER, 4, _SCALE),
    "quint4x2": refused("quint4x2", "QUInt4x2", INTEGER, 1, _SCALE),
    "quint2x4": refused("quint2x4", "QUInt2x4", INTEGER, 1, _SCALE),
}
globals().update(PACKED, **REFUSED)
NAMES = {**{kind.name: kind for kind in LIMITS if kind.itemsize == 1}, **PACKED, **REFUSED}
chalf = REFUSED["complex32"]
bit = PACKED["uint1"]


def refuse_packed(dtype: NumpyDtype) -> NoReturn:
    name = NUMPY_TYPES[dtype].scalar_name
    raise NotImplementedError(f"\"copy_\" not implemented for '{name}', which are packed numbers: see their bytes with x.view(torch.uint8)")


def narrowed(array: Any, dtype: NumpyDtype) -> Any:
    """An array converted to one of these types."""
    if array.dtype == dtype:
        return array.copy()
    for kind in (dtype, array.dtype):
        if NARROW.get(kind) is False:
            refuse_packed(kind)
    if array.dtype.kind not in "fV":
        array = array.astype(np.float32)
    if dtype.name == "float8_e4m3fn":  # it has no infinity, and what is too large is cut off
        array = np.clip(array.astype(np.float32), -448, 448)
    elif dtype.name == "float8_e8m0fnu":  # powers of two: neither a sign nor zero
        array = np.maximum(np.abs(array.astype(np.float32)), np.float32(2.0**-127))
    return array.astype(dtype)
