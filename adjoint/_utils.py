"""PyTorch's `torch._utils`: the functions that saved tensors are rebuilt with, and what a tensor is saved as.

Files name these functions, so they are what both libraries agree on; `save`, `load` and `pickle` all go through them.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from importlib import import_module
from typing import Any

import numpy as np

from . import _meta
from ._copying import INTERNAL, attributes_of, slots_of
from ._dtype import dtype
from ._layer import Pending
from ._layout import Sparse, sparse_coo
from ._tensor import Parameter, Tensor, wrap
from .ops.memory import element_strides
from .storage import STORAGE_NAMES, TypedStorage, UntypedStorage

_MAX_NDIM = 64  # NumPy's limit

# ---- what a tensor is made of -------------------------------------------------------------------------------------------------------


def memory_of(data: Any) -> tuple[Any, int, tuple[int, ...]]:
    """The memory that an array is a view of, and where in it the array lies: offset and strides in elements.

    An array that PyTorch cannot describe so (steps backwards, memory with gaps) is copied.
    """
    owner, size = data, data.itemsize
    if data.base is None and data.flags.c_contiguous and data.size:  # the usual case
        return data, 0, tuple([step // size for step in data.strides])
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    offset = data.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    describable = owner.flags.forc and offset >= 0 and not offset % size and all(step >= 0 and not step % size for step in data.strides)
    if not describable or not data.size:
        data = owner = np.array(data, order="C")
        offset = 0
    return owner, offset // size, element_strides(data)


def parts_of(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """The function that rebuilds the values of a tensor, and its arguments."""
    if tensor._hooks is not None:
        warn_of_hooks(tensor._hooks.tensor.get(0, {}))
    kind, requires_grad = tensor.dtype, tensor.requires_grad
    data = tensor._data
    bits: tuple[Any, ...] = ()
    if isinstance(data, Pending):
        data, bits = data.array, ({bit: True for bit in ("conj", "neg") if getattr(data, bit)},)
    if isinstance(data, Sparse):
        return _rebuild_sparse_tensor, (tensor.layout, data.saved())  # type: ignore[attr-defined]
    if not isinstance(data, np.ndarray):
        if not tensor.is_meta:
            raise NotImplementedError(f"save: a tensor of {type(data).__name__} has no elements to save")
        return _rebuild_meta_tensor_no_storage, (kind, tuple(data.shape), tuple(tensor.stride()), requires_grad)
    owner, offset, strides = memory_of(data)
    storage = UntypedStorage(owner)
    place: tuple[Any, ...] = (offset, tuple(data.shape), strides, requires_grad, OrderedDict())
    if kind not in STORAGE_NAMES:
        return _rebuild_tensor_v3, (storage, *place, kind, *bits)
    return _rebuild_tensor_v2, (TypedStorage(wrap_storage=storage, dtype=kind, _internal=True), *place, *bits)


def warn_of_hooks(hooks: dict[int, Any]) -> None:
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=4,
            )


def reduced(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """What `pickle` keeps of a tensor: its values, `requires_grad`, class and attributes; neither history nor `.grad`."""
    state = _get_obj_state(tensor)
    if isinstance(tensor, Parameter):
        plain: tuple[Any, ...] = wrap(tensor._data), tensor.requires_grad, OrderedDict()
        if type(tensor) is Parameter:
            return (_rebuild_parameter_with_state, (*plain, state)) if state else (_rebuild_parameter, plain)
        return _rebuild_from_type_v2, (_rebuild_parameter, type(tensor), plain, state)
    if type(tensor) is Tensor and not state:
        return parts_of(tensor)
    rebuild, arguments = parts_of(tensor)
    return _rebuild_from_type_v2, (rebuild, type(tensor), arguments, state)


def _get_obj_state(obj: Any) -> Any:
    """What `__getstate__` of the object's own class says, or its attributes, those in slots too."""
    own = next((vars(cls)["__getstate__"] for cls in type(obj).__mro__ if "__getstate__" in vars(cls) and cls is not object), None)
    if own is not None:
        return own(obj)
    state, slots = attributes_of(obj), slots_of(obj)
    return (state, slots) if slots else state


def _set_obj_state(obj: Any, state: Any) -> Any:
    own, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in (own or {}).items():
        if name not in INTERNAL and (type(obj) not in (Tensor, Parameter) or not hasattr(Tensor, name)):  # hide nothing of what a Tensor is
            obj.__dict__[name] = value
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


# ---- rebuilding ---------------------------------------------------------------------------------------------------------------------


