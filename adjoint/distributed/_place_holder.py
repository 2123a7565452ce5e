"""What `mpiexec` starts in the place of a process that it cannot start: see `_places.py`. It loads nothing of adjoint's."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

PREFIXES = ("PMIX_", "OMPI_", "PRTE_", "PMI_")  # of the variables that make a process a rank


def main() -> int:
    """Give the place away, and wait: 0 if the process has left as it should, 1 if it has gone or `mpiexec` has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMIX_RANK"])
    process = json.loads(os.environ["ADJOINT_PLACES"])[rank]
    environment = {name: value for name, value in os.environ.items() if name.startswith(PREFIXES)}
    with socket.create_connection(("127.0.0.1", process["port"])) as connection:
        connection.sendall(json.dumps({"token": process["token"], "environment": environment}).encode() + b"\n")
        watched: list[int] = [connection.fileno()]
        if hasattr(os, "pidfd_open"):  # a process that it has forked may keep the connection open
            watched.append(os.pidfd_open(process["pid"]))
        while True:
            ready, _, _ = select.select(watched, [], [], 0.2)
            if connection.fileno() in ready:
                return 0 if connection.recv(1) else 1
            if ready or os.getppid() != parent:
                return 1


if __name__ == "__main__":
    sys.exit(main())
