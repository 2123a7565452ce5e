"""Importing this module lets `torch` be adjoint: `import adjoint.as_torch` first in a program, or `pytest -p adjoint.as_torch`.

`adjoint.as_torch()` does the same by a call. See `adjoint/_place/`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ._place import as_torch
from ._place.notes import explain


def pytest_runtest_makereport(call: Any) -> None:
    """For pytest: what is missing is said in its report, too."""
    if call.excinfo is not None:
        explain(call.excinfo.value)


class CallableModule(ModuleType):
    """When this module has been imported, `adjoint.as_torch` is the module: so it can be called as the function can."""

    __call__ = staticmethod(as_torch)


sys.modules[__name__].__class__ = CallableModule
as_torch()
