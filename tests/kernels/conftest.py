"""These tests compile: they need llvmlite. Where it is hidden on purpose, the rest of the suite shows that NumPy serves instead."""

import os

import pytest

if os.environ.get("ADJOINT_TEST_NO_LLVM"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Kernels go to a directory that lasts as long as the test run."""
    folder = tmp_path_factory.getbasetemp() / "kernels"
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(folder))
    return folder
