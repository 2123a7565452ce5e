"""The families of programs, one module each. A module has `program(builder)`, which adds steps; or, where PyTorch is not the judge,
`check(random)`, which returns what is wrong."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def load() -> dict[str, Any]:
    """The modules by their names."""
    return {found.name: importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)}
