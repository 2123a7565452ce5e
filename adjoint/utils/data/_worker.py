"""The worker process of a loader.

Each worker has one two-way connection to the loader. It receives tasks `(epoch, number, index)` and sends answers `(epoch, number, kind,
value)`. Answers leave through a thread, so that the next batch is made while the loader is busy with something else; how many may wait is
decided by the loader, which hands out only so many tasks.
"""

from __future__ import annotations

import contextlib
import queue
import random
import threading
import traceback
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import numpy as np

from ... import _sharing  # noqa: F401 - teaches ForkingPickler to send tensors
from ..._kernels.pool import set_num_threads
from ..._sampling import manual_seed
from ._fetch import Fetch

DATA, END, ERROR = "data", "end", "error"


class WorkerInfo(NamedTuple):
    """What `get_worker_info()` tells a dataset inside a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The facts about the worker process that this is called in, None in the main process."""
    return _worker_info


class Setup(NamedTuple):
    """What a worker needs to know."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    make_fetch: Callable[[], Fetch]
    init_fn: Callable[[int], None] | None


class Failure(NamedTuple):
    """An exception on its way to the main process."""

    kind: type[BaseException]
    text: str

    def exception(self) -> BaseException:
        message: Any = _Verbatim(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            return self.kind(message)
        except Exception:  # a constructor that wants other arguments
            return RuntimeError(self.text)


class _Verbatim(str):
    """A text that a KeyError, which shows the repr of its argument, shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _failure(error: BaseException, worker: int) -> Failure:
    trace = "".join(traceback.format_exception(error))
    return Failure(type(error), f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal {trace}")


def run(connection: Connection[Any, Any], setup: Setup) -> None:
    """The body of a worker process."""
    outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sender = threading.Thread(target=_send_all, args=(connection, outgoing), daemon=True)
    with contextlib.suppress(KeyboardInterrupt, EOFError, OSError):  # Ctrl-C, or the loader is gone: nothing to report
        _seed(setup)
        sender.start()
        _work(connection, setup, outgoing)
    outgoing.put(None)
    if sender.is_alive():
        sender.join(timeout=1)


def _send_all(connection: Connection[Any, Any], outgoing: queue.SimpleQueue[Any]) -> None:
    with contextlib.suppress(OSError):
        while (message := outgoing.get()) is not None:
            connection.send_bytes(message)


def _seed(setup: Setup) -> None:
    """Every worker has its own random numbers, the same as PyTorch's workers have."""
    global _worker_info
    seed = setup.base_seed + setup.id
    set_num_threads(1)
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(setup.base_seed, setup.id))  # noqa: NPY002
    _worker_info = WorkerInfo(setup.id, setup.num_workers, seed, setup.dataset)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """What NumPy's generator is seeded with in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4).tolist()  # type: ignore[no-any-return]


def _work(connection: Connection[Any, Any], setup: Setup, outgoing: queue.SimpleQueue[Any]) -> None:
    parent: Any = parent_process()
    epoch, fetch = -1, None
    broken: Failure | None = None
    if setup.init_fn is not None:
        broken = _attempt(lambda: setup.init_fn(setup.id), setup.id)  # type: ignore[misc]
    while connection in wait([connection, parent.sentinel]):
        task = connection.recv()
        if task is None:
            return
        of_epoch, number, index = task
        if of_epoch != epoch:
            epoch, fetch = of_epoch, None
        kind: str = DATA
        value: Any = None
        try:
            if broken is None:
                fetch = fetch or setup.make_fetch()
                value = fetch(index)
        except StopIteration:
            kind = END
        except Exception as error:
            kind, value = ERROR, _failure(error, setup.id)
        if broken is not None:
            kind, value, broken = ERROR, broken, None
        outgoing.put(_pickled(epoch, number, kind, value, setup.id))


def _attempt(action: Callable[[], object], worker: int) -> Failure | None:
    try:
        action()
    except Exception as error:
        return _failure(error, worker)
    return None


def _pickled(epoch: int, number: int, kind: str, value: Any, worker: int) -> Any:
    """An answer as bytes. A batch or an exception that cannot be pickled becomes an error that says so."""
    try:
        return ForkingPickler.dumps((epoch, number, kind, value))
    except Exception as error:
        failure = Failure(RuntimeError, value.text) if kind == ERROR else _failure(error, worker)
        return ForkingPickler.dumps((epoch, number, ERROR, failure))
