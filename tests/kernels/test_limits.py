"""Little memory, and many shapes."""

import os
import subprocess
import sys

import pytest

import adjoint as ad
from adjoint._kernels import jit

LIMITED = """
import resource, sys
from pathlib import Path
import adjoint as ad

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)
try:
    x = ad.rand(1000, requires_grad=True)
    (x.exp() * x).sum().backward()
    print("done")
except MemoryError:
    print("too little")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems are set otherwise")
@pytest.mark.parametrize("megabytes", [12, 40, 80])
def test_too_little_memory_is_an_error_and_not_an_end(tmp_path, megabytes):
    environment = {**os.environ, "ADJOINT_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LIMITED, str(megabytes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) in ((0, "done\n"), (0, "too little\n")), done.stderr[-1000:]


def test_two_thousand_shapes_share_their_kernels(monkeypatch):
    """A kernel is made for dtypes and layouts, not for sizes."""
    loaded, load = [], jit.load
    monkeypatch.setattr(jit, "load", lambda *given: loaded.append(given[0]) or load(*given))
    for number in range(2000):
        x = ad.ones(1 + number % 40, 1 + number // 40)
        x.exp().sum(0), (x * 2 + x).softmax(1), x @ x.T, x.max(1), x.mean()
    assert len(loaded) <= 60, loaded
