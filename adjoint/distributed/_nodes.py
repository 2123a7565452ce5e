"""Machines that each run the launcher, as torchrun's users do: `--nnodes 2 --node-rank 1 --master-addr first` on the second of two.

They meet at a store that the first one keeps. It starts the job as it always does, by mpiexec; but where mpiexec would run ssh it runs this
module, which hands what is to be run to the launcher of that machine, through the store. No machine has to let others log in.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from ._errors import DistError
from ._launching import LaunchError, own_address
from ._stores import TCPStore

_AS_LONG_AS_IT_TAKES = timedelta(days=3650)


@dataclass
class Meeting:
    """Where the launchers meet, and which of how many this one is."""

    host: str
    port: int
    nodes: int
    number: int | None  # None: in the order in which they come, the first being the one whose address it is
    timeout: timedelta

    @property
    def first(self) -> bool:
        return _is_own(self.host) if self.number is None else self.number == 0

    def lead(self, start: Callable[[list[str], str], int]) -> None:
        """Start the job, once all machines are there, with their addresses and what to use in the place of ssh."""
        store = TCPStore(self.host, self.port, is_master=True, timeout=self.timeout)
        store.set("node/0", own_address([self.host]))
        code = 1
        try:
            hosts = [address.decode() for address in store.multi_get([f"node/{i}" for i in range(self.nodes)])]
        except DistError:
            missing = [i for i in range(self.nodes) if not store.check([f"node/{i}"])]
            raise LaunchError(
                f"after {self.timeout.total_seconds():g} s there is no launcher of node {', '.join(map(str, missing))}: start it there "
                "with the same arguments and its own --node-rank, or wait longer with --rdzv-conf join_timeout=SECONDS"
            ) from None
        try:
            code = start(hosts, f"{sys.executable} -m {__name__} {self.host} {self.port}")
        finally:
            for i in range(1, self.nodes):
                store.queue_push(f"commands/{i}", f"end {code}")
            with suppress(DistError):
                store.wait([f"left/{i}" for i in range(1, self.nodes)], timedelta(seconds=5))

    def follow(self) -> int:
        """Run what the first launcher wants to be run here, until it says that the job has ended; its exit code."""
        store = TCPStore(self.host, self.port, is_master=False, timeout=self.timeout)
        number = store.add("arrived", 1) if self.number is None else self.number
        if not 0 < number < self.nodes:
            raise LaunchError(f"there are {self.nodes} machines already, this would be node {number}; say how many with --nnodes")
        store.set(f"node/{number}", own_address([self.host]))
        store.set_timeout(_AS_LONG_AS_IT_TAKES)
        running: list[subprocess.Popen[bytes]] = []
        try:
            while True:
                word, _, rest = store.queue_pop(f"commands/{number}").decode().partition(" ")
                if word == "end":
                    store.set(f"left/{number}", "")
                    return int(rest)
                started = subprocess.Popen(["sh", "-c", rest], stdin=subprocess.DEVNULL)
                running.append(started)
                threading.Thread(target=_tell_end, args=(started, store.clone(), number), daemon=True).start()
        except DistError:
            raise LaunchError(f"the launcher of node 0, at {self.host}, is gone; it says why") from None
        finally:
            for one in running:
                one.terminate()


def _tell_end(started: subprocess.Popen[bytes], store: TCPStore, number: int) -> None:
    with suppress(DistError):
        store.queue_push(f"ended/{number}", str(started.wait()))


def _is_own(host: str) -> bool:
    """Whether an address is this machine's."""
    try:
        with socket.socket() as probe:
            probe.bind((socket.gethostbyname(host), 0))
    except OSError:
        return False
    return True


def main(host: str, port: str, address: str, *command: str) -> int:
    """What `ssh ADDRESS COMMAND` would do."""
    store = TCPStore(host, int(port), is_master=False, timeout=_AS_LONG_AS_IT_TAKES)
    number, known = 1, ""
    while known != address:
        known = store.get(f"node/{number}").decode()
        number += 1
    store.queue_push(f"commands/{number - 1}", "run " + " ".join(command))
    return int(store.queue_pop(f"ended/{number - 1}"))


def meeting(host: str, port: int, nodes: int, number: int | None, options: Sequence[str]) -> Meeting:
    """`options` are those of --rdzv-conf, of which the time to wait for other machines is one."""
    said = dict(part.split("=", 1) for part in options)
    seconds = float(said.get("join_timeout") or said.get("timeout") or 600)
    return Meeting(host, port, nodes, number, timedelta(seconds=seconds))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
