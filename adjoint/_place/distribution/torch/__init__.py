"""This is not PyTorch: adjoint takes its place. What Python finds here makes way for the module `adjoint`, which then is `torch`."""

import os
import sys
from importlib import import_module

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_INHERITED = _FOLDER in os.environ.get("PYTHONPATH", "").split(os.pathsep)  # a program on adjoint has started this process
del sys.modules["torch"]
if _INHERITED and os.environ.get("ADJOINT_AS_TORCH") != sys.prefix:  # by another Python, which may have a PyTorch
    sys.path[:] = [folder for folder in sys.path if folder != _FOLDER]
    import_module("torch")
else:
    try:
        import_module("adjoint")
    except ModuleNotFoundError as error:
        if error.name != "adjoint":
            raise
        if not _INHERITED:
            error.add_note("The distribution torch installed here is not PyTorch and needs adjoint: install that, or uninstall torch")
            raise
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(_FOLDER))))  # noqa: PTH120
    import_module("adjoint.as_torch")
