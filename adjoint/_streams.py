"""PyTorch's `torch.Stream` and `torch.Event`: queues of work, and marks in them. On the CPU every operation is done on return."""

from __future__ import annotations

import time
from typing import Any, Self

from ._device import require_usable, resolve
from ._standing import inert
from ._utils import _get_device_module


class Stream:
    """A queue of work of a device."""

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = require_usable(resolve(device))

    def query(self) -> bool:
        """True: nothing is left to do."""
        return True

    @inert("every operation is done on return")
    def synchronize(self) -> None:
        """Nothing happens."""

    @inert("every operation is done on return")
    def wait_event(self, event: Event) -> None:
        """Nothing happens."""

    @inert("every operation is done on return")
    def wait_stream(self, other: Stream) -> None:
        """Nothing happens."""

    def record_event(self, event: Event | None = None) -> Event:
        """Mark the present moment."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Event:
    """A mark in a queue: the moment at which it was recorded."""

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device = require_usable(resolve(device))
        self._moment: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self._moment = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another."""
        if self._moment is None or end_event._moment is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time: call event.record() first")
        return (end_event._moment - self._moment) * 1000.0

    def query(self) -> bool:
        """True: nothing is left to do before it."""
        return True

    @inert("every operation is done on return")
    def synchronize(self) -> None:
        """Nothing happens."""

    @inert("every operation is done on return")
    def wait(self, stream: Stream | None = None) -> None:
        """Nothing happens."""


def get_device_module(device: Any = None) -> Any:
    """The module of a device: `torch.cpu` for the CPU."""
    return _get_device_module(resolve(device).type)
