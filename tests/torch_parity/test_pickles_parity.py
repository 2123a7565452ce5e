"""Whole modules, optimizers, functions and data: pickles of adjoint's, where adjoint is torch, are PyTorch's, and the other way round."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint._place import VERSION

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(__file__).with_name("pickled.py")


def run(*arguments):
    command = [sys.executable, "-W", "ignore", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("written_by_adjoint", [True, False])
def test_pickles_of_one_are_read_by_the_other(tmp_path, written_by_adjoint):
    ours, theirs = ("-m", "adjoint", "run", PROGRAM), (PROGRAM,)
    run(*(ours if written_by_adjoint else theirs), "write", tmp_path)
    said = run(*(theirs if written_by_adjoint else ours), "read", tmp_path)
    assert said.startswith("the same") and (said.split()[-1] == VERSION) is not written_by_adjoint
