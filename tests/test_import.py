"""What `import adjoint` costs: few modules, and none of the heavy or optional ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULE_BUDGET = 117  # modules that `import adjoint` adds to those of `import numpy`
NEVER_IMPORTED = ("llvmlite", "ml_dtypes", "scipy", "torch")

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


def test_gradients_work_without_llvmlite():
    run_python(USE_WITHOUT_LLVM, PYTHONPATH=str(ROOT / "tests" / "without_llvm"))
