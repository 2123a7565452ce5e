"""Two processes find by adjoint's collectives, over MPI, what they find by PyTorch's, over gloo: values, strides, kinds of errors."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.distributed import ranks

PROGRAM = str(Path(__file__).with_name("collectives.py"))


def test_collectives_of_two_processes(tmp_path):
    found = {}
    for name, command in (("torch", [PROGRAM]), ("adjoint", ["-m", "adjoint", "run", PROGRAM])):
        folder = tmp_path / name
        folder.mkdir()
        job = ranks.finish([sys.executable, *command, str(folder)])
        assert job.code == 0, job
        found[name] = [(folder / str(rank)).read_text().splitlines() for rank in range(2)]
    assert len(found["torch"][0]) > 90
    for theirs, ours in zip(found["torch"], found["adjoint"], strict=True):
        for their, our in zip(theirs, ours, strict=True):
            assert our == their
