"""How values get from process to process. The collectives are written on these few methods; another transport is another class with them.

Values are NumPy arrays or objects that can be pickled. Ranks are those of the transport's own group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol


class Transport(Protocol):
    """What the collectives ask of a group's transport."""

    rank: int
    size: int

    def part(self, ranks: Sequence[int]) -> Transport | None:
        """The transport of some of the processes; None if this one is not among them."""

    def combine(self, value: Any, operation: str) -> Any:
        """The values of all processes, combined by SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR or BXOR."""

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, in their order."""

    def spread(self, value: Any, root: int) -> Any:
        """The value that process `root` gives."""

    def exchange(self, values: Sequence[Any]) -> list[Any]:
        """What each process gives this one: value i of `values` goes to process i."""

    def send(self, value: Any, rank: int, tag: int) -> None: ...

    def receive(self, rank: int | None, tag: int) -> tuple[int, Any]:
        """Who sent, and what."""

    def barrier(self) -> None:
        """Wait until all processes are here."""


class Alone:
    """The transport of one process: what it sends to all comes back to itself."""

    rank, size = 0, 1

    def part(self, ranks: Sequence[int]) -> Alone | None:
        return self if 0 in ranks else None

    def combine(self, value: Any, operation: str) -> Any:
        return value

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def spread(self, value: Any, root: int) -> Any:
        return value

    def exchange(self, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def send(self, value: Any, rank: int, tag: int) -> NoReturn:
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")

    def receive(self, rank: int | None, tag: int) -> NoReturn:
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")

    def barrier(self) -> None:
        pass
