"""PyTorch's `torch._subclasses`, as far as libraries ask for it: whether a tensor is a fake one. None is."""

from __future__ import annotations

from .fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
