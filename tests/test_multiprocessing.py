"""A function in several processes."""

from __future__ import annotations

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
