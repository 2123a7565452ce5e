"""What `import adjoint` costs: few modules, and none of the heavy or optional ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULE_BUDGET = 119  # modules that `import adjoint` adds to those of `import numpy`
NEVER_IMPORTED = ("llvmlite", "ml_dtypes", "mpi4py", "scipy", "torch")

LIST_MODULES = """
import json, sys
import numpy
before = set(sys.modules)
import adjoint
print(json.dumps(sorted(set(sys.modules) - before)))
"""

USE_WITHOUT_LLVM = """
import importlib.util, sys
import adjoint as ad

x = ad.linspace(-1.0, 1.0, 1000, requires_grad=True)
ad.tanh(ad.exp(x)).sum().backward()
assert x.grad.shape == (1000,)

assert importlib.util.find_spec("llvmlite") is None
assert not any(name.partition(".")[0] == "llvmlite" for name in sys.modules)
"""


USE_ONE_PROCESS = """
import sys, threading
import adjoint as ad

def step(model):
    model(ad.ones(2, 3)).sum().backward()
    ad.optim.SGD(model.parameters(), 0.1).step()

step(ad.nn.Linear(3, 1))
before = threading.enumerate()  # kernels have workers
assert not any(name.startswith("adjoint.distributed") for name in sys.modules), "who does not ask for it has not loaded it"

ad.distributed.init_process_group("gloo", rank=0, world_size=1)
step(ad.nn.parallel.DistributedDataParallel(ad.nn.Linear(3, 1)))
values = ad.ones(3)
ad.distributed.all_reduce(values)
ad.distributed.barrier()
assert "mpi4py" not in sys.modules
assert threading.enumerate() == before, threading.enumerate()
ad.distributed.destroy_process_group()
"""


def run_python(code: str, **environment: str) -> str:
    command, environment = [sys.executable, "-c", code], os.environ | environment
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def added_modules() -> list[str]:
    names: list[str] = json.loads(run_python(LIST_MODULES))
    return names


@pytest.mark.parametrize("package", NEVER_IMPORTED)
def test_import_leaves_heavy_packages_alone(added_modules, package):
    assert [name for name in added_modules if name.partition(".")[0] == package] == []


def test_import_stays_within_the_module_budget(added_modules):
    assert "adjoint" in added_modules
    assert len(added_modules) <= MODULE_BUDGET, "\n".join(added_modules)


def test_import_leaves_the_debugger_alone(added_modules):
    assert not any(name.startswith("adjoint.debugging") for name in added_modules)


def test_gradients_work_without_llvmlite():
    run_python(USE_WITHOUT_LLVM, PYTHONPATH=str(ROOT / "tests" / "without_llvm"))


def test_one_process_needs_neither_mpi_nor_a_thread():
    run_python(USE_ONE_PROCESS)
