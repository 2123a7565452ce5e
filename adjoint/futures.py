"""PyTorch's `torch.futures`: a value that somebody will set, perhaps from another thread, and what is to be done then."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition
from typing import Any, Generic, NoReturn, TypeVar

from ._device import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is to come. `wait` waits for it; callbacks run in the thread that sets it, in the order in which they were added.

    >>> from adjoint.futures import Future
    >>> future = Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        for place in devices or ():
            if device(place).index is None:
                raise ValueError(f"Expected devices to have indices, got {place}")
        self._changed = Condition()
        self._done = False
        self._value: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._source: Any = None  # a communication that goes on only while somebody waits for it, or asks

    def done(self) -> bool:
        """Whether the value, or an exception instead of it, has been set."""
        if not self._done and self._source is not None:
            self._source.is_completed()
        return self._done

    def wait(self) -> T:
        """The value, as soon as it is there. Raises the exception that was set instead."""
        if not self._done and self._source is not None:
            with suppress(Exception):  # it is set here, or seen by the callback that sets this value
                self._source.wait()
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The value, which must be there."""
        if not self._done:
            raise RuntimeError("the Future is not completed: value() is for one that is; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what `callback(self)` will return."""
        check_callable("then", callback)
        following: Future[S] = Future()
        following._source = self._source

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:  # whatever a callback raises is the result of the future that follows
                words = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                wrapped = RuntimeError(words)
                wrapped.__cause__ = error
                following.set_exception(wrapped)
            else:
                following.set_result(result)

        self._when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call `callback(self)` when the value is there. What it raises is printed, and that is all."""
        check_callable("add_done_callback", callback)

        def run(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:  # nobody waits for this callback, and others follow
                print("Got the following error when running the callback:", traceback.format_exc(), sep="\n", file=sys.stderr)

        self._when_done(run)

    def set_result(self, result: T) -> None:
        """Set the value, once, and run the callbacks."""
        self._complete(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an exception instead of the value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: Exception | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def _when_done(self, callback: Callable[[Future[T]], Any]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")


def finished(value: T) -> Future[T]:
    """A future whose value is there."""
    made: Future[T] = Future()
    made.set_result(value)
    return made


def check_callable(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{name}(): expected a function of the Future, not {type(callback).__name__}")


class _All:
    """Several communications, as the source of one future."""

    def __init__(self, sources: list[Any]) -> None:
        self.sources = sources

    def is_completed(self) -> bool:
        return all([source.is_completed() for source in self.sources])

    def wait(self) -> None:
        for source in self.sources:
            source.wait()


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all of them, which is done when the last one is; with the exception of the first that has one."""
    for future in futures:
        if not isinstance(future, Future):
            raise TypeError(f"collect_all(): expected a list of Futures, but one of them is {type(future).__name__}")
    whole: Future[list[Future[Any]]] = Future()
    whole._source = _All([future._source for future in futures if future._source is not None])
    waiting, changed = len(futures), Condition()

    def finish() -> None:
        failed = next((future._error for future in futures if future._error is not None), None)
        if failed is None:
            whole.set_result(futures)
        else:
            whole.set_exception(failed)

    def count(done: Future[Any]) -> None:
        nonlocal waiting
        with changed:
            waiting -= 1
            last = not waiting
        if last:
            finish()

    if not futures:
        finish()
    for future in futures:
        future._when_done(count)
    return whole


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all of them, or the exception of the first that has one."""
    return [future.wait() for future in collect_all(futures).wait()]
