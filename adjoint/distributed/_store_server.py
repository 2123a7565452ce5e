"""The two ends of a TCPStore: a server in the master's process with a thread for each client, and the clients."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from ._errors import DistNetworkError, DistStoreError, QueueEmptyError
from ._stores import HashStore, packed, request, requested, unpacked

_RETRY = 0.02  # seconds until a master that is not there yet is looked for again
_GRACE = 30.0  # seconds that a server may take beyond the timeout it was told


class Server:
    """Answers requests at a port."""

    def __init__(self, port: int, listening: int | None = None) -> None:
        self._store = HashStore()
        self._socket = _listening(port) if listening is None else socket.socket(fileno=listening)
        self.port: int = self._socket.getsockname()[1]
        # The thread must not hold the server, which ends with the last store of this process that uses it.
        threading.Thread(target=_accept, args=(self._socket, self._store), name="TCPStore", daemon=True).start()
        weakref.finalize(self, _close, self._socket)


_shared: weakref.WeakValueDictionary[int, Server] = weakref.WeakValueDictionary()


def serving(port: int, shared: bool, listening: int | None) -> Server:
    """A server. One that is shared is used again by stores of this process that name its port."""
    if shared and (present := _shared.get(port)) is not None:
        return present
    server = Server(port, listening)
    if shared:
        _shared[server.port] = server
    return server


def _listening(port: int) -> socket.socket:
    try:
        if socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=True)
        return socket.create_server(("", port), backlog=1024)
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "")
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, code: -{error.errno}, name: {name}, "
            f"message: {os.strerror(error.errno or 0)}. Choose another port, or 0 for any that is free"
        ) from None


def _accept(listening: socket.socket, store: HashStore) -> None:
    with suppress(OSError):  # closed: the master needs no store any more
        while True:
            client, _ = listening.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_serve, args=(client, store), name="TCPStore client", daemon=True).start()


def _serve(client: socket.socket, store: HashStore) -> None:
    """Answer one client until it goes."""
    with client, suppress(OSError, ValueError):  # ValueError: who calls does not speak as our clients do
        while True:
            *parts, milliseconds = unpacked(_reader(client))
            operation, keys, values = requested(parts)
            _asking.add(client)
            try:
                client.sendall(packed(_answer(store, operation, keys, values, timedelta(milliseconds=int(milliseconds)))))
            finally:
                _asking.discard(client)


_asking: set[socket.socket] = set()  # the clients that have no answer yet


def answer_all(seconds: float = 1.0) -> None:
    """Wait until the clients of this process have their answers; some of them may ask for what will not be there for long."""
    deadline = time.monotonic() + seconds
    while _asking and time.monotonic() < deadline:
        time.sleep(0.001)


def _answer(store: HashStore, operation: str, keys: list[str], values: list[bytes], timeout: timedelta) -> list[bytes]:
    try:
        return [b"ok", *store._ask(operation, keys, values, timeout)]
    except QueueEmptyError:
        return [b"empty"]
    except DistStoreError:
        return [b"late"]
    except ValueError as error:
        return [b"value", str(error).encode()]


def _close(listening: socket.socket) -> None:
    with suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)  # which wakes who waits for clients
    listening.close()


class Client:
    """A connection to the server."""

    def __init__(self, host: str, port: int, timeout: timedelta) -> None:
        self._one_at_a_time = threading.Lock()
        self._socket = _connected(host, port, timeout)
        self._read = _reader(self._socket)
        weakref.finalize(self, self._socket.close)

    def ask(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: timedelta) -> list[bytes]:
        milliseconds = timeout // timedelta(milliseconds=1)
        message = request(operation, keys, values, b"%d" % milliseconds)
        with self._one_at_a_time:
            try:
                self._socket.settimeout(timeout.total_seconds() + _GRACE)
                self._socket.sendall(message)
                return unpacked(self._read)
            except OSError as error:
                self._socket.close()  # whose answer this would be is unknown from here on
                raise DistNetworkError(
                    f"{error}. Did the remote server shutdown or crash? The process that keeps the store has to end last"
                ) from None


def _connected(host: str, port: int, timeout: timedelta) -> socket.socket:
    """A connection, as soon as the master is there."""
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        left = deadline - time.monotonic()
        try:
            connection = socket.create_connection((host, port), max(left, 0.1))
        except OSError as error:
            if left <= _RETRY:
                milliseconds = timeout // timedelta(milliseconds=1)
                raise DistNetworkError(
                    f"The client socket has timed out after {milliseconds}ms while trying to connect to ({host}, {port}): {error}. Has the "
                    "process with is_master=True, which is rank 0, been started, and does MASTER_ADDR name its machine?"
                ) from None
            time.sleep(_RETRY)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def _reader(connection: socket.socket) -> Callable[[int], bytes]:
    def read(size: int) -> bytes:
        parts = []
        while size:
            part = connection.recv(min(size, 1 << 20))
            if not part:
                raise ConnectionError("Failed to recv, got 0 bytes. Connection was likely closed")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    return read
