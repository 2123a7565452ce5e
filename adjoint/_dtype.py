"""Element types: the `dtype` objects, their NumPy counterparts, the default type and the promotion rules.

Above this module users see `dtype` objects; below it arrays carry `numpy.dtype`. The two are translated here and
nowhere else. Promotion is PyTorch's, not NumPy's: a dimensioned array outranks a 0-d array, which outranks a Python
number, and a lower rank can only raise the *category* (bool < integer < floating < complex) of the result, never its
width.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

NumpyDtype = np.dtype[Any]

BOOL, INTEGER, FLOATING, COMPLEX = range(4)  # categories, in promotion order


class dtype:
    """The type of a tensor's elements, as in `torch.float32`. One object per type: compare with `is` or `==`."""

    __module__ = "adjoint"  # where its objects stand too, for pickles
    __slots__ = (
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
        "scalar_name",
    )

    if TYPE_CHECKING:  # at runtime they would be looked up in the module that is named above
        name: str
        numpy: NumpyDtype
        category: int
        itemsize: int
        is_floating_point: builtins.bool
        is_complex: builtins.bool
        is_signed: builtins.bool
        scalar_name: str  # what PyTorch's error messages call the type: `Float`, `Long`, `Byte`, ...

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances; use the existing ones, for example adjoint.float32")

    if not TYPE_CHECKING:  # a type checker that saw this method would let every misspelt attribute pass

        def __getattr__(self, attribute: str) -> NumpyDtype:
            # Reached only while a slot is empty, and the one slot left empty is `numpy`, of types that NumPy itself does not have.
            if attribute != "numpy":
                raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")
            numpy_dtype = _LATE[self.name](self)
            object.__setattr__(self, "numpy", numpy_dtype)
            NUMPY_TYPES[numpy_dtype] = self
            return numpy_dtype

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        if attribute in self.__slots__:
            raise AttributeError(f"attribute '{attribute}' of 'torch.dtype' objects is not writable")
        raise AttributeError(f"'torch.dtype' object has no attribute '{attribute}'")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"attribute '{attribute}' of 'torch.dtype' objects is not writable")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def to_real(self) -> dtype:
        """The type of the real and imaginary parts; the type itself when it is not complex."""
        if not self.is_complex:
            return self
        return {4: float16, 8: float32, 16: float64}[self.itemsize]

    def to_complex(self) -> dtype:
        """The complex type whose parts hold this floating-point type (half types widen to `complex64`)."""
        if self.category < FLOATING or self.itemsize == 1:
            raise RuntimeError(
                f"Unknown Complex ScalarType for {self.scalar_name}: only floating-point types have a complex "
                "counterpart; convert first, for example with x.to(adjoint.float32)"
            )
        return complex128 if self is float64 or self is complex128 else complex64


def from_ml_dtypes(kind: dtype) -> NumpyDtype:
    try:
        import ml_dtypes
    except ImportError as error:
        raise RuntimeError(
            f"{kind} needs the ml_dtypes package, which is not installed: run `pip install ml_dtypes`, or use float16 or float32"
        ) from error
    numpy_dtype: NumpyDtype = np.dtype(getattr(ml_dtypes, kind.name))
    return numpy_dtype


_ALL: dict[str, dtype] = {}
_LATE: dict[str, Callable[[dtype], NumpyDtype]] = {}  # what finds the NumPy type of those that NumPy itself does not have


def by_name(name: str) -> dtype:
    """The dtype of a name that is no alias; those of `_narrow.py` are loaded now."""
    if name not in _ALL:
        from . import _narrow  # noqa: F401  # which defines it
    return _ALL[name]


def define(
    name: str, scalar_name: str, category: int, itemsize: int, *, signed: builtins.bool = True,
    numpy_type: Callable[[dtype], NumpyDtype] | None = None,
) -> dtype:  # fmt: skip
    new = object.__new__(dtype)
    values: dict[str, object] = {
        "name": name,
        "scalar_name": scalar_name,
        "category": category,
        "itemsize": itemsize,
        "is_floating_point": category == FLOATING,
        "is_complex": category == COMPLEX,
        "is_signed": signed,
    }
    if numpy_type is None:
        values["numpy"] = np.dtype(name)
    else:
        _LATE[name] = numpy_type
    for attribute, value in values.items():
        object.__setattr__(new, attribute, value)
    _ALL[name] = new
    return new


