"""Fake tensors are how PyTorch's compiler knows shapes. Here tensors on the meta device are that, and nothing is a fake tensor."""

from __future__ import annotations

from typing import Any

from .._standing import refused
from .._tensor import Tensor

_no_fakes = refused('there are no fake tensors; tensors that have a shape and no values are made with device="meta"')


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """What PyTorch raises for a tensor that cannot be faked. Programs name it to catch it."""


class DynamicOutputShapeException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """What PyTorch raises for an op whose shape depends on values. Programs name it to catch it."""


@_no_fakes
class FakeTensor(Tensor):
    """A tensor with a device and no values. There are none."""


@_no_fakes
class FakeTensorMode:
    """Makes tensors fake. There are none."""


def is_fake(x: Any) -> bool:
    """Whether a tensor is a fake one, which none is."""
    return isinstance(x, FakeTensor)
