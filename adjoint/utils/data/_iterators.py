"""The two ways through a loader's batches: in this process, or in worker processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import warnings
import weakref
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Self

from ..._events import BATCH
from . import _worker
from ._fetch import DatasetKind
from .sampler import random_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader

_GRACE = 5.0  # seconds that a worker has for finishing its batch when it is told to stop


class LoaderIterator:
    """What `iter(loader)` returns."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._indices: Iterator[Any] = iter(loader._index_sampler)
        # Drawn after the sampler was asked for its iterator and before its first index, as PyTorch does.
        self._base_seed = random_seed(loader.generator)
        self._yielded = 0

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        batch = self._next_batch()
        self._yielded += 1
        loader = self._loader
        expected = loader._IterableDataset_len_called
        if expected is not None and self._yielded > expected and loader._dataset_kind == DatasetKind.Iterable:
            warnings.warn(
                f"Length of IterableDataset {loader.dataset} was reported to be {expected} (when accessing len(dataloader)), but "
                f"{self._yielded} samples have been fetched. With several workers each of them must yield its own part: see "
                "get_worker_info()",
                stacklevel=2,
            )
        if BATCH:
            BATCH.tell(loader, batch)
        return batch

    def _next_batch(self) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class SingleProcessIterator(LoaderIterator):
    """Batches made when they are asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._fetch = DatasetKind.create_fetcher(
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )

    def _next_batch(self) -> Any:
        return self._fetch(next(self._indices))


class _Workers:
    """The processes and the connections to them."""

    def __init__(self, loader: DataLoader[Any], base_seed: int) -> None:
        context = loader.multiprocessing_context or multiprocessing.get_context()
        make_fetch = partial(
            DatasetKind.create_fetcher, loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )
        self.processes: list[Any] = []
        self.connections: list[Connection[Any, Any]] = []
        try:
            for number in range(loader.num_workers):
                ours, theirs = context.Pipe()
                self.connections.append(ours)
                setup = _worker.Setup(number, loader.num_workers, base_seed, loader.dataset, make_fetch, loader.worker_init_fn)
                process = context.Process(target=_worker.run, args=(theirs, setup), daemon=True)
                process.start()
                self.processes.append(process)
                theirs.close()  # so that the death of the worker closes the connection
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the workers: politely, and then by force."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.send(None)
            connection.close()
        deadline = time.monotonic() + _GRACE
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()
        self.processes, self.connections = [], []

    def kill(self) -> None:
        for process in self.processes:
            process.terminate()
        self.stop()

    def died(self, worker: int) -> RuntimeError:
        process = self.processes[worker]
        process.join(1.0)
        pid, code = process.pid, process.exitcode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"left with exit code {code}"
        return RuntimeError(
            f"DataLoader worker (pid(s) {pid}) exited unexpectedly: it {how}\n"
            "  A worker that is killed often ran out of memory; num_workers=0 runs the dataset in this process and shows where it fails."
        )


class MultiProcessIterator(LoaderIterator):
    """Batches made ahead of time by worker processes, `prefetch_factor` each, and given out in order."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._workers = _Workers(loader, self._base_seed)
        self._finalizer = weakref.finalize(self, self._workers.stop)  # also when the interpreter ends
        self._epoch = 0
        self._start()

    def _start(self) -> None:
        self._owners: dict[int, int] = {}  # which worker a task went to, for tasks that are not given out yet
        self._arrived: dict[int, tuple[str, Any]] = {}
        self._active = [True] * self._loader.num_workers
        self._sent = self._wanted = 0
        self._turn = 0
        self._done = False
        for _ in range(self._loader.num_workers * (self._loader.prefetch_factor or 1)):
            self._send_task()

    def restart(self) -> None:
        """Another epoch with the same workers (`persistent_workers`). Answers of the last one that still come are ignored."""
        self._indices = iter(self._loader._index_sampler)
        self._yielded = 0
        self._epoch += 1
        self._start()

    @property
    def running(self) -> bool:
        return bool(self._workers.processes)

    def _send_task(self) -> None:
        """Give the next indices to the next worker, if there are any of both."""
        count = self._loader.num_workers
        for _ in range(count):
            worker = self._turn % count
            self._turn += 1
            if self._active[worker]:
                break
        else:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        try:
            self._workers.connections[worker].send((self._epoch, self._sent, index))
        except OSError:
            raise self._workers.died(worker) from None
        self._owners[self._sent] = worker
        self._sent += 1

    def _next_batch(self) -> Any:
        if self._done:
            raise StopIteration
        try:
            kind, value = self._next_answer()
            self._send_task()
        except StopIteration:
            self._done = True
            if not self._loader.persistent_workers:
                self._finalizer()
            raise
        except BaseException:  # Ctrl-C, a dead worker, a time-out, a failing sampler
            self._done = True
            self._workers.kill()
            raise
        if kind == _worker.ERROR:
            raise value.exception()
        return value

    def _next_answer(self) -> tuple[str, Any]:
        deadline = time.monotonic() + self._loader.timeout if self._loader.timeout else None
        while True:
            # A worker whose stream ended does not answer the tasks that it still has.
            while self._wanted in self._owners and self._wanted not in self._arrived and not self._active[self._owners[self._wanted]]:
                del self._owners[self._wanted]
                self._wanted += 1
            number = self._wanted if self._loader.in_order else next(iter(self._arrived), self._wanted)
            if number in self._arrived:
                return self._take(number)
            if not self._owners:
                raise StopIteration
            if number not in self._owners:  # given out early, out of order
                self._wanted += 1
                continue
            self._receive(deadline)

    def _take(self, number: int) -> tuple[str, Any]:
        del self._owners[number]
        self._wanted += number == self._wanted
        return self._arrived.pop(number)

    def _receive(self, deadline: float | None) -> None:
        """Wait until some worker answers."""
        connections = self._workers.connections
        ready = wait(connections, None if deadline is None else max(0.0, deadline - time.monotonic()))
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._loader.timeout} seconds")
        for worker, connection in enumerate(connections):
            if connection in ready:
                try:
                    epoch, number, kind, value = connection.recv()
                except (EOFError, OSError):
                    raise self._workers.died(worker) from None
                if epoch != self._epoch:
                    continue
                if kind == _worker.END:
                    self._end(worker)
                else:
                    self._arrived[number] = (kind, value)

    def _end(self, worker: int) -> None:
        """The stream of a worker is at its end: the other workers get its turns."""
        if self._active[worker]:
            self._active[worker] = False
            self._send_task()
