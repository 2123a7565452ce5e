"""Being torch: in this process, and in those that it starts, `torch` and everything below it are the modules of adjoint.

One object under two names: `sys.modules["torch.nn"] is sys.modules["adjoint.nn"]`. A finder keeps that so for what is imported later
(`finder.py`). Modules, classes and functions are called what PyTorch calls them (`names.py`), because libraries ask and pickles say it.

Other processes find `torch` in a folder, `distribution/`, that stands first on their PYTHONPATH. It holds what is installed by
`python -m adjoint install-torch-stub`, and so `importlib.metadata` answers as well. Nothing stays behind when the processes have ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent / "distribution"
PREFIX = "ADJOINT_AS_TORCH"  # in the environment: the Python whose processes are meant
VERSION = "2.13.0"  # what `torch.__version__` says: programs choose by it what to call


def as_torch() -> ModuleType:
    """Let `torch` be adjoint from here on, in this process and in those that it starts; the same as `import adjoint.as_torch`.

    >>> import subprocess, sys
    >>> program = "import adjoint; adjoint.as_torch(); import torch.nn; print(torch.nn.Linear, flush=True)"
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    "<class 'torch.nn.modules.linear.Linear'>\\n"
    """
    ours = sys.modules["adjoint"]
    present = sys.modules.get("torch")
    if present is ours:
        return ours
    if present is not None:
        where = getattr(present, "__file__", None) or "nowhere"
        raise RuntimeError(
            f"torch is loaded in this process already, from {where}, and modules that use it hold on to it; call adjoint.as_torch() "
            "before anything imports torch, or start the program with `python -m adjoint run`"
        )
    from ..torch_version import TorchVersion
    from . import finder, names, notes, trees

    sys.meta_path.insert(0, finder.Finder())
    names.rename_all()
    trees.register_tables()
    ours.torch = ours  # type: ignore[attr-defined]
    for module in (ours, names.loaded("adjoint.version")):
        module.__version__ = TorchVersion(VERSION)  # type: ignore[attr-defined]
    notes.install()
    _tell_children()
    return ours


def _tell_children() -> None:
    """Where processes look that this one starts, whether they take over its environment or, as multiprocessing has it, its `sys.path`."""
    folder = str(FOLDER)
    if folder not in sys.path:
        sys.path.insert(1, folder)  # after the script's own folder, where PYTHONPATH goes too
    paths = os.environ.get("PYTHONPATH", "")
    if folder not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, paths]))
    os.environ[PREFIX] = sys.prefix
