"""Conversions between dtypes and devices, and questions about dtypes."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar

import numpy as np

from .. import _dtype
from .._device import CPU, META, device, require_usable, resolve
from .._dtype import as_numpy_dtype, dtype, from_numpy_dtype
from .._layout import Sparse, copy_in_format, is_in_format, memory_format, preserve_format, strided
from .._quiet import mute, unmute
from .._site import here, warn
from .._state import GRAD, get_mode, recording
from .._tensor import Tensor, wrap
from ..autograd.node import Node, new_node
from ..autograd.views import edge_of, locate_cut, mark_cut
from ._conversions import KERNELS, converted
from ._registry import LEADING, LINEAR, Array, composite, op
from ._rules import cast

_PRESERVE = preserve_format


@op("_to_copy", nodes="ToCopyBackward0", jvp=LINEAR, method=False, function=False, out=False, holomorphic=False, batch=LEADING, narrow=True,
    input=lambda g, input_dtype: cast(g, input_dtype))  # fmt: skip
def _to_copy(input: Array, dtype: Any, memory_format: memory_format = _PRESERVE) -> Array:
    return _converted(input, dtype, memory_format)


@op("_to_integer", method=False, function=False, out=False, differentiable=False, batch=LEADING, narrow=True)
def _to_integer(input: Array, dtype: Any, memory_format: memory_format = _PRESERVE) -> Array:
    """A copy as integers or truth values, which have no derivative: the history ends here."""
    return _converted(input, dtype, memory_format)


def _converted(array: Array, dtype: np.dtype[Any], memory_format: memory_format) -> Array:
    """A converted copy."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        warn("Casting complex values to real discards the imaginary part. Take x.real or x.abs() to say which you mean.")
        array = array.real
    if memory_format is _PRESERVE and array.__class__ is np.ndarray and array.flags.c_contiguous:
        return converted(array, dtype)
    if dtype in _dtype.NARROW:
        array = converted(array, dtype)
    if array.dtype.kind == "f" and dtype.kind in "iu" and dtype.itemsize < 4:
        array = array.astype(np.int32)  # as the processor does it: too large numbers wrap around
    return copy_in_format(array, dtype, memory_format)


def convert(
    self: Tensor, dtype: np.dtype[Any], copy: builtins.bool = False, memory_format: memory_format = _PRESERVE
) -> Tensor:
    """`self` with another dtype; `self` itself where it has that dtype and no copy is asked for."""
    data = self._data
    if data.dtype == dtype and not copy and (memory_format is _PRESERVE or is_in_format(data, memory_format)):
        return self
    if self._fn is None and data.__class__ is np.ndarray and self.__class__ is Tensor and get_mode() <= GRAD:
        if memory_format is _PRESERVE and (kernel := KERNELS.get(dtype)) and data.flags.c_contiguous and data.dtype.kind != "c":
            return wrap(kernel(data))
        token = mute()
        try:
            return wrap(_converted(data, dtype, memory_format))
        finally:
            unmute(token)
    if dtype.kind not in "iub":
        converted: Tensor = _to_copy(self, dtype, memory_format)
        if self._data.dtype.kind in "iub" and self._fn is not None:
            locate_cut(converted)
        return converted
    result: Tensor = _to_integer(self, dtype, memory_format)
    mark_cut(result, self, "integers", f"the conversion to {result.dtype}")
    return result


# ---- to -----------------------------------------------------------------------------------------------------------

_FORMS = "write x.to(dtype), x.to(device), x.to(device, dtype) or x.to(other)"


@composite(function=False)
def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """This tensor with another dtype or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    It is returned itself if nothing changes. Conversion between floating-point types is differentiable.
    """
    if len(args) == 1 and not options:
        wanted = args[0]
        if wanted.__class__ is dtype:
            return convert(self, wanted.numpy)
        if self._data.__class__ is np.ndarray and (wanted == "cpu" if wanted.__class__ is str else wanted is CPU or is_cpu(wanted)):
            return self
    where, wanted, copy, order = _arguments(args, options)
    numpy_dtype = self._data.dtype if wanted is None else as_numpy_dtype(wanted)
    if where is not None and require_usable(resolve(where)) is not (CPU if not self.is_meta else META):
        return _moved(self, numpy_dtype, resolve(where))
    return convert(self, numpy_dtype, copy, order)


def is_cpu(where: Any) -> builtins.bool:
    return where.__class__ is device and where.type == "cpu"


def _arguments(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any, builtins.bool, memory_format]:
    """Device, dtype, copy and memory format out of the forms in which `to` may be called."""
    rest = list(args)
    where = wanted = None
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        where, wanted = other.device, other._data.dtype
    elif rest and isinstance(rest[0], dtype | np.dtype | type):
        wanted = rest.pop(0)
    elif rest:
        where = rest.pop(0)
        if rest and not isinstance(rest[0], builtins.bool):
            wanted = rest.pop(0)
    places = dict(zip(("non_blocking", "copy"), rest, strict=False))
    unknown = options.keys() - {"device", "dtype", "non_blocking", "copy", "memory_format"} | (places.keys() & options.keys())
    if unknown or len(rest) > 2:
        given = ", ".join([*(type(a).__name__ for a in args), *(f"{name}={type(v).__name__}" for name, v in options.items())])
        raise TypeError(f"to() received an invalid combination of arguments - got ({given}); {_FORMS}")
    options = {**places, **options}
    where = options.get("device", where)
    wanted = options.get("dtype", wanted)
    order = options.get("memory_format") or _PRESERVE
    return where, wanted, builtins.bool(options.get("copy")), order


