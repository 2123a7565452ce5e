"""The error of checkpoints: which processes have failed, and how."""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Raised on all processes where some of them fail to save or to load: `failures` has the errors by rank."""

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self.failures = failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self.failures.keys()}\n"
        for rank, (error, frames) in self.failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(frames)) + "".join(traceback.format_exception_only(type(error), error))
        return text
