"""A process that is killed while it writes a checkpoint leaves the old one or the new one behind, whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, random, signal, sys, time
from pathlib import Path
import adjoint as ad
import adjoint.distributed.checkpoint as dcp

kind, path = sys.argv[1], Path(sys.argv[2])

def content(number):
    return {f"part{i}": ad.full((300, 100), float(number)) for i in range(4)}

def write(number):
    if kind == "save":
        ad.save(content(number), path)
    else:
        dcp.save(content(number), checkpoint_id=path)

def read():
    if kind == "save":
        return ad.load(path)
    found = content(-1)
    dcp.load(found, checkpoint_id=path)
    return found

write(0)
draw, number = random.Random(0), 0
for _ in range(25):
    before = number
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            number += 1
            os.write(tell, b"x")  # it begins the next one
            write(number)
    os.close(tell)
    for _ in range(draw.randrange(1, 4)):
        os.read(told, 1)
    time.sleep(draw.random() * 0.004)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(told)
    values = {float(x) for part in read().values() for x in part.unique()}
    assert len(values) == 1, values
    number = int(values.pop())
    assert number >= before, (number, before)
print("whole", number)
"""


@pytest.mark.parametrize("kind", ["save", "distributed"])
def test_a_checkpoint_survives_25_kills_of_its_writer(kind, tmp_path):
    job = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, kind, str(tmp_path / "checkpoint")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert job.returncode == 0, job.stderr
    assert int(job.stdout.removeprefix("whole ")) > 0  # new ones were written too
