"""When kernels come: after `WARM` calls, or less of them on large arrays, and always at the same call."""

import os
import subprocess
import sys

import numpy as np
import pytest

from adjoint import _warm
from adjoint._warm import BITS, WARM, Heat, heat

SMALL_SCRIPT = f"""
import sys
import adjoint as ad
x = ad.ones(4, 3, requires_grad=True)
for _ in range({WARM // 4}):
    ((x @ x.T).tanh().softmax(1) - 1).square().mean().backward()
ad.cat([x, x]).argmax(1), x[1:].exp(), x.sort(), ad.special.gammaincc(x.detach(), x.detach())
assert "llvmlite" not in sys.modules
"""
LOSSES = """
import adjoint as ad
ad.manual_seed(0)
model = ad.nn.Sequential(ad.nn.Linear(3, 8), ad.nn.GELU(), ad.nn.LayerNorm(8), ad.nn.Linear(8, 4))
optimizer = ad.optim.Adam(model.parameters())
x, y = ad.randn(6, 3), ad.arange(6) % 4
for _ in range(40):
    optimizer.zero_grad()
    loss = ad.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""


def run(program: str, **variables: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], check=False, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("elements", "calls"), [(0, WARM + 1), (1000, WARM + 1), (2**BITS, WARM // 2 + 1), (WARM * 2**BITS, 1)])
def test_a_family_is_warm_after_so_many_calls(elements, calls, monkeypatch):
    monkeypatch.setattr(_warm, "compiles", lambda: True)
    warm, array = Heat(), np.zeros(1, "float32")
    answers = [warm(elements, array) for _ in range(calls)]
    assert answers == [False] * (calls - 1) + [True]
    assert heat(elements) * (calls - 1) <= WARM < heat(elements) * calls


def test_other_arrays_do_not_count():
    warm, double = Heat(), np.zeros(1)
    assert not any(warm(10**9, *arrays) for arrays in [(np.zeros(1, int),), (double, np.zeros(1, "float32")), (double, np.float64(1))])
    assert warm.total == 0


def test_a_short_script_compiles_nothing():
    run(SMALL_SCRIPT)


def test_the_cache_does_not_change_the_numbers(tmp_path):
    """The first run compiles, the second reads what is there."""
    first, second = (run(LOSSES, ADJOINT_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert any(tmp_path.glob("*.o"))
    assert first == second != ""
