"""Make llvmlite look as if it were not installed.

Python imports this file by itself in every process that has this folder on PYTHONPATH, so child processes of a test are
covered too; `tests/conftest.py` puts it there when ADJOINT_TEST_NO_LLVM=1.
"""

from __future__ import annotations

import sys
from typing import Any


class _WithoutLlvmlite:
    """A meta-path finder that answers as the one it wraps, except that it never finds llvmlite."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        # None, not an exception: `importlib.util.find_spec("llvmlite")` must answer as if it were not installed.
        return None if name.partition(".")[0] == "llvmlite" else self._finder.find_spec(name, path, target)


def hide_llvmlite() -> None:
    """Wrap every finder once; those added later (by pytest, say) are expected to look for their own modules only."""
    sys.meta_path[:] = [f if isinstance(f, _WithoutLlvmlite) else _WithoutLlvmlite(f) for f in sys.meta_path]


hide_llvmlite()
