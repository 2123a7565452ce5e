"""What is installed: the hook of the build, and kernels that come with the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint._kernels import cache

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys\nimport adjoint as ad\nprint(ad.ones(3).exp().sum().item())\nprint('llvmlite.binding' in sys.modules)"


def run(program, folder, **variables):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_kernels_that_come_with_the_package_are_used_where_nothing_can_be_kept(tmp_path):
    copy = tmp_path / "installed" / "adjoint"
    shutil.copytree(ROOT / "adjoint", copy, ignore=shutil.ignore_patterns("__pycache__", "packs"))
    place = {"PYTHONPATH": str(copy.parent)}
    assert run(PROGRAM, tmp_path, ADJOINT_CACHE_DIR=str(tmp_path / "packs"), **place)[1] == "True"
    shutil.copytree(tmp_path / "packs", copy / "_kernels" / "packs")
    (tmp_path / "file").write_text("")
    found = run(PROGRAM, tmp_path, ADJOINT_CACHE_DIR=str(tmp_path / "file" / "nowhere"), **place)
    assert float(found[0]) == pytest.approx(3 * 2.718281828, rel=1e-6) and found[1] == "False"


def test_the_place_of_the_package_is_the_one_that_the_hook_fills():
    assert cache.SHIPPED == ROOT / "adjoint" / "_kernels" / "packs"
    hook = (ROOT / "hatch_build.py").read_text()
    assert '"adjoint", "_kernels", "packs"' in hook and '"cache", "build"' in hook
