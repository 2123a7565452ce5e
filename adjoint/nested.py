"""PyTorch's `torch.nested`: tensors of rows of different length, which adjoint does not have. Pad them, and keep a mask."""

from __future__ import annotations

from typing import Any

from ._standing import refused

__all__ = ["as_nested_tensor", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

_pad = refused("adjoint has no nested tensors; write torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True), and a mask of the lengths")


@_pad
def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Any: ...


@_pad
def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any: ...


@_pad
def nested_tensor_from_jagged(values: Any, offsets: Any = None, lengths: Any = None, **options: Any) -> Any: ...


@_pad
def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any: ...


@_pad
def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = None) -> Any: ...
