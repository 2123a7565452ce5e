"""`python -m adjoint run`: a PyTorch program, unmodified, with adjoint in PyTorch's place.

`run script.py`, `run -m module`, `run -c code` and `run notebook.ipynb`, each with arguments of its own, as `python` takes them.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

from .._place import as_torch

_RANK = Path(__file__).parents[1] / "distributed" / "_rank.py"  # what the launcher starts
_DEBUGGER = Path(__file__).parents[1] / "debugging" / "programs.py"
# Files whose frames stand before the program's.
_WAY = (str(Path(__file__).parent), str(_RANK), str(_DEBUGGER), "<frozen runpy>", str(runpy.__file__))


class NoProgramError(Exception):
    """There is nothing to run."""


def run(program: Sequence[str]) -> None:
    """Run what `python *program` would run."""
    if not program:
        raise NoProgramError("what shall be run? Name script.py, -m module, -c code or notebook.ipynb")
    first, *rest = program
    if first in ("-m", "-c") and not rest:
        raise NoProgramError(f"Argument expected for the {first} option")
    if first.startswith("-") and first not in ("-m", "-c"):
        raise NoProgramError(f"unknown option {first}: options of the program stand after it, and those of Python before -m adjoint")
    if first not in ("-m", "-c") and not Path(first).exists():
        raise NoProgramError(f"can't open file '{first}': there is no such file")
    as_torch()
    if first == "-m":
        sys.argv[:] = rest
        sys.path[0] = str(Path.cwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path[0] = ""
        exec(compile(rest[0], "<string>", "exec"), vars(_main_module()))
    else:
        sys.argv[:] = list(program)
        sys.path[0] = str(Path(first).resolve().parent)
        if first.endswith(".ipynb"):
            from .notebook import NotebookError, run_notebook

            try:
                run_notebook(first, vars(_main_module()))
            except NotebookError as error:
                raise NoProgramError(error) from None
        else:
            runpy.run_path(first, run_name="__main__")


def own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the program on."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_WAY):
        traceback = traceback.tb_next
    return traceback


def _main_module() -> ModuleType:
    """A new `__main__`, for classes to be found in."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    return module
