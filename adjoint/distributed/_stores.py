"""Stores: what processes know of each other before they can talk. Each is a table of bytes.

A request is an operation, keys and values; an answer is a list of bytes. `Table` carries requests out, one at a time, and everything else
is where it is: in this process (`HashStore`), behind a socket (`TCPStore`), or in a file that holds all requests made so far
(`FileStore`). A request that cannot be answered yet, such as `get` of a key that nobody has set, is tried again when something changes.
"""

from __future__ import annotations

import os
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from ._errors import DistStoreError, QueueEmptyError

DEFAULT_TIMEOUT = timedelta(minutes=30)
_STORE_TIMEOUT = timedelta(minutes=5)


class _NotYet(Exception):  # noqa: N818
    """Somebody else has to do something first."""


class Table:
    """Values and queues by keys, and what can be asked of them."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}

    def set(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        self.values.update(zip(keys, values, strict=True))
        return []

    def get(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        self.wait(keys, values)
        return [self.values[key] for key in keys]

    def wait(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        if not self._there(keys):
            raise _NotYet
        return []

    def check(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        return [b"1" if self._there(keys) else b"0"]

    def _there(self, keys: Sequence[str]) -> bool:
        return all(key in self.values or self.queues.get(key) for key in keys)

    def add(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        total = b"%d" % (int(self.values.get(keys[0], b"0")) + int(values[0]))
        self.values[keys[0]] = total
        return [total]

    def reach(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        """Wait until a number is as large as the one given."""
        if int(self.values.get(keys[0], b"0")) < int(values[0]):
            raise _NotYet
        return []

    def append(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        self.values[keys[0]] = self.values.get(keys[0], b"") + values[0]
        return []

    def compare_set(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        (key,), (expected, desired) = keys, values
        present = self.values.get(key, b"")
        if present == expected:
            self.values[key] = desired
            return [desired]
        return [self.values.get(key, expected)]

    def delete_key(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        return [b"0" if self.values.pop(keys[0], None) is None else b"1"]

    def num_keys(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        return [b"%d" % len(self.values)]

    def list_keys(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        """Those that begin with the prefix given, without it."""
        start = keys[0]
        return [key.removeprefix(start).encode() for key in self.values if key.startswith(start) and key not in _OWN_KEYS]

    def queue_push(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        self.queues.setdefault(keys[0], []).append(values[0])
        return []

    def queue_pop(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        queue = self.queues.get(keys[0])
        if not queue:
            if values[0] == b"wait":
                raise _NotYet
            raise QueueEmptyError("queue is empty")
        return [queue.pop(0)]

    def queue_len(self, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        return [b"%d" % len(self.queues.get(keys[0], ()))]


_ALL_HERE, _USERS = "init/", "refcount/"  # how many clients have come to a TCPStore, and how many processes use a FileStore
_OWN_KEYS = frozenset({_ALL_HERE, _USERS})
CHANGES = frozenset({"set", "add", "append", "compare_set", "delete_key", "queue_push", "queue_pop"})
OPERATIONS = CHANGES | {"get", "wait", "check", "reach", "num_keys", "list_keys", "queue_len"}


class Store:
    """A table of bytes by names, which several processes see. This is what all kinds of stores have in common."""

    _late = "Wait timeout"  # how the error begins of what does not happen in time
    _timeout = _STORE_TIMEOUT

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        name = f"{type(self).__name__}.{operation}"
        raise NotImplementedError(f"{name}: Store is what all stores have in common; make a HashStore or a TCPStore")

    def _do(self, operation: str, keys: Iterable[str] = (), *values: bytes, timeout: timedelta | None = None) -> list[bytes]:
        return self._ask(operation, list(keys), values, self.timeout if timeout is None else timeout)

    def set(self, key: str, value: str | bytes) -> None:
        self._do("set", [key], _bytes(value))

    def get(self, key: str) -> bytes:
        """The value, as soon as somebody has set it."""
        return self._do("get", [key])[0]

    def add(self, key: str, amount: int) -> int:
        """Add to a number and return it; a key that is not there begins at 0."""
        return int(self._do("add", [key], b"%d" % amount)[0])

    def append(self, key: str, value: str | bytes) -> None:
        self._do("append", [key], _bytes(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a value if the present one is as expected, "" for none; return what is there then."""
        return self._do("compare_set", [key], _bytes(expected_value), _bytes(desired_value))[0]

    def check(self, keys: Iterable[str]) -> bool:
        """Whether all keys are there."""
        return self._do("check", keys) == [b"1"]

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        self._do("wait", keys, timeout=timeout)

    def delete_key(self, key: str) -> bool:
        """Whether it was there."""
        return self._do("delete_key", [key]) == [b"1"]

    def num_keys(self) -> int:
        """How many there are; a TCPStore and a FileStore have one of their own."""
        return int(self._do("num_keys")[0])

    def list_keys(self) -> list[str]:
        return [key.decode() for key in self._do("list_keys", [""])]

    def multi_get(self, keys: Iterable[str]) -> list[bytes]:
        return self._do("get", keys)

    def multi_set(self, keys: Iterable[str], values: Iterable[str | bytes]) -> None:
        names, contents = list(keys), [_bytes(value) for value in values]
        if len(names) != len(contents):
            raise ValueError(f"multi_set: {len(names)} keys and {len(contents)} values; each key needs one")
        self._do("set", names, *contents)

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._do("queue_push", [key], _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The oldest value in a queue."""
        return self._do("queue_pop", [key], b"wait" if block else b"")[0]

    def queue_len(self, key: str) -> int:
        return int(self._do("queue_len", [key])[0])

    def has_extended_api(self) -> bool:
        """True: there are `append`, `multi_get`, `multi_set` and queues."""
        return True

    def clone(self) -> Store:
        """The same table, for another thread: who waits for one of them does not hold up the other."""
        return self

    @property
    def timeout(self) -> timedelta:
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """For how long what others have to do first is waited for."""
        self._timeout = timeout

    def _too_late(self, keys: Sequence[str], timeout: timedelta) -> DistStoreError:
        names = ", ".join(f"/{key}" for key in keys)
        return DistStoreError(
            f"{self._late} after {timeout // timedelta(milliseconds=1)}ms, keys: {names}. No process has set them; has the one that does "
            "ended, or does it wait itself?"
        )


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A store in memory, for the threads of one process."""

    def __init__(self) -> None:
        self._table = Table()
        self._changed = threading.Condition()

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        deadline = time.monotonic() + timeout.total_seconds()
        with self._changed:
            while True:
                try:
                    answer: list[bytes] = getattr(self._table, operation)(keys, values)
                except _NotYet:
                    if not self._changed.wait(max(deadline - time.monotonic(), 0)):
                        raise self._too_late(keys, timeout) from None
                    continue
                if operation in CHANGES:
                    self._changed.notify_all()
                return answer


class PrefixStore(Store):
    """Part of a store: its keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        return self.underlying_store._ask(operation, [f"{self.prefix}/{key}" for key in keys], values, timeout)

    def clone(self) -> PrefixStore:
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def timeout(self) -> timedelta:
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self.underlying_store.set_timeout(timeout)


# ---- requests as bytes --------------------------------------------------------------------------------------------------------------

_LENGTH = struct.Struct("<I")


def packed(parts: Sequence[bytes]) -> bytes:
    """How many parts there are, how long each is, and they themselves."""
    lengths = [len(parts), *map(len, parts)]
    return b"".join([*map(_LENGTH.pack, lengths), *parts])


def unpacked(read: Callable[[int], bytes]) -> list[bytes]:
    """What was packed; `read(n)` gives the next n bytes."""
    (count,) = _LENGTH.unpack(read(4))
    lengths = [size for (size,) in _LENGTH.iter_unpack(read(4 * count))]
    return [read(size) for size in lengths]


def request(operation: str, keys: Sequence[str], values: Sequence[bytes], *more: bytes) -> bytes:
    return packed([operation.encode(), b"%d" % len(keys), *map(str.encode, keys), *values, *more])


def requested(parts: Sequence[bytes]) -> tuple[str, list[str], list[bytes]]:
    operation, count = parts[0].decode(), int(parts[1])
    if operation not in OPERATIONS:
        raise ValueError(f"{operation!r} is nothing that a store can do")
    return operation, [key.decode() for key in parts[2 : 2 + count]], list(parts[2 + count :])


# ---- in a file ----------------------------------------------------------------------------------------------------------------------


class Log:
    """A table whose changes are in a file, in their order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._table = Table()
        self._known = 0  # bytes of the file that the table has seen
        self._one_at_a_time = threading.Lock()

    def carry_out(self, operation: str, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        with self._one_at_a_time, _opened(self.path) as file:
            self._catch_up(file)
            answer: list[bytes] = getattr(self._table, operation)(keys, values)
            if operation in CHANGES:
                self._known += file.write(request(operation, keys, values))
            return answer

    def _catch_up(self, file: IO[bytes]) -> None:
        """Make the changes that others have written; none is half written, because the file is locked."""
        size = file.seek(0, os.SEEK_END)
        file.seek(self._known)
        while self._known < size:
            operation, keys, values = requested(unpacked(file.read))
            getattr(self._table, operation)(keys, values)
            self._known = file.tell()

    def leave(self, world_size: int) -> None:
        """A process has no more use for the file. The last one of a known number takes it away."""
        with suppress(OSError):
            if Path(self.path).exists() and self.carry_out("add", [_USERS], [b"-1"]) == [b"0"] and world_size > 0:
                Path(self.path).unlink()


class FileStore(Store):
    """A store in a file, which all processes share that see it."""

    _POLL = 0.01  # seconds until the file is looked at again

    def __init__(self, file_name: str | os.PathLike[str], world_size: int = -1) -> None:
        self.path = os.fspath(file_name)
        self._world_size = world_size
        self._log = Log(self.path)
        self.add(_USERS, 1)
        weakref.finalize(self, self._log.leave, world_size)

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        deadline = time.monotonic() + timeout.total_seconds()
        while True:
            try:
                return self._log.carry_out(operation, keys, values)
            except _NotYet:
                if time.monotonic() >= deadline:
                    raise self._too_late(keys, timeout) from None
            time.sleep(self._POLL)

    def clone(self) -> FileStore:
        return FileStore(self.path, self._world_size)


class _opened:
    """A file that no other process reads or writes meanwhile."""

    def __init__(self, path: str) -> None:
        self.file: IO[bytes] = Path(path).open("a+b")  # written at its end, wherever it was read

    def __enter__(self) -> IO[bytes]:
        _lock(self.file)
        return self.file

    def __exit__(self, *error: object) -> None:
        self.file.close()  # which writes what is left, and gives the lock back


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt  # type: ignore[import-not-found,unused-ignore]

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        fcntl.flock(file, fcntl.LOCK_EX)


# ---- at a port ----------------------------------------------------------------------------------------------------------------------


class TCPStore(Store):
    """A store that one process, the master, keeps at a port for all.

    Without `world_size` nobody is waited for; with it, the master waits until so many have come.
    """

    _late = "wait timeout"

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False, timeout: timedelta = _STORE_TIMEOUT,
        wait_for_workers: bool = True, multi_tenant: bool = False, master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        from ._store_server import Client, serving

        if not 0 <= port < 65536:
            raise ValueError(f"TCPStore: port {port} is none; ports are 0 to 65535, and 0 is any free one of the master's")
        self.host, self._timeout, self.libuvBackend = host_name, timeout, use_libuv
        self._server = serving(port, multi_tenant, master_listen_fd) if is_master else None
        self.port = self._server.port if self._server else port
        self._client = Client(host_name, self.port, timeout)
        joined = self.add(_ALL_HERE, 1)
        if is_master and wait_for_workers and world_size is not None and joined < world_size:
            try:
                self._do("reach", [_ALL_HERE], b"%d" % world_size)
            except DistStoreError:
                joined = self.add(_ALL_HERE, 0)
                raise DistStoreError(
                    f"Timed out after {timeout.total_seconds():g} seconds waiting for clients. {joined}/{world_size} clients joined. Every "
                    f"process has to make TCPStore('{host_name}', {self.port}, {world_size}), one of them with is_master=True"
                ) from None

    def _ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        status, *answer = self._client.ask(operation, keys, values, timeout)
        match status:
            case b"late":
                raise self._too_late(keys, timeout)
            case b"empty":
                raise QueueEmptyError("queue is empty")
            case b"value":
                raise ValueError(answer[0].decode())
        return answer

    def clone(self) -> TCPStore:
        return TCPStore(self.host, self.port, None, False, self.timeout)

    def __repr__(self) -> str:
        return f"TCPStore(host={self.host!r}, port={self.port}, master={self._server is not None})"


# ---- who is where -------------------------------------------------------------------------------------------------------------------


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Iterator[tuple[Store, int, int]]:
    """A store that all processes share, and which of how many this one is. `url` is env://, tcp://HOST:PORT or file:///PATH."""
    from urllib.parse import parse_qsl, urlsplit

    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlsplit(url)
    said = dict(parse_qsl(parts.query))
    if parts.scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://; write env://, tcp://HOST:PORT or file:///PATH")

    def number(given: int, name: str) -> int:
        found = given if given >= 0 else said.get(name)
        if found is None and parts.scheme == "env":
            found = _from_environment(name.upper())
        if found is None:
            missing = name.replace("_", " ")
            raise ValueError(
                f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: {missing} parameter missing; write "
                f"init_process_group(init_method={url!r}, {name}=...)"
            )
        return int(found)

    rank, world_size = number(rank, "rank"), number(world_size, "world_size")
    timeout: timedelta = options.get("timeout", _STORE_TIMEOUT)
    if parts.scheme == "file":
        if not parts.path:
            raise ValueError(f"Error initializing torch.distributed using file:// rendezvous: path missing in {url!r}; write file:///PATH")
        store: Store = FileStore(parts.path, world_size)
        store.set_timeout(timeout)
        yield store, rank, world_size
    else:
        host = parts.hostname if parts.scheme == "tcp" else _from_environment("MASTER_ADDR")
        port = parts.port if parts.scheme == "tcp" else int(_from_environment("MASTER_PORT"))
        if not host or port is None:
            raise ValueError(f"Error initializing torch.distributed using tcp:// rendezvous: port number missing in {url!r}; write tcp://HOST:PORT")
        by_launcher = parts.scheme == "env" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        master = rank == 0 and not by_launcher
        yield TCPStore(host, port, world_size, master, timeout, multi_tenant=True), rank, world_size
    raise RuntimeError(f"Unable to perform rerendezvous using {parts.scheme}:// method")


def _from_environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set; start the "
            "program with `python -m adjoint launch`, or set it"
        )
    return os.environ[name]