def strided(storage: Any, kind: dtype, offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor on the memory of a storage, once it is certain that it lies inside."""
    shape, steps = tuple(size), tuple(stride)
    if len(shape) != len(steps) or len(shape) > _MAX_NDIM:
        raise RuntimeError(f"load: a tensor has {len(shape)} sizes and {len(steps)} strides")
    if any(type(number) is not int or not 0 <= number < 2**62 for number in (offset, *shape, *steps)):
        raise RuntimeError(f"load: a tensor has the impossible offset {offset}, size {shape[:8]} or stride {steps[:8]}")
    itemsize = kind.itemsize
    content = storage.untyped_bytes()
    available = (content if isinstance(content, int) else content.size) // itemsize
    last = offset + sum((length - 1) * step for length, step in zip(shape, steps, strict=True))
    if math.prod(shape) >= 2**62 or (last >= available if all(shape) else offset > available):
        raise RuntimeError(
            f"load: a tensor of size {shape[:8]} and stride {steps[:8]} at offset {offset} does not lie inside its storage of "
            f"{available} elements"
        )
    in_bytes = tuple(step * itemsize for step in steps)
    if isinstance(content, int):
        return wrap(_meta.empty(shape, kind.numpy, in_bytes))
    return wrap(np.ndarray(shape, kind.numpy, content, offset * itemsize, in_bytes) if all(shape) else np.empty(shape, kind.numpy))


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Tensor:
    _check_storage(isinstance(storage, TypedStorage))
    return strided(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any = False, backward_hooks: Any = None, metadata: Any = None
) -> Tensor:
    return _finished(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    _check_storage(isinstance(storage, TypedStorage | UntypedStorage) and type(dtype).__name__ == "dtype")
    return _finished(strided(storage, dtype, storage_offset, size, stride), requires_grad, metadata)


def _check_storage(known: bool) -> None:
    if not known:
        from pickle import UnpicklingError

        raise UnpicklingError("A tensor has no storage of a known type")


def _finished(tensor: Tensor, requires_grad: Any, metadata: Any) -> Tensor:
    if isinstance(metadata, dict):
        conj, neg = metadata.get("conj") is True and tensor.is_complex(), metadata.get("neg") is True
        tensor = wrap(Pending.of(tensor._data, conj, neg)) if isinstance(tensor._data, np.ndarray) else tensor
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    made = wrap(_meta.empty(tuple(size), dtype.numpy, tuple(step * dtype.itemsize for step in stride)))
    return made.requires_grad_() if requires_grad else made


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    from .sparse import sparse_compressed_tensor, sparse_coo_tensor

    tensors = data[: 2 if layout is sparse_coo else 3]
    if not all(isinstance(x, Tensor) for x in tensors):
        raise TypeError("A sparse tensor is made of something that is no tensor")
    if layout is sparse_coo:
        return sparse_coo_tensor(*data[:3], is_coalesced=bool(data[3:] and data[3]))
    return sparse_compressed_tensor(*data, layout=layout)


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any = None) -> Any:
    if not isinstance(data, Tensor):
        from pickle import UnpicklingError

        raise UnpicklingError("A parameter is made of something that is no tensor")
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(_rebuild_parameter(data, requires_grad), state)


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    own = getattr(new_type, "__setstate__", None)
    if own is not None and own is not Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return _set_obj_state(made, state)


def _rebuild_from_type(func: Any, type: Any, args: Any, dict: Any) -> Any:
    return _rebuild_from_type_v2(func, type, args, dict)


class KeyErrorMessage(str):
    """A text that stands as it is where Python would show it quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


def render_call(fn: Any, args: Any, kwargs: Any) -> str:
    """A call as one would write it, with long tensors cut short."""
    from ._printing import printoptions
    from .overrides import resolve_name

    with printoptions(threshold=0, edgeitems=0):
        given = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"{resolve_name(fn) or fn}({', '.join(given)})"


def try_import(name: str) -> Any:
    """A module, or None if there is none of that name."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _element_size(dtype: Any) -> int:
    return int(dtype.itemsize)


def _import_dotted_name(name: str) -> Any:
    first, *rest = name.split(".")
    found: Any = import_module(__package__ if first == "torch" else first)
    for part in rest:
        found = getattr(found, part)
    return found


# ---- several tensors as one ---------------------------------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """The elements of several tensors in one, which has one dimension."""
    return import_module(__package__).cat([tensor.contiguous().view(-1) for tensor in tensors])  # type: ignore[no-any-return]


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """Views of parts of `flat`, in the shapes of `tensors`."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True))


# ---- devices ------------------------------------------------------------------------------------------------------------------------


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device; -1 is the CPU."""
    from ._device import resolve

    if isinstance(device, str):
        device = resolve(device)
    if isinstance(device, int):
        return device
    if device is not None and device.type == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    index: int | None = None if device is None else device.index
    if index is None and not optional:  # else it is that of the current accelerator, and there is none
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return index


def _get_available_device_type() -> str | None:
    """None: there is no accelerator."""
    return None


def _get_device_module(device_type: str) -> Any:
    """The module of a type of devices: `torch.cuda` for "cuda"."""
    found = getattr(import_module(__package__), device_type, None)
    if found is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return found
