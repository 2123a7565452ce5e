"""Stores: the same operations in memory, in a file and at a port; by threads, and by processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from adjoint.distributed.distributed_c10d import rendezvous

from adjoint import distributed as dist
from adjoint.distributed import _stores

SOON = timedelta(milliseconds=50)


@pytest.fixture(params=["hash", "file", "tcp", "prefix", "prefix of tcp"])
def store(request, tmp_path):
    makers = {
        "hash": dist.HashStore,
        "file": lambda: dist.FileStore(str(tmp_path / "store"), 1),
        "tcp": lambda: dist.TCPStore("localhost", 0, 1, is_master=True),
        "prefix": lambda: dist.PrefixStore("p", dist.HashStore()),
        "prefix of tcp": lambda: dist.PrefixStore("p", dist.TCPStore("localhost", 0, None, True)),
    }
    return makers[request.param]()


def test_operations(store):
    own = store.num_keys()
    store.set("a", "b")
    store.set("bytes", b"\xff\0")
    assert store.get("a") == b"b" and store.get("bytes") == b"\xff\0"
    assert store.add("n", 3) == 3 and store.add("n", -5) == -2 and store.get("n") == b"-2"
    assert store.check(["a", "n"]) and store.check([]) and not store.check(["a", "z"])
    assert sorted(store.list_keys()) == ["a", "bytes", "n"] and store.num_keys() == own + 3
    assert store.compare_set("q", "", "v") == b"v" and store.compare_set("r", "x", "v") == b"x" and not store.check(["r"])
    assert store.compare_set("q", "w", "x") == b"v" and store.compare_set("q", "v", "w") == b"w" and store.compare_set("q", "", "y") == b"w"
    store.append("many", "x")
    store.append("many", b"y")
    assert store.get("many") == b"xy"
    store.multi_set(["m", "n"], ["1", b"2"])
    assert store.multi_get(["n", "m"]) == [b"2", b"1"] and store.multi_get([]) == []
    store.wait(["a", "m"])
    assert store.delete_key("a") and not store.delete_key("a") and not store.check(["a"])
    assert store.has_extended_api()


def test_queues(store):
    store.queue_push("queue", "1")
    store.queue_push("queue", b"2")
    assert store.queue_len("queue") == 2 and store.queue_pop("queue") == b"1" and store.check(["queue"])
    assert store.queue_pop("queue", block=False) == b"2" and store.queue_len("queue") == 0 and not store.check(["queue"])
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("queue", block=False)
    store.set_timeout(SOON)
    with pytest.raises(dist.DistStoreError, match=r"(?i)wait timeout after 50ms, keys: (/p)?/queue"):
        store.queue_pop("queue")


def test_what_nobody_sets(store):
    assert store.timeout == timedelta(minutes=5)
    store.set("a", "b")
    with pytest.raises(dist.DistStoreError, match=r"(?i)wait timeout after 50ms, keys: (/p)?/a, (/p)?/z"):
        store.wait(["a", "z"], SOON)
    store.set_timeout(SOON)
    assert store.timeout == SOON
    for call in (lambda: store.get("z"), lambda: store.multi_get(["a", "z"]), lambda: store.wait(["z"])):
        with pytest.raises(dist.DistStoreError, match=r"(?i)wait timeout after 50ms"):
            call()
    assert store.get("a") == b"b"  # and goes on


def test_wrong_arguments_change_nothing(store):
    store.set("a", "b")
    with pytest.raises(ValueError, match="b'b'"):
        store.add("a", 1)
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["a", "c"], ["x"])
    assert store.get("a") == b"b" and not store.check(["c"])


def test_who_waits_is_told(store):
    other = store.clone()
    got: list[bytes] = []
    waiting = threading.Thread(target=lambda: got.append(other.get("late")))
    waiting.start()
    store.set("late", "now")
    waiting.join(60)
    assert got == [b"now"]


def test_a_store_that_has_no_table():
    with pytest.raises(NotImplementedError, match="make a HashStore"):
        dist.Store().get("a")


# ---- processes ----------------------------------------------------------------------------------------------------------------------

COUNT = """
import sys
from datetime import timedelta
from adjoint import distributed as dist
kind, where, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = dist.FileStore(where, 4) if kind == "file" else dist.TCPStore("localhost", int(where), 4, False, timedelta(seconds=60))
for _ in range(100):
    store.add("count", 1)
    store.append(f"log {rank}", str(rank))
