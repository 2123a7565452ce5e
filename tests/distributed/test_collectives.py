"""What several processes do together. Each test is one job, since starting one takes longer than all that it checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed import ranks

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("program", ["collectives.py", "groups.py"])
def test_several_processes(program, size):
    job = ranks.run(size, PROGRAMS / program)
    assert job.code == 0, job


def test_more_elements_than_mpi_can_count():
    job = ranks.run(3, PROGRAMS / "collectives.py", "pieces")
    assert job.code == 0, job


@pytest.mark.parametrize(("size", "variable"), [(2, {"ADJOINT_DISTRIBUTED_DEBUG": "1"}), (3, {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"})])
def test_ranks_that_do_different_things_are_told_so(size, variable):
    job = ranks.run(size, PROGRAMS / "mismatches.py", env=variable)
    assert job.code == 0, job
