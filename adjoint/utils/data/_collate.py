"""From a list of samples to a batch, and from a sample to tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..._dtype import float64
from ..._from_data import as_tensor, tensor
from ..._tensor import Tensor
from ...ops.join import stack

_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


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
        return [default_convert(value) for value in data]
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """One structure of stacked tensors from a list of equal structures.

    >>> import adjoint as ad
    >>> ad.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    for kind, collate in _COLLATE.items():
        if isinstance(first, kind):
            return collate(batch)
    if isinstance(first, Mapping):
        return _like(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        return _collate_sequences(first, batch)
    raise TypeError(_REFUSED.format(type(first)))


def _collate_sequences(first: Any, batch: Sequence[Any]) -> Any:
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=True)))
    sizes = {len(sample) for sample in batch}
    if len(sizes) > 1:
        raise RuntimeError(f"each element in list of batch should be of equal size, but the sizes are {sorted(sizes)}")
    return [default_collate(column) for column in zip(*batch, strict=True)]


def _collate_arrays(batch: Sequence[Any]) -> Any:
    if _has_text(batch[0]):
        raise TypeError(_REFUSED.format(batch[0].dtype))
    return stack([as_tensor(array) for array in batch])


# In order: a bool is an int, and NumPy's float64 is a float.
_COLLATE: dict[type | tuple[type, ...], Callable[[Any], Any]] = {
    np.ndarray: _collate_arrays,
    np.generic: lambda batch: as_tensor(np.array(batch)),
    float: lambda batch: tensor(batch, dtype=float64),
    int: tensor,
    (str, bytes): lambda batch: batch,
}
