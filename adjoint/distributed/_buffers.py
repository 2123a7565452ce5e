"""The elements of tensors as the transport takes them: C-contiguous arrays, which are the tensors' own memory wherever that is so.

Numbers are combined as MPI can do it. Half precision and float8 are widened to float32 and rounded once, at the end, so a sum does not
depend on where in between it was rounded. Truth values are combined bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._dtype import BOOL, FLOATING, INTEGER
from .._tensor import Tensor, wrap
from ..autograd.node import INFERENCE_TENSOR
from ._groups import RedOpType, supports_complex

_BITS = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND"}  # of truth values


def check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )
    if value._data.__class__ is not np.ndarray:
        raise RuntimeError(
            f"`{name}` has no elements in memory that could be sent to other processes ({value.layout}, {value.device}): "
            "send its parts, such as x.to_dense()"
        )


def check_tensors(values: Any, name: str) -> list[Tensor]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, Tensor) for value in values):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]")
    for value in values:
        check_tensor(value, name)
    return list(values)


def check_dtypes(*tensors: Tensor) -> None:
    for one in tensors:
        if one.dtype is not tensors[-1].dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypes: Found {one.dtype} and {tensors[-1].dtype}")


def elements(tensor: Tensor) -> Any:
    """The elements of a tensor, in order: its own memory, or a copy if they lie there otherwise."""
    return np.asarray(tensor._data, order="C")


def elements_of(tensors: Sequence[Tensor]) -> Any:
    """Those of several, one after the other."""
    return np.concatenate([tensor._data.reshape(-1) for tensor in tensors])


def put(tensor: Tensor, array: Any) -> None:
    """Write elements into a tensor, and count that as a write; they may have been written into its memory already."""
    if not np.may_share_memory(array, tensor._data):
        tensor.detach().copy_(wrap(array.reshape(tensor.shape)))
    elif tensor._vc is not INFERENCE_TENSOR:
        tensor._written()


def put_each(tensors: Sequence[Tensor], array: Any) -> None:
    """Write elements that lie one after the other into several."""
    start, flat = 0, array.reshape(-1)
    for tensor in tensors:
        put(tensor, flat[start : start + tensor._data.size])
        start += tensor._data.size


class Summand:
    """Elements that are to be combined with those of other processes: the array, and the operation as the transport does it."""

    def __init__(self, array: Any, tensor: Tensor, op: Any, collective: str) -> None:
        if not isinstance(op, RedOpType):
            raise TypeError(f"op has to be a ReduceOp, such as torch.distributed.ReduceOp.SUM, but got {op!r}")
        kind, name = tensor.dtype, op.name
        if op is RedOpType.PREMUL_SUM:
            raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo: multiply the tensor first, and write ReduceOp.SUM")
        if kind.is_complex and not supports_complex(op):
            raise ValueError(f"{collective} does not support {op} on complex tensors")
        if name in ("BAND", "BOR", "BXOR") and kind.category > INTEGER:
            raise RuntimeError(f"Cannot use ReduceOp.{name} with non-integral dtype: {kind} has no bits to combine; use torch.int32")
        if name == "AVG" and kind.category < FLOATING:
            raise RuntimeError(
                f"result type Float can't be cast to the desired output type {kind.scalar_name}: take the average of x.float()"
            )
        self.average = name == "AVG"
        self.operation = "SUM" if self.average else name
        if kind.category == BOOL:
            array, self.operation = array.view(np.uint8), _BITS.get(name, name)
        elif kind.category == FLOATING and kind.itemsize < 4:
            array = array.astype(np.float32)
        elif kind.category == INTEGER and kind.itemsize < 4 and self.operation == "SUM":
            array = array.astype(np.int32)  # Open MPI's vector instructions stop at the largest short integer; PyTorch's sums wrap around
        self.array = array

    def like(self, tensor: Tensor) -> Any:
        """Where a combination of these elements for `tensor` may be written: its own memory, or other."""
        return elements(tensor).view(self.array.dtype) if self.array.itemsize == tensor._data.itemsize else np.empty(
            tensor.shape, self.array.dtype
        )

    def put(self, tensor: Tensor, array: Any, size: int) -> None:
        """Write what has come of it into a tensor."""
        if self.average:
            np.divide(array, size, out=array)
        if array.dtype == np.uint8 and tensor.dtype.category == BOOL:
            array = array.view(np.bool_)
        put(tensor, array)
