"""A function in several processes."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import subprocess
import sys

import pytest

import adjoint as ad
from adjoint import multiprocessing as mp


def write(i, folder):
    (folder / str(i)).write_text(str(float(ad.ones(2).sum()) * i), encoding="utf-8")


def fail(i):
    if i == 1:
        raise ValueError("one is too many")


def leave(i):
    sys.exit(3)


def test_every_process_has_a_number(tmp_path):
    assert mp.spawn(write, (tmp_path,), nprocs=2) is None
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in "01"] == ["0.0", "2.0"]


def test_processes_that_are_not_waited_for(tmp_path):
    started = mp.start_processes(write, (tmp_path,), nprocs=1, join=False, start_method="fork")
    assert len(started.pids()) == len(started.processes) == 1
    while not started.join():
        pass
    assert (tmp_path / "0").exists()


def test_an_error_comes_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error") as caught:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert "one is too many" in str(caught.value) and caught.value.error_index == 1


def test_a_process_that_leaves():
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as caught:
        mp.start_processes(leave, start_method="fork")
    assert caught.value.exit_code == 3


def wait_or_fail(i, how):
    if i == 1:
        how()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # and is killed after the grace period
    signal.pause()


def long_error():
    raise ValueError("x" * 300_000)  # more than a pipe holds


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        (long_error, mp.ProcessRaisedException, "ValueError: xxx"),
        (killed, mp.ProcessExitedException, "^process 1 terminated with signal SIGKILL$"),
        (functools.partial(sys.exit, "why"), mp.ProcessExitedException, "^process 1 terminated with exit code 1$"),
    ],
)
def test_the_others_end_too(how, kind, message):
    started = mp.start_processes(wait_or_fail, (how,), nprocs=3, join=False, start_method="fork")
    with pytest.raises(kind, match=message) as caught:
        while not started.join(grace_period=0.1):
            pass
    assert caught.value.error_index == 1 and caught.value.pid == started.pids()[1]
    assert not any(process.is_alive() for process in started.processes)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is kind and vars(again) == vars(caught.value)


def test_waiting_for_a_while():
    started = mp.start_processes(wait_or_fail, (killed,), nprocs=1, join=False, start_method="fork")
    assert not started.join(0.01) and len(started.sentinels) == 1
    started.processes[0].kill()
    with pytest.raises(mp.ProcessExitedException, match="SIGKILL"):
        started.join()
    assert mp.spawn(wait_or_fail, nprocs=0) is None
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(wait_or_fail, nprocs=0, start_method="fork")


@pytest.mark.parametrize("interrupts", ["default_int_handler", "SIG_IGN"])
def test_processes_end_with_the_one_that_started_them(interrupts):
    program = f"""
import adjoint.multiprocessing as mp, os, signal, time
signal.signal(signal.SIGINT, signal.{interrupts})
def child(i):
    print(os.getpid(), flush=True)
    time.sleep(300)
mp.start_processes(child, start_method="fork")
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline())
        parent.kill()
        assert parent.stdout.read() == ""  # which ends when nobody holds it
