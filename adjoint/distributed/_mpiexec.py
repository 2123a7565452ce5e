"""MPI's own launcher: where it is, and what it has to be told so that it starts any number of processes, at once, as anybody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

EXTRA = "pip install 'adjoint[mpi]'"

# What Open MPI reads; MPICH knows none of it and needs none of it.
_SETTINGS = {
    "OMPI_MCA_btl": "^ofi",  # looking for fabrics that it does not have takes a machine a second
    "OMPI_MCA_mtl": "^ofi",
    "OMPI_MCA_coll_libnbc_iallreduce_algorithm": "rabenseifner",  # what it takes itself sends everything log2(ranks) times, in place
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",  # more processes than cores, but a host's slots first: Open MPI 5
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # and 4
    "PRTE_MCA_hwloc_default_binding_policy": "none",  # a rank's threads may use other cores than its first: 5
    "OMPI_MCA_hwloc_base_binding_policy": "none",  # and 4
}
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpiexec() -> str:
    """Where the launcher is: beside this Python, as its wheel puts it, or on PATH, as a cluster has it."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(f"there is no mpiexec, neither beside {sys.executable} nor on PATH; install one with `{EXTRA}`")
    return found


def mpi_environment(ranks_here: int = 1) -> dict[str, str]:
    """What to add to the environment before MPI starts, where `ranks_here` processes share this machine. The user's own settings stay."""
    wanted = dict(_SETTINGS)
    if ranks_here >= (os.cpu_count() or 1):
        wanted["OMPI_MCA_mpi_yield_when_idle"] = "1"  # who waits leaves the core to those that are waited for
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        wanted |= _AS_ROOT
    return {name: value for name, value in wanted.items() if name not in os.environ}


def is_open_mpi() -> bool:
    """Whether the launcher is Open MPI's; the other one is MPICH's, and its kin's. They name options differently."""
    said = subprocess.run([mpiexec(), "--version"], capture_output=True, text=True, check=False, env={**os.environ, **mpi_environment()})
    return "HYDRA" not in said.stdout