bool_ = define("bool", "Bool", BOOL, 1, signed=False)
uint8 = define("uint8", "Byte", INTEGER, 1, signed=False)
uint16 = define("uint16", "UInt16", INTEGER, 2, signed=False)
uint32 = define("uint32", "UInt32", INTEGER, 4, signed=False)
uint64 = define("uint64", "UInt64", INTEGER, 8, signed=False)
int8 = define("int8", "Char", INTEGER, 1)
int16 = define("int16", "Short", INTEGER, 2)
int32 = define("int32", "Int", INTEGER, 4)
int64 = define("int64", "Long", INTEGER, 8)
float16 = define("float16", "Half", FLOATING, 2)
bfloat16 = define("bfloat16", "BFloat16", FLOATING, 2, numpy_type=from_ml_dtypes)
float32 = define("float32", "Float", FLOATING, 4)
float64 = define("float64", "Double", FLOATING, 8)
complex64 = define("complex64", "ComplexFloat", COMPLEX, 8)
complex128 = define("complex128", "ComplexDouble", COMPLEX, 16)

PUBLIC: dict[str, dtype] = {
    **_ALL,
    "short": int16,
    "int": int32,
    "long": int64,
    "half": float16,
    "float": float32,
    "double": float64,
    "cfloat": complex64,
    "cdouble": complex128,
}
"""Every name under which the package exports a dtype, aliases included."""


# Translation ------------------------------------------------------------------------------------------------------


class _FromNumpy(dict[NumpyDtype, dtype]):
    """`numpy.dtype` to `dtype`. A miss is one of ml_dtypes' types, learnt when first met, or a type we cannot hold."""

    def __missing__(self, numpy_dtype: NumpyDtype) -> dtype:
        if not numpy_dtype.isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte "
                "orders is currently not supported: use array.astype(array.dtype.newbyteorder('='))"
            )
        if numpy_dtype.type.__module__ == "ml_dtypes" and numpy_dtype.name.startswith("float8"):
            from . import _narrow  # noqa: F401  # which defines it
        if _ALL.get(numpy_dtype.name, float32).numpy != numpy_dtype:
            scalar = numpy_dtype.type
            raise TypeError(
                f"can't convert np.ndarray of type {scalar.__module__}.{scalar.__name__}. The only supported types "
                "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
                "uint16, uint8, and bool (and ml_dtypes.bfloat16). Convert first with array.astype(...)"
            )
        return self[numpy_dtype]


