"""DistributedDataParallel and what trains with it, in two, three and four processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import adjoint as ad
from tests.distributed.ranks import run

CHECKS = Path(__file__).with_name("ddp_checks.py")


@pytest.mark.parametrize("count", [2, 3])
def test_training_together(count):
    job = run(count, CHECKS)
    assert job.code == 0 and all("all" in text and "FAILED" not in text for text in job.ranks), job


REPEATED = """
import sys
import adjoint as ad
from adjoint import distributed as dist
from adjoint import nn

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
ad.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 3))
model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
optimizer = ad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(12):
    x = ad.randn(24, 1, 6, 6, generator=ad.Generator().manual_seed(step))
    y = x.flatten(1)[:, :3].sin()
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[rank::size]), y[rank::size]).backward()
    optimizer.step()
if rank == 0:
    ad.save(model.module.state_dict(), sys.argv[1])
"""


def test_same_bits_with_the_same_ranks_and_same_numbers_with_others(tmp_path):
    """A global batch, divided over one, two and four processes."""
    found = {}
    for name, count in (("one", 1), ("two", 2), ("again", 2), ("four", 4)):
        job = run(count, REPEATED, str(tmp_path / name))
        assert job.code == 0, job
        found[name] = ad.load(tmp_path / name)
    for key, value in found["one"].items():
        assert ad.equal(found["two"][key], found["again"][key])
        for name in ("two", "four"):
            ad.testing.assert_close(found[name][key], value, rtol=1e-5, atol=1e-6)