def _moved(self: Tensor, dtype: np.dtype[Any], where: device) -> Tensor:
    """To the meta device, which forgets the elements; there is no way back."""
    if where.type != "meta":
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
            "torch.nn.Module.to() when moving module from meta to a different device."
        )
    moved = wrap(_without_elements(self._data, dtype))
    edge = edge_of(self)
    if edge is not None and recording() and dtype.kind not in "iub":
        moved._fn = new_node(ToCopyBackward0, (edge,), (), here())
    return moved


def _without_elements(data: Any, dtype: np.dtype[Any]) -> Any:
    from .._meta import empty_like

    if isinstance(data, Sparse):
        sparse: Any = data
        return sparse.with_values(_without_elements(sparse.values, sparse.values.dtype if dtype == sparse.dtype else dtype))
    return copy_in_format(empty_like(data), dtype, _PRESERVE)


class ToCopyBackward0(Node):
    """A move to the meta device, from which no gradient comes back. Named as PyTorch names it."""

    __slots__ = ()
    keeps_tensors: ClassVar[builtins.bool] = False

    def apply(self, g: Any) -> tuple[Any, ...]:
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! The gradient of a tensor that was moved to the meta device has no values\n"
            "  fix: differentiate on the meta device only: x = x.to('meta').detach().requires_grad_()"
        )

    apply_recorded = apply


@composite(function=False)
def cpu(self: Tensor, memory_format: memory_format = _PRESERVE) -> Tensor:
    """This tensor on the CPU, where it is."""
    return _moved(self, self._data.dtype, CPU) if self.is_meta else self


@composite(function=False)
def cuda(
    self: Tensor, device: Any = None, non_blocking: builtins.bool = False, memory_format: memory_format = _PRESERVE
) -> Tensor:
    """Refused: there is no GPU."""
    require_usable(resolve("cuda" if device is None else device))
    raise AssertionError("Torch not compiled with CUDA enabled: adjoint computes on the CPU; leave .cuda() out")


@composite(function=False, direct=True)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor with the dtype of another."""
    return convert(self, other._data.dtype)


@composite("type", function=False)
def type_(self: Tensor, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
    """The name of the tensor's old type (`torch.FloatTensor`), or the tensor converted to the type given."""
    if dtype is None:
        return f"torch.{'' if self.layout is strided else 'sparse.'}{self.dtype.scalar_name}Tensor"
    return convert(self, _named_dtype(dtype))


def _named_dtype(given: Any) -> np.dtype[Any]:
    from .._legacy import TENSOR_TYPES, tensortype

    if isinstance(given, tensortype):
        return given.dtype.numpy
    if isinstance(given, dtype | np.dtype):
        return as_numpy_dtype(given)
    name = given.removeprefix("torch.") if isinstance(given, str) else getattr(given, "__name__", str(given))
    if isinstance(given, str) and name in TENSOR_TYPES:
        return TENSOR_TYPES[name].dtype.numpy
    raise ValueError(f"invalid type: '{name}'; pass a dtype such as adjoint.float64, or 'torch.DoubleTensor'")


def _named(name: str, of: dtype) -> Any:
    def method(self: Tensor, memory_format: memory_format = _PRESERVE) -> Tensor:
        return convert(self, of.numpy, False, memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor converted to {of}."
    return composite(name, function=False)(method)


for _name, _of in {
    "bool": _dtype.bool_, "byte": _dtype.uint8, "char": _dtype.int8, "short": _dtype.int16, "int": _dtype.int32,
    "long": _dtype.int64, "half": _dtype.float16, "bfloat16": _dtype.bfloat16, "float": _dtype.float32,
    "double": _dtype.float64, "cfloat": _dtype.complex64, "cdouble": _dtype.complex128,
}.items():  # fmt: skip
    _named(_name, _of)


# ---- questions ----------------------------------------------------------------------------------------------------


@composite(method=False)
def is_tensor(obj: Any) -> builtins.bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


@composite(method=False)
def is_floating_point(input: Tensor) -> builtins.bool:
    """Whether the tensor's dtype is a floating-point type."""
    return input.is_floating_point()


@composite(method=False)
def is_complex(input: Tensor) -> builtins.bool:
    """Whether the tensor's dtype is a complex type."""
    return input.is_complex()


@composite(method=False)
def is_signed(input: Tensor) -> builtins.bool:
    """Whether the tensor's dtype has negative numbers."""
    return input.is_signed()


@composite(method=False)
def is_inference(input: Tensor) -> builtins.bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


@composite()
def is_nonzero(input: Tensor) -> builtins.bool:
    """Whether the one element of the tensor is not zero."""
    return input.__bool__()


@composite(method=False)
def numel(input: Tensor) -> builtins.int:
    """The number of elements."""
    return input.numel()


@composite(method=False)
def result_type(tensor1: Array, tensor2: Array) -> dtype:
    """The dtype of arithmetic between two tensors or numbers."""
    operands = [x._data if isinstance(x, Tensor) else x for x in (tensor1, tensor2)]
    return from_numpy_dtype(_dtype.result_numpy_dtype(operands))


composite(method=False)(_dtype.can_cast)
composite(method=False)(_dtype.promote_types)
