"""What the ranks of a job print, and how they end, as the launcher hears it.

Each rank has three connections (see `_rank`): stdout, stderr, and one for facts. Lines are shown whole, in the order in which they come,
marked with their rank where there are several. From the moment that a rank has failed until its output is complete, what others say waits:
the first thing to read is the traceback of the rank that failed first.
"""

from __future__ import annotations

import json
import secrets
import selectors
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import IO, Any

from ._rank import CONTROL, STDERR, STDOUT

PREFIX = "[rank${rank}]:"
NAMES = {STDOUT: "stdout", STDERR: "stderr"}


@dataclass
class Rank:
    """What is known of one rank."""

    rank: int
    local_rank: int = 0
    host: str = ""
    pid: int = 0
    code: int | None = None  # None: it has not said how it ended
    error: str = ""
    line: str = ""
    gone: bool = False
    open: set[str] = field(default_factory=set)  # its streams that are not at their end


@dataclass
class Showing:
    """Which lines go where."""

    prefix: str | None = None  # a template; None for no prefix
    role: str = "default"
    shown: Callable[[int, str], bool] = lambda local_rank, stream: True  # whether a stream is shown here
    kept: Callable[[int, str], Path | None] = lambda local_rank, stream: None  # the file that it goes to as well


class Outputs:
    """The ranks' connections."""

    def __init__(self, showing: Showing, everywhere: bool) -> None:
        self.ranks: dict[int, Rank] = {}
        self.failed: list[int] = []  # ranks, in the order in which they failed
        self.gone: list[int] = []  # ranks, in the order in which they ended
        self.token = secrets.token_hex(8)
        self._showing = showing
        self._files: dict[Path, IO[bytes]] = {}
        self._held: list[tuple[str, bytes]] = []
        self._select = selectors.DefaultSelector()
        family = socket.AF_INET6 if everywhere and socket.has_dualstack_ipv6() else socket.AF_INET
        self._listening = socket.create_server(
            ("" if everywhere else "127.0.0.1", 0), family=family, backlog=1024, dualstack_ipv6=family == socket.AF_INET6
        )
        self.port: int = self._listening.getsockname()[1]
        self._select.register(self._listening, selectors.EVENT_READ, self._accept)

    # ---- connections ------------------------------------------------------------------------------------------------------------

    def listen(self, seconds: float) -> bool:
        """Hear what is said within some time. False if nothing was."""
        events = self._select.select(seconds)
        for key, _ in events:
            key.data()
        return bool(events)

    def also(self, pipe: int, callback: Callable[[], None]) -> None:
        """Listen to something else too."""
        self._select.register(pipe, selectors.EVENT_READ, callback)

    def no_longer(self, what: Any) -> None:
        self._select.unregister(what)

    def _accept(self) -> None:
        connection, _ = self._listening.accept()
        connection.setblocking(False)
        hello = bytearray()
        self._select.register(connection, selectors.EVENT_READ, lambda: self._greet(connection, hello))

    def _greet(self, connection: socket.socket, hello: bytearray) -> None:
        """Who is this? One line says it; what follows it is output."""
        data = _received(connection)
        hello += data
        line, newline, rest = hello.partition(b"\n")
        if data and not newline and len(hello) < 200:
            return
        match line.decode(errors="replace").split():
            case [self.token, number, local, (("1" | "2" | "control") as stream)] if number.isdigit() and local.isdigit():
                rank = self.ranks.setdefault(int(number), Rank(int(number), int(local)))
            case _:  # a stranger
                self._forget(connection)
                return
        rank.open.add(stream)
        pending = bytearray(rest)
        hear = self._facts if stream == CONTROL else self._lines
        self._select.modify(connection, selectors.EVENT_READ, lambda: self._hear(connection, rank, stream, pending, hear))
        hear(rank, stream, pending)

    def _hear(
        self, connection: socket.socket, rank: Rank, stream: str, pending: bytearray, hear: Callable[[Rank, str, bytearray], None]
    ) -> None:
        data = _received(connection)
        pending += data
        if not data:
            self._forget(connection)
            rank.open.discard(stream)
            if pending:
                pending += b"\n"  # the line that was never ended
        hear(rank, stream, pending)
        if not data and stream == CONTROL:
            rank.gone = True
            self.gone.append(rank.rank)
        self._release()

    def _forget(self, connection: socket.socket) -> None:
        self._select.unregister(connection)
        connection.close()

    # ---- what they say ----------------------------------------------------------------------------------------------------------

    def _facts(self, rank: Rank, stream: str, pending: bytearray) -> None:
        for line in _whole_lines(pending):
            with suppress(ValueError):
                for name, value in json.loads(line).items():
                    setattr(rank, name, value)
        if rank.code and rank.rank not in self.failed:
            self.failed.append(rank.rank)

    def _lines(self, rank: Rank, stream: str, pending: bytearray) -> None:
        path = self._showing.kept(rank.local_rank, stream)
        shown = self._showing.shown(rank.local_rank, stream)
        for line in _whole_lines(pending):
            if path is not None:
                self._file(path).write(line)
            if shown:
                self._show(rank, stream, line)

    def _file(self, path: Path) -> IO[bytes]:
        if path not in self._files:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._files[path] = path.open("ab", buffering=0)
        return self._files[path]

    def _show(self, rank: Rank, stream: str, line: bytes) -> None:
        marked = self._prefix(rank) + line
        if self._waiting() and rank.rank != self.failed[0]:
            self._held.append((stream, marked))
        else:
            _write(stream, marked)

    def _prefix(self, rank: Rank) -> bytes:
        if not self._showing.prefix:
            return b""
        facts = {"rank": rank.rank, "local_rank": rank.local_rank, "role_name": self._showing.role}
        return Template(self._showing.prefix).safe_substitute(facts).encode() + b" "

    def _waiting(self) -> bool:
        """Whether the rank that failed first may still say something."""
        return bool(self.failed) and bool(self.ranks[self.failed[0]].open & {STDOUT, STDERR})

    def _release(self, now: bool = False) -> None:
        if self._held and (now or not self._waiting()):
            held, self._held = self._held, []
            for stream, line in held:
                _write(stream, line)

    def ended(self, size: int) -> bool:
        """Whether all programs have ended, and one as it should."""
        ranks = self.ranks.values()
        return len(ranks) >= size and all(rank.gone or rank.code is not None for rank in ranks) and any(rank.code == 0 for rank in ranks)

    def complete(self, seconds: float) -> None:
        """All processes have ended: hear what is left. A process that a rank has started may hold a stream open for longer than that."""
        deadline = time.monotonic() + seconds
        while any(rank.open for rank in self.ranks.values()) and time.monotonic() < deadline:
            self.listen(0.05)
        while self.listen(0):
            pass

    def close(self) -> None:
        self._release(now=True)
        for key in list(self._select.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._select.close()
        for file in self._files.values():
            file.close()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except OSError:  # a process that was killed with something unread
        return b""


def _whole_lines(pending: bytearray) -> list[bytes]:
    """Take the lines that are complete, those of progress bars too, which go back to their start."""
    end = max(pending.rfind(b"\n"), pending.rfind(b"\r", 0, -1)) + 1  # a \r at the end may be half of \r\n
    lines = bytes(pending[:end]).splitlines(keepends=True) if end else []
    del pending[:end]
    return lines


def _write(stream: str, line: bytes) -> None:
    target = sys.stdout if stream == STDOUT else sys.stderr
    if hasattr(target, "buffer"):
        target.buffer.write(line)  # whatever the encoding here is
    else:
        target.write(line.decode(errors="replace"))
    target.flush()


def streams(text: str, ranks: int) -> Mapping[int, set[str]]:
    """Which streams of which local ranks `--redirects` or `--tee` names: "3" both of all, "0:1,1:2" stdout of 0 and stderr of 1."""
    kinds: dict[str, set[str]] = {"0": set(), "1": {STDOUT}, "2": {STDERR}, "3": {STDOUT, STDERR}}
    chosen: dict[int, set[str]] = {}
    if text in kinds:
        return {i: kinds[text] for i in range(ranks)}
    for part in text.split(","):
        rank, _, kind = part.strip().partition(":")
        if not rank.isdigit() or kind not in kinds:
            raise ValueError(
                f"{text!r} names no streams; write 0 for none, 1 for stdout, 2 for stderr, 3 for both, or 0:1,1:3 for ranks on their own"
            )
        chosen[int(rank)] = kinds[kind]
    return chosen
