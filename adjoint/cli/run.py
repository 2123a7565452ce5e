"""`python -m adjoint run script.py`: a PyTorch script, unmodified, with adjoint in PyTorch's place.

A finder answers for `torch` and everything below it with the modules of adjoint, in this process only.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

from .names import pytorch_names, take_names, take_names_in

TORCH, FUNCTORCH, OURS = "torch", "functorch", "adjoint"
TORCH_VERSION = "2.13.0"  # what `torch.__version__` says in a script: programs choose by it what to call


def is_pytorch(module: str) -> bool:
    return module.partition(".")[0] in (TORCH, FUNCTORCH)


class _SameModule(Loader):
    """Hands out a module of adjoint under its PyTorch name, as it is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._name)
        if self._name.count(".") > 1:  # the larger packages are named class by class
            take_names_in(module)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put its own there, and relative imports would suffer


class TorchFinder(MetaPathFinder):
    """Finds `torch`, `functorch` and what is below them in adjoint."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not is_pytorch(fullname):
            return None
        ours = f"{OURS}.{fullname}" if fullname.startswith(FUNCTORCH) else OURS + fullname.removeprefix(TORCH)
        if not _exists(ours):
            raise ModuleNotFoundError(f"No module named '{fullname}': adjoint has no {fullname} yet", name=fullname)
        return spec_from_loader(fullname, _SameModule(ours))


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None or module in sys.modules  # some are made by the package that they are in
    except ModuleNotFoundError:  # its parent is no package, or missing too
        return False


class _InPlace:
    """Unpickled first thing in a process that the script starts by "spawn": there, too, adjoint takes PyTorch's place."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _take_place, ()


def _take_place() -> None:
    sys.meta_path.insert(0, TorchFinder())
    take_names()
    for module in _versioned():
        module.__version__ = TORCH_VERSION


def _versioned() -> list[Any]:
    return [import_module(OURS), import_module(f"{OURS}.version")]


@contextmanager
def _spawning() -> Iterator[None]:
    """Processes that are started in the `with` block do what this one does."""
    prepared = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {"adjoint": _InPlace(), **prepared(name)}

    spawn.get_preparation_data = get_preparation_data
    try:
        yield
    finally:
        spawn.get_preparation_data = prepared


def run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as `python script.py arguments` would."""
    if not Path(script).is_file():
        raise FileNotFoundError(f"there is no script {script}")
    present = [name for name in sys.modules if is_pytorch(name)]
    if present:
        raise RuntimeError("PyTorch is loaded in this process already; run the script with `python -m adjoint run` in its own")
    finder = TorchFinder()
    named = _versioned()
    version = named[0].__version__
    argv, path = sys.argv[:], sys.path[:]
    sys.meta_path.insert(0, finder)
    sys.argv[:] = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    for module in named:
        module.__version__ = TORCH_VERSION
    try:
        with pytorch_names(), _spawning():
            runpy.run_path(script, run_name="__main__")
    except (AttributeError, ImportError) as error:
        _explain(error, script)
        raise
    finally:
        sys.meta_path.remove(finder)
        sys.argv[:], sys.path[:] = argv, path
        for module in named:
            module.__version__ = version
        for name in [name for name in sys.modules if is_pytorch(name)]:
            del sys.modules[name]


def _explain(error: AttributeError | ImportError, script: str) -> None:
    """Say of a name that is missing in adjoint that it is, under its PyTorch name."""
    if isinstance(error, AttributeError):
        owner = error.obj.__name__ if isinstance(error.obj, ModuleType) else ""
        name = f"{owner}.{error.name}"
    else:
        owner = name = error.name or ""
        found = str(error).split("'")
        if str(error).startswith("cannot import name") and len(found) > 1:
            name = f"{owner}.{found[1]}"
    if owner.partition(".")[0] in (OURS, TORCH):
        missing = TORCH + name.removeprefix(OURS).removeprefix(TORCH)
        error.add_note(f"adjoint has no {missing} yet. `python -m adjoint check {script}` lists every missing name that a script uses.")
