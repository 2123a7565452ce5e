"""The committed list of PyTorch's names is that of the installed PyTorch."""

from __future__ import annotations

import pytest

from tools import coverage

torch = pytest.importorskip("torch")


def test_the_list_of_names_is_up_to_date():
    """For the version that the list names: other versions have other names."""
    listed = coverage.NAMES.read_text(encoding="utf-8")
    version = torch.__version__.split("+")[0]
    if f"PyTorch {version}," in listed:
        assert coverage.torch_names() == listed, "run python tools/coverage.py --names"
    else:
        assert version.split(".")[:2] != ["2", "13"]
