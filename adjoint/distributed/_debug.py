"""A check that can be turned on: before each collective the processes compare what they are about to do, and where.

Different calls, types, shapes or roots would let them wait for ever, or mix up each other's memory. With ADJOINT_DISTRIBUTED_DEBUG=1 (or
PyTorch's TORCH_DISTRIBUTED_DEBUG=DETAIL) each of them gets an error instead that names two ranks, their lines, and the difference.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._tensor import Tensor

if TYPE_CHECKING:
    from ._work import Work

_LENGTH = 512  # bytes of a record: it has to be exchanged before anything is known of the others


class DebugLevel(Enum):
    """How much is checked and told."""

    OFF, INFO, DETAIL = range(3)


_level = [DebugLevel.OFF]


def get_debug_level() -> DebugLevel:
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """DETAIL compares what processes are about to do, before each collective."""
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level(): expected a DebugLevel, such as torch.distributed.DebugLevel.DETAIL, but got {level!r}")
    _level[0] = level


def set_debug_level_from_env() -> None:
    """The level that ADJOINT_DISTRIBUTED_DEBUG or TORCH_DISTRIBUTED_DEBUG says."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, not {word}")
    set_debug_level(DebugLevel.DETAIL if os.environ.get("ADJOINT_DISTRIBUTED_DEBUG", "0") not in ("", "0") else DebugLevel[word])


class Record(NamedTuple):
    """What a process is about to do, in words; in the order in which differences are told."""

    collective: str
    dtype: str
    shape: str
    op: str
    root: str
    async_op: str
    line: str

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in zip(self._fields[1:-1], self[1:-1], strict=True) if value]
        return f"{self.collective}({', '.join(named)}) in {self.line}"


class About(NamedTuple):
    """What all processes of a group have to agree on, besides the collective itself."""

    tensor: Tensor | None = None
    op: Any = None
    root: int | None = None
    shapes: bool = True  # whether the tensors have to have the same


def compare(work: Work, about: About, later: bool) -> None:
    """Raise in all processes of the group unless all of them are about to do the same."""
    if work.group is None or work.group.size() == 1:
        return
    record = Record(
        work.name,
        "" if about.tensor is None else str(about.tensor.dtype).removeprefix("torch."),
        "" if about.tensor is None or not about.shapes else str(tuple(about.tensor.shape)),
        "" if about.op is None else about.op.name,
        "" if about.root is None else str(about.root),
        str(later),
        str(work.site),
    )
    own, all_of_them = np.zeros(_LENGTH, np.uint8), np.empty((work.group.size(), _LENGTH), np.uint8)
    text = "\n".join(part.replace("\n", " ") for part in record).encode()[:_LENGTH]
    own[: len(text)] = np.frombuffer(text, np.uint8)
    work.group._transport.all_gather(all_of_them, own)
    records = [Record(*bytes(row).rstrip(b"\0").decode(errors="replace").split("\n")) for row in all_of_them]
    for rank, other in enumerate(records):
        if other[:-1] != records[0][:-1]:
            names = [name for name, a, b in zip(Record._fields[:-1], records[0], other, strict=False) if a != b]
            first, second = (work.group._ranks[number] for number in (0, rank))
            raise RuntimeError(
                f"Detected mismatch between collectives on ranks. Rank {first} is running collective: {records[0]}, but rank {second} is "
                f"running collective: {other}. They differ in: {', '.join(names)}. All processes of a group have to make the same calls in "
                "the same order."
            )


set_debug_level_from_env()
