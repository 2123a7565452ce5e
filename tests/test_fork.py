"""Processes: children of every start method, made while other threads import modules, compile kernels and draw numbers."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import pytest

import adjoint as ad
from adjoint import _fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

FORKS = textwrap.dedent(
    """
    import os, signal, sys, threading, time
    import adjoint as ad

    def work():
        x = ad.rand(100, requires_grad=True)
        (x.exp().sum() * 2).backward()
        ad.randn(50), ad.fft.fftfreq(4), ad.nn.functional.softplus(x)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for delay in map(float, sys.argv[1:]):
        time.sleep(delay)
        child = os.fork()
        if not child:
            signal.alarm(100)
            work()
            os._exit(0)
        children.append(child)
    sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
    """
)


@pytest.mark.parametrize("delays", [("0", "0.003"), ("0.01", "0.03"), ("0.1",)])
def test_a_child_made_while_threads_begin(tmp_path, delays):
    environment = {**os.environ, "ADJOINT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FORKS, *delays], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_fork_waits_for_locks_and_imports_of_other_threads(tmp_path, monkeypatch):
    """In whatever order they are held."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_fork, "NEEDED", {"slowly_imported"})
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\n")
    lock, begun = _fork.hold(threading.Lock()), threading.Event()

    def busy():
        with lock:
            begun.set()
            import slowly_imported  # type: ignore[import-not-found]  # noqa: F401

    thread = threading.Thread(target=busy)
    thread.start()
    begun.wait()
    try:
        child = os.fork()
        if not child:
            os._exit("slowly_imported" not in sys.modules or lock.locked())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not lock.locked()
    finally:
        thread.join()
        _fork._locks.remove(lock)
        sys.modules.pop("slowly_imported", None)


def test_a_fork_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(_fork, "PATIENCE", 0.1)
    lock = _fork.hold(threading.Lock())
    try:
        with lock:
            child = os.fork()
            if not child:
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        _fork._locks.remove(lock)


def computed(number):
    x = ad.full((3,), float(number), requires_grad=True)
    (x.exp() * 2).sum().backward()
    return x.grad.tolist(), ad.rand(2).shape == (2,)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_start_method(method):
    here = [computed(number) for number in range(4)]
    with multiprocessing.get_context(method).Pool(2) as workers:
        assert workers.map(computed, range(4)) == here
