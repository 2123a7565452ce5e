"""DLPack: memory that libraries pass on to each other, in capsules around a C structure.

NumPy makes and takes the capsules. It knows no bfloat16, and takes what is in a capsule of the older kind for read-only; both are a matter
of a field in the structure, or of a second array on the same memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._dtype import bfloat16

Ndarray = np.ndarray[Any, Any]

UNSIGNED, BFLOAT = 1, 4  # codes of the elements' type
# Where that code stands: a DLTensor is data, device (8 bytes), ndim (4), code, ...; a capsule of the newer kind has 32 bytes before it.
CODE = {b"dltensor": 20, b"dltensor_versioned": 52}
CPU = 1


def is_named(capsule: Any, name: bytes) -> bool:
    return bool(ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name))


def element_code(capsule: Any) -> Any:
    """The code of the elements' type in a capsule, followed by their size in bits, to read and to change."""
    for name, place in CODE.items():
        if is_named(capsule, name):
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype = ctypes.c_void_p
            return (ctypes.c_uint8 * 2).from_address(pointer(ctypes.py_object(capsule), name) + place)
    raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once")


def capsule_of(array: Ndarray, options: dict[str, Any]) -> Any:
    if array.dtype.kind != "V":
        return array.__dlpack__(**options)
    capsule = array.view(np.uint16).__dlpack__(**options)
    element_code(capsule)[0] = BFLOAT
    return capsule


class _Capsule:
    """A capsule with the methods that `np.from_dlpack` asks for. Of elements that NumPy does not know it sees the bits."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule
        self.code = element_code(capsule)
        self.narrow = self.code[0] == BFLOAT and self.code[1] == 16
        if self.narrow:
            self.code[0] = UNSIGNED

    def __dlpack__(self, **_options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)


class _Memory:
    """The memory of an array, to be written to."""

    def __init__(self, array: Ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "strides": array.strides, "data": (interface["data"][0], False)}


def taken(ext_tensor: Any) -> Ndarray:
    """The array in another library's tensor or array, or in a capsule."""
    capsule = ext_tensor
    if type(ext_tensor).__name__ != "PyCapsule":
        if not hasattr(ext_tensor, "__dlpack__"):
            raise AttributeError(
                f"'{type(ext_tensor).__name__}' object has no attribute '__dlpack__'; use adjoint.as_tensor(...) for sequences and arrays"
            )
        if int(ext_tensor.__dlpack_device__()[0]) != CPU:
            raise BufferError("from_dlpack: the data is not on the CPU; move it there first, for example with x.cpu()")
        try:
            capsule = ext_tensor.__dlpack__(max_version=(1, 0))
        except TypeError:  # (an older library)
            capsule = ext_tensor.__dlpack__()
    older = is_named(capsule, b"dltensor")  # which says nothing of whether it may be written to
    source = _Capsule(capsule)
    array = np.from_dlpack(source)
    if older:
        array = np.asarray(_Memory(array))
    if source.narrow:
        array = array.view(bfloat16.numpy)
    return array
