"""Being torch: `adjoint.as_torch()`, `import adjoint.as_torch` and `python -m adjoint run`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint._place import VERSION
from adjoint.torch_version import TorchVersion

ROOT = Path(__file__).resolve().parent.parent


def python(*arguments, cwd=None, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd or ROOT, env=clean | environment
    )


def printed(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


ANSWERS = """
import copy, importlib.metadata, importlib.util, inspect, pickle, sys, typing
import torch
import torch.nn as nn
from torch.nn.modules.conv import Conv2d
import functorch

answers = {
    "name": (torch.__name__, nn.__name__, nn.functional.__name__, torch.utils.data.__name__),
    "same": torch.torch is torch and sys.modules["torch.nn"] is nn is sys.modules["adjoint.nn"] and Conv2d is nn.Conv2d,
    "functorch": functorch is sys.modules["adjoint.functorch"] and functorch.vmap is torch.func.vmap,
    "version": (str(torch.__version__), torch.__version__ >= (2, 9), torch.version.__version__ == torch.__version__),
    "metadata": (importlib.metadata.version("torch"), set(importlib.metadata.packages_distributions()["torch"]) == {"torch"}),
    "spec": [importlib.util.find_spec(name) is not None for name in ("torch", "torch.nn.modules.rnn", "torch.signal.windows", "torch.tea")],
    "file": (torch.__file__, list(torch.__path__)),
    "hints": [typing.get_type_hints(cls) is None for cls in (nn.Module, nn.Linear, torch.Tensor, torch.optim.SGD)],
    "source": inspect.getsource(nn.Conv2d).partition("(")[0],
    "module": inspect.getmodule(nn.Linear) is sys.modules["torch.nn.modules.linear"],
    "pickle": [str(pickle.loads(pickle.dumps(what))) for what in (nn.ReLU(), nn.Flatten)],
    "copy": str(copy.deepcopy(nn.Identity())),
    "functions": [f.__module__ for f in (torch.relu, torch.zeros, nn.functional.max_pool2d, nn.functional.mse_loss, nn.init.zeros_)],
}
"""
EXPECTED = {
    "name": ["torch", "torch.nn", "torch.nn.functional", "torch.utils.data"],
    "same": True,
    "functorch": True,
    "version": [VERSION, True, True],
    "metadata": [VERSION, True],
    "spec": [True, True, True, False],
    "file": [str(ROOT / "adjoint" / "__init__.py"), [str(ROOT / "adjoint")]],
    "hints": [False] * 4,
    "source": "class Conv2d",
    "module": True,
    "pickle": ["ReLU()", "<class 'torch.nn.modules.flatten.Flatten'>"],
    "copy": "Identity()",
    "functions": ["torch", "torch", "torch.nn.functional", "torch.nn.functional", "torch.nn.init"],
}


@pytest.mark.parametrize("way", ["import adjoint as a; a.as_torch()", "import adjoint.as_torch", "import adjoint.as_torch as a; a()"])
def test_torch_answers_as_libraries_expect(way):
    done = python("-c", f"{way}\n{ANSWERS}\nimport json; print(json.dumps(answers))")
    assert json.loads(printed(done)[0]) == EXPECTED


def test_run_answers_the_same(tmp_path):
    (tmp_path / "script.py").write_text(f"{ANSWERS}\nimport json; print(json.dumps(answers))", encoding="utf-8")
    done = python("-m", "adjoint", "run", tmp_path / "script.py")
    assert json.loads(printed(done)[0]) == EXPECTED


def test_a_torch_that_is_loaded_already_is_left_alone():
    code = "import sys, types, adjoint; sys.modules['torch'] = types.ModuleType('torch'); adjoint.as_torch()"
    done = python("-c", code)
    assert "RuntimeError: torch is loaded in this process already, from nowhere" in done.stderr
    assert "before anything imports torch" in done.stderr


def test_adjoint_answers_although_a_pytorch_is_installed(tmp_path):
    (tmp_path / "torch.py").write_text("raise AssertionError('PyTorch is loaded')", encoding="utf-8")
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch; print(torch.nn.__name__)'])"
    done = python("-m", "adjoint", "run", "-c", f"import torch; print(torch.__name__, flush=True); {child}", PYTHONPATH=str(tmp_path))
    assert printed(done) == ["torch", "torch.nn"]


def test_looking_at_the_name_changes_nothing():
    done = python("-c", "import sys, adjoint; adjoint.as_torch, dir(adjoint); print('torch' in sys.modules)")
    assert printed(done) == ["False"]


@pytest.mark.parametrize(
    ("version", "other", "order"),
    [
        ("2.13.0", "2.13", 0), ("2.13.0", (2, 13), 0), ("2.13.0", "2.2", 1), ("2.13.0", "2.13.1", -1), ("2.13.0+cpu", "2.13.0", 1),
        ("2.13.0", "2.13.0a0", 1), ("2.13.0.dev20250101", "2.13.0", -1), ("2.13.0rc1", "2.13.0b3", 1), ("2.13.0", [3], -1),
        ("2.13.0.post1", "2.13.0", 1),
    ],
)  # fmt: skip
def test_versions_compare_by_their_numbers(version, other, order):
    made = TorchVersion(version)
    assert [made < other, made == other, made > other] == [order < 0, order == 0, order > 0]
    assert [made <= other, made != other, made >= other] == [order <= 0, order != 0, order >= 0]
    assert hash(made) == hash(version) and isinstance(made, str)
