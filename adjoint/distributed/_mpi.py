"""The transport of several processes: MPI, through mpi4py. The only module that imports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ._mpiexec import EXTRA, mpi_environment, mpiexec
from ._transport import Transport

LIMIT = 2**31 - 1  # elements: MPI counts them in 32 bits. What is longer goes piece by piece, and is done on return.

# What each launcher tells the processes that it starts: their rank, and how many they are.
_LAUNCHERS = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"))


def launched() -> tuple[int, int] | None:
    """This process's rank and the number of processes, if an MPI launcher has started it."""
    for rank, size in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return None


def begun() -> bool:
    """Whether MPI has been started in this process, by whomever."""
    module = sys.modules.get("mpi4py.MPI")
    return module is not None and bool(module.Is_initialized())


def available() -> bool:
    """Whether several processes can talk: mpi4py is here, and an MPI library with it, which to load would start it."""
    if find_spec("mpi4py") is None:
        return False
    try:
        return launched() is not None or bool(mpiexec())
    except RuntimeError:
        return False


def library() -> Any:
    """mpi4py's module. To import it starts MPI."""
    os.environ.update(mpi_environment(int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1"))))
    try:
        if os.environ.get("OMPI_MCA_mpi_ft_enable") == "1":
            import mpi4py

            mpi4py.rc.finalize = False  # MPI's end waits for lost processes too
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(f"several processes talk to each other by MPI, which could not be loaded ({error}); run `{EXTRA}`") from None
    return MPI


def world() -> Mpi:
    """The processes that the launcher has started together. What they say to each other here meets no message of an earlier world."""
    return Mpi(library().COMM_WORLD.Dup())


def abort(code: int) -> None:
    """End all processes that the launcher has started together."""
    library().COMM_WORLD.Abort(code)


def _known(array: Any) -> Any:
    """The array as MPI can move it: types that NumPy itself does not have are so many bytes."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")


_PART = 2 << 20  # bytes for each process, of a huge array in one call: more do not fit into its cache, and take new memory in every call


class Mpi(Transport):
    """An MPI communicator."""

    def __init__(self, communicator: Any) -> None:
        self._mpi = mpi = library()
        self._communicator = communicator
        self._operations = {"SUM": mpi.SUM, "PRODUCT": mpi.PROD, "MIN": mpi.MIN, "MAX": mpi.MAX,
                            "BAND": mpi.BAND, "BOR": mpi.BOR, "BXOR": mpi.BXOR}  # fmt: skip
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()

    def part(self, ranks: Sequence[int]) -> Mpi | None:
        if self.rank not in ranks:
            return None
        return Mpi(self._communicator.Create_group(self._communicator.Get_group().Incl(ranks)))

    def _call(self, name: str, later: bool) -> Any:
        """MPI's function of a name; what goes on `later` is begun by Iallreduce and the like, which give back a request."""
        return getattr(self._communicator, f"I{name.lower()}" if later else name)

    def all_reduce(self, array: Any, operation: str, later: bool = False) -> Any:
        most = LIMIT if later else min(LIMIT, _PART * self.size // array.itemsize)
        if array.size > most:
            return _each(lambda part: self.all_reduce(part, operation), array, most=most)
        return self._call("Allreduce", later)(self._mpi.IN_PLACE, array, self._operations[operation])

    def reduce(self, array: Any, operation: str, root: int, later: bool = False) -> Any:
        if array.size > LIMIT:
            return _each(lambda part: self.reduce(part, operation, root), array)
        source, target = (self._mpi.IN_PLACE, array) if self.rank == root else (array, None)
        return self._call("Reduce", later)(source, target, self._operations[operation], root)

    def reduce_scatter(self, target: Any, array: Any, operation: str, later: bool = False) -> Any:
        if target.size > LIMIT:
            return _each(lambda part, rows: self.reduce_scatter(part, rows.copy(), operation), target, array)
        return self._call("Reduce_scatter_block", later)(array, target, self._operations[operation])

    def broadcast(self, array: Any, root: int, later: bool = False) -> Any:
        if array.size > LIMIT:
            return _each(lambda part: self.broadcast(part, root), array)
        return self._call("Bcast", later)(_known(array), root)

    def all_gather(self, target: Any, array: Any, later: bool = False) -> Any:
        if array.size > LIMIT:
            return _each(lambda part, rows: _through_copy(rows, lambda copy: self.all_gather(copy, part)), array, target)
        own = _own(target, self.rank, self.size)
        source = self._mpi.IN_PLACE if own is not None and own == _address(array) else _known(array)
        return self._call("Allgather", later)(source, _known(target))

    def gather(self, target: Any, array: Any, root: int, later: bool = False) -> Any:
        if array.size > LIMIT:
            return _each(lambda part, rows: _through_copy(rows, lambda copy: self.gather(copy, part, root)), array, target)
        return self._call("Gather", later)(_known(array), None if target is None else _known(target), root)

    def scatter(self, target: Any, array: Any, root: int, later: bool = False) -> Any:
        if target.size > LIMIT:
            return _each(lambda part, rows: self.scatter(part, None if rows is None else rows.copy(), root), target, array)
        return self._call("Scatter", later)(None if array is None else _known(array), _known(target), root)

    def all_to_all(
        self, target: Any, target_counts: Sequence[int], array: Any, counts: Sequence[int], later: bool = False
    ) -> Any:  # fmt: skip
        return self._call("Alltoallv", later)([_known(array), list(counts)], [_known(target), list(target_counts)])

    def send(self, array: Any, rank: int, tag: int, later: bool = False) -> Any:
        if array.size > LIMIT:
            return _each(lambda part: self.send(part, rank, tag), array)
        return self._call("Send", later)(_known(array), rank, tag)

    def receive(self, array: Any, rank: int | None, tag: int, later: bool = False) -> Any:
        if array.size > LIMIT:
            flat = array.reshape(-1)
            sender = self.receive(flat[:LIMIT], rank, tag)
            _each(lambda part: self.receive(part, sender, tag), flat[LIMIT:])
            return None if later else sender
        source = self._mpi.ANY_SOURCE if rank is None else rank
        if later:
            return self._communicator.Irecv(_known(array), source, tag)
        status = self._mpi.Status()
        self._communicator.Recv(_known(array), source, tag, status)
        return status.Get_source()

    def barrier(self, later: bool = False) -> Any:
        return self._call("Barrier", later)()

    def free(self) -> None:
        if not self._mpi.Is_finalized():
            self._communicator.Free()


def _each(call: Callable[..., Any], array: Any, rows: Any = (), most: int | None = None) -> None:
    """Call for one piece of an array after the other, and the same columns of one that has as many rows as there are processes."""
    flat, length = array.reshape(-1), most or LIMIT
    for start in range(0, flat.size, length):
        piece = slice(start, start + length)
        if isinstance(rows, tuple):
            call(flat[piece])
        else:
            call(flat[piece], None if rows is None else rows.reshape(-1, flat.size)[:, piece])


def _through_copy(rows: Any, call: Callable[[Any], Any]) -> None:
    copy = None if rows is None else np.empty(rows.shape, rows.dtype)
    call(copy)
    if copy is not None:
        rows[...] = copy


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _own(target: Any, rank: int, size: int) -> int | None:
    """Where in `target` the part of this process lies: what is gathered may lie there already."""
    return _address(target) + rank * (target.nbytes // size) if target.nbytes else None
