"""PyTorch's `torch.cpu`: the CPU as one device among others. It has one queue of work, which is always done."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._standing import inert
from ._streams import Event, Stream

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device",
    "stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


@inert("the CPU is the only one")
def set_device(device: Any) -> None:
    """Nothing happens."""


@inert("every operation is done on return")
def synchronize(device: Any = None) -> None:
    """Nothing happens."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    return _stream


@inert("there is one queue")
def stream(stream: Any) -> AbstractContextManager[None]:
    """Nothing happens inside the `with` block."""
    return nullcontext()


StreamContext = stream
