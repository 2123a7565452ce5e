"""From a list of samples to a batch, and from a sample to tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..._dtype import float64
from ..._from_data import as_tensor, tensor
from ..._layout import strided
from ..._tensor import Tensor
from ...ops.join import stack

default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _has_text(array: Any) -> bool:
    return array.dtype.kind in "SUO"


def _like(original: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the original's type (and its other attributes, such as the factory of a defaultdict) with these values."""
    try:
        if isinstance(original, MutableMapping):
            twin = copy.copy(original)
            twin.update(values)
            return twin
        return type(original)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Arrays to tensors, wherever they are in a structure of dicts and sequences."""
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if _has_text(data) else as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence):
        return _sequence_like(data, [default_convert(value) for value in data])
    return data


Collate = Callable[..., Any]


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Collate] | None = None) -> Any:
    """One structure from a list of equal structures. `collate_fn_map` says by type what becomes of the values in them: functions of the
    values and of the map itself, `collate_fn_map=`. The very type comes first, then the first of its bases."""
    first = batch[0]
    known = collate_fn_map or {}
    found = known.get(type(first)) or next((known[kind] for kind in known if isinstance(first, kind)), None)
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)

    def column(values: Any) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like(first, {key: column([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(column, zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        sizes = {len(sample) for sample in batch}
        if len(sizes) > 1:
            raise RuntimeError(f"each element in list of batch should be of equal size, but the sizes are {sorted(sizes)}")
        return _sequence_like(first, [column(values) for values in zip(*batch, strict=True)])
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _sequence_like(original: Any, values: list[Any]) -> Any:
    """A sequence of the original's type, with its other attributes; a list for a tuple."""
    if type(original) is list or isinstance(original, tuple):
        return values
    try:
        if isinstance(original, MutableSequence):
            twin = copy.copy(original)
            twin[:] = values
            return twin
        return type(original)(values)
    except TypeError:
        return values


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if batch[0].layout is not strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom collate_fn to "
            "handle them appropriately."
        )
    return stack(list(batch))


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if _has_text(batch[0]):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return as_tensor(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


# In order: a bool is an int, and NumPy's float64 is a float.
default_collate_fn_map: dict[Any, Collate] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """One structure of stacked tensors from a list of equal structures.

    >>> import adjoint as ad
    >>> ad.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
