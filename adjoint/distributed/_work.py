"""A communication under way: what it is, which line has begun it and when, and how to wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any

from .._site import here
from .._tensor import Tensor
from ._debug import About, DebugLevel, _level, compare

if TYPE_CHECKING:
    from ._groups import ProcessGroup
    from ._transport import Pending

NOTHING = About()
ANYONE = -1  # whose message is waited for
under_way: set[Work] = set()  # Also what nobody waits for: MPI goes on writing into its memory, so somebody has to hold it.


class Work:
    """A communication. One that was begun with `async_op=True` goes on until `wait` returns, or `is_completed` says so."""

    timeout: timedelta  # how long the watchdog lets processes wait in it

    def __init__(
        self, group: ProcessGroup | None = None, name: str = "", result: Sequence[Tensor] = (), peer: int | None = None
    ) -> None:
        self.group, self.name, self.site, self.since = group, name, here(), time.monotonic()
        self.peer = peer  # the other process in the group, of a message
        self.turn = 0 if group is None else group._turns
        self._result = list(result)
        self._pending: Pending | None = None
        self._finish: Callable[[], None] | None = None
        self._error: Exception | None = None
        self._future: Any = None
        self._lock = RLock()  # a request must not be asked about by two threads at once

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done, and what it writes is there. RuntimeError after `timeout`."""
        with self._lock:
            if self._pending is not None:
                try:
                    if timeout:
                        self._wait_until(time.monotonic() + timeout.total_seconds(), timeout)
                    else:
                        self._pending.Wait()
                except TimeoutError as error:
                    raise RuntimeError(str(error)) from None
                except Exception as error:
                    self._end(error)
                else:
                    self._end()
        if self._error is not None:
            raise self._error
        return True

    def is_blocking(self) -> bool:
        """Whether the call that has begun it has not returned."""
        return self._pending is None

    def is_waited_for(self) -> bool:
        """Whether some thread is held up by it now."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return self.is_blocking()
        return True

    def _wait_until(self, moment: float, timeout: timedelta) -> None:
        assert self._pending is not None
        while not self._pending.Test():
            if time.monotonic() > moment:
                milliseconds = round(timeout.total_seconds() * 1000)
                raise TimeoutError(f"Timed out waiting {milliseconds}ms for {self.name} operation to complete, begun in {self.site}")
            time.sleep(0.0002)

    def is_completed(self) -> bool:
        """Whether it is done. To ask makes it go on."""
        if self._lock.acquire(blocking=False):  # else somebody waits for it
            try:
                if self._pending is not None and self._pending.Test():
                    self._end()
            except Exception as error:
                self._end(error)
            finally:
                self._lock.release()
        return self._pending is None

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """Why it has failed."""
        return self._error

    def result(self) -> list[Tensor]:
        """The tensors that are written."""
        return self._result

    def synchronize(self) -> None:
        """`wait`."""
        self.wait()

    def get_future(self) -> Any:
        """A future of the tensors. Whoever waits for it, or for what follows from it, makes the communication go on."""
        from ..futures import Future

        if self._future is None:
            self._future = Future()
            self._future._source = self
            if self._pending is None:
                self._tell()
        return self._future

    def _end(self, error: Exception | None = None) -> None:
        """It is done: write what is to be written, and tell who waits."""
        self._pending, finish, self._finish = None, self._finish, None
        under_way.discard(self)
        try:
            if error is None and finish is not None:
                finish()
        except Exception as own:
            error = own
        self._error = error
        if self._future is not None:
            self._tell()

    def _tell(self) -> None:
        if self._error is None:
            self._future.set_result(self._result)
        else:
            self._future.set_exception(self._error)


class Together(Work):
    """Several communications as one."""

    def __init__(self) -> None:
        super().__init__()
        self._works: list[Work] = []

    def append(self, work: Work) -> None:
        self._works.append(work)
        self._result += work.result()

    def wait(self, timeout: timedelta | None = None) -> bool:
        return all([work.wait(timeout) for work in self._works])

    def is_completed(self) -> bool:
        return all([work.is_completed() for work in self._works])

    def is_success(self) -> bool:
        return all([work.is_success() for work in self._works])

    def exception(self) -> Exception | None:
        return next((work._error for work in self._works if work._error is not None), None)

    def get_future(self) -> Any:
        from ..futures import collect_all

        return collect_all([work.get_future() for work in self._works]).then(lambda done: done.value() and self._result)


_open: list[Together] = []  # the blocks that collect what is begun in them


@contextmanager
def together() -> Iterator[Together]:
    """A `with` block that begins communications and waits for none."""
    _open.append(Together())
    try:
        yield _open[-1]
    finally:
        _open.pop()


def perform(
    group: ProcessGroup, name: str, begin: Callable[[bool], Any], finish: Callable[[], None] | None = None, result: Sequence[Tensor] = (),
    async_op: bool = False, peer: int | None = None, about: About = NOTHING, timeout: timedelta | None = None,
) -> Work | None:  # fmt: skip
    """Where all communication passes. `begin(later)` calls the transport, `finish` writes into tensors what has come into other arrays.

    A message says which process of the group it goes to or comes from, a collective what all processes have to agree about.
    """
    if peer is None:
        group._turns += 1
    for earlier in list(under_way):
        if earlier._pending is not None:
            earlier.is_completed()  # what nobody waits for must not pile up
    work = Work(group, name, result, peer)
    work.timeout = timeout or group._timeout
    under_way.add(work)
    later = async_op or bool(_open)
    try:
        if _level[0] is DebugLevel.DETAIL and peer is None:
            compare(work, about, later)
        pending = begin(later)
    except BaseException:
        under_way.discard(work)
        raise
    work._finish = finish
    if later and pending is not None:
        work._pending = pending
    else:
        work._end()
        if work._error is not None:
            raise work._error
    if _open:
        _open[-1].append(work)
    return work if async_op else None
