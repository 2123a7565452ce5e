"""PyTorch's `torch.distributed.elastic`, which starts processes, and others where some fail. A program runs in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._homes import settle
from ..._standing import inert

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class ProcessFailure:
    """How a process ended."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    message: str = ""


class ChildFailedError(Exception):
    """A process that was started has failed. Programs name it in order to catch it."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        super().__init__(name, failures)
        self.name, self.failures = name, failures


@inert("errors are shown where they happen")
def record(fn: F, error_handler: Any = None) -> F:
    """A function as it is."""
    return fn


settle(__name__, {"multiprocessing": ("",), "multiprocessing.errors": ("",)})