store.set(f"done {rank}", b"x" * 3_000_000)
store.wait(["go"])
"""


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_processes_share_it(kind, tmp_path):
    path = str(tmp_path / "store")
    listening = dist.TCPStore("localhost", 0, 4, True, wait_for_workers=False) if kind == "tcp" else dist.FileStore(path, 4)
    where = str(listening.port) if kind == "tcp" else path
    others = [subprocess.Popen([sys.executable, "-c", COUNT, kind, where, str(i)]) for i in range(3)]
    try:
        listening.wait([f"done {i}" for i in range(3)], timedelta(seconds=100))
        assert listening.get("count") == b"300" and listening.get("log 2") == b"2" * 100 and len(listening.get("done 1")) == 3_000_000
        listening.set("go", "")
        assert [other.wait(60) for other in others] == [0, 0, 0]
    finally:
        for other in others:
            other.kill()
            other.wait()
    del listening
    assert not (tmp_path / "store").exists()


def test_the_master_waits_for_workers():
    with pytest.raises(dist.DistStoreError, match=r"Timed out after 0\.05 seconds waiting for clients\. 1/2 clients joined"):
        dist.TCPStore("localhost", 0, 2, True, timeout=SOON)
    server = dist.TCPStore("localhost", 0, 2, True, wait_for_workers=False)
    client = dist.TCPStore("localhost", server.port, 2, False)
    assert server.num_keys() == 1 and client.port == server.port and client.host == "localhost"
    same = dist.TCPStore("localhost", server.port, is_master=False)
    same.set("a", "b")
    assert client.get("a") == b"b" and "localhost" in repr(client)


def test_ports_that_cannot_be():
    server = dist.TCPStore("localhost", 0, 1, True, multi_tenant=True)
    with pytest.raises(dist.DistNetworkError, match=r"The server socket has failed to listen on any local network address.*EADDRINUSE"):
        dist.TCPStore("localhost", server.port, 1, True)
    with pytest.raises(ValueError, match="port 70000 is none"):
        dist.TCPStore("localhost", 70000, 1, True)
    shared = dist.TCPStore("localhost", server.port, 1, True, multi_tenant=True)
    server.set("a", "b")
    port = server.port
    assert shared.get("a") == b"b"
    del server, shared  # and with the last of them the server
    with pytest.raises(dist.DistNetworkError, match=r"The client socket has timed out after 50ms while trying to connect to \(localhost, "):
        dist.TCPStore("localhost", port, 1, False, timeout=SOON)


def test_the_master_is_gone():
    program = "from adjoint import distributed as d; s = d.TCPStore('localhost', 0, 1, True); print(s.port, flush=True); input()"
    master = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert master.stdout is not None
    client = dist.TCPStore("localhost", int(master.stdout.readline()), None, False)
    client.set("a", "b")
    master.kill()
    master.communicate()
    for _ in range(2):
        with pytest.raises(dist.DistNetworkError, match="Did the remote server shutdown or crash"):
            client.get("a")


def test_a_stranger_at_the_port_harms_nothing():
    import socket

    server = dist.TCPStore("localhost", 0, 1, True)
    for message in (b"GET / HTTP/1.1\r\n\r\n", _stores.packed([b"__class__", b"0", b"10"]), _stores.packed([b"set", b"x", b"10"])):
        with socket.create_connection(("localhost", server.port), 30) as stranger:
            stranger.sendall(message)
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(100) == b""
    server.set("a", "b")
    assert server.get("a") == b"b"


# ---- rendezvous ---------------------------------------------------------------------------------------------------------------------


def test_rendezvous(tmp_path, monkeypatch):
    store, rank, size = next(rendezvous(f"file://{tmp_path}/store", 0, 1))
    assert isinstance(store, dist.FileStore) and (rank, size) == (0, 1)
    store, rank, size = next(rendezvous("tcp://localhost:0?rank=0&world_size=1"))
    assert isinstance(store, dist.TCPStore) and store.port and (rank, size) == (0, 1)
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port)}.items():
        monkeypatch.setenv(name, value)
    store.set("a", "b")
    other, rank, size = next(rendezvous("env://"))
    assert other.get("a") == b"b" and (rank, size) == (1, 2)
    assert next(rendezvous("env://", rank=1, world_size=3))[2] == 3


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("env://", ValueError, "environment variable RANK expected, but not set"),
        ("env://?rank=0", ValueError, "environment variable WORLD_SIZE expected, but not set"),
        ("env://?rank=0&world_size=1", ValueError, "environment variable MASTER_ADDR expected, but not set"),
        ("tcp://localhost:1", ValueError, "tcp:// rendezvous: rank parameter missing"),
        ("tcp://localhost:1?rank=0", ValueError, "tcp:// rendezvous: world size parameter missing"),
        ("tcp://localhost?rank=0&world_size=1", ValueError, "port number missing"),
        ("file://?rank=0&world_size=1", ValueError, "path missing"),
        ("pigeon://x", RuntimeError, "No rendezvous handler for pigeon://"),
        (3, RuntimeError, "`url` must be a string"),
    ],
)
def test_rendezvous_that_cannot_be(url, error, message, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=message):
        next(rendezvous(url))
