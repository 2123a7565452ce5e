"""Ops by NumPy and by kernels in one process, for tests that compare the two."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from adjoint import _serving
from adjoint.ops import _compiled
from adjoint.ops._registry import OPS

WAYS = ("numpy", "kernels")


class Switch:
    """Who computes elementwise ops."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.touched: set[str] = set()

    def __call__(self, way: str, names: Iterable[str]) -> None:
        """Have ops computed one way, from their next call on."""
        self.monkeypatch.setattr(_compiled, "compiles", (lambda: False) if way == "numpy" else _serving.compiles)
        for name in names:
            self.touched.add(name)
            forget(name)


def forget(name: str) -> None:
    """Let an op be as if it had never been called."""
    op = OPS[name]
    op.kernels.clear()
    op.variants.clear()
    op.regenerate()