NUMPY_TYPES = _FROM_NUMPY = _FromNumpy({d.numpy: d for d in _ALL.values() if d is not bfloat16})
_FROM_PYTHON: dict[object, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def from_numpy_dtype(numpy_dtype: NumpyDtype) -> dtype:
    """The dtype of arrays of `numpy_dtype`; TypeError when tensors cannot hold it."""
    return _FROM_NUMPY[numpy_dtype]


def as_dtype(obj: object) -> dtype:
    """A dtype from a dtype, a Python type (`float` is `float64`, as in PyTorch), a NumPy dtype or scalar type."""
    if isinstance(obj, dtype):
        return obj
    if isinstance(obj, np.dtype):
        return _FROM_NUMPY[obj]
    if isinstance(obj, type):
        if obj in _FROM_PYTHON:
            return _FROM_PYTHON[obj]
        if issubclass(obj, np.generic):
            return _FROM_NUMPY[np.dtype(obj)]
        got = f"the type {obj.__name__}"
    else:
        got = obj.__class__.__name__
    hint = f"adjoint.{obj}" if isinstance(obj, str) and obj in PUBLIC else "for example adjoint.float32"
    raise TypeError(f"argument 'dtype' must be torch.dtype, not {got}; pass {hint}")


def as_numpy_dtype(obj: object = None) -> NumpyDtype:
    """The NumPy dtype for whatever `as_dtype` accepts; None means the default dtype."""
    if obj.__class__ is dtype:
        return obj.numpy
    return default_numpy() if obj is None else as_dtype(obj).numpy


def category(numpy_dtype: NumpyDtype) -> int:
    """BOOL, INTEGER, FLOATING or COMPLEX: comparable, in promotion order."""
    return _FROM_NUMPY[numpy_dtype].category


def is_complex(numpy_dtype: NumpyDtype) -> builtins.bool:
    return _FROM_NUMPY[numpy_dtype].is_complex


# The default dtype, and what Python numbers become ----------------------------------------------------------------


class _OfNumber(dict[type, NumpyDtype | None]):
    """The dtype a Python number takes, by its class; None for classes that are not Python numbers.

    NumPy scalars are not Python numbers here, although `numpy.float64` derives from `float`: they are what NumPy
    returns in place of 0-d arrays, and know their own dtype. Emptied when the default dtype changes.
    """

    default = float32

    def __missing__(self, cls: type) -> NumpyDtype | None:
        found = None
        if not issubclass(cls, np.generic):
            if issubclass(cls, bool):
                found = bool_.numpy
            elif issubclass(cls, int):
                found = int64.numpy
            elif issubclass(cls, float):
                found = default_numpy()
            elif issubclass(cls, complex):
                found = default_complex_numpy()
        self[cls] = found
        return found


_OF_NUMBER = _OfNumber()


def get_default_dtype() -> dtype:
    """The dtype of new floating-point tensors whose dtype is not given."""
    return _OF_NUMBER.default


def set_default_dtype(d: dtype) -> None:
    """Choose the dtype of new floating-point tensors whose dtype is not given."""
    hint = "pass adjoint.float32, adjoint.float64, adjoint.float16 or adjoint.bfloat16"
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type; {hint}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {d}; {hint}")
    if d.itemsize == 1:
        raise TypeError(f"couldn't find storage object {d.scalar_name}Storage: nothing can be computed in {d}; {hint}")
    _ = d.numpy  # bfloat16 without ml_dtypes is refused before anything changes
    _OF_NUMBER.default = d
    _OF_NUMBER.clear()


def default_numpy() -> NumpyDtype:
    """The default dtype, as NumPy's."""
    return _OF_NUMBER.default.numpy


def default_complex_numpy() -> NumpyDtype:
    """The complex type that goes with the default dtype, as NumPy's."""
    return _OF_NUMBER.default.to_complex().numpy


def infer_numpy_dtype(scalar: object) -> NumpyDtype:
    """The dtype of a tensor made from one number: NumPy scalars keep theirs, Python floats take the default."""
    found = _OF_NUMBER[scalar.__class__]
    if found is not None:
        return found
    if isinstance(scalar, np.generic):
        return _FROM_NUMPY[scalar.dtype].numpy
    raise TypeError(
        f"Could not infer dtype of {scalar.__class__.__name__}; pass a bool, int, float, complex or NumPy scalar"
    )


# Promotion --------------------------------------------------------------------------------------------------------

# What is said of types that have no place in the order: these promote only with floating-point types, and those of 8 bits with none.
UNPROMOTED: dict[dtype, str] = dict.fromkeys((uint16, uint32, uint64), "uint16, uint32, uint64 types")
NARROW: dict[NumpyDtype, builtins.bool] = {}  # types that are not computed with, as soon as one is used: whether they hold numbers


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype of arithmetic between the two: the higher category, then the wider; int32 with float16 is float16."""
    a, b = as_dtype(type1), as_dtype(type2)
    if a is b:
        return a
    low, high = (a, b) if (a.category, a.itemsize) <= (b.category, b.itemsize) else (b, a)
    kinds = UNPROMOTED.get(high) or UNPROMOTED.get(low)
    if kinds and not (high.is_floating_point and high.itemsize > 1 and not (low.is_floating_point and low.itemsize == 1)):
        raise RuntimeError(
            f"Promotion for {kinds} is not supported, attempted to promote {a.scalar_name} and {b.scalar_name}; convert one of them "
            f"first, for example with x.to(adjoint.{'float32' if high.is_floating_point else 'int64'})"
        )
    if high.is_complex:
        return complex128 if low is float64 else high
    if low.category == high.category and low.itemsize == high.itemsize:  # uint8 with int8, float16 with bfloat16
        return int16 if high.category == INTEGER else float32
    return high


def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Whether in-place results of dtype `from_` may be stored as `to`: the category may not fall, the width may."""
    return as_dtype(from_).category <= as_dtype(to).category


def _raise_category(higher: dtype, lower: dtype) -> dtype:
    """`higher`, unless the lower-ranking operand is of a higher category."""
    if lower.category <= higher.category:
        return higher
    if higher.is_floating_point:
        return higher.to_complex()
    return lower if lower.category >= FLOATING else promote_types(higher, lower)


class _Promoted(dict[tuple[NumpyDtype, NumpyDtype], NumpyDtype]):
    """`promote_types` on NumPy dtypes, remembered."""

    def __missing__(self, pair: tuple[NumpyDtype, NumpyDtype]) -> NumpyDtype:
        result = self[pair] = promote_types(_FROM_NUMPY[pair[0]], _FROM_NUMPY[pair[1]]).numpy
        return result


class _Combined(dict[tuple[NumpyDtype, NumpyDtype], NumpyDtype]):
    """`_raise_category` on NumPy dtypes, remembered."""

    def __missing__(self, pair: tuple[NumpyDtype, NumpyDtype]) -> NumpyDtype:
        result = self[pair] = _raise_category(_FROM_NUMPY[pair[0]], _FROM_NUMPY[pair[1]]).numpy
        return result


_PROMOTED = _Promoted()
_COMBINED = _Combined()


def promote_numpy(a: NumpyDtype, b: NumpyDtype) -> NumpyDtype:
    """`promote_types` for NumPy dtypes: the result for two operands of equal rank."""
    return _PROMOTED[a, b]


def result_numpy_dtype(operands: Iterable[Any]) -> NumpyDtype:
    """The dtype of arithmetic between arrays (anything with NumPy's `dtype` and `ndim`) and Python numbers."""
    dimensioned = zero_dim = number = None
    for x in operands:
        of_number = _OF_NUMBER[x.__class__]
        if of_number is not None:
            number = of_number if number is None else _PROMOTED[number, of_number]
        elif x.ndim:
            dimensioned = x.dtype if dimensioned is None else _PROMOTED[dimensioned, x.dtype]
        else:
            zero_dim = x.dtype if zero_dim is None else _PROMOTED[zero_dim, x.dtype]
    result = number
    if zero_dim is not None:
        result = zero_dim if result is None else _COMBINED[zero_dim, result]
    if dimensioned is not None:
        result = dimensioned if result is None else _COMBINED[dimensioned, result]
    if result is None:
        raise ValueError("result_numpy_dtype needs at least one operand")
    return result


# Limits -----------------------------------------------------------------------------------------------------------

LIMITS = {  # eps, max, min and the smallest normal number, from the bits of the significand and the largest exponent
    kind: (2.0**-bits, (2.0 - 2.0**-bits) * 2.0**top, -(2.0 - 2.0**-bits) * 2.0**top, 2.0 ** (1 - top))
    for kind, bits, top in ((float16, 10, 15), (bfloat16, 7, 127), (float32, 23, 127), (float64, 52, 1023))
}


class finfo:
    """The limits of a floating-point dtype, or of a complex one's parts; by default those of the default dtype."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __hash__ = None  # type: ignore[assignment]
    _known: ClassVar[dict[dtype, finfo]] = {}  # programs ask for the same ones again and again

    def __new__(cls, type: dtype | None = None) -> finfo:
        d = get_default_dtype() if type is None else type if type.__class__ is dtype else as_dtype(type)
        found = cls._known.get(d)
        if found is None:
            found = object.__new__(cls)
            found._describe(d)
            cls._known[d] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return finfo, (by_name(self.dtype),)

    def _describe(self, d: dtype) -> None:
        if d.category < FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo': "
                f"adjoint.iinfo({d.name}) describes integers"
            )
        d = d.to_real()
        if d not in LIMITS:
            raise TypeError(f"torch.finfo() knows no limits of {d}, of which several are packed into a byte")
        self.dtype: str = d.name
        self.bits: int = 8 * d.itemsize
        self.eps: float
        self.max: float
        self.min: float
        self.smallest_normal: float
        self.eps, self.max, self.min, self.smallest_normal = LIMITS[d]
        self.tiny: float = self.smallest_normal
        self.resolution: float = float(f"1e-{int(-math.log10(self.eps))}")

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, type: dtype) -> None:
        d = as_dtype(type)
        if d.category >= FLOATING:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo': "
                f"adjoint.finfo({d.name}) describes floating-point numbers"
            )
        if d.name in _LATE:
            raise TypeError(f"torch.iinfo() requires an integer input type, and {d} has no limits of its own")
        if d is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo: it holds False and True")
        self.dtype: str = d.name
        self.bits: int = 8 * d.itemsize
        self.max: int = 2 ** (self.bits - d.is_signed) - 1
        self.min: int = -self.max - 1 if d.is_signed else 0

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
