"""How a process finds the others that it is to work with, and becomes one rank of their MPI job.

1. One process needs nothing.
2. What an MPI launcher has started, or `python -m adjoint launch`, which uses one, is a job already.
3. What those of a job have started in the place of lost ones (`elastic`) joins them.
4. Processes that were started otherwise (`multiprocessing.spawn`, a shell) know a store and their ranks; `_places.py` makes a job of them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta

import numpy as np

from . import _mpi
from ._stores import HashStore, Store, TCPStore, rendezvous
from ._transport import Alone, Transport

JOINS = "ADJOINT_ELASTIC_JOINS"  # of a process that was started to join others: how many had been started before
START = timedelta(minutes=2)  # what a process may need to start, even where timeouts are short


def join(init_method: str | None, rank: int, size: int, store: Store | None, timeout: timedelta) -> tuple[Transport, Store]:
    """The transport of all processes and their store. What is -1 or None is in the environment."""
    if JOINS in os.environ:
        from ._ulfm import join

        with starting(max(timeout, START)):
            transport: Transport = join()
        return transport, shared_store(transport)
    started = _mpi.launched() or (None, None)
    if store is None and (init_method is None or init_method.startswith("env://")):
        rank, size = _number(rank, "RANK", started[0]), _number(size, "WORLD_SIZE", started[1])
    if size == 1:
        return Alone(), store or HashStore()
    if store is None and (init_method is not None or started[0] is None or {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys()):
        store, rank, size = next(iter(rendezvous(init_method or "env://", rank, size, timeout=timeout)))
    if started[1] in (None, 1) and size > 1:
        from ._places import borrow

        if _mpi.begun():
            raise RuntimeError(
                f"this process is to be rank {rank} of {size}, but MPI was started in it before, as a program of one process (something "
                "has imported mpi4py.MPI, as Lightning does to look for a cluster), and it cannot be started again; start the program with "
                f"`python -m adjoint launch --nproc-per-node {size} program.py`"
            )
        assert store is not None
        borrow(store, rank, size, timeout)
    with starting(timeout):
        transport = _mpi.world()
    if (transport.rank, transport.size) != (rank, size):
        raise RuntimeError(
            f"this process is to be rank {rank} of {size}, but was started as rank {transport.rank} of {transport.size}; "
            f"start the program with `python -m adjoint launch --nproc-per-node {size} program.py`"
        )
    return transport, store or shared_store(transport)


def starting(timeout: timedelta) -> AbstractContextManager[None]:
    """A `with` block that starts MPI."""
    from . import _store_server, _watchdog

    _store_server.answer_all()  # starting MPI keeps the interpreter: nobody who still waits for the store in this process would come
    return _watchdog.starting(timeout)


def _number(given: int, variable: str, started: int | None) -> int:
    """A rank or a number of ranks: as given, or as the environment says, or as MPI's launcher does."""
    if given >= 0:
        return given
    if variable in os.environ:
        return int(os.environ[variable])
    if started is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} expected, but not set; "
            "start the program with `python -m adjoint launch`, or write init_process_group('gloo', rank=0, world_size=1)"
        )
    return started


class _AtFirstUse(Store):
    """A store that is connected to when somebody uses it: few programs do."""

    def __init__(self, make: Callable[[], Store]) -> None:
        self._make = make
        self._made: Store | None = None

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        if self._made is None:
            self._made = self._make()
        return self._made._ask(operation, keys, values, timeout)

    def clone(self) -> Store:
        return self._make()


def shared_store(transport: Transport) -> Store:
    """A store of processes that know of none: the first one keeps it, and tells the others where."""
    own = TCPStore("127.0.0.1", 0, is_master=True) if transport.rank == 0 else None
    address = np.zeros(256, np.uint8)
    if own is not None:
        text = f"{socket.gethostname()}:{own.port}".encode()
        address[: len(text)] = np.frombuffer(text, np.uint8)
    transport.broadcast(address, 0)
    if own is not None:
        return own
    host, port = address.tobytes().rstrip(b"\0").decode().rsplit(":", 1)
    return _AtFirstUse(lambda: TCPStore("127.0.0.1" if host == socket.gethostname() else host, int(port)))
