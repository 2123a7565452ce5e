"""Going on without those that were lost: Open MPI's fault tolerance, by the name ULFM. `mpiexec --with-ft ulfm` turns it on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from . import _mpi
from ._joining import JOINS
from ._mpi import Mpi
from ._transport import Transport

_started = [int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))]


def enabled() -> bool:
    """Whether the end of a process leaves the others running."""
    return os.environ.get("OMPI_MCA_mpi_ft_enable") == "1"


def lost(error: BaseException | None) -> bool:
    """Whether an error, or one behind it, says that a process is gone, or that another process has seen one go."""
    mpi = _mpi.library()
    classes = (mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING, mpi.ERR_REVOKED)
    while error is not None:
        if isinstance(error, mpi.Exception) and error.Get_error_class() in classes:
            return True
        error = error.__cause__ or error.__context__
    return False


def revoke(transports: Iterable[Transport]) -> None:
    """Make every communication fail, on all processes: those that wait for somebody who does not come wake up."""
    for one in transports:
        if isinstance(one, Mpi) and not one._communicator.Is_revoked():
            one._communicator.Revoke()


def shrink(transport: Transport) -> Mpi:
    """The processes that are left, in their order."""
    assert isinstance(transport, Mpi)
    return _returning(transport._communicator.Shrink())


def agreed(transport: Transport, well: bool) -> bool:
    """Whether it went well everywhere: the same answer on all processes, even when some are lost meanwhile."""
    assert isinstance(transport, Mpi)
    try:
        return bool(transport._communicator.Agree(int(well)))
    except _mpi.library().Exception:
        return False


def grow(transport: Transport, count: int) -> Mpi:
    """Start more processes, which run the program from its start and come last. They have to call `join`."""
    assert isinstance(transport, Mpi)
    info = _mpi.library().Info.Create()
    info["PMIX_ENVAR"] = f"{JOINS}={_started[0]}"
    _started[0] += count
    between = transport._communicator.Spawn(sys.orig_argv[0], sys.orig_argv[1:], maxprocs=count, info=info)
    return _returning(between.Merge(False))


def join() -> Mpi:
    """The processes that have started this one, and itself."""
    mpi = _mpi.library()
    _started[0] = int(os.environ[JOINS]) + mpi.COMM_WORLD.Get_size()
    joined = _returning(mpi.Comm.Get_parent().Merge(True))
    os.environ.update(RANK=str(joined.rank), WORLD_SIZE=str(joined.size))
    return joined


def _returning(communicator: object) -> Mpi:
    made = Mpi(communicator)
    made._communicator.Set_errhandler(_mpi.library().ERRORS_RETURN)  # as exceptions, where the default is to end everything
    return made
