"""Programs that train in several processes: run by PyTorch with gloo, and by adjoint over MPI, they find the same numbers on every rank."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.distributed.ranks import ROOT, finish

pytest.importorskip("torch")
PROGRAMS = Path(__file__).with_name("distributed")


@pytest.mark.parametrize(("program", "ranks"), [("scenes", 2), ("programs", 2)])
def test_ranks_find_what_pytorchs_find(program, ranks, tmp_path):
    found = {}
    for name, launcher in (("torch", ["torch.distributed.run"]), ("adjoint", ["adjoint", "launch"])):
        paths = {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", *launcher, "--nproc-per-node", str(ranks), str(PROGRAMS / f"{program}.py"), str(tmp_path / name)]
        job = finish(command, 200, paths, tmp_path)
        assert job.code == 0, job
        found[name] = [json.loads(Path(f"{tmp_path / name}.{rank}").read_text()) for rank in range(ranks)]
    for rank, (wanted, ours) in enumerate(zip(found["torch"], found["adjoint"], strict=True)):
        for scene, numbers in wanted.items():
            compare(ours[scene], numbers, f"rank {rank}, {scene}")


def compare(found, wanted, where):
    """Equal up to the rounding of float32 over some tens of steps."""
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), where
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            compare(one, other, f"{where}[{place}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-5, abs=2e-6), where
    else:
        assert found == wanted, where
