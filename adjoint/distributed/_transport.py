"""How values get from process to process. The collectives are written on these few methods; another transport is another class with them.

Values are C-contiguous NumPy arrays, which are read and written where they lie: neither copied nor pickled. Ranks are those of the
transport's own group. Every communication is done on return, or goes on if it is to be done `later`, and then the result is a `Pending`.
Who calls keeps the arrays alive, and leaves them alone, until it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol


class Pending(Protocol):
    """A communication that goes on. The names are those of MPI's requests."""

    def Test(self) -> bool:
        """Whether it is done. To ask makes it go on."""

    def Wait(self) -> Any:
        """Wait until it is."""

    def Cancel(self) -> None:
        """Give up a message that has not come."""


class Transport(Protocol):
    """What the collectives ask of a group's transport. `operation` is SUM, PRODUCT, MIN, MAX, BAND, BOR or BXOR."""

    rank: int
    size: int

    def part(self, ranks: Sequence[int]) -> Transport | None:
        """The transport of some of the processes, in that order; None if this one is not among them. Only they have to call it."""

    def all_reduce(self, array: Any, operation: str, later: bool = False) -> Pending | None:
        """Combine the arrays of all processes, in place. All of them get the same bits."""

    def reduce(self, array: Any, operation: str, root: int, later: bool = False) -> Pending | None:
        """The same in process `root`; the arrays of the others stay."""

    def reduce_scatter(self, target: Any, array: Any, operation: str, later: bool = False) -> Pending | None:
        """Combine arrays that have a part for each process; `target` gets the one of this."""

    def broadcast(self, array: Any, root: int, later: bool = False) -> Pending | None:
        """Write the array of process `root` into that of each."""

    def all_gather(self, target: Any, array: Any, later: bool = False) -> Pending | None:
        """Write the arrays of all processes, one after the other, into `target`."""

    def gather(self, target: Any, array: Any, root: int, later: bool = False) -> Pending | None:
        """The same in process `root`; in the others `target` is None."""

    def scatter(self, target: Any, array: Any, root: int, later: bool = False) -> Pending | None:
        """Write into `target` this process's part of the array of process `root`; in the others `array` is None."""

    def all_to_all(
        self, target: Any, target_counts: Sequence[int], array: Any, counts: Sequence[int], later: bool = False
    ) -> Pending | None:
        """Send to process i its part of `array`, and write what comes from it into its part of `target`; the counts are of elements."""

    def send(self, array: Any, rank: int, tag: int, later: bool = False) -> Pending | None: ...

    def receive(self, array: Any, rank: int | None, tag: int, later: bool = False) -> Any:
        """Write what process `rank` sends, anyone if it is None, into `array`; the sender's rank, if it is done."""

    def barrier(self, later: bool = False) -> Pending | None:
        """Wait until all processes are here."""

    def free(self) -> None:
        """Nothing more will be communicated."""


class Alone:
    """The transport of one process: what it sends to all comes back to itself, at once."""

    rank, size = 0, 1

    def part(self, ranks: Sequence[int]) -> Alone | None:
        return self if 0 in ranks else None

    def all_reduce(self, array: Any, operation: str, later: bool = False) -> None:
        pass

    def reduce(self, array: Any, operation: str, root: int, later: bool = False) -> None:
        pass

    def reduce_scatter(self, target: Any, array: Any, operation: str, later: bool = False) -> None:
        target.reshape(-1)[:] = array.reshape(-1)

    def broadcast(self, array: Any, root: int, later: bool = False) -> None:
        pass

    def all_gather(self, target: Any, array: Any, later: bool = False) -> None:
        target.reshape(-1)[:] = array.reshape(-1)

    def gather(self, target: Any, array: Any, root: int, later: bool = False) -> None:
        target.reshape(-1)[:] = array.reshape(-1)

    def scatter(self, target: Any, array: Any, root: int, later: bool = False) -> None:
        target.reshape(-1)[:] = array.reshape(-1)

    def all_to_all(
        self, target: Any, target_counts: Sequence[int], array: Any, counts: Sequence[int], later: bool = False
    ) -> None:  # fmt: skip
        target.reshape(-1)[:] = array.reshape(-1)

    def send(self, array: Any, rank: int, tag: int, later: bool = False) -> NoReturn:
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")

    def receive(self, array: Any, rank: int | None, tag: int, later: bool = False) -> NoReturn:
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")

    def barrier(self, later: bool = False) -> None:
        pass

    def free(self) -> None:
        pass
