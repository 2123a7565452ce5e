"""The thread pool."""

import os
import threading

import numpy as np
import pytest

import adjoint as ad
from adjoint._kernels import builtin, entry, pool
from adjoint._kernels.expr import Expr


@pytest.fixture
def threads():
    before = pool.get_num_threads()
    pool.set_num_threads(4)
    yield
    pool.set_num_threads(before)


def test_every_piece_once(threads):
    for pieces in (0, 1, 2, 3, 100):
        seen: list[int] = []
        pool.run(seen.append, pieces)
        assert sorted(seen) == list(range(pieces))


@pytest.mark.parametrize("helpers", [2, 3, 5, 20])
def test_every_unit_of_a_compiled_job_once(helpers):
    before = pool.get_num_threads()
    pool.set_num_threads(helpers)
    try:
        x, y = Expr.inputs(2)
        (add_into,) = builtin.load([builtin.Formula("count", x + y, "TT", entry.FIRST)], [lambda *args: None])
        for size in (70_000, 100_001, 1_000_003):
            counts, ones = np.zeros(size, np.float32), np.ones(size, np.float32)
            for _ in range(20):
                add_into(counts, ones)
            assert (counts == 20).all()
    finally:
        pool.set_num_threads(before)


def test_several_callers_at_once(threads):
    results = []

    def caller():
        seen: list[int] = []
        for _ in range(50):
            pool.run(seen.append, 7)
        results.append(sorted(seen) == sorted(list(range(7)) * 50))

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert results == [True] * 4


def test_an_error_reaches_the_caller(threads):
    def fail(piece):
        if piece == 3:
            raise ValueError("piece three")

    with pytest.raises(ValueError, match="piece three"):
        pool.run(fail, 6)
    pool.run(lambda piece: None, 6)


def test_a_forked_child_makes_its_own_threads(threads):
    pool.run(lambda piece: None, 8)
    child = os.fork()
    if child == 0:
        seen: list[int] = []
        pool.run(seen.append, 8)
        os._exit(0 if sorted(seen) == list(range(8)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("setting", [ad.set_num_threads, ad.set_num_interop_threads])
@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [(wrong, RuntimeError, "expects a positive integer") for wrong in (0, -2)]
    + [(wrong, RuntimeError, f"expects an int, but got {type(wrong).__name__}") for wrong in (True, 2.0, "2", None, np.float32(2))]
    + [(wrong, ValueError, "Overflow when unpacking long") for wrong in (2**31, 2**40, -(2**70))],
)
def test_a_number_of_threads_is_a_positive_integer_of_32_bits(setting, wrong, error, words):
    before = ad.get_num_threads(), ad.get_num_interop_threads()
    with pytest.raises(error, match=words):
        setting(wrong)
    assert (ad.get_num_threads(), ad.get_num_interop_threads()) == before


def test_what_the_system_has_no_threads_for(monkeypatch):
    """However many are asked for, a bounded number is started, and fewer if the system has no more."""
    started = []

    class Refused:
        def __init__(self, **facts):
            pass

        def start(self):
            started.append(1)
            if len(started) > 3:
                raise RuntimeError("can't start new thread")

    before = pool.get_num_threads()
    monkeypatch.setattr(pool, "_workers", [])
    monkeypatch.setattr(pool, "Thread", Refused)
    monkeypatch.setattr(pool, "_listeners", [])
    pool.set_num_threads(np.int64(2**31 - 1))
    try:
        assert pool.helpers_at_most(pool.get_num_threads()) < 1000
        seen: list[int] = []
        pool.run(seen.append, 8)
        assert sorted(seen) == list(range(8)) and len(started) == 4
    finally:
        pool._jobs.clear()
        pool.set_num_threads(before)
