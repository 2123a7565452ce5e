"""The layer check must find what it is for, and nothing else."""

from __future__ import annotations

import pytest

from tools.check_layers import check

ALLOWED = {
    "own layer": ("autograd/engine.py", "from .._tensor import Tensor"),
    "layer above": ("ops/reduce.py", "from adjoint._dtype import float32"),
    "inside a function": ("ops/reduce.py", "def f():\n    from ..nn import Module"),
    "for annotations only": ("_printing.py", "if TYPE_CHECKING:\n    from ._tensor import Tensor"),
    "package gathers its own": ("ops/__init__.py", "from .composite import softmax as softmax"),
    "public surface": ("__init__.py", "from . import nn as nn, viz as viz"),
    "other packages": ("_dtype.py", "import numpy as np"),
}

REFUSED = {
    "relative": ("ops/reduce.py", "from ..nn import Module", "adjoint.nn"),
    "absolute": ("ops/reduce.py", "import adjoint.nn", "adjoint.nn"),
    "module out of its package": ("ops/reduce.py", "from . import composite", "adjoint.ops.composite"),
    "module out of the root": ("_tensor.py", "from . import ops", "adjoint.ops"),
    "public surface": ("nn/linear.py", "import adjoint as ad", "adjoint"),
    "in a try block": ("autograd/engine.py", "try:\n    from .. import viz\nfinally:\n    pass", "adjoint.viz"),
    "in a class": ("_dtype.py", "class A:\n    from ._tensor import Tensor", "adjoint._tensor"),
    "else of annotations": ("_size.py", "if TYPE_CHECKING:\n    ...\nelse:\n    from . import nn", "adjoint.nn"),
}


@pytest.fixture
def package(tmp_path):
    for name in ("", "autograd/", "ops/", "nn/", "viz/"):
        path = tmp_path / "adjoint" / name / "__init__.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in ("_dtype.py", "_tensor.py", "ops/composite.py"):
        (tmp_path / "adjoint" / name).touch()
    return tmp_path


@pytest.mark.parametrize(("file", "code"), ALLOWED.values(), ids=ALLOWED)
def test_allowed(package, file, code):
    (package / "adjoint" / file).write_text(code)
    assert check(package) == []


@pytest.mark.parametrize(("file", "code", "target"), REFUSED.values(), ids=REFUSED)
def test_refused(package, file, code, target):
    (package / "adjoint" / file).write_text(code)
    (problem,) = check(package)
    assert problem.startswith(f"adjoint/{file}:")
    assert f"must not import {target} of layer" in problem


def test_module_without_a_layer(package):
    (package / "adjoint" / "novelty.py").touch()
    assert check(package) == ["adjoint/novelty.py: in no layer; give it one in LAYERS of tools/check_layers.py"]
