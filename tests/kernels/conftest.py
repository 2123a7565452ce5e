"""These tests compile: they need llvmlite. Where it is hidden on purpose, the rest of the suite shows that NumPy serves instead."""

import os
import shutil
from pathlib import Path

import pytest

if os.environ.get("ADJOINT_TEST_NO_LLVM"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Kernels go to a directory that lasts as long as the test run."""
    folder = tmp_path_factory.getbasetemp() / "kernels"
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def nothing_compiled(tmp_path, monkeypatch):
    """No kernels come with the package, in this process and in those that it starts."""
    from adjoint._kernels import cache

    package = Path(cache.__file__).parents[1]
    shutil.copytree(package, tmp_path / "bare" / package.name, ignore=shutil.ignore_patterns("__pycache__", "packs"))
    monkeypatch.chdir(tmp_path / "bare")  # which Python looks into first
    monkeypatch.syspath_prepend(tmp_path / "bare")  # and what multiprocessing hands on
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "nowhere")
    cache._stores.cache_clear()
    yield
    cache._stores.cache_clear()


@pytest.fixture
def without_builtins(monkeypatch):
    """A function after which ops run their own code for small tensors too, until the test is over."""
    from adjoint._kernels import axes, reduce_loops, scan_loops, select_loops, softmax_loops
    from adjoint.ops._registry import OPS

    ops = [op for op in OPS.values() if op.along]

    def turn_off():
        for op in ops:
            monkeypatch.setattr(op, "kernels", {})
            op.regenerate()
        for module in (reduce_loops, scan_loops, select_loops, softmax_loops):
            for family in vars(module).values():
                if isinstance(family, axes.Along):
                    monkeypatch.setattr(family, "run", family.by_python)
                    monkeypatch.setattr(family, "learn", lambda *facts: None)

    yield turn_off
    monkeypatch.undo()
    for op in ops:
        op.regenerate()


@pytest.fixture
def computed_by(monkeypatch):
    """`computed_by("numpy", ["exp"])`; after the test, everything is computed as ever."""
    from tests.kernels.ways import Switch

    switch = Switch(monkeypatch)
    yield switch
    switch("kernels", list(switch.touched))
