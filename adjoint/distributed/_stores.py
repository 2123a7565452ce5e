"""Stores: what processes know of each other before they can talk. Each is a table of bytes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

DEFAULT_TIMEOUT = timedelta(minutes=30)


class Store:
    """A table of bytes by names. This one is seen by this process only."""

    def __init__(self) -> None:
        self._table: dict[str, bytes] = {}
        self.timeout = timedelta(minutes=5)

    def _read(self) -> dict[str, bytes]:
        return self._table

    def _write(self, table: dict[str, bytes]) -> None:
        self._table = table

    def set(self, key: str, value: str | bytes) -> None:
        self._write({**self._read(), key: _bytes(value)})

    def get(self, key: str) -> bytes:
        table = self._read()
        if key not in table:
            raise RuntimeError(f"wait timeout for the key {key!r}: nobody has set it, and there is one process")
        return table[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number and return it; a key that is not there begins at 0."""
        total = int(self._read().get(key, b"0")) + amount
        self.set(key, str(total))
        return total

    def append(self, key: str, value: str | bytes) -> None:
        self.set(key, self._read().get(key, b"") + _bytes(value))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a value if the present one is as expected, "" for none; return what is there then."""
        present = self._read().get(key, b"")
        if present == _bytes(expected_value):
            self.set(key, desired_value)
            return _bytes(desired_value)
        return present or _bytes(expected_value)

    def check(self, keys: Iterable[str]) -> bool:
        return all(key in self._read() for key in keys)

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until keys are there. Nobody else can set them, so missing ones are an error at once."""
        for key in keys:
            self.get(key)

    def delete_key(self, key: str) -> bool:
        table = dict(self._read())
        found = table.pop(key, None) is not None
        self._write(table)
        return found

    def num_keys(self) -> int:
        return len(self._read())

    def list_keys(self) -> list[str]:
        return list(self._read())

    def multi_get(self, keys: Iterable[str]) -> list[bytes]:
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Iterable[str], values: Iterable[str | bytes]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def set_timeout(self, timeout: timedelta) -> None:
        self.timeout = timeout


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """A store in memory."""


class FileStore(Store):
    """A store in a file."""

    def __init__(self, file_name: str | os.PathLike[str], world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)

    def _read(self) -> dict[str, bytes]:
        path = Path(self.path)
        return pickle.loads(path.read_bytes()) if path.exists() and path.stat().st_size else {}

    def _write(self, table: dict[str, bytes]) -> None:
        Path(self.path).write_bytes(pickle.dumps(table))


class TCPStore(Store):
    """A store that other processes would reach at a port. There is one process, so no port is opened."""

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False, timeout: timedelta = timedelta(minutes=5),
        wait_for_workers: bool = True, multi_tenant: bool = False, master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if world_size not in (None, 1):
            raise RuntimeError(f"TCPStore: adjoint runs a program in one process, not in {world_size}; write world_size=1")
        if not is_master:
            raise RuntimeError("TCPStore: adjoint runs a program in one process, which has to be the master; write is_master=True")
        self.host, self.port, self.timeout = host_name, port, timeout


class PrefixStore(Store):
    """Part of a store: its keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix, self.underlying_store = prefix, store

    def _read(self) -> dict[str, bytes]:
        start = f"{self.prefix}/"
        return {key.removeprefix(start): value for key, value in self.underlying_store._read().items() if key.startswith(start)}

    def _write(self, table: dict[str, bytes]) -> None:
        start = f"{self.prefix}/"
        others = {key: value for key, value in self.underlying_store._read().items() if not key.startswith(start)}
        self.underlying_store._write(others | {start + key: value for key, value in table.items()})


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Iterable[tuple[Store, int, int]]:
    """A store, and which of how many processes this one is."""
    yield HashStore(), max(rank, 0), max(world_size, 1)
