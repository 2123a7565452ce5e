"""Training that goes on when ranks are lost (`_training.py`), and names of PyTorch's `torch.distributed.elastic`."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from ..._homes import settle
from ..._standing import inert

if TYPE_CHECKING:
    from ._training import Sampler as Sampler
    from ._training import State as State
    from ._training import run as run

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class ProcessFailure:
    """How a process ended."""

    local_rank: int
    pid: int
    exitcode: int  # below 0: the signal that ended it
    error_file: str
    message: str = ""
    line: str = ""  # of the user's program
    host: str = ""
    timestamp: int = field(default_factory=lambda: int(time.time()))

    def signal_name(self) -> str:
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"


class ChildFailedError(Exception):
    """A rank has failed, and all were ended. `failures` has the one that failed first, by its rank; it is empty if that is not known."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure], note: str = "") -> None:
        self.name, self.failures, self.note = name, failures, note
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        rank = min(self.failures, key=lambda rank: self.failures[rank].timestamp)
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        lines = [f"{self.name} FAILED"]
        if self.failures:
            rank, failure = self.get_first_failure()
            code = f"{failure.exitcode} ({failure.signal_name()})" if failure.exitcode < 0 else str(failure.exitcode)
            facts = {
                "host": failure.host, "rank": f"{rank} (local_rank: {failure.local_rank})", "exitcode": f"{code} (pid: {failure.pid})",
                "error": failure.message, "line": failure.line,
            }  # fmt: skip
            lines += ["Root Cause (first observed failure):", *(f"  {name:10}: {value}" for name, value in facts.items() if value)]
        return "\n".join(filter(None, [*lines, self.note]))


@inert("errors are shown where they happen")
def record(fn: F, error_handler: Any = None) -> F:
    """A function as it is."""
    return fn


settle(__name__, {"multiprocessing": ("",), "multiprocessing.errors": ("",)})


def __getattr__(name: str) -> Any:
    if name in ("Sampler", "State", "run"):  # the launcher, which knows the errors above, needs none of them
        return getattr(import_module("._training", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
