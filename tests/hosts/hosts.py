"""Two hosts on one machine: network namespaces with a cable between them, names of their own, and an `ssh` between them.

Root's business. `./dev hosts` runs the tests that need it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.distributed.ranks import MARK, Job, finish

ADDRESSES = ("10.77.19.1", "10.77.19.2")

# Like the real one it brings no environment along, but for the mark by which what was left running is found.
_SSH = """\
#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case $1 in
{cases}
    *) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255 ;;
esac
shift
exec ip netns exec "$namespace" env -i PATH="$PATH" HOME="$HOME" {mark}="${mark}" unshare --uts sh -c "hostname $namespace; $*"
"""


@dataclass(frozen=True)
class Hosts:
    """Two hosts. Their addresses are `ADDRESSES`."""

    names: tuple[str, str]
    folder: Path

    def run(self, number: int, *command: str, timeout: float = 90, env: Mapping[str, str] | None = None) -> Job:
        """Run a command on one of the hosts; when it has ended, or has not in time, no process is left on either."""
        name = self.names[number]
        there = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh"]
        path = os.pathsep.join([str(self.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
        return finish([*there, *command], timeout, {"PATH": path, **(env or {})}, self.folder)


@contextmanager
def two_hosts(folder: Path) -> Iterator[Hosts]:
    """Make the hosts; `folder` is where their files go."""
    names = tuple(f"adjoint{os.getpid()}{letter}" for letter in "ab")
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", "eth0", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", names[1])
        for name, address in zip(names, ADDRESSES, strict=True):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", "eth0", "up")
        cases = "\n".join(f"    {address} | {name}) namespace={name} ;;" for name, address in zip(names, ADDRESSES, strict=True))
        ssh = folder / "ssh"
        ssh.write_text(_SSH.format(cases=cases, mark=MARK), encoding="utf-8")
        ssh.chmod(0o755)
        yield Hosts((names[0], names[1]), folder)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}; two hosts on one machine need root and iproute2")


def program(folder: Path, text: str) -> str:
    """The file of a program, which both hosts see, as on a cluster's shared disk."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)
