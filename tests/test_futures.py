"""`torch.futures`."""

import pickle
import threading
from typing import Any

import pytest

from adjoint.futures import Future, collect_all, wait_all


def test_a_value_is_set_once():
    future: Future[Any] = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match=r"wait\(\) waits for it"):
        future.value()
    future.set_result(3)
    assert future.done() and future.wait() == future.value() == 3
    for again in (lambda: future.set_result(4), lambda: future.set_exception(ValueError())):
        with pytest.raises(RuntimeError, match="Attempting to mark a completed Future as complete again"):
            again()
    assert future.value() == 3


def test_callbacks_run_in_order_before_and_after():
    future: Future[int] = Future()
    seen: list[object] = []
    doubled = future.then(lambda done: 2 * done.wait())
    future.add_done_callback(lambda done: seen.append(done.value()))
    plus_one = doubled.then(lambda done: done.value() + 1)
    future.set_result(5)
    future.add_done_callback(lambda done: seen.append("late"))
    assert (doubled.wait(), plus_one.wait(), seen) == (10, 11, [5, "late"])


def test_exceptions(capsys):
    future: Future[Any] = Future()
    following = future.then(lambda done: done.wait())
    other = future.then(lambda done: 7)
    with pytest.raises(AssertionError, match="no is of type <class 'str'>, not an Exception"):
        future.set_exception("no")
    future.set_exception(ValueError("boom"))
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="boom"):
            ask()
    with pytest.raises(RuntimeError, match="Got the following error when running the callback: ValueError: boom"):
        following.wait()
    assert other.wait() == 7
    future.add_done_callback(lambda done: 1 / 0)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_all_of_several():
    futures: list[Future[int]] = [Future() for _ in range(3)]
    whole = collect_all(futures)
    for number, future in enumerate(futures):
        assert not whole.done()
        future.set_result(number)
    assert whole.wait() == futures and wait_all(futures) == [0, 1, 2] and collect_all([]).wait() == []
    futures = [Future(), Future()]
    whole = collect_all(futures)
    futures[0].set_exception(KeyError("k"))
    assert not whole.done()
    futures[1].set_result(1)
    for wait in (whole.wait, lambda: wait_all(futures)):
        with pytest.raises(KeyError):
            wait()


def test_another_thread_sets_it():
    future: Future[Any] = Future()
    thread = threading.Thread(target=lambda: future.set_result("there"))
    thread.start()
    assert future.wait() == "there"
    thread.join()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
    with pytest.raises(TypeError, match=r"then\(\): expected a function"):
        Future().then(3)
    with pytest.raises(TypeError, match="one of them is int"):
        collect_all([1])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match=r"Can not pickle torch.futures.Future"):
        pickle.dumps(Future())


def test_the_class_has_pytorchs_short_name_too():
    import adjoint as ad

    assert ad.Future is Future
